// Both directions of the DMA and their bus on a machine with several memories, of which each is slower than the one before.

module dma_memories
  import dla_isa::*;
  import dla_memory::*;
  import dla_words::*;
#(
    parameter int unsigned MEMORIES = 2,
    parameter int unsigned PARTS = 1,  // of a byte, in rates
    parameter int unsigned OUTSTANDING = 1,
    parameter int unsigned QUEUE_DEPTH = 3
) (
    input logic clock,
    input logic reset,
    input logic [1:0] push,
    input logic [NUMBER_BITS-1:0] pushed_memory[2],
    input logic [8:0] outstanding[2],
    input logic [NUMBER_BITS-1:0] memory[2],
    input dma_operands_t operands[2],
    input merged_t merged[2],
    input logic [31:0] region_base[2],
    input logic [1:0] room,
    input logic [1:0] crossed,
    output logic [1:0] starts,
    output logic [1:0] done,
    output logic [1:0] flush,
    output logic [1:0] beat,
    output logic [31:0] system_address[2],
    output logic [31:0] beat_bytes[2],
    output pieces_t pieces[2]
);
  localparam int unsigned BEAT_BYTES = 8, LATENCY = 64, BURST_BYTES = 64, BURST_OVERHEAD = 2;
  function automatic named_t slower();
    memory_t row;
    for (int unsigned m = 1; m < MOST_MEMORIES; m++) begin
      row = '0;
      row.bandwidth = (BEAT_BYTES * PARTS / (m + 1) + m) * (RATE_SCALE / PARTS);
      row.latency = LATENCY - 7 * m;
      row.burst_bytes = BURST_BYTES - 5 * m;
      row.burst_overhead = BURST_OVERHEAD + m;
      row.outstanding = OUTSTANDING;
      row.bus = m;
      slower[m-1] = row;
    end
  endfunction
  localparam memories_t MEMORY = memories_of(slower(), 0, LATENCY, BURST_BYTES, BURST_OVERHEAD);
  localparam paces_t PACES = paces_of(MEMORY, MEMORIES, BEAT_BYTES, 0, 0, 0);
  logic [1:0] wants_bus, delivers;
  dla_dma_bus #(
      .MEMORIES(MEMORIES),
      .ALONE_OF(alone_of(MEMORY, MEMORIES, BEAT_BYTES, 0)),
      .TOGETHER_OF(together_of(MEMORY, MEMORIES, BEAT_BYTES, 0))
  ) bus (
      .clock, .reset, .memory, .wants(wants_bus), .done, .delivers
  );
  for (genvar d = 0; d < 2; d++) begin : transfer
    logic is_packed, is_code, step_ends;
    logic [4:0] step_beat;
    dla_dma #(
        .BEAT_BYTES(BEAT_BYTES),
        .MEMORIES(MEMORIES),
        .PARTS(parts_of(MEMORY, MEMORIES)),
        .PACES(PACES),
        .QUEUE_DEPTH(QUEUE_DEPTH)
    ) engine (
        .clock, .reset, .push(push[d]), .pushed_memory(pushed_memory[d]), .outstanding(outstanding[d]),
        .memory(memory[d]), .operands(operands[d]), .merged(merged[d]), .packed_bytes('0), .decodes(1'b0),
        .code_words('0), .code_steps('0), .region_base(region_base[d]), .room(room[d]), .crossed(crossed[d]),
        .starts(starts[d]), .wants_bus(wants_bus[d]), .delivers(delivers[d]), .done(done[d]), .flush(flush[d]),
        .beat(beat[d]), .system_address(system_address[d]), .beat_bytes(beat_bytes[d]), .is_packed, .is_code,
        .step_beat, .step_ends, .pieces(pieces[d])
    );
  end
endmodule
