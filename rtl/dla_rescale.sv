// A requantization in three stages and what follows: the value is shifted to the left, multiplied by the two halves of
// the multiplier, and the products added and rounded; the shift to the right is for the stage that takes the result.
// A value enters in each cycle, its multiplier a cycle after it, and its result stands three cycles after it.
//
// Another value may take its place in front of the multiplier.

module dla_rescale
  import dla_fixed_point::*;
(
    input logic clock,
    input logic signed [31:0] value,
    input logic [4:0] left,  // by which it is shifted in any case
    input logic signed [6:0] shift,  // of the value; -31 to 31
    input logic replaces,
    input logic signed [31:0] replacement,  // a cycle after the value
    input logic signed [31:0] multiplier,  // a cycle after it
    input logic signed [31:0] added,  // to the result, with it
    output logic signed [31:0] result
);
  logic signed [31:0] shifted, factor, scaled;
  logic [5:0] amount;
  logic signed [6:0] shift_multiplied, shift_added, shift_scaled;
  logic signed [47:0] high;
  // Of the lower product the low half changes no bit of a result: half of a result's last bit is 2^30.
  /* verilator lint_off UNUSEDSIGNAL */
  logic signed [48:0] low_product;
  /* verilator lint_on UNUSEDSIGNAL */
  logic signed [32:0] low;
  assign amount = 6'(left) + (shift > 0 ? 6'(shift[4:0]) : '0);
  assign factor = replaces ? replacement : shifted;
  assign low_product = 49'(factor) * 49'($signed({1'b0, multiplier[15:0]}));
  assign result = descale(scaled, shift_scaled, added);
  always_ff @(posedge clock) begin
    shifted <= value <<< amount;
    shift_multiplied <= shift;

    high <= 48'(factor) * 48'($signed(multiplier[31:16]));
    low <= low_product[48:16];
    shift_added <= shift_multiplied;

    scaled <= high_half(high, low);
    shift_scaled <= shift_added;
  end
endmodule
