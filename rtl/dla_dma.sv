// One direction of the DMA: after LATENCY cycles it walks the runs of a transfer in beats of BEAT_BYTES.
//
// In system memory, runs that touch are one run, and planes of one run that touch are too; a run begins a new
// beat. The SRAM's side keeps its own runs, and is walked byte by byte within a beat. Before the bytes of each
// burst come BURST_OVERHEAD cycles of a request.

module dla_dma
  import dla_isa::*;
  import dla_words::*;
#(
    parameter int unsigned BEAT_BYTES = 8,
    parameter int unsigned LATENCY = 64,
    parameter int unsigned BURST_BYTES = 64,
    parameter int unsigned BURST_OVERHEAD = 0,
    parameter int unsigned PACKED_BYTES = 0,  // of a beat, where they are packed; each becomes two in the SRAM
    parameter int unsigned SPREAD_BYTES = BEAT_BYTES,  // of a beat in the SRAM, at most
    parameter logic [31:0] PLACE = 32'h000fffff  // the bits of an address of the SRAM: no more are computed
) (
    input logic clock,
    input logic reset,
    input logic valid,
    // The region has been looked up.
    /* verilator lint_off UNUSEDSIGNAL */
    input dma_operands_t operands,
    /* verilator lint_on UNUSEDSIGNAL */
    input merged_t merged,
    input logic [31:0] packed_bytes,  // at the start of a single run
    input logic [31:0] region_base,
    input logic room,  // for a beat, between the bus and the SRAM's ports
    input logic crossed,  // all bytes have crossed the ports, those of this cycle's beat too
    output logic wants_bus,
    input logic delivers,
    output logic done,
    output logic flush,  // no beat follows this cycle's
    // The beat of this cycle: its first byte in system memory, and each byte's place in SRAM.
    output logic beat,
    output logic [31:0] system_address,
    output logic [31:0] beat_bytes,
    output logic is_packed,
    output logic [31:0] sram_bytes,
    output logic [31:0] sram_address[SPREAD_BYTES]
);
  // ------------------------------------------------------------------------------------------------ latency
  logic [31:0] elapsed;
  logic is_ready, ends, delivered;  // past its latency; the last beat; that one was before
  assign is_ready = valid && elapsed == LATENCY;
  assign wants_bus = is_ready && !delivered && room;
  always_ff @(posedge clock) begin
    if (reset || done) elapsed <= '0;
    else if (valid && !is_ready) elapsed <= elapsed + 1;
  end

  // ------------------------------------------------------------- the transfer as system memory sees it: merged
  logic [31:0] runs, planes;
  assign runs = merged.runs_touch ? 1 : operands.runs;
  assign planes = merged.planes_touch ? 1 : operands.planes;

  // --------------------------------------------------------------------------- requests, at the head of bursts
  logic [31:0] offset, left, most;  // in the merged run: bytes done, and to do; at most in this beat
  logic needs_request, ends_run, ends_plane;
  assign left = merged.run_bytes - offset;
  assign beat_bytes = left < most ? left : most;

  // A beat is packed or not; packed bytes may be fewer in a cycle than others.
  if (PACKED_BYTES == 0) begin : copies
    assign is_packed = 1'b0;
    assign most = BEAT_BYTES;
    logic unused;
    assign unused = &{1'b0, packed_bytes};
  end else begin : unpacks
    logic [31:0] packed_left;
    assign packed_left = packed_bytes - offset;
    assign is_packed = offset < packed_bytes;
    assign most = !is_packed ? BEAT_BYTES : packed_left < PACKED_BYTES ? packed_left : PACKED_BYTES;
  end
  assign sram_bytes = is_packed ? beat_bytes << 1 : beat_bytes;

  if (BURST_OVERHEAD == 0) begin : without_requests
    assign needs_request = 1'b0;
  end else begin : with_requests
    logic [31:0] requested, spent;  // bytes of the run that have been asked for; cycles of this request
    assign needs_request = requested < offset + beat_bytes;
    always_ff @(posedge clock) begin
      if (reset || done) begin
        requested <= '0;
        spent <= '0;
      end else if (delivers && needs_request) begin
        spent <= spent == BURST_OVERHEAD - 1 ? '0 : spent + 1;
        if (spent == BURST_OVERHEAD - 1) requested <= requested + BURST_BYTES;
      end else if (beat && ends_run) requested <= '0;
    end
  end

  // ------------------------------------------------------------------------------- the walk in system memory
  logic [31:0] run, plane, run_offset, plane_offset;
  assign beat = delivers && !needs_request;
  assign ends_run = left <= most;
  assign ends_plane = run + 1 >= runs;
  assign ends = beat && ends_run && ends_plane && plane + 1 >= planes;
  assign flush = ends || delivered;
  assign done = flush && crossed;
  always_ff @(posedge clock) begin
    if (reset || done) delivered <= 1'b0;
    else if (ends) delivered <= 1'b1;
  end
  assign system_address = region_base + operands.offset + plane_offset + run_offset + offset;
  always_ff @(posedge clock) begin
    if (reset || done) begin
      {offset, run, plane, run_offset, plane_offset} <= '0;
    end else if (beat && !ends_run) offset <= offset + beat_bytes;
    else if (beat) begin
      offset <= '0;
      run <= ends_plane ? '0 : run + 1;
      run_offset <= ends_plane ? '0 : run_offset + operands.run_stride;
      if (ends_plane) begin
        plane <= plane + 1;
        plane_offset <= plane_offset + operands.plane_stride;
      end
    end
  end

  // -------------------------------------------------------------------------------------- the walk in the SRAM
  typedef struct packed {
    logic [31:0] column;
    logic [31:0] run;
    logic [31:0] run_offset;
    logic [31:0] plane_offset;
  } place_t;
  // Of runs there are less than 2^24; a run lies in the SRAM.
  localparam logic [31:0] COUNT = 32'h00ffffff;
  place_t place, next;

  function automatic place_t next_place(input place_t at);
    place_t after;
    after = at;
    after.column = (at.column + 1) & PLACE;
    if (after.column == (operands.run_bytes & PLACE)) begin
      after.column = '0;
      after.run = (at.run + 1) & COUNT;
      after.run_offset = (at.run_offset + operands.run_sram_stride) & PLACE;
      if (after.run == (operands.runs & COUNT)) begin
        after.run = '0;
        after.run_offset = '0;
        after.plane_offset = (at.plane_offset + operands.plane_sram_stride) & PLACE;
      end
    end
    return after;
  endfunction

  always_comb begin
    next = place;
    for (int unsigned i = 0; i < SPREAD_BYTES; i++) begin
      sram_address[i] = (operands.sram_addr + next.plane_offset + next.run_offset + next.column) & PLACE;
      if (beat && i < sram_bytes) next = next_place(next);
    end
  end
  always_ff @(posedge clock) begin
    if (reset || done) place <= '0;
    else place <= next;
  end
endmodule
