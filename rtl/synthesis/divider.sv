// The division of an average by itself, as dla_vector_lane has it. For tools/synthesis.py only.

module divider
  import dla_fixed_point::*;
(
    input logic signed [31:0] total,
    input logic [31:0] pixels,
    output logic signed [31:0] average
);
  assign average = rounded_average(total, pixels);
endmodule
