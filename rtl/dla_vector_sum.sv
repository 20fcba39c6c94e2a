// Two inputs of a VECTOR lane at the scale of their sum, and that sum or their difference, three cycles after they entered;
// of OP_E16_SOFTMAX how far an element lies from the greatest of its row, as a place in a table.

module dla_vector_sum
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
    input logic signed [31:0] greatest,
    /* verilator lint_on UNUSEDSIGNAL */
    input logic signed [31:0] in,
    input logic signed [31:0] in2,
    output logic signed [31:0] total,
    output logic [15:0] place
);
  logic signed [ELEMENT_BITS:0] centred, centred2;
  logic signed [31:0] scaled, scaled2;
  logic [4:0] scaled_right, scaled2_right;
  logic is_softmax16;
  assign is_softmax16 = ELEMENT_BITS > 8 && choices.is_softmax16;
  assign centred = (ELEMENT_BITS + 1)'($signed(in[ELEMENT_BITS-1:0])) - (ELEMENT_BITS + 1)'($signed(operands.in_zp[7:0]));
  assign centred2 = (ELEMENT_BITS + 1)'($signed(in2[ELEMENT_BITS-1:0])) - (ELEMENT_BITS + 1)'($signed(operands.in2_zp[7:0]));
  dla_scale align (
      .clock,
      .value(choices.is_sum16 ? in : is_softmax16 ? in - greatest : 32'(centred)),
      .left(choices.is_sum16 || is_softmax16 ? '0 : operands.left_shift[4:0]),
      .shift(operands.in_shift[6:0]),
      .replaces(1'b0),
      .unshifted('0),
      .replacement('0),
      .multiplier($signed(operands.in_mult)),
      .scaled,
      .right(scaled_right)
  );
  dla_scale align2 (
      .clock,
      .value(choices.is_sum16 ? in2 : 32'(centred2)),
      .left(choices.is_sum16 ? '0 : operands.left_shift[4:0]),
      .shift(operands.in2_shift[6:0]),
      .replaces(1'b0),
      .unshifted('0),
      .replacement('0),
      .multiplier($signed(operands.in2_mult)),
      .scaled(scaled2),
      .right(scaled2_right)
  );

  // A sum of what is below both, and of the bits by which these are rounded; a difference of complements. Of OP_E16_ADD
  // they are limited before.
  logic [32:0] parts, parts2, first_part, second_part;
  assign {parts, parts2} = {shifted(scaled, scaled_right), shifted(scaled2, scaled2_right) ^ {33{choices.subtracts}}};
  assign first_part = choices.is_sum16 ? limit16_parts(parts) : parts;
  assign second_part = choices.is_sum16 ? limit16_parts(parts2) : parts2;
  assign total = $signed(first_part[32:1]) + $signed(second_part[32:1]) + 32'(first_part[0]) + 32'(second_part[0]);
  assign place = ELEMENT_BITS == 8 ? '0 : 16'(limit16(rounding_shift(scaled, scaled_right, 32'sd32767)));
endmodule
