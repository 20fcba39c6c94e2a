// What OP_SOFTMAX adds to the VECTOR unit: the greatest element of a row, the sum of its exponentials, and the
// reciprocal of that by a multiplier of its own; for OP_E16_SOFTMAX by a table, from which a cycle after the sum's leading
// zeros an entry is read. docs/isa.md has the formulas.
//
// The greatest element stands two cycles after the row's last step of the first pass has been computed, the sum three
// after the second pass's: the lanes have theirs first, then the row. Leading zeros take a cycle from then on, and each of
// seven products four.

module dla_softmax
  import dla_isa::*;
  import dla_fixed_point::*;
#(
    parameter int unsigned LANES = 16,
    parameter int unsigned ELEMENT_BITS = 8
) (
    input logic clock,
    input logic reset,
    /* verilator lint_off UNUSEDSIGNAL */
    input logic int16,  // OP_E16_SOFTMAX
    /* verilator lint_on UNUSEDSIGNAL */
    input logic compute,  // elements in `in`
    input logic first,  // of the pass
    input logic last,
    input logic [1:0] pass,
    input logic [LANES-1:0] used,  // lanes with a channel
    input logic [ELEMENT_BITS-1:0] in[LANES],
    input logic [31:0] looked_up[LANES],  // a cycle after the elements
    output logic reads_reciprocal,
    output logic [8:0] reciprocal_entry,
    /* verilator lint_off UNUSEDSIGNAL */
    input logic [31:0] reciprocal_word,  // a cycle after that
    /* verilator lint_on UNUSEDSIGNAL */
    output logic signed [31:0] greatest,
    output logic signed [31:0] reciprocal,  // 0 where nothing is left of a result
    output logic [4:0] right  // by which a result is shifted after it
);
  localparam logic [1:0] GREATEST = 2'd0, SUM = 2'd1;
  localparam logic signed [31:0] GUESS = 32'sd1515870810, SLOPE = -32'sd1010580540, ONE = 32'sd536870912;
  localparam logic [4:0] SUM_SHIFT = 5'd12;
  localparam logic [5:0] RESULT_SHIFT = 6'd35;

  // -------------------------------------------------------------------------------------------- the greatest element
  localparam int unsigned LEAVES = 1 << $clog2(LANES);
  localparam logic signed [ELEMENT_BITS-1:0] LEAST = {1'b1, {(ELEMENT_BITS - 1) {1'b0}}};
  logic signed [ELEMENT_BITS-1:0] greater[2*LEAVES], step_greatest;  // of two each, from the second on
  logic compares, begins;
  always_comb begin
    greater[0] = '0;
    for (int unsigned l = 0; l < LEAVES; l++) greater[LEAVES+l] = l < LANES && used[l] ? $signed(in[l]) : LEAST;
    for (int unsigned pair = LEAVES - 1; pair > 0; pair--)
      greater[pair] = greater[2*pair] > greater[2*pair+1] ? greater[2*pair] : greater[2*pair+1];
  end
  always_ff @(posedge clock) begin
    compares <= !reset && compute && pass == GREATEST;
    begins <= first;
    step_greatest <= greater[1];
    if (compares && (begins || 32'(step_greatest) > greatest)) greatest <= 32'(step_greatest);
  end

  // --------------------------------------------------------------------------------------------------------- the sum
  logic adds, starts, ends, adds_row, starts_row, ends_row, is_summed;
  logic [LANES-1:0] used_s;
  localparam int unsigned FOURS = (LANES + 3) / 4;  // lanes add up by fours, these with the sum
  logic [31:0] sum, next_sum, fours_sum[FOURS], step_sum[FOURS];
  always_ff @(posedge clock) begin
    adds <= !reset && compute && pass == SUM;
    starts <= first;
    ends <= last;
    used_s <= used;
    adds_row <= !reset && adds;
    starts_row <= starts;
    ends_row <= ends;
    is_summed <= !reset && adds_row && ends_row;
  end
  always_comb begin
    next_sum = starts_row ? '0 : sum;
    for (int unsigned four = 0; four < FOURS; four++) begin
      next_sum = next_sum + step_sum[four];
      fours_sum[four] = '0;
      for (int unsigned l = 4 * four; l < LANES && l < 4 * four + 4; l++)
        fours_sum[four] = fours_sum[four]
            + (!used_s[l] ? '0 : ELEMENT_BITS > 8 && int16 ? looked_up[l]
            : $unsigned(rounding_shift($signed(looked_up[l]), SUM_SHIFT, '0)));
    end
  end
  for (genvar four = 0; four < FOURS; four++) begin : fours
    always_ff @(posedge clock) step_sum[four] <= fours_sum[four];
  end
  always_ff @(posedge clock) if (adds_row) sum <= next_sum;

  // -------------------------------------------------------------------------------------------------- the reciprocal
  // Products after that with the slope: alternately of the divisor, which shows the error, and of the error.
  logic [5:0] zeros, reciprocal_shift;
  logic [30:0] normalized;
  logic [2:0] product;  // counts them; 0: none is due
  logic [1:0] phase;  // of a product
  logic signed [31:0] divisor, guess, error, left_factor, right_factor, high;
  always_comb begin
    zeros = '0;
    for (int unsigned bit_ = 0; bit_ < 32; bit_++) if (sum[bit_]) zeros = 6'd31 - 6'(bit_);
    if (sum == 0) zeros = 6'd31;
    normalized = 31'((sum << zeros) >> 1);
    left_factor = product == 1 || !product[0] ? divisor : guess;
    right_factor = product == 1 ? SLOPE : product[0] ? error : guess;
  end
  dla_rescale products (
      .clock,
      .value(left_factor),
      .shift('0),
      .replaces(1'b0),
      .unshifted('0),
      .replacement('0),
      .multiplier(right_factor),
      .added('0),
      .result(high)
  );
  always_ff @(posedge clock) begin
    if (reset) {product, phase} <= '0;
    else if (is_summed) {product, phase} <= 5'd4;
    else if (product != 0) {product, phase} <= {product, phase} + 1'b1;
    if (is_summed) begin
      divisor <= $signed({1'b0, normalized[30:0] | 31'h40000000});
      reciprocal_shift <= RESULT_SHIFT - zeros;
    end
    if (phase == 2'd3) begin
      if (product == 1) guess <= GUESS + high;
      else if (product[0]) guess <= guess + (high <<< 2);
      else error <= ONE - high;
    end
  end

  // Of int16: the sum's first 17 bits without the highest, rounded, are a place in the table.
  logic signed [31:0] reciprocal16;
  if (ELEMENT_BITS == 8) begin : without_int16
    assign {reads_reciprocal, reciprocal_entry, reciprocal16} = '0;
  end else begin : with_int16
    logic reads, has_read;
    logic [4:0] zeros_kept;
    logic [17:0] mantissa;
    logic [15:0] place;
    logic signed [31:0] found;
    /* verilator lint_off UNUSEDSIGNAL */
    logic [23:0] part;  // of the step to the next entry
    /* verilator lint_on UNUSEDSIGNAL */
    assign mantissa = 18'({1'b0, 31'(normalized | 31'h40000000)} + 32'd8192 >> 14) - 18'h10000;
    dla_multiplier #(
        .VALUE_BITS(16),
        .DIGITS_BITS(8),
        .ADDED(24'd64)
    ) multiply (
        .value($signed(reciprocal_word[31:16])), .digits($signed({1'b0, place[6:0]})), .added('1), .product(part)
    );
    assign found = 32'($signed(reciprocal_word[15:0])) + 32'($signed(part[23:7]));
    assign reads_reciprocal = reads;
    assign reciprocal_entry = place[15:7];
    always_ff @(posedge clock) begin
      reads <= !reset && is_summed && int16;
      has_read <= !reset && reads;
      if (is_summed) begin
        place <= mantissa[17:16] != 0 ? '1 : mantissa[15:0];
        zeros_kept <= zeros == 0 ? '0 : 5'(zeros - 1'b1);
      end
      if (has_read) reciprocal16 <= found <<< zeros_kept;
    end
  end

  assign reciprocal = ELEMENT_BITS > 8 && int16 ? reciprocal16 : reciprocal_shift[5] ? '0 : guess[31:30] != 0 ? 32'sh7fffffff : guess <<< 1;
  assign right = reciprocal_shift[4:0];
endmodule
