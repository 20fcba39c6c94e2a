// The sums of all output lanes, as they move in step: a word for each place, one written and two read in a cycle. A word
// that is read comes a cycle later, as it was before that cycle's write. A chip has a memory here.

module dla_accumulators #(
    parameter int unsigned BITS = 32,
    parameter int unsigned LANES = 64,
    parameter int unsigned PLACES = 64,
    parameter int unsigned PLACE_BITS = 6
) (
    input logic clock,
    input logic write,
    input logic [PLACE_BITS-1:0] write_place,
    input logic signed [BITS-1:0] written[LANES],
    input logic [PLACE_BITS-1:0] add_place,  // of a sum that grows
    output logic signed [BITS-1:0] growing[LANES],
    input logic [PLACE_BITS-1:0] leave_place,  // of one that is complete
    output logic signed [BITS-1:0] complete[LANES]
);
  logic [BITS*LANES-1:0] sums[PLACES], word, growing_word, complete_word;
  for (genvar l = 0; l < LANES; l++) begin : lane
    assign word[BITS*l+:BITS] = written[l];
    assign growing[l] = growing_word[BITS*l+:BITS];
    assign complete[l] = complete_word[BITS*l+:BITS];
  end
  always_ff @(posedge clock) begin
    growing_word <= sums[add_place];
    complete_word <= sums[leave_place];
    if (write) sums[write_place] <= word;
  end
endmodule
