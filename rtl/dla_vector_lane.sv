// One lane of the VECTOR unit. `enter` takes an element of each input; three cycles later, in `compute`, both have the
// scale of their sum, and an element, a sum, or a tap of a pooling window goes into `value`. `finish` begins to rescale
// it, or to divide it, which takes four cycles; the result is ready a cycle after that.

module dla_vector_lane
  import dla_isa::*;
  import dla_fixed_point::*;
#(
    parameter int unsigned COUNT_BITS = 20,  // of the elements of an average
    parameter int unsigned ELEMENT_BITS = 8  // of the widest with a scale
) (
    input logic clock,
    /* verilator lint_off UNUSEDSIGNAL */
    input logic int16,
    /* verilator lint_on UNUSEDSIGNAL */
    input logic compute,
    input logic [7:0] opcode,
    input logic [1:0] mode,
    input logic by_channel,
    // The lane needs only the registers of arithmetic, none of those that place operands.
    /* verilator lint_off UNUSEDSIGNAL */
    input vector_operands_t operands,
    /* verilator lint_on UNUSEDSIGNAL */
    input logic signed [31:0] in,  // in enter
    input logic signed [31:0] in2,
    /* verilator lint_off UNUSEDSIGNAL */
    input logic signed [31:0] greatest,  // in enter: of OP_E16_SOFTMAX
    /* verilator lint_on UNUSEDSIGNAL */
    output logic [15:0] element,  // in compute: that of the first input
    output logic [8:0] table_entry,  // in compute: of a table that is interpolated
    output logic signed [31:0] between,  // in finish: what that gives, for int16
    input logic first,  // in compute: the first tap
    input logic meets,  // in compute: the tap meets the input
    input logic [COUNT_BITS-1:0] pixels,  // in finish: taps of the window that met the input
    input logic [31:0] looked_up,  // in finish: the table's entry; of a table of bytes the lowest 8 bits
    input logic signed [31:0] reciprocal,  // in finish: of a row's sum, and the shift that follows
    input logic [4:0] reciprocal_right,
    input logic signed [31:0] record_multiplier,
    input logic signed [31:0] record_shift,
    output logic [31:0] result
);
  /* verilator no_inline_module */  // compiled once for all lanes
  localparam int unsigned RESCALE = 3;  // stages before a result is clamped; as many before compute
  localparam logic [23:0] LAST_ENTRY = 24'd255;  // of a table

  // ------------------------------------------------------------------- enter: to the scale of a sum, or otherwise
  logic signed [ELEMENT_BITS:0] centred, centred2;
  logic signed [ELEMENT_BITS+1:0] wide_centred, magnitude;
  logic signed [31:0] scaled, scaled2, entered, plain, present;
  logic [4:0] scaled_right, scaled2_right;
  // What the operation is stands in registers, long before its first element comes.
  logic is_sum16, is_sigmoid, is_square, is_tanh, is_less, divides, rounds, shifts, is_softmax16, is_curve;
  always_ff @(posedge clock) begin
    is_sum16 <= opcode == OPCODE_OP_E16_ADD;
    is_sigmoid <= opcode == OPCODE_OP_E16_SIGMOID;
    is_square <= opcode == OPCODE_OP_E_SQDIFF;
    is_softmax16 <= ELEMENT_BITS > 8 && opcode == OPCODE_OP_E16_SOFTMAX;
    is_curve <= ELEMENT_BITS > 8 && (opcode == OPCODE_OP_E16_SOFTMAX || opcode == OPCODE_OP_E16_LUT);
    rounds <= opcode == OPCODE_OP_E32_SHIFT && mode == SHIFT_RIGHT_ROUND;
    shifts <= opcode == OPCODE_OP_E16_SIGMOID || (opcode == OPCODE_OP_E32_SHIFT && (mode == SHIFT_RIGHT || mode == SHIFT_RIGHT_ROUND));
  end
  assign is_tanh = mode[0] == SIGMOID_TANH;
  assign centred = (ELEMENT_BITS + 1)'($signed(in[ELEMENT_BITS-1:0])) - (ELEMENT_BITS + 1)'($signed(operands.in_zp[7:0]));
  assign centred2 = (ELEMENT_BITS + 1)'($signed(in2[ELEMENT_BITS-1:0])) - (ELEMENT_BITS + 1)'($signed(operands.in2_zp[7:0]));
  assign wide_centred = (ELEMENT_BITS + 2)'(centred);
  assign magnitude = centred < 0 ? -wide_centred : wide_centred;
  assign is_less = $signed(in[7:0]) < $signed(in2[7:0]);
  assign divides = mode == POOL_AVERAGE || mode == POOL_AVERAGE_UP;
  dla_scale align (
      .clock,
      .value(is_sum16 ? in : is_softmax16 ? in - greatest : 32'(centred)),
      .left(is_sum16 || is_softmax16 ? '0 : operands.left_shift[4:0]),
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
      .value(is_sum16 ? in2 : 32'(centred2)),
      .left(is_sum16 ? '0 : operands.left_shift[4:0]),
      .shift(operands.in2_shift[6:0]),
      .replaces(1'b0),
      .unshifted('0),
      .replacement('0),
      .multiplier($signed(operands.in2_mult)),
      .scaled(scaled2),
      .right(scaled2_right)
  );

  // One multiplier: of bytes, of 16-bit numbers, or of one with the factor of OP_E16_SIGMOID, which has no sign
  logic signed [16:0] left_factor, right_factor;
  logic signed [31:0] product;
  assign left_factor = opcode == OPCODE_OP_E_MUL ? 17'(centred) : 17'($signed(in[15:0]));
  assign right_factor = opcode == OPCODE_OP_E_MUL ? 17'(centred2)
      : is_sigmoid ? $signed({1'b0, operands.in_mult[15:0]}) : 17'($signed(in2[15:0]));
  assign product = 32'(left_factor) * 32'(right_factor);

  always_comb begin
    case (opcode)
      OPCODE_OP_FILL: entered = operands.fill_value;
      OPCODE_OP_E32_SHIFT: entered = mode == SHIFT_LEFT ? in << operands.shift_amount[4:0] : in;
      OPCODE_OP_E32_ADD: entered = in + in2;
      OPCODE_OP_ACT_RELU, OPCODE_OP_ACT_LRELU: entered = 32'(centred);
      OPCODE_OP_E_MUL, OPCODE_OP_E16_MUL, OPCODE_OP_E16_SIGMOID: entered = product;
      OPCODE_OP_E_ABS: entered = 32'(magnitude);
      OPCODE_OP_C_MIN: entered = is_less ? in : in2;
      OPCODE_OP_C_MAX: entered = is_less ? in2 : in;
      OPCODE_OP_POOL: entered = mode == POOL_MAX || divides ? in : 32'(centred);
      default: entered = in;
    endcase
  end
  // Shifts to the right, with half of what is lost; of OP_E16_SIGMOID the place in the table, without its sign
  logic signed [32:0] half, raised, unshifted, place;
  logic minus;
  assign half = rounds || is_sigmoid ? $signed((33'd1 << operands.shift_amount[4:0]) >> 1) : '0;
  assign unshifted = is_sigmoid ? 33'($signed(raised[31:0])) : raised;
  assign place = shifts ? unshifted >>> operands.shift_amount[4:0] : unshifted;
  always_ff @(posedge clock) begin
    plain <= entered;
    raised <= 33'(plain) + half - 33'(rounds && plain < 0 && operands.shift_amount[4:0] != 0);
    present <= is_sigmoid && place < 0 ? 32'(-place) : place[31:0];
    minus <= place < 0;
  end

  // --------------------------------------------------------------------------------------------------- compute
  logic signed [31:0] value, next_value, pooled, total;
  // A sum of what is below both, and of the bits by which these are rounded; a difference of complements. Of OP_E16_ADD
  // they are limited before.
  logic [32:0] parts, parts2, first_part, second_part;
  logic subtracts;
  assign subtracts = opcode == OPCODE_OP_E_SUB || is_square;
  assign {parts, parts2} = {shifted(scaled, scaled_right), shifted(scaled2, scaled2_right) ^ {33{subtracts}}};
  assign first_part = is_sum16 ? limit16_parts(parts) : parts;
  assign second_part = is_sum16 ? limit16_parts(parts2) : parts2;
  assign total = $signed(first_part[32:1]) + $signed(second_part[32:1]) + 32'(first_part[0]) + 32'(second_part[0]);
  logic [23:0] entry;  // with the bits that lie beyond the table
  assign entry = is_tanh ? present[31:8] : {1'b0, present[31:9]};
  logic [15:0] curve_place;  // in a table of 512 entries, each with 128 steps to the next
  assign curve_place = 16'h8000 ^ (is_softmax16 ? 16'(limit16(rounding_shift(scaled, scaled_right, 32'sd32767))) : present[15:0]);
  assign element = present[15:0];
  assign table_entry = is_curve ? curve_place[15:7] : {1'b0, entry > LAST_ENTRY ? LAST_ENTRY[7:0] : entry[7:0]};
  always_comb begin
    pooled = first ? (mode == POOL_MAX ? -(32'sd1 <<< (ELEMENT_BITS - 1)) : 0) : value;
    if (meets) pooled = mode == POOL_MAX ? larger(pooled, present) : pooled + present;
  end

  always_comb begin
    case (opcode)
      OPCODE_OP_POOL: next_value = pooled;
      OPCODE_OP_E_ADD, OPCODE_OP_E_SUB, OPCODE_OP_E_SQDIFF, OPCODE_OP_E16_ADD: next_value = total;
      default: next_value = is_curve ? 32'(curve_place[6:0]) : present;
    endcase
  end
  logic value_minus, leaves_table, is_beyond;  // of OP_E16_SIGMOID: beyond the table
  logic [8:0] fraction;  // of the step from an entry to the next
  assign leaves_table = entry >= LAST_ENTRY;
  always_ff @(posedge clock) begin
    if (compute) begin
      value <= next_value;
      {value_minus, is_beyond} <= {minus, leaves_table};
      fraction <= is_curve ? 9'(curve_place[6:0]) : leaves_table ? '0 : {present[8] && !is_tanh, present[7:0]};
    end
  end

  // ---------------------------------------------------------------------------------------------------- finish
  logic is_negative, from_record, is_share;
  logic signed [31:0] multiplier, square, rescaled, average;
  logic signed [6:0] shift;
  assign is_share = opcode == OPCODE_OP_SOFTMAX;
  assign is_negative = opcode == OPCODE_OP_ACT_LRELU && value < 0;
  assign from_record = opcode == OPCODE_OP_REQUANT && by_channel;
  assign shift = from_record ? limit_shift(record_shift) : is_share ? -7'(reciprocal_right) : is_softmax16 ? '0
      : is_negative ? operands.in_shift[6:0] : operands.out_shift[6:0];
  always_ff @(posedge clock)
    multiplier <= from_record ? record_multiplier : is_share || is_softmax16 ? reciprocal
        : is_negative ? $signed(operands.in_mult) : $signed(operands.out_mult);
  dla_square squared (
      .clock,
      .takes_part(is_square),
      .value,
      .shift(operands.out_shift[6:0]),
      .square
  );
  dla_rescale rescale (
      .clock,
      .value(is_share ? $signed(looked_up) : value),
      .shift,
      .replaces(is_square || is_softmax16),
      .unshifted(is_softmax16 ? between <<< 1 : '0),
      .replacement(square),
      .multiplier,
      .added(is_share ? -32'sd128 : is_softmax16 ? '0 : operands.out_zp),
      .result(rescaled)
  );
  dla_divider #(
      .COUNT_BITS(COUNT_BITS),
      .QUOTIENT_BITS(ELEMENT_BITS)
  ) divide (
      .clock,
      .total(value),
      .count(pixels),
      .halves_up(mode == POOL_AVERAGE_UP),
      .average
  );

  // What needs neither waits beside them.
  logic signed [31:0] kept[RESCALE], unclamped, lowest, highest;
  logic skips, is_free, has_int16;
  assign has_int16 = ELEMENT_BITS > 8 && int16;
  assign skips = opcode == OPCODE_OP_POOL && mode == POOL_MAX;
  assign lowest = is_share ? -32'sd128 : is_softmax16 ? '0
      : has_int16 ? operands.act_min << 8
      : opcode == OPCODE_OP_ACT_RELU ? larger(operands.act_min, operands.out_zp) : operands.act_min;
  assign highest = is_share ? 32'sd127 : is_softmax16 ? 32'sd32767 : has_int16 ? $signed({operands.act_max[23:0], 8'hff}) : operands.act_max;
  always_comb begin
    case (opcode)
      OPCODE_OP_FILL, OPCODE_OP_E32_SHIFT, OPCODE_OP_E32_ADD, OPCODE_OP_C_MIN, OPCODE_OP_C_MAX, OPCODE_OP_ACT_LUT,
      OPCODE_OP_E16_ADD, OPCODE_OP_E16_MUL, OPCODE_OP_E16_SIGMOID, OPCODE_OP_E16_LUT:
      is_free = 1'b1;
      default: is_free = 1'b0;
    endcase
  end
  // OP_E16_ADD: the limits of the sum
  logic signed [31:0] limited;
  assign limited = clamp(value, -$signed({15'd0, operands.limit[16:0]}), operands.limit[15] ? 32'sd32767 : $signed({16'd0, operands.limit[15:0]}));
  // OP_E16_SIGMOID: between the entries of the table; the next stage rounds that and gives it the sign. The tables of other
  // instructions for int16 have signed entries, and the steps between them half as many bits.
  logic [31:0] between_first;
  logic signed [31:0] segment, added;
  logic kept_minus;
  logic signed [16:0] between_rest;
  assign between_first = !is_beyond ? 32'(looked_up[15:0]) : is_tanh ? 32'd65535 : 32'd65534;
  assign between_rest = is_curve ? 17'($signed(looked_up[31:16])) : 17'(looked_up[25:16]);
  assign added = is_curve ? 32'sd64 : $signed(is_tanh ? between_first << 8 : between_first << 9);
  assign segment = 32'($signed({1'b0, fraction})) * 32'(between_rest) + added;
  assign between = 32'($signed(looked_up[15:0])) + (segment >>> 7);
  function automatic logic signed [31:0] rounded_sigmoid(input logic signed [31:0] found, input logic is_minus, tanh_);
    logic signed [31:0] sum;
    if (tanh_) sum = is_minus ? 32'sd8388608 + 32'sd127 - found : found - 32'sd8388608 + 32'sd128;
    else sum = is_minus ? 32'sd33554432 + 32'sd511 - found : found + 32'sd512;
    return tanh_ ? sum >>> 8 : sum >>> 10;
  endfunction
  always_ff @(posedge clock) begin
    kept[0] <= opcode == OPCODE_OP_ACT_LUT ? 32'($signed(looked_up[7:0])) : is_sigmoid ? segment : is_curve ? between : is_sum16 ? limited : value;
    kept_minus <= value_minus;
    kept[1] <= is_sigmoid ? rounded_sigmoid(kept[0], kept_minus, is_tanh) : kept[0];
    kept[2] <= kept[1];
    unclamped <= is_free || skips ? kept[RESCALE-1] : rescaled;
  end
  assign result = is_free ? unclamped
      : clamp(opcode == OPCODE_OP_POOL && divides ? average : unclamped, lowest, highest);
endmodule
