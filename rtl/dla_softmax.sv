// What OP_SOFTMAX adds to the VECTOR unit: the greatest element of a row, the sum of its exponentials, and the
// reciprocal of that by a multiplier of its own. docs/isa.md has the formulas.
//
// The greatest element stands when the row's last step of the first pass has been computed, the sum a cycle later
// than the second pass's. Leading zeros and seven products take RECIPROCAL_CYCLES from then on.

module dla_softmax
  import dla_isa::*;
  import dla_fixed_point::*;
#(
    parameter int unsigned LANES = 16
) (
    input logic clock,
    input logic reset,
    input logic compute,  // elements in `in`
    input logic first,  // of the pass
    input logic last,
    input logic [1:0] pass,
    input logic [LANES-1:0] used,  // lanes with a channel
    input logic [31:0] in[LANES],
    input logic [31:0] looked_up[LANES],  // a cycle after the elements
    output logic signed [31:0] greatest,
    output logic signed [31:0] reciprocal,  // 0 where nothing is left of a result
    output logic [4:0] right  // by which a result is shifted after it
);
  localparam logic [1:0] GREATEST = 2'd0, SUM = 2'd1;
  localparam logic signed [31:0] GUESS = 32'sd1515870810, SLOPE = -32'sd1010580540, ONE = 32'sd536870912;
  localparam logic [4:0] SUM_SHIFT = 5'd12;
  localparam logic [5:0] RESULT_SHIFT = 6'd35;

  // -------------------------------------------------------------------------------------------- the greatest element
  logic signed [31:0] row_greatest;
  always_comb begin
    row_greatest = first ? -32'sd128 : greatest;
    for (int unsigned l = 0; l < LANES; l++) if (used[l]) row_greatest = larger(row_greatest, $signed(in[l]));
  end
  always_ff @(posedge clock) if (compute && pass == GREATEST) greatest <= row_greatest;

  // --------------------------------------------------------------------------------------------------------- the sum
  logic adds, starts, ends, is_summed;
  logic [LANES-1:0] used_s;
  logic [31:0] sum, row_sum;
  always_ff @(posedge clock) begin
    adds <= !reset && compute && pass == SUM;
    starts <= first;
    ends <= last;
    used_s <= used;
    is_summed <= !reset && adds && ends;
  end
  always_comb begin
    row_sum = starts ? '0 : sum;
    for (int unsigned l = 0; l < LANES; l++)
      if (used_s[l]) row_sum = row_sum + $unsigned(rounding_shift($signed(looked_up[l]), SUM_SHIFT));
  end
  always_ff @(posedge clock) if (adds) sum <= row_sum;

  // -------------------------------------------------------------------------------------------------- the reciprocal
  // Products after that with the slope: alternately of the divisor, which shows the error, and of the error.
  logic [5:0] zeros, reciprocal_shift;
  logic [30:0] normalized;
  logic [2:0] product;  // counts them; 0: none is due
  logic signed [31:0] divisor, guess, error, left_factor, right_factor, high;
  always_comb begin
    zeros = '0;
    for (int unsigned bit_ = 0; bit_ < 32; bit_++) if (sum[bit_]) zeros = 6'd31 - 6'(bit_);
    if (sum == 0) zeros = 6'd31;
    normalized = 31'((sum << zeros) >> 1);
    left_factor = product == 1 || !product[0] ? divisor : guess;
    right_factor = product == 1 ? SLOPE : product[0] ? error : guess;
    high = scale(left_factor, right_factor, '0);
  end
  always_ff @(posedge clock) begin
    if (reset) product <= '0;
    else if (is_summed) product <= 3'd1;
    else if (product != 0) product <= product + 1'b1;
    if (is_summed) begin
      divisor <= $signed({1'b0, normalized[30:0] | 31'h40000000});
      reciprocal_shift <= RESULT_SHIFT - zeros;
    end
    if (product == 1) guess <= GUESS + high;
    else if (product[0]) guess <= guess + (high <<< 2);
    else error <= ONE - high;
  end

  assign reciprocal = reciprocal_shift[5] ? '0 : guess[31:30] != 0 ? 32'sh7fffffff : guess <<< 1;
  assign right = reciprocal_shift[4:0];
endmodule
