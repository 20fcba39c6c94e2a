// The latency of transfers: it passes for the first operation of the queue, and for those behind it that their memory lets
// overlap with it.

module dla_dma_latency
  import dla_memory::*;
#(
    parameter int unsigned MEMORIES = 1,
    parameter paces_t PACES = '0,
    parameter int unsigned QUEUE_DEPTH = 1
) (
    input logic clock,
    input logic reset,
    input logic push,
    input logic [NUMBER_BITS-1:0] pushed_memory,
    input logic [8:0] outstanding,  // operations in the queue
    input logic [NUMBER_BITS-1:0] memory,  // of the first
    input logic done,  // it ends with this cycle
    output logic is_ready  // its latency has passed
);
  localparam needs_t NEEDS = needs_of(PACES, MEMORIES);
  localparam int unsigned PLACES = NEEDS.outstanding > 1 ? QUEUE_DEPTH : 1;
  localparam int unsigned BITS = $clog2(NEEDS.latency + 2);
  typedef logic [BITS-1:0] cycles_t;
  typedef logic [NUMBER_BITS-1:0] number_t;

  number_t number[PLACES];
  cycles_t elapsed[PLACES], passed[PLACES];
  for (genvar p = 0; p < PLACES; p++) begin : place
    number_t next_number;
    if (p == PLACES - 1) assign next_number = '0;
    else assign next_number = number[p+1];
    if (PLACES == 1) begin : alone
      logic unused;
      assign unused = &{1'b0, push, pushed_memory, next_number};
      assign number[p] = MEMORIES == 1 ? '0 : memory;
    end else begin : several
      logic unused;
      assign unused = &{1'b0, memory};
      always_ff @(posedge clock) begin
        if (push && outstanding - 9'(done) == p) number[p] <= pushed_memory;
        else if (done) number[p] <= next_number;
      end
    end
    if (p >= NEEDS.outstanding) assign {elapsed[p], passed[p]} = '0;
    else begin : counted
      cycles_t next_passed;
      logic counts;
      if (p == PLACES - 1) assign next_passed = '0;
      else assign next_passed = passed[p+1];
      assign counts = outstanding > p && p < PACES[number[p]].outstanding && elapsed[p] != BITS'(PACES[number[p]].latency);
      assign passed[p] = elapsed[p] + BITS'(counts);
      always_ff @(posedge clock) begin
        if (reset) elapsed[p] <= '0;
        else elapsed[p] <= done ? next_passed : passed[p];
      end
    end
  end
  assign is_ready = outstanding != 0 && elapsed[0] == BITS'(PACES[number[0]].latency);
endmodule
