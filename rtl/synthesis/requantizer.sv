// One requantization by itself, as dla_mac_lane and dla_vector_lane have it: the product's high half, then the
// rounded shift. For tools/synthesis.py only, which tells from it what a lane is without.

module requantizer
  import dla_fixed_point::*;
(
    input logic signed [31:0] value,
    input logic signed [31:0] multiplier,
    input logic signed [31:0] shift,
    output logic signed [31:0] result
);
  assign result = requant(value, multiplier, shift);
endmodule
