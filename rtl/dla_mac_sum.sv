// A result of the MAC unit and an element of a tensor, added as OP_E_ADD adds them, in eight stages. With the names of
// the pipeline's stages, the element is there in `start` and the result in `write`; the sum follows eight cycles later.
// Both parts have nine bits, so that they are multiplied in one stage.

module dla_mac_sum
  import dla_fixed_point::*;
(
    input logic clock,
    input logic [7:0] tensor,
    input logic signed [31:0] result,
    input logic signed [31:0] result_zero_point,
    input logic signed [31:0] tensor_zero_point,
    input logic [30:0] result_multiplier,  // legal ones have no sign
    input logic [30:0] tensor_multiplier,
    // Of legal shifts the low bits suffice.
    /* verilator lint_off UNUSEDSIGNAL */
    input logic signed [31:0] result_shift,
    input logic signed [31:0] tensor_shift,
    input logic signed [31:0] shift,
    /* verilator lint_on UNUSEDSIGNAL */
    input logic signed [31:0] multiplier,
    input logic signed [31:0] zero_point,
    input logic signed [31:0] lowest,
    input logic signed [31:0] highest,
    output logic [31:0] sum
);
  /* verilator no_inline_module */  // compiled once for all lanes
  localparam int unsigned WAIT = 5;  // from start to write
  logic [7:0] waiting[WAIT];
  logic signed [8:0] parts[2];
  logic signed [31:0] high[2], aligned[2], total, rescaled, rounded;

  // The high half of part << 20 times a multiplier, rounded
  logic [30:0] multipliers[2];
  assign multipliers = '{result_multiplier, tensor_multiplier};
  for (genvar i = 0; i < 2; i++) begin : scaled
    /* verilator lint_off UNUSEDSIGNAL */
    logic [40:0] product;
    /* verilator lint_on UNUSEDSIGNAL */
    dla_multiplier #(
        .VALUE_BITS(32),
        .DIGITS_BITS(9),
        .ADDED(41'd1024)
    ) multiply (
        .value($signed({1'b0, multipliers[i]})), .digits(parts[i]), .added('1), .product
    );
    always_ff @(posedge clock) high[i] <= 32'($signed(product[40:11]));
  end
  function automatic logic [4:0] right(input logic signed [31:0] given);
    return given < 0 ? 5'(-given) : '0;
  endfunction

  dla_rescale rescale (
      .clock,
      .value(total),
      .shift(shift[6:0]),
      .replaces(1'b0),
      .unshifted('0),
      .replacement('0),
      .multiplier,
      .added(zero_point),
      .result(rescaled)
  );
  always_ff @(posedge clock) begin
    waiting[0] <= tensor;
    for (int unsigned i = 1; i < WAIT; i++) waiting[i] <= waiting[i-1];
    parts[0] <= 9'(result - result_zero_point);
    parts[1] <= 9'(32'($signed(waiting[WAIT-1])) - tensor_zero_point);
    aligned[0] <= rounding_shift(high[0], right(result_shift), 0);
    aligned[1] <= rounding_shift(high[1], right(tensor_shift), 0);
    total <= aligned[0] + aligned[1];
    rounded <= rescaled;
  end
  assign sum = clamp(rounded, lowest, highest);
endmodule
