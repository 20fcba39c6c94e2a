// A requantization: `dla_scale`, whose product the stage that takes the result shifts to the right, rounds and offsets.

module dla_rescale
  import dla_fixed_point::*;
(
    input logic clock,
    input logic signed [31:0] value,  // as in dla_scale
    input logic signed [6:0] shift,
    input logic replaces,
    input logic signed [31:0] unshifted,
    input logic signed [31:0] replacement,
    input logic signed [31:0] multiplier,
    input logic signed [31:0] added,  // to the result, with it
    output logic signed [31:0] result  // three cycles after the value
);
  logic signed [31:0] scaled;
  logic [4:0] right;
  dla_scale scale (
      .clock, .value, .left('0), .shift, .replaces, .unshifted, .replacement, .multiplier, .scaled, .right
  );
  assign result = rounding_shift(scaled, right, added);
endmodule
