// One lane of the VECTOR unit. `enter` takes an element of each input; three cycles later, in `compute`, both have the
// scale of their sum, and an element, a sum, or a tap of a pooling window goes into `value`. `finish` begins to rescale
// it, or to divide it, which takes four cycles; the result is ready a cycle after that.
//
// What a machine with an output stage shares among lanes stands in modules of its own: `dla_vector_sum`,
// `dla_vector_result` and `dla_divider`.

module dla_vector_lane
  import dla_isa::*;
  import dla_fixed_point::*;
  import dla_words::*;
#(
    parameter int unsigned COUNT_BITS = 20,  // of the elements of an average
    parameter int unsigned ELEMENT_BITS = 8  // of the widest with a scale
) (
    input logic clock,
    input logic compute,
    input choices_t choices,
    // The lane needs only the registers of arithmetic, none of those that place operands.
    /* verilator lint_off UNUSEDSIGNAL */
    input vector_operands_t operands,
    /* verilator lint_on UNUSEDSIGNAL */
    input logic signed [31:0] in,  // in enter
    input logic signed [31:0] in2,
    input logic signed [31:0] greatest,  // in enter: of OP_E16_SOFTMAX
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
  localparam int unsigned FOUND_BITS = 28;  // of what OP_E16_SIGMOID finds between entries

  logic is_softmax16, is_curve;  // of a machine with int16
  assign is_softmax16 = ELEMENT_BITS > 8 && choices.is_softmax16;
  assign is_curve = ELEMENT_BITS > 8 && choices.is_curve;

  // ------------------------------------------------------------------- enter: to the scale of a sum, or otherwise
  logic signed [31:0] total;
  logic [15:0] scaled_place;
  dla_vector_sum #(
      .ELEMENT_BITS(ELEMENT_BITS)
  ) sum (
      .clock, .choices, .operands, .in, .in2, .greatest, .total, .place(scaled_place)
  );

  // One multiplier: of bytes, of 16-bit numbers, or of one with the factor of OP_E16_SIGMOID, which has no sign
  logic signed [ELEMENT_BITS:0] centred, centred2;
  localparam int unsigned LEFT_BITS = ELEMENT_BITS > 8 ? 17 : 16;  // an element of int16 less a zero point has 17
  logic signed [LEFT_BITS-1:0] left_factor;
  logic signed [16:0] right_factor;
  logic [31:0] product;
  assign centred = (ELEMENT_BITS + 1)'($signed(in[ELEMENT_BITS-1:0])) - (ELEMENT_BITS + 1)'($signed(operands.in_zp[7:0]));
  assign centred2 = (ELEMENT_BITS + 1)'($signed(in2[ELEMENT_BITS-1:0])) - (ELEMENT_BITS + 1)'($signed(operands.in2_zp[7:0]));
  assign left_factor = choices.multiplies_centred ? LEFT_BITS'(centred) : LEFT_BITS'($signed(in[15:0]));
  assign right_factor = choices.multiplies_centred ? 17'(centred2)
      : choices.is_sigmoid ? $signed({1'b0, operands.in_mult[15:0]}) : 17'($signed(in2[15:0]));
  dla_multiplier #(
      .VALUE_BITS(17),
      .DIGITS_BITS(LEFT_BITS),
      .BITS(32)
  ) multiply (
      .value(right_factor), .digits(left_factor), .added('0), .product
  );

  // Or one adder. The smaller or larger of two bytes is a byte, and what fills a tensor an element.
  logic is_less;
  logic signed [31:0] addend, entered;
  assign is_less = $signed(in[7:0]) < $signed(in2[7:0]);
  assign addend = choices.adds ? in2 : choices.centres ? -32'($signed(operands.in_zp[7:0])) : '0;
  always_comb begin
    entered = choices.multiplies ? $signed(product) : in + addend;
    if (choices.takes_less && !is_less || choices.takes_more && is_less) entered[7:0] = in2[7:0];
    if (choices.fills) entered[ELEMENT_BITS-1:0] = ELEMENT_BITS'($signed(operands.fill_value[7:0]));
  end
  // Shifts to either side: the number is turned, and bits that have come around the end are those that it loses. Rounded
  // halves go up, or away from zero. Of a negative number whose magnitude is wanted the complement is one less.
  logic signed [31:0] plain, turned, moved, present;
  logic is_minus, flips, rounds_up, carries, present_minus;
  assign flips = choices.takes_magnitude && is_minus;
  assign moved = (turned & choices.stays) | ({32{is_minus && !choices.shifts_left}} & ~choices.stays);
  assign rounds_up = choices.rounds && turned[31]
      && (choices.is_sigmoid || !is_minus || (turned[30:0] & ~choices.stays[30:0]) != 0);
  assign carries = rounds_up ^ flips;
  always_ff @(posedge clock) begin
    plain <= entered;
    turned <= 32'({plain, plain} >> choices.turn);
    is_minus <= plain < 0;
    present <= (moved ^ {32{flips}}) + 32'(carries);
    present_minus <= flips;
  end

  // --------------------------------------------------------------------------------------------------- compute
  logic signed [31:0] value, so_far, pooled;
  logic [23:0] entry;  // with the bits that lie beyond the table
  assign entry = choices.is_tanh ? present[31:8] : {1'b0, present[31:9]};
  logic [15:0] curve_place;  // in a table of 512 entries, each with 128 steps to the next
  assign curve_place = 16'h8000 ^ (is_softmax16 ? scaled_place : present[15:0]);
  assign element = present[15:0];
  assign table_entry = is_curve ? curve_place[15:7] : {1'b0, entry > LAST_ENTRY ? LAST_ENTRY[7:0] : entry[7:0]};
  // A window begins with 0, or with the least result; what is no window has one tap.
  always_comb begin
    so_far = choices.is_greatest ? 32'(choices.lowest) : '0;
    if (choices.pools && !first) so_far = value;
    pooled = so_far + (meets || !choices.pools ? present : '0);
    if (choices.is_greatest)
      pooled[ELEMENT_BITS-1:0] = meets && $signed(present[ELEMENT_BITS-1:0]) > $signed(so_far[ELEMENT_BITS-1:0])
          ? present[ELEMENT_BITS-1:0] : so_far[ELEMENT_BITS-1:0];
  end
  logic value_minus, leaves_table, is_beyond;  // of OP_E16_SIGMOID: beyond the table
  logic [8:0] fraction;  // of the step from an entry to the next
  assign leaves_table = entry >= LAST_ENTRY;
  always_ff @(posedge clock) begin
    if (compute) begin
      value <= choices.sums ? total : is_curve ? 32'(curve_place[6:0]) : pooled;
      // A sum that is rounded beyond the largest number is negative.
      value_minus <= (present & (~(choices.stays >> 1) | {32{present_minus}})) != 0;
      is_beyond <= leaves_table;
      fraction <= is_curve ? 9'(curve_place[6:0])
          : leaves_table ? '0 : {present[8] && !choices.is_tanh, present[7:0]};
    end
  end

  // ---------------------------------------------------------------------------------------------------- finish
  logic signed [31:0] average, kept[RESCALE+1];
  logic signed [15:0] scaled_result;
  dla_divider #(
      .COUNT_BITS(COUNT_BITS),
      .QUOTIENT_BITS(ELEMENT_BITS)
  ) divide (
      .clock,
      .total(value),
      .count(pixels),
      .halves_up(choices.halves_up),
      .average
  );
  dla_vector_result #(
      .ELEMENT_BITS(ELEMENT_BITS)
  ) scale_result (
      .clock, .choices, .operands, .value, .beside(kept[RESCALE-1]), .average,
      .looked_up($signed(looked_up)), .between, .reciprocal, .reciprocal_right, .record_multiplier, .record_shift,
      .result(scaled_result)
  );

  // What needs neither waits beside them. OP_E16_SIGMOID: between the entries of the table; the next stage rounds that and
  // gives it the sign. The tables of other instructions for int16 have signed entries, and the steps between them half as
  // many bits.
  localparam int unsigned REST_BITS = ELEMENT_BITS > 8 ? 17 : 11;  // that of OP_E16_SIGMOID has ten, and no sign
  logic signed [31:0] added, waiting;
  logic [31:0] segment;
  logic [31:0] between_first;
  logic kept_minus;
  logic signed [REST_BITS-1:0] between_rest;
  logic signed [FOUND_BITS-1:0] found, offset;
  logic signed [31:0] signed_found;
  assign between_first = !is_beyond ? 32'(looked_up[15:0]) : choices.is_tanh ? 32'd65535 : 32'd65534;
  assign between_rest = is_curve ? REST_BITS'($signed(looked_up[31:16])) : REST_BITS'(looked_up[25:16]);
  assign added = is_curve ? 32'sd64 : $signed(choices.is_tanh ? between_first << 8 : between_first << 9);
  dla_multiplier #(
      .VALUE_BITS(REST_BITS),
      .DIGITS_BITS(10),
      .BITS(32),
      .ADDED('1)
  ) step (
      .value(between_rest), .digits($signed({1'b0, fraction})), .added(added), .product(segment)
  );
  // 0 has a sign, or the shift would have none.
  assign between = ELEMENT_BITS == 8 ? 32'sd0 : 32'($signed(looked_up[15:0])) + ($signed(segment) >>> 7);
  // 2^23 or 2^25 less what was found, which is its complement and 1; or what was found, less 2^23 or as it is
  assign found = FOUND_BITS'(kept[0]) ^ {FOUND_BITS{kept_minus}};
  assign offset = choices.is_tanh ? (kept_minus ? 28'sd8388608 + 28'sd128 : 28'sd128 - 28'sd8388608)
      : kept_minus ? 28'sd33554432 + 28'sd512 : 28'sd512;
  assign signed_found = 32'(found) + 32'(offset);
  always_comb begin
    waiting = choices.is_sigmoid ? $signed(segment) : is_curve ? between : value;
    if (choices.looks_up) waiting[7:0] = looked_up[7:0];
    if (choices.is_greatest && $signed(value[ELEMENT_BITS-1:0]) > $signed(choices.highest[ELEMENT_BITS-1:0]))
      waiting[ELEMENT_BITS-1:0] = choices.highest[ELEMENT_BITS-1:0];
  end
  always_ff @(posedge clock) begin
    kept[0] <= waiting;
    kept_minus <= value_minus;
    kept[1] <= !choices.is_sigmoid ? kept[0] : choices.is_tanh ? signed_found >>> 8 : signed_found >>> 10;
    kept[2] <= kept[1];
    kept[3] <= kept[2];
  end
  assign result = choices.is_free ? kept[RESCALE] : 32'(scaled_result);
endmodule
