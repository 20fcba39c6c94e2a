// The way of a VECTOR lane's value to a result that is rescaled, in three stages, and limited behind them; the limits are
// those of an average and of OP_E16_ADD, too.

module dla_vector_result
  import dla_isa::*;
  import dla_fixed_point::*;
  import dla_words::*;
#(
    parameter int unsigned ELEMENT_BITS = 8
) (
    input logic clock,
    /* verilator lint_off UNUSEDSIGNAL */
    input choices_t choices,
    input vector_operands_t operands,
    /* verilator lint_on UNUSEDSIGNAL */
    input logic signed [31:0] value,
    input logic signed [31:0] beside,  // with the rescaled value: a sum of OP_E16_ADD
    input logic signed [31:0] average,  // with the result
    input logic signed [31:0] looked_up,  // these with the value
    input logic signed [31:0] between,
    input logic signed [31:0] reciprocal,
    input logic [4:0] reciprocal_right,
    input logic signed [31:0] record_multiplier,
    input logic signed [31:0] record_shift,
    output logic signed [15:0] result  // four cycles after the value
);
  logic is_negative, is_softmax16;
  logic signed [31:0] multiplier, square, rescaled, unclamped;
  logic signed [6:0] shift;
  assign is_softmax16 = ELEMENT_BITS > 8 && choices.is_softmax16;
  assign is_negative = choices.is_leaky && value < 0;
  assign shift = choices.from_record ? limit_shift(record_shift) : choices.is_share ? -7'(reciprocal_right)
      : is_softmax16 ? '0 : is_negative ? operands.in_shift[6:0] : operands.out_shift[6:0];
  always_ff @(posedge clock)
    multiplier <= choices.from_record ? record_multiplier : choices.is_share || is_softmax16 ? reciprocal
        : is_negative ? $signed(operands.in_mult) : $signed(operands.out_mult);
  dla_square squared (
      .clock,
      .takes_part(choices.is_square),
      .value,
      .shift(operands.out_shift[6:0]),
      .square
  );
  dla_rescale rescale (
      .clock,
      .value(choices.is_share ? looked_up : value),
      .shift,
      .replaces(choices.is_square || is_softmax16),
      .unshifted(is_softmax16 ? between <<< 1 : '0),
      .replacement(square),
      .multiplier,
      .added(32'(choices.zero_point)),
      .result(rescaled)
  );
  always_ff @(posedge clock) unclamped <= choices.is_sum16 ? beside : rescaled;
  assign result = 16'(clamp(choices.divides ? average : limit16(unclamped), 32'(choices.lowest), 32'(choices.highest)));
endmodule
