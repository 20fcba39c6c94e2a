// The average of a window, rounded to nearest, halves away from zero or up, in four stages. As no element is below
// -128, the sum of elements that count from there is never negative, and its quotient has eight bits: four digits to the
// base of four, which the last three stages find, one, two and one. Of int16 they find five bits, five and four, those of
// five with a digit to the base of eight; the last digit is found behind them. A sum enters in each cycle.

module dla_divider #(
    parameter int unsigned COUNT_BITS = 20,
    parameter int unsigned QUOTIENT_BITS = 8  // or 16
) (
    input logic clock,
    input logic signed [31:0] total,
    input logic [COUNT_BITS-1:0] count,
    input logic halves_up,
    output logic signed [31:0] average  // four cycles later
);
  localparam int unsigned SUM_BITS = COUNT_BITS + QUOTIENT_BITS;
  typedef struct packed {
    logic [COUNT_BITS-1:0] rest;  // of the sum, above the digits that have been found
    logic [QUOTIENT_BITS-1:0] digits;  // of the sum, from the left replaced by those of the quotient
    logic [COUNT_BITS-1:0] count;
    logic [COUNT_BITS+1:0] thrice;
    logic [COUNT_BITS+2:0] five_times;
    logic [COUNT_BITS+2:0] seven_times;
  } division_t;

  // The next digit: how many times the count fits. Of each difference the sign says whether it does.
  function automatic division_t divided(input division_t at);
    /* verilator lint_off UNUSEDSIGNAL */
    logic [COUNT_BITS+2:0] rest, once, twice, thrice;
    /* verilator lint_on UNUSEDSIGNAL */
    logic [COUNT_BITS:0] few, many;  // the digit's low bit and the rest, below two and from there on
    logic odd;
    rest = {1'b0, at.rest, at.digits[QUOTIENT_BITS-1-:2]};
    once = rest - {3'b0, at.count};
    twice = rest - {2'b0, at.count, 1'b0};
    thrice = rest - {1'b0, at.thrice};
    few = once[COUNT_BITS+2] ? {1'b0, rest[COUNT_BITS-1:0]} : {1'b1, once[COUNT_BITS-1:0]};
    many = thrice[COUNT_BITS+2] ? {1'b0, twice[COUNT_BITS-1:0]} : {1'b1, thrice[COUNT_BITS-1:0]};
    divided = at;
    {odd, divided.rest} = twice[COUNT_BITS+2] ? few : many;
    divided.digits = {at.digits[QUOTIENT_BITS-3:0], !twice[COUNT_BITS+2], odd};
  endfunction

  function automatic division_t twice_divided(input division_t at);
    return divided(divided(at));
  endfunction

  // The next three bits, as one digit to the base of eight: of each pair of differences one is chosen, then of these.
  function automatic division_t divided_in_eights(input division_t at);
    /* verilator lint_off UNUSEDSIGNAL */
    logic [7:0][COUNT_BITS+3:0] left;  // of the rest, without so many counts
    /* verilator lint_on UNUSEDSIGNAL */
    logic [3:0][COUNT_BITS:0] pair;
    logic [1:0][COUNT_BITS+1:0] four;
    logic [2:0] digit;
    left[0] = {1'b0, at.rest, at.digits[QUOTIENT_BITS-1-:3]};
    left[1] = left[0] - {4'b0, at.count};
    left[2] = left[0] - {3'b0, at.count, 1'b0};
    left[3] = left[0] - {2'b0, at.thrice};
    left[4] = left[0] - {2'b0, at.count, 2'b0};
    left[5] = left[0] - {1'b0, at.five_times};
    left[6] = left[0] - {1'b0, at.thrice, 1'b0};
    left[7] = left[0] - {1'b0, at.seven_times};
    for (int unsigned k = 0; k < 4; k++)
      pair[k] = left[2*k+1][COUNT_BITS+3] ? {1'b0, left[2*k][COUNT_BITS-1:0]} : {1'b1, left[2*k+1][COUNT_BITS-1:0]};
    for (int unsigned k = 0; k < 2; k++) four[k] = left[4*k+2][COUNT_BITS+3] ? {1'b0, pair[2*k]} : {1'b1, pair[2*k+1]};
    divided_in_eights = at;
    {digit, divided_in_eights.rest} = left[4][COUNT_BITS+3] ? {1'b0, four[0]} : {1'b1, four[1]};
    divided_in_eights.digits = {at.digits[QUOTIENT_BITS-4:0], digit};
  endfunction

  // Half of the count rounds up; to round a half of a negative sum down, it is one less.
  logic [SUM_BITS-1:0] raised;
  logic rounds_down;
  division_t start, first, third;
  /* verilator lint_off UNUSEDSIGNAL */
  division_t last, found;  // of which the quotient matters
  /* verilator lint_on UNUSEDSIGNAL */
  assign rounds_down = !halves_up && total < 0 && !count[0];
  assign raised = SUM_BITS'(total) + {1'b0, count, {(QUOTIENT_BITS - 1) {1'b0}}} + SUM_BITS'(count[COUNT_BITS-1:1])
      - SUM_BITS'(rounds_down);
  always_ff @(posedge clock) begin
    start <= '{
        rest: raised[SUM_BITS-1:QUOTIENT_BITS],
        digits: raised[QUOTIENT_BITS-1:0],
        count: count,
        thrice: {2'b0, count} + {1'b0, count, 1'b0},
        five_times: {3'b0, count} + {1'b0, count, 2'b0},
        seven_times: {count, 3'b0} - {3'b0, count}
    };
    first <= QUOTIENT_BITS == 8 ? divided(start) : divided(divided_in_eights(start));
    third <= QUOTIENT_BITS == 8 ? twice_divided(first) : divided(divided_in_eights(first));
    last <= QUOTIENT_BITS == 8 ? divided(third) : twice_divided(third);
  end
  assign found = QUOTIENT_BITS == 8 ? last : divided(last);
  assign average = 32'($signed({!found.digits[QUOTIENT_BITS-1], found.digits[QUOTIENT_BITS-2:0]}));
endmodule
