// A value times a multiplier in three stages, as a requantization begins: the value is shifted to the left, multiplied into
// two numbers, and these are added and rounded. A value enters in each cycle, its multiplier a cycle after it, and the
// product stands three cycles after it, with the shift to the right that it still takes.
//
// Another value may take its place: one that is not shifted, or one in front of the multiplier. Either is 0 where it does not.

module dla_scale (
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
  // Of the product's lower bits only the carry changes a result, whose last bit is 2^31; half of that rounds it.
  localparam int unsigned DROPPED = 24;
  logic [63:0] sum, carries;
  logic [63:DROPPED] sum_kept, carries_kept;
  logic carry, carry_kept;
  /* verilator lint_off UNUSEDSIGNAL */
  logic signed [6:0] shift_scaled;
  logic [64:DROPPED] rounded;  // behind it the carry
  /* verilator lint_on UNUSEDSIGNAL */
  assign amount = 6'(left) + (shift > 0 ? 6'(shift[4:0]) : '0);
  assign factor = moved | replacement;
  dla_product #(
      .ADDED(64'h40000000)
  ) product (
      .value(factor), .digits(multiplier), .added('1), .sum, .carries
  );
  assign carry = 1'(((DROPPED + 1)'(sum[DROPPED-1:0]) + (DROPPED + 1)'(carries[DROPPED-1:0])) >> DROPPED);
  assign rounded = {sum_kept, 1'b1} + {carries_kept, carry_kept};
  assign right = shift_scaled < 0 ? 5'(-shift_scaled) : '0;
  always_ff @(posedge clock) begin
    moved <= replaces ? unshifted : value <<< amount;
    shift_multiplied <= shift;

    {sum_kept, carries_kept, carry_kept} <= {sum[63:DROPPED], carries[63:DROPPED], carry};
    shift_added <= shift_multiplied;

    scaled <= !rounded[64] && rounded[63] ? 32'sh7fffffff : rounded[63:32];  // 2^62 alone saturates
    shift_scaled <= shift_added;
  end
endmodule
