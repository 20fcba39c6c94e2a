// A requantizer of the output stage: what results take of `dla_rescale`.

module requantizer (
    input logic clock,
    input logic signed [31:0] value,
    input logic signed [6:0] shift,
    input logic signed [31:0] multiplier,
    output logic signed [31:0] result
);
  dla_rescale rescale (
      .clock,
      .value,
      .shift,
      .replaces(1'b0),
      .unshifted('0),
      .replacement('0),
      .multiplier,
      .added('0),
      .result
  );
endmodule
