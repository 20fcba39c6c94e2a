// An output lane of the MAC unit: it adds to one of its sums. The names are those of the pipeline's stages: the sum of
// products arrives in `tree`. The sums lie in `dla_accumulators`; what was added last is kept here, because the memory
// gives what it held a cycle ago.

module dla_mac_lane #(
    parameter int unsigned BITS = 32
) (
    input logic clock,
    input logic tree,  // valid bits of the stages
    input logic accumulate,
    input logic accumulate_first,  // the first product of an output
    input logic accumulate_again,  // to the sum that was written last
    input logic signed [BITS-1:0] growing,  // otherwise to this one
    output logic signed [BITS-1:0] added,
    output logic signed [BITS-1:0] newest,  // what was written before this cycle
    /* verilator lint_off UNUSEDSIGNAL */
    input logic high,  // in tree: the products are of high bytes
    /* verilator lint_on UNUSEDSIGNAL */
    input logic signed [31:0] sum  // in tree: of this lane's products
);
  /* verilator no_inline_module */  // compiled once for all lanes
  logic signed [BITS-1:0] summed, accumulator;
  assign accumulator = accumulate_again ? newest : growing;
  assign added = (accumulate_first ? 0 : accumulator) + summed;
  always_ff @(posedge clock) begin
    if (tree) summed <= BITS > 32 && high ? BITS'(sum) <<< 8 : BITS'(sum);
    if (accumulate) newest <= added;
  end
endmodule
