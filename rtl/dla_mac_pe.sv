// A processing element: one multiplier of an input and a weight, their zero points taken off.

module dla_mac_pe (
    input logic clock,
    input logic enable,
    input logic signed [8:0] value,
    input logic signed [8:0] weight,
    output logic signed [16:0] product
);
  logic [16:0] multiplied;
  dla_multiplier #(
      .VALUE_BITS(9),
      .DIGITS_BITS(9),
      .BITS(17)
  ) multiply (
      .value, .digits(weight), .added('0), .product(multiplied)
  );
  always_ff @(posedge clock) if (enable) product <= $signed(multiplied);
endmodule
