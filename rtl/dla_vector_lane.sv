// One lane of the VECTOR unit. `enter` takes an element of each input; three cycles later, in `compute`, both have the
// scale of their sum, and an element, a sum, or a tap of a pooling window goes into `value`. `finish` begins to rescale
// it, or to divide it, which takes four cycles; the result is ready a cycle after that.

module dla_vector_lane
  import dla_isa::*;
  import dla_fixed_point::*;
#(
    parameter int unsigned COUNT_BITS = 20  // of the elements of an average
) (
    input logic clock,
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
    output logic [7:0] element,  // in compute: that of the first input
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
  localparam int unsigned ALIGN = 3, RESCALE = 3;  // stages before compute, and before a result is clamped

  // ------------------------------------------------------------------- enter: to the scale of a sum, or otherwise
  // Shifts of words take the same way, and are not multiplied.
  logic signed [8:0] centred, centred2;  // of bytes
  logic signed [9:0] wide_centred, magnitude;
  logic signed [31:0] aligned, aligned2, entered, plain[ALIGN];
  logic shifts, is_less, divides;
  logic signed [6:0] right;
  assign divides = mode == POOL_AVERAGE || mode == POOL_AVERAGE_UP;
  assign shifts = opcode == OPCODE_OP_E32_SHIFT;
  assign right = mode == SHIFT_LEFT ? '0 : -7'(operands.shift_amount[4:0]);
  assign centred = 9'($signed(in[7:0])) - 9'($signed(operands.in_zp[7:0]));
  assign centred2 = 9'($signed(in2[7:0])) - 9'($signed(operands.in2_zp[7:0]));
  assign wide_centred = 10'(centred);
  assign magnitude = centred < 0 ? -wide_centred : wide_centred;
  assign is_less = $signed(in[7:0]) < $signed(in2[7:0]);
  dla_rescale align (
      .clock,
      .value(shifts ? in : 32'(centred)),
      .left(!shifts ? operands.left_shift[4:0] : mode == SHIFT_LEFT ? operands.shift_amount[4:0] : '0),
      .shift(shifts ? right : operands.in_shift[6:0]),
      .only_shifts(shifts),
      .rounds(!shifts || mode != SHIFT_RIGHT),
      .replaces(1'b0),
      .replacement('0),
      .multiplier($signed(operands.in_mult)),
      .result(aligned)
  );
  dla_rescale align2 (
      .clock,
      .value(32'(centred2)),
      .left(operands.left_shift[4:0]),
      .shift(operands.in2_shift[6:0]),
      .only_shifts(1'b0),
      .rounds(1'b1),
      .replaces(1'b0),
      .replacement('0),
      .multiplier($signed(operands.in2_mult)),
      .result(aligned2)
  );

  always_comb begin
    case (opcode)
      OPCODE_OP_FILL: entered = operands.fill_value;
      OPCODE_OP_E32_ADD: entered = in + in2;
      OPCODE_OP_ACT_RELU, OPCODE_OP_ACT_LRELU: entered = 32'(centred);
      OPCODE_OP_E_MUL: entered = 32'(18'(centred) * 18'(centred2));
      OPCODE_OP_E_ABS: entered = 32'(magnitude);
      OPCODE_OP_C_MIN: entered = is_less ? in : in2;
      OPCODE_OP_C_MAX: entered = is_less ? in2 : in;
      OPCODE_OP_POOL: entered = mode == POOL_MAX || divides ? in : 32'(centred);
      default: entered = in;
    endcase
  end
  always_ff @(posedge clock) begin
    plain[0] <= entered;
    for (int unsigned stage = 1; stage < ALIGN; stage++) plain[stage] <= plain[stage-1];
  end

  // --------------------------------------------------------------------------------------------------- compute
  logic signed [31:0] value, next_value, present, pooled, total;
  assign present = plain[ALIGN-1];
  assign total = aligned + (opcode == OPCODE_OP_E_ADD ? aligned2 : ~aligned2) + 32'(opcode != OPCODE_OP_E_ADD);
  assign element = present[7:0];
  always_comb begin
    pooled = first ? (mode == POOL_MAX ? -128 : 0) : value;
    if (meets) pooled = mode == POOL_MAX ? larger(pooled, present) : pooled + present;
  end

  always_comb begin
    case (opcode)
      OPCODE_OP_E32_SHIFT: next_value = aligned;
      OPCODE_OP_POOL: next_value = pooled;
      OPCODE_OP_E_ADD, OPCODE_OP_E_SUB, OPCODE_OP_E_SQDIFF: next_value = total;
      default: next_value = present;
    endcase
  end
  always_ff @(posedge clock) if (compute) value <= next_value;

  // ---------------------------------------------------------------------------------------------------- finish
  logic is_negative, from_record, is_share;
  logic signed [31:0] multiplier, square, rescaled, average;
  logic signed [6:0] shift;
  assign is_share = opcode == OPCODE_OP_SOFTMAX;
  assign is_negative = opcode == OPCODE_OP_ACT_LRELU && value < 0;
  assign from_record = opcode == OPCODE_OP_REQUANT && by_channel;
  assign shift = from_record ? limit_shift(record_shift) : is_share ? -7'(reciprocal_right)
      : is_negative ? operands.in_shift[6:0] : operands.out_shift[6:0];
  always_ff @(posedge clock)
    multiplier <= from_record ? record_multiplier : is_share ? reciprocal
        : is_negative ? $signed(operands.in_mult) : $signed(operands.out_mult);
  dla_square squared (
      .clock,
      .value,
      .shift(operands.out_shift[6:0]),
      .square
  );
  dla_rescale rescale (
      .clock,
      .value(is_share ? $signed(looked_up) : value),
      .left('0),
      .shift,
      .only_shifts(1'b0),
      .rounds(1'b1),
      .replaces(opcode == OPCODE_OP_E_SQDIFF),
      .replacement(square),
      .multiplier,
      .result(rescaled)
  );
  dla_divider #(
      .COUNT_BITS(COUNT_BITS)
  ) divide (
      .clock,
      .total(value),
      .count(pixels),
      .halves_up(mode == POOL_AVERAGE_UP),
      .average
  );

  // What needs neither waits beside them.
  logic signed [31:0] kept[RESCALE], unclamped, lowest, highest;
  logic skips, is_free;
  assign skips = opcode == OPCODE_OP_POOL && mode == POOL_MAX;
  assign lowest = is_share ? -32'sd128
      : opcode == OPCODE_OP_ACT_RELU ? larger(operands.act_min, operands.out_zp) : operands.act_min;
  assign highest = is_share ? 32'sd127 : operands.act_max;
  always_comb begin
    case (opcode)
      OPCODE_OP_FILL, OPCODE_OP_E32_SHIFT, OPCODE_OP_E32_ADD, OPCODE_OP_C_MIN, OPCODE_OP_C_MAX, OPCODE_OP_ACT_LUT:
      is_free = 1'b1;
      default: is_free = 1'b0;
    endcase
  end
  always_ff @(posedge clock) begin
    kept[0] <= opcode == OPCODE_OP_ACT_LUT ? 32'($signed(looked_up[7:0])) : value;
    for (int unsigned stage = 1; stage < RESCALE; stage++) kept[stage] <= kept[stage-1];
    unclamped <= is_free || skips ? kept[RESCALE-1] : rescaled + (is_share ? -32'sd128 : operands.out_zp);
  end
  assign result = is_free ? unclamped
      : clamp(opcode == OPCODE_OP_POOL && divides ? average : unclamped, lowest, highest);
endmodule
