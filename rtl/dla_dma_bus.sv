// Hands the buses of the memories to the two transfers. Work is counted in fractions of a beat: a transfer alone does as many
// of them in a cycle as a beat has; each of two does as many as both memories say. A beat is delivered in the cycle in which
// its last fraction is done. Without a shared bus two transfers do as many as one alone.

module dla_dma_bus
  import dla_memory::*;
#(
    parameter int unsigned ALONE = 1,  // of a machine with one memory
    parameter int unsigned TOGETHER = 1,
    parameter int unsigned MEMORIES = 1,
    parameter alone_t ALONE_OF = alone_t'(ALONE),
    parameter together_t TOGETHER_OF = together_t'(TOGETHER)
) (
    input logic clock,
    input logic reset,
    input logic [NUMBER_BITS-1:0] memory[2],
    input logic [1:0] wants,  // the transfer is past its latency
    input logic [1:0] done,  // the transfer ends with this cycle
    output logic [1:0] delivers  // a beat, or a cycle of a request, is complete
);
  function automatic int unsigned most(input alone_t alone);
    most = 0;
    for (int unsigned m = 0; m < MOST_MEMORIES; m++) if (alone[m] > most) most = alone[m];
  endfunction
  localparam int unsigned BITS = $clog2(2 * most(ALONE_OF) + 1);

  if (!shares(ALONE_OF, TOGETHER_OF, MEMORIES)) begin : apart
    assign delivers = wants;
    logic unused;
    assign unused = &{1'b0, clock, reset, memory[0], memory[1], done};
  end else begin : shared
    logic [BITS-1:0] progress[2], reached[2];
    for (genvar d = 0; d < 2; d++) begin : transfer
      logic [NUMBER_BITS-1:0] mine, other;
      logic [BITS-1:0] alone;
      assign {mine, other} = MEMORIES == 1 ? '0 : {memory[d], memory[1-d]};
      assign alone = BITS'(ALONE_OF[mine]);
      assign reached[d] = progress[d] + (wants == 2'b11 ? BITS'(TOGETHER_OF[mine][other]) : alone);
      assign delivers[d] = wants[d] && reached[d] >= alone;
      always_ff @(posedge clock) begin
        if (reset || done[d]) progress[d] <= '0;
        else if (wants[d]) progress[d] <= delivers[d] ? reached[d] - alone : reached[d];
      end
    end
  end
endmodule
