// One direction of the DMA: after the latency of a transfer's memory it walks the transfer's runs in beats of that memory.
//
// In system memory, runs that touch are one run, and planes of one run that touch are too, if a beat then lies in two
// runs of the SRAM at most: those are no shorter than a beat, or touch there as well. A run begins a new beat. Before the
// bytes of each burst come the cycles of a request.

module dla_dma
  import dla_isa::*;
  import dla_memory::*;
  import dla_words::*;
#(
    parameter int unsigned BEAT_BYTES = 8,  // at most
    // A machine with one memory may have its numbers here.
    parameter int unsigned LATENCY = 64,
    parameter int unsigned BURST_BYTES = 64,
    parameter int unsigned BURST_OVERHEAD = 0,
    parameter int unsigned PACKED_BYTES = 0,  // of a beat, where they are packed; each becomes two in the SRAM
    parameter int unsigned STEP_BEATS = 0,  // of a step that decodes, which writes to the SRAM by itself; 0: there are none
    parameter int unsigned MEMORIES = 1,
    parameter int unsigned PARTS = 1,  // of a byte, in rates
    parameter paces_t PACES = paces_t'(pace_t'{
        beat_bytes: BEAT_BYTES, most_bytes: BEAT_BYTES, packed_bytes: PACKED_BYTES, step_beats: STEP_BEATS, latency: LATENCY,
        burst_bytes: BURST_BYTES, burst_overhead: BURST_OVERHEAD, outstanding: 8'd1, default: '0
    }),
    parameter int unsigned QUEUE_DEPTH = 1,
    parameter logic [31:0] PLACE = 32'h000fffff  // the bits of an address of the SRAM: no more are computed
) (
    input logic clock,
    input logic reset,
    // The queue: an operation that enters it, the memory of its region, and how many there are; the first is at work.
    input logic push,
    input logic [NUMBER_BITS-1:0] pushed_memory,
    input logic [8:0] outstanding,
    input logic [NUMBER_BITS-1:0] memory,
    // The region has been looked up.
    /* verilator lint_off UNUSEDSIGNAL */
    input dma_operands_t operands,
    input merged_t merged,  // of which bursts without requests need less
    /* verilator lint_on UNUSEDSIGNAL */
    input logic [31:0] packed_bytes,  // at the start of a single run
    input logic decodes,
    /* verilator lint_off UNUSEDSIGNAL */
    input logic [19:0] code_words,  // at the start of a single run
    input logic [19:0] code_steps,
    /* verilator lint_on UNUSEDSIGNAL */
    input logic [31:0] region_base,
    input logic room,  // for a beat, between the bus and the SRAM's ports
    input logic crossed,  // all bytes have crossed the ports, those of this cycle's beat too
    output logic starts,  // in its first cycle
    output logic wants_bus,
    input logic delivers,
    output logic done,
    output logic flush,  // no beat follows this cycle's
    // The beat of this cycle: its first byte in system memory, and where its bytes lie in the SRAM
    output logic beat,
    output logic [31:0] system_address,
    output logic [31:0] beat_bytes,
    output logic is_packed,
    output logic is_code,  // then it writes nothing
    output logic [4:0] step_beat,
    output logic step_ends,
    output pieces_t pieces
);
  // ------------------------------------------------------------------------------------------------ latency
  logic valid, is_ready, is_fresh, ends, delivered;  // past its latency; in its first cycle; the last beat; that one was before
  assign valid = outstanding != 0;
  assign wants_bus = is_ready && !delivered && room;
  dla_dma_latency #(
      .MEMORIES(MEMORIES),
      .PACES(PACES),
      .QUEUE_DEPTH(QUEUE_DEPTH)
  ) latency (
      .clock, .reset, .push, .pushed_memory, .outstanding, .memory, .done, .is_ready
  );
  always_ff @(posedge clock) begin
    if (reset || done) is_fresh <= 1'b1;
    else if (valid) is_fresh <= 1'b0;
  end

  /* verilator lint_off UNUSEDSIGNAL */
  pace_t pace;  // of the memory; without the latency, and what the machine does not need
  /* verilator lint_on UNUSEDSIGNAL */
  assign pace = MEMORIES == 1 ? PACES[0] : PACES[memory];
  localparam needs_t NEEDS = needs_of(PACES, MEMORIES);
  // Of runs there are less than 2^24.
  localparam logic [31:0] COUNT = 32'h00ffffff;
  localparam int unsigned BYTES_BITS = $clog2(BEAT_BYTES + 1);
  localparam bit AT_ONCE = NEEDS.no_latency || NEEDS.outstanding > 1;  // the first beat may come in the first cycle, else not before the second

  // ------------------------------------------------------------------------------- the walk in system memory
  logic [31:0] sram_bytes;  // of the beat, which is longer there if it was packed
  logic [31:0] runs, planes, next_run, address, left, planes_left;  // bytes to do in the run, planes after the one at hand
  logic [31:0] kept_address, kept_left, kept_planes_left, first_address;
  logic ends_run, ends_plane, needs_request;
  assign starts = valid && is_fresh;
  assign runs = merged.runs_touch ? 1 : operands.runs;
  assign planes = merged.planes_touch ? 1 : operands.planes;
  assign first_address = region_base + operands.offset;
  assign {address, left, planes_left} = AT_ONCE && starts ? {first_address, merged.run_bytes, planes - 1}
      : {kept_address, kept_left, kept_planes_left};
  // A beat is packed or not; packed bytes may be fewer in a cycle than others. What is less than a byte counts for later beats.
  logic [31:0] rate, most, packed_left;
  logic is_whole, turn, ends_packed;  // parts make a whole byte; the cycle is one of a beat; packed bytes end with it
  assign rate = (is_packed ? pace.packed_bytes : pace.beat_bytes) + 32'(is_whole);
  assign most = is_packed && packed_left < rate ? packed_left : rate;
  if (!NEEDS.unpacking) begin : copies
    assign {is_packed, packed_left, ends_packed} = '0;
  end else begin : unpacks
    logic [31:0] kept_packed_left;
    assign packed_left = AT_ONCE && starts ? packed_bytes : kept_packed_left;
    assign is_packed = packed_left != 0;
    assign ends_packed = is_packed && packed_left <= rate;
    always_ff @(posedge clock) begin
      if (beat && is_packed) kept_packed_left <= packed_left - beat_bytes;
      else if (!beat && starts) kept_packed_left <= packed_bytes;
    end
  end
  if (PARTS == 1) begin : bytes
    assign is_whole = 1'b0;
    logic unused;
    assign unused = &{1'b0, ends_packed, turn};
  end else begin : parts
    localparam int unsigned PART_BITS = $clog2(2 * PARTS);
    logic [PART_BITS-1:0] part, reached;
    assign reached = part + PART_BITS'(is_packed ? pace.packed_part : pace.beat_part);
    assign is_whole = reached >= PART_BITS'(PARTS);
    always_ff @(posedge clock) begin
      if (reset || done || (beat && (ends_run || ends_packed))) part <= '0;
      else if (turn && !is_code) part <= is_whole ? reached - PART_BITS'(PARTS) : reached;
    end
  end
  // Each word of code counts in the first beat of a step, as if each step took one as long as there are any.
  logic is_last_step;
  logic [31:0] step_bytes;
  if (NEEDS.step_beats == 0) begin : plain
    assign {is_code, step_beat, step_ends, is_last_step, step_bytes} = '0;
  end else begin : steps
    localparam int unsigned BITS = NEEDS.step_beats > 32 ? $clog2(NEEDS.step_beats) : 5;
    localparam logic [4:0] NONE = 5'd31;
    logic is_last_beat;
    logic [BITS-1:0] number;  // of the beat in its step
    logic [BITS:0] since;  // the first of those that bring the word's bytes
    logic [19:0] words_left, steps_left, kept_words_left, kept_steps_left;
    assign {words_left, steps_left} = AT_ONCE && starts ? {code_words, decodes ? code_steps : 20'd0}
        : {kept_words_left, kept_steps_left};
    assign is_code = steps_left != 0;
    assign is_last_beat = number == BITS'(pace.step_beats - 1);
    assign step_ends = beat && is_code && is_last_beat;
    assign is_last_step = steps_left == 1 && is_last_beat;
    assign step_bytes = number == 0 && words_left != 0 ? CODE_BYTES : 0;
    assign since = (BITS + 1)'(number) - (BITS + 1)'(pace.late_beats);
    assign step_beat = since[BITS] ? NONE : since[4:0];
    always_ff @(posedge clock) begin
      if (reset || step_ends) number <= '0;
      else if (beat && is_code) number <= number + 1'b1;
      if (reset) kept_steps_left <= '0;
      else if (beat && is_code) begin
        kept_steps_left <= steps_left - 20'(step_ends);
        kept_words_left <= words_left - 20'(step_bytes != 0);
      end else if (starts) begin
        kept_steps_left <= decodes ? code_steps : '0;
        kept_words_left <= code_words;
      end
    end
  end
  assign ends_run = is_code ? is_last_step && left == step_bytes : left <= most;
  assign beat_bytes = is_code ? step_bytes : 32'(BYTES_BITS'(ends_run ? left : most));  // few bits, for small adders
  assign sram_bytes = is_code ? '0 : is_packed ? beat_bytes << 1 : beat_bytes;
  assign turn = delivers && !needs_request;
  assign beat = turn && (!NEEDS.empty_beats || is_code || most != 0);
  assign system_address = address;
  dla_runs #(.AT_ONCE(AT_ONCE)) system_runs (
      .clock, .starts, .first(first_address), .runs, .run_stride(operands.run_stride),
      .plane_stride(operands.plane_stride), .step(beat && ends_run), .next(next_run), .ends_plane
  );
  always_ff @(posedge clock) begin
    if (beat && ends_run) begin
      kept_address <= next_run;
      kept_left <= merged.run_bytes;
      kept_planes_left <= ends_plane ? (planes_left - 1) & COUNT : planes_left;
    end else if (beat) begin
      kept_address <= address + beat_bytes;
      kept_left <= left - beat_bytes;
      kept_planes_left <= planes_left;
    end else if (starts) begin
      kept_address <= first_address;
      kept_left <= merged.run_bytes;
      kept_planes_left <= (planes - 1) & COUNT;
    end
  end
  assign ends = beat && ends_run && ends_plane && planes_left == 0;
  assign flush = ends || delivered;
  assign done = flush && crossed;
  always_ff @(posedge clock) begin
    if (reset || done) delivered <= 1'b0;
    else if (ends) delivered <= 1'b1;
  end

  // --------------------------------------------------------------------------- requests, at the head of bursts
  if (!NEEDS.requests) begin : without_requests
    assign needs_request = 1'b0;
  end else begin : with_requests
    logic [31:0] requested, spent;  // bytes of the run that have been asked for, and are to come; cycles of this request
    logic goes_on;  // in a burst, which may hold several runs
    assign goes_on = !ends_run || (ends_plane ? merged.burst_planes_touch : merged.burst_runs_touch);
    assign needs_request = pace.burst_overhead != 0 && requested < beat_bytes;
    always_ff @(posedge clock) begin
      if (reset || done) begin
        requested <= '0;
        spent <= '0;
      end else if (delivers && needs_request) begin
        spent <= spent == pace.burst_overhead - 1 ? '0 : spent + 1;
        if (spent == pace.burst_overhead - 1) requested <= requested + pace.burst_bytes;
      end else if (beat) requested <= goes_on ? requested - beat_bytes : '0;
    end
  end

  // -------------------------------------------------------------------------------------- the walk in the SRAM
  // Runs shorter than a beat are taken as they are in system memory: what touches there touches here.
  // What follows code has its place at the end.
  logic [31:0] piece, piece_count, place, next_place, piece_left, kept_place, kept_piece_left, beyond, first_place;
  logic is_wide, ends_piece, unused_end, unused;
  assign unused = &{1'b0, unused_end};
  assign is_wide = operands.run_bytes >= pace.most_bytes;
  assign piece = (decodes ? merged.run_bytes - 32'(code_words) * CODE_BYTES
                  : is_wide || packed_bytes != 0 ? operands.run_bytes : merged.run_bytes) & PLACE;
  assign first_place = (operands.sram_addr + (decodes ? operands.run_bytes - piece : '0)) & PLACE;
  assign piece_count = is_wide ? operands.runs : runs;
  assign {place, piece_left} = AT_ONCE && starts ? {first_place, piece} : {kept_place, kept_piece_left};
  assign ends_piece = piece_left <= sram_bytes;
  assign beyond = next_place - piece_left;  // of a byte that lies in the next piece: from there on
  dla_runs #(.PLACE(PLACE), .AT_ONCE(AT_ONCE)) sram_runs (
      .clock, .starts, .first(operands.sram_addr), .runs(piece_count), .run_stride(operands.run_sram_stride),
      .plane_stride(operands.plane_sram_stride), .step(beat && ends_piece), .next(next_place),
      .ends_plane(unused_end)
  );
  assign pieces = '{
      place: place,
      second: next_place,
      first_bytes: ends_piece ? piece_left : sram_bytes,
      second_bytes: ends_piece ? sram_bytes - piece_left : '0
  };
  always_ff @(posedge clock) begin
    if (beat) begin
      kept_place <= ((ends_piece ? beyond : place) + sram_bytes) & PLACE;
      kept_piece_left <= (piece_left - sram_bytes + (ends_piece ? piece : '0)) & PLACE;
    end else if (starts) begin
      kept_place <= first_place;
      kept_piece_left <= piece;
    end
  end
endmodule
