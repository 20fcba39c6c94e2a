// Hands the bus of system memory to the two transfers. Work is counted in fractions of a beat: a transfer alone
// does ALONE of them in a cycle, which is a beat; each of two does TOGETHER. A beat is delivered in the cycle in
// which its last fraction is done. Without a shared bus TOGETHER equals ALONE.

module dla_dma_bus #(
    parameter int unsigned ALONE = 1,
    parameter int unsigned TOGETHER = 1
) (
    input logic clock,
    input logic reset,
    input logic [1:0] wants,  // the transfer is past its latency
    input logic [1:0] done,  // the transfer ends with this cycle
    output logic [1:0] delivers  // a beat, or a cycle of a request, is complete
);
  localparam int unsigned BITS = $clog2(2 * ALONE + 1);

  logic [BITS-1:0] progress[2], reached[2];

  for (genvar d = 0; d < 2; d++) begin : transfer
    assign reached[d] = progress[d] + (wants == 2'b11 ? BITS'(TOGETHER) : BITS'(ALONE));
    assign delivers[d] = wants[d] && reached[d] >= BITS'(ALONE);
    always_ff @(posedge clock) begin
      if (reset || done[d]) progress[d] <= '0;
      else if (wants[d]) progress[d] <= delivers[d] ? reached[d] - BITS'(ALONE) : reached[d];
    end
  end
endmodule
