// The square of a value, shifted to the left as its rescaling will want it; the low 32 bits, a cycle later.

module dla_square (
    input logic clock,
    input logic signed [31:0] value,
    input logic signed [6:0] shift,
    output logic signed [31:0] square
);
  always_ff @(posedge clock) square <= value * (value <<< (shift > 0 ? shift[4:0] : 5'd0));
endmodule
