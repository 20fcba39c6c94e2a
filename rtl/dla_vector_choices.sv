// What all lanes of the VECTOR unit do alike, which follows from the operation: decoded once, in a cycle long before its
// first element comes.

module dla_vector_choices
  import dla_isa::*;
  import dla_words::*;
#(
    parameter int unsigned ELEMENT_BITS = 8
) (
    input logic clock,
    input logic [7:0] opcode,
    input logic [1:0] mode,
    input logic by_channel,
    input logic int16,
    /* verilator lint_off UNUSEDSIGNAL */
    input vector_operands_t operands,  // those of arithmetic
    /* verilator lint_on UNUSEDSIGNAL */
    output choices_t choices
);
  choices_t next;
  logic is_pool, is_shift, has_int16;
  logic signed [15:0] act_min, act_max;
  logic [4:0] amount;
  assign is_pool = opcode == OPCODE_OP_POOL;
  assign is_shift = opcode == OPCODE_OP_E32_SHIFT;
  assign has_int16 = ELEMENT_BITS > 8 && int16;
  assign act_min = has_int16 ? $signed({operands.act_min[7:0], 8'h00}) : 16'($signed(operands.act_min[7:0]));
  assign act_max = has_int16 ? $signed({operands.act_max[7:0], 8'hff}) : 16'($signed(operands.act_max[7:0]));
  assign amount = operands.shift_amount[4:0];
  always_comb begin
    next = '0;
    next.adds = opcode == OPCODE_OP_E32_ADD;
    next.multiplies_centred = opcode == OPCODE_OP_E_MUL;
    next.multiplies = opcode == OPCODE_OP_E_MUL || opcode == OPCODE_OP_E16_MUL || opcode == OPCODE_OP_E16_SIGMOID;
    next.takes_less = opcode == OPCODE_OP_C_MIN;
    next.takes_more = opcode == OPCODE_OP_C_MAX;
    next.fills = opcode == OPCODE_OP_FILL;
    next.takes_magnitude = opcode == OPCODE_OP_E_ABS || opcode == OPCODE_OP_E16_SIGMOID;
    next.is_sigmoid = opcode == OPCODE_OP_E16_SIGMOID;
    next.is_tanh = mode[0] == SIGMOID_TANH;
    next.is_sum16 = opcode == OPCODE_OP_E16_ADD;
    next.is_square = opcode == OPCODE_OP_E_SQDIFF;
    next.subtracts = opcode == OPCODE_OP_E_SUB || next.is_square;
    next.sums = opcode == OPCODE_OP_E_ADD || next.subtracts || next.is_sum16;
    next.is_softmax16 = ELEMENT_BITS > 8 && opcode == OPCODE_OP_E16_SOFTMAX;
    next.is_curve = ELEMENT_BITS > 8 && (opcode == OPCODE_OP_E16_SOFTMAX || opcode == OPCODE_OP_E16_LUT);
    next.is_share = opcode == OPCODE_OP_SOFTMAX;
    next.is_leaky = opcode == OPCODE_OP_ACT_LRELU;
    next.looks_up = opcode == OPCODE_OP_ACT_LUT;
    next.from_record = opcode == OPCODE_OP_REQUANT && by_channel;
    next.pools = is_pool;
    next.is_greatest = is_pool && mode == POOL_MAX;
    next.divides = is_pool && (mode == POOL_AVERAGE || mode == POOL_AVERAGE_UP);
    next.halves_up = mode == POOL_AVERAGE_UP;
    next.centres = opcode == OPCODE_OP_ACT_RELU || opcode == OPCODE_OP_ACT_LRELU || opcode == OPCODE_OP_E_ABS
        || (is_pool && !next.is_greatest && !next.divides);
    // Results without limits, or with those that the lane gives them
    case (opcode)
      OPCODE_OP_FILL, OPCODE_OP_E32_SHIFT, OPCODE_OP_E32_ADD, OPCODE_OP_C_MIN, OPCODE_OP_C_MAX, OPCODE_OP_ACT_LUT,
      OPCODE_OP_E16_MUL, OPCODE_OP_E16_SIGMOID, OPCODE_OP_E16_LUT:
      next.is_free = 1'b1;
      default: next.is_free = next.is_greatest;
    endcase
    next.shifts_left = is_shift && mode == SHIFT_LEFT;
    next.turn = next.shifts_left ? -amount : is_shift || next.is_sigmoid ? amount : '0;
    next.stays = next.shifts_left ? 32'hffffffff << amount : 32'hffffffff >> next.turn;
    next.rounds = amount != 0 && (next.is_sigmoid || (is_shift && mode == SHIFT_RIGHT_ROUND));
    next.zero_point = next.is_share ? -9'sd128 : next.is_softmax16 ? '0 : 9'($signed(operands.out_zp[7:0]));
    next.lowest = act_min;
    next.highest = act_max;
    if (next.is_sum16) begin
      next.lowest = -16'(operands.limit[15:0]);
      next.highest = operands.limit[15] ? 16'sd32767 : $signed(operands.limit[15:0]);
    end else if (next.is_share) {next.lowest, next.highest} = {-16'sd128, 16'sd127};
    else if (next.is_softmax16) {next.lowest, next.highest} = {16'sd0, 16'sd32767};
    else if (opcode == OPCODE_OP_ACT_RELU && !has_int16 && $signed(operands.out_zp[7:0]) > $signed(operands.act_min[7:0]))
      next.lowest = 16'($signed(operands.out_zp[7:0]));
  end
  always_ff @(posedge clock) choices <= next;
endmodule
