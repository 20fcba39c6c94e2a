// A product, and a number that is added to it, as two numbers whose sum it is, modulo 2^BITS: Booth's digits of `digits`
// (base 4, from -2 to 2) choose multiples of `value`. Numbers without a sign come with a 0 in front.

module dla_product #(
    parameter int unsigned VALUE_BITS = 32,
    parameter int unsigned DIGITS_BITS = 32,
    parameter int unsigned BITS = VALUE_BITS + DIGITS_BITS,
    parameter logic [BITS-1:0] ADDED = '0  // bits of `added` that may be 1
) (
    input logic signed [VALUE_BITS-1:0] value,
    input logic signed [DIGITS_BITS-1:0] digits,
    input logic [BITS-1:0] added,
    output logic [BITS-1:0] sum,
    output logic [BITS-1:0] carries
);
`ifdef DLA_FAST_PRODUCTS  // for simulators: the same in one row
  assign sum = BITS'(value) * BITS'(digits) + (added & ADDED);
  assign carries = '0;
`else
  localparam int unsigned MULTIPLES = (DIGITS_BITS + 1) / 2, LAST = 2 * MULTIPLES - 2;
  // First the 1 that makes the last multiple negative and the constant for signs, then what is added, then the multiples
  localparam int unsigned ROWS = MULTIPLES + 2;
  localparam logic [BITS-1:0] ABOVE = BITS'(-(128'd1 << (LAST + 2 + VALUE_BITS)));
  typedef logic [ROWS-1:0][BITS-1:0] places_t;

  function automatic places_t places();
    places[0] = ABOVE | (BITS'(1) << LAST);
    places[1] = ADDED;
    places[2] = BITS'({(VALUE_BITS + 3) {1'b1}});
    for (int unsigned m = 1; m < MULTIPLES; m++) places[m+2] = BITS'({{(VALUE_BITS + 2) {1'b1}}, 2'b01}) << (2 * m - 2);
  endfunction

  logic [BITS-1:0] rows[ROWS];
  logic [LAST+2:0] extended;  // the digits, with a 0 behind them
  assign extended = {(LAST + 2)'(digits), 1'b0};
  assign rows[0] = ABOVE | (BITS'(extended[LAST+2]) << LAST);
  assign rows[1] = added & ADDED;
  for (genvar m = 0; m < MULTIPLES; m++) begin : multiple
    logic negative, once, twice, sign;
    logic [VALUE_BITS:0] chosen;
    logic [BITS-1:0] own;
    assign negative = extended[2*m+2];
    assign once = extended[2*m+1] ^ extended[2*m];
    assign twice = extended[2*m+1] == extended[2*m] && extended[2*m+1] != negative;
    assign chosen = (({(VALUE_BITS + 1) {once}} & (VALUE_BITS + 1)'(value)) | ({(VALUE_BITS + 1) {twice}} & {value, 1'b0}))
        ^ {(VALUE_BITS + 1) {negative}};
    assign sign = chosen[VALUE_BITS];
    // Instead of the signs of all rows, their complements and a constant
    if (m == 0) assign own = BITS'({!sign, sign, chosen});
    else assign own = BITS'({1'b1, !sign, chosen[VALUE_BITS-1:0]}) << (2 * m);
    // To a negative multiple, which is a complement, 1 is added in the next row.
    if (m == 0) assign rows[2] = own;
    else assign rows[m+2] = own | (BITS'(multiple[m-1].negative) << (2 * m - 2));
  end
  dla_carry_save #(
      .ROWS(ROWS),
      .BITS(BITS),
      .PLACES(places())
  ) tree (
      .rows, .sum, .carries
  );
`endif
endmodule
