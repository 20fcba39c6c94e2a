// A product, and a number that is added to it, modulo 2^BITS: `dla_product` and an adder.

module dla_multiplier #(
    parameter int unsigned VALUE_BITS = 32,
    parameter int unsigned DIGITS_BITS = 32,  // better the smaller
    parameter int unsigned BITS = VALUE_BITS + DIGITS_BITS,
    parameter logic [BITS-1:0] ADDED = '0  // bits of `added` that may be 1
) (
    input logic signed [VALUE_BITS-1:0] value,
    input logic signed [DIGITS_BITS-1:0] digits,
    input logic [BITS-1:0] added,
    output logic [BITS-1:0] product
);
  logic [BITS-1:0] sum, carries;
  dla_product #(
      .VALUE_BITS(VALUE_BITS),
      .DIGITS_BITS(DIGITS_BITS),
      .BITS(BITS),
      .ADDED(ADDED)
  ) factors (
      .value, .digits, .added, .sum, .carries
  );
  assign product = sum + carries;
endmodule
