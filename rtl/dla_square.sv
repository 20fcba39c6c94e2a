// The square of a value, shifted to the left as its rescaling will want it; the low 32 bits, a cycle later. It is 0 where
// it does not take part.

module dla_square (
    input logic clock,
    input logic takes_part,
    input logic signed [31:0] value,
    input logic signed [6:0] shift,
    output logic signed [31:0] square
);
  always_ff @(posedge clock)
    square <= (takes_part ? value : '0) * (value <<< (shift > 0 ? shift[4:0] : 5'd0));
endmodule
