// One lane of the VECTOR unit. `compute` takes an element of each input, or a tap of a pooling window, into
// `value`; `finish` rescales it; the result is ready a cycle later.

module dla_vector_lane
  import dla_isa::*;
  import dla_fixed_point::*;
(
    input logic clock,
    input logic compute,
    input logic finish,
    input logic [7:0] opcode,
    input logic [1:0] mode,
    input logic by_channel,
    // The lane needs only the registers of arithmetic, none of those that place operands.
    /* verilator lint_off UNUSEDSIGNAL */
    input vector_operands_t operands,
    /* verilator lint_on UNUSEDSIGNAL */
    input logic first,  // in compute: the first tap
    input logic meets,  // in compute: the tap meets the input
    input logic signed [31:0] in,  // in compute
    input logic signed [31:0] in2,
    input logic [31:0] pixels,  // in finish: taps of the window that met the input
    input logic [31:0] looked_up,  // in finish: the table's entry; of a table of bytes the lowest 8 bits
    input logic signed [31:0] reciprocal,  // in finish: of a row's sum, and the shift that follows
    input logic [4:0] reciprocal_right,
    input logic signed [31:0] record_multiplier,
    input logic signed [31:0] record_shift,
    output logic [31:0] result
);
  /* verilator no_inline_module */  // compiled once for all lanes
  // --------------------------------------------------------------------------------------------------- compute
  logic signed [31:0] value, next_value, centred, centred2, pooled;
  assign centred = in - operands.in_zp;
  assign centred2 = in2 - operands.in2_zp;

  // Both inputs of a sum on its common scale, and what they differ by
  logic signed [31:0] aligned, aligned2, difference;
  assign aligned = requant(centred <<< operands.left_shift[4:0], $signed(operands.in_mult), operands.in_shift);
  assign aligned2 = requant(centred2 <<< operands.left_shift[4:0], $signed(operands.in2_mult), operands.in2_shift);
  assign difference = aligned - aligned2;

  // One multiplier for products and squares
  logic squares;
  logic signed [31:0] product;
  assign squares = opcode == OPCODE_OP_E_SQDIFF;
  assign product = (squares ? difference : centred) * (squares ? difference : centred2);

  always_comb begin
    pooled = first ? (mode == POOL_MAX ? -128 : 0) : value;
    if (meets)
      case (mode)
        POOL_MAX: pooled = larger(pooled, in);
        POOL_AVERAGE, POOL_AVERAGE_UP: pooled = pooled + in;
        default: pooled = pooled + centred;
      endcase
  end

  always_comb begin
    case (opcode)
      OPCODE_OP_FILL: next_value = operands.fill_value;
      OPCODE_OP_E32_SHIFT:
      case (mode)
        SHIFT_LEFT: next_value = in << operands.shift_amount[4:0];
        SHIFT_RIGHT: next_value = in >>> operands.shift_amount[4:0];
        default: next_value = rounding_shift(in, operands.shift_amount[4:0]);
      endcase
      OPCODE_OP_E32_ADD: next_value = in + in2;
      OPCODE_OP_POOL: next_value = pooled;
      OPCODE_OP_ACT_RELU, OPCODE_OP_ACT_LRELU: next_value = centred;
      OPCODE_OP_E_ADD: next_value = aligned + aligned2;
      OPCODE_OP_E_SUB: next_value = difference;
      OPCODE_OP_E_MUL, OPCODE_OP_E_SQDIFF: next_value = product;
      OPCODE_OP_E_ABS: next_value = centred < 0 ? -centred : centred;
      OPCODE_OP_C_MIN: next_value = in < in2 ? in : in2;
      OPCODE_OP_C_MAX: next_value = in > in2 ? in : in2;
      default: next_value = in;  // OP_REQUANT
    endcase
  end

  // ---------------------------------------------------------------------------------------------------- finish
  logic is_negative, from_record, is_share;
  logic signed [31:0] multiplier, shift, lowest, rescaled, next_result;
  assign is_share = opcode == OPCODE_OP_SOFTMAX;
  assign is_negative = opcode == OPCODE_OP_ACT_LRELU && value < 0;
  assign from_record = opcode == OPCODE_OP_REQUANT && by_channel;
  assign multiplier = from_record ? record_multiplier : is_share ? reciprocal
      : is_negative ? $signed(operands.in_mult) : $signed(operands.out_mult);
  assign shift = from_record ? record_shift : is_share ? -32'(reciprocal_right) : is_negative ? operands.in_shift : operands.out_shift;
  assign lowest = opcode == OPCODE_OP_ACT_RELU ? larger(operands.act_min, operands.out_zp) : operands.act_min;
  assign rescaled = requant(is_share ? $signed(looked_up) : value, multiplier, shift)
      + (is_share ? -32'sd128 : operands.out_zp);

  always_comb begin
    case (opcode)
      OPCODE_OP_FILL, OPCODE_OP_E32_SHIFT, OPCODE_OP_E32_ADD, OPCODE_OP_C_MIN, OPCODE_OP_C_MAX:
      next_result = value;
      OPCODE_OP_ACT_LUT: next_result = 32'($signed(looked_up[7:0]));
      OPCODE_OP_SOFTMAX: next_result = clamp(rescaled, -32'sd128, 32'sd127);
      OPCODE_OP_POOL:
      case (mode)
        POOL_MAX: next_result = clamp(value, lowest, operands.act_max);
        POOL_AVERAGE: next_result = clamp(rounded_average(value, pixels), lowest, operands.act_max);
        POOL_AVERAGE_UP: next_result = clamp(average_up(value, pixels), lowest, operands.act_max);
        default: next_result = clamp(rescaled, lowest, operands.act_max);
      endcase
      default: next_result = clamp(rescaled, lowest, operands.act_max);
    endcase
  end

  always_ff @(posedge clock) begin
    if (compute) value <= next_value;
    if (finish) result <= next_result;
  end
endmodule
