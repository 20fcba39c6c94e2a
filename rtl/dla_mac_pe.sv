// A processing element: one multiplier of an input and a weight, their zero points taken off.

module dla_mac_pe (
    input logic clock,
    input logic enable,
    input logic signed [8:0] value,
    input logic signed [8:0] weight,
    output logic signed [16:0] product
);
  always_ff @(posedge clock) if (enable) product <= 17'(value) * 17'(weight);
endmodule
