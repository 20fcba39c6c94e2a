// A value times a multiplier in three stages, as a requantization begins: the value is shifted to the left, multiplied by the
// two halves of the multiplier, and the products added and rounded. A value enters in each cycle, its multiplier a cycle
// after it, and the product stands three cycles after it, with the shift to the right that it still takes.
//
// Another value may take its place: one that is not shifted, or one in front of the multiplier. Either is 0 where it does not.

module dla_scale
  import dla_fixed_point::*;
(
    input logic clock,
    input logic signed [31:0] value,
    input logic [4:0] left,  // by which it is shifted in any case
    input logic signed [6:0] shift,  // of the value; -31 to 31
    input logic replaces,
    input logic signed [31:0] unshifted,  // with the value
    input logic signed [31:0] replacement,  // a cycle after it
    input logic signed [31:0] multiplier,  // a cycle after the value
    output logic signed [31:0] scaled,
    output logic [4:0] right
);
  logic signed [31:0] moved, factor;
  logic [5:0] amount;
  logic signed [6:0] shift_multiplied, shift_added;
  logic signed [47:0] high;
  // Of the lower product the low half changes no bit of a result: half of a result's last bit is 2^30.
  /* verilator lint_off UNUSEDSIGNAL */
  logic signed [6:0] shift_scaled;
  logic signed [48:0] low_product;
  /* verilator lint_on UNUSEDSIGNAL */
  logic signed [32:0] low;
  assign amount = 6'(left) + (shift > 0 ? 6'(shift[4:0]) : '0);
  assign factor = moved | replacement;
  assign low_product = 49'(factor) * 49'($signed({1'b0, multiplier[15:0]}));
  assign right = shift_scaled < 0 ? 5'(-shift_scaled) : '0;
  always_ff @(posedge clock) begin
    moved <= replaces ? unshifted : value <<< amount;
    shift_multiplied <= shift;

    high <= 48'(factor) * 48'($signed(multiplier[31:16]));
    low <= low_product[48:16];
    shift_added <= shift_multiplied;

    scaled <= high_half(high, low);
    shift_scaled <= shift_added;
  end
endmodule
