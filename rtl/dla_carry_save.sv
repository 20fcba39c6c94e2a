// Adds rows of bits by carry-save adders until two are left, whose sum modulo 2^BITS is that of all. Where a row's bit is
// always 0 an adder takes less, or nothing.

module dla_carry_save #(
    parameter int unsigned ROWS = 3,
    parameter int unsigned BITS = 32,
    parameter logic [ROWS-1:0][BITS-1:0] PLACES = '1  // bits that may be 1
) (
    input logic [BITS-1:0] rows[ROWS],
    output logic [BITS-1:0] sum,
    output logic [BITS-1:0] carries
);
  // An adder takes the three oldest rows that are left, and gives two.
  localparam int unsigned ALL = 3 * ROWS - 4;
  typedef logic [ALL-1:0][BITS-1:0] all_t;

  // Columns in which an adder has three bits, or two and a carry from the column before; others pass through it. They are the
  // carries of a sum, too, in which three bits are a carry and two hand one on.
  function automatic logic [BITS-1:0] added_columns(input logic [BITS-1:0] a, b, c);
    logic [BITS:0] two, three;
    two = {1'b0, (a & b) | (a & c) | (b & c)};
    three = {1'b0, a & b & c};
    return BITS'(((two + three) ^ two ^ three) >> 1);
  endfunction

  // Bits that may be 1 of all rows, those from adders too
  function automatic all_t all_places();
    logic [BITS-1:0] a, b, c, adds, sums;
    all_places = all_t'(PLACES);
    for (int unsigned k = 0; k < ROWS - 2; k++) begin
      a = all_places[3*k];
      b = all_places[3*k+1];
      c = all_places[3*k+2];
      adds = added_columns(a, b, c);
      sums = adds | (adds << 1);
      all_places[ROWS+2*k] = a | b | (sums & c);
      all_places[ROWS+2*k+1] = (adds << 1) | (~sums & (c | (a & b)));
    end
  endfunction
  localparam all_t MAY = all_places();
  function automatic logic [ROWS-3:0][BITS-1:0] all_added_columns();
    for (int unsigned k = 0; k < ROWS - 2; k++)
      all_added_columns[k] = added_columns(MAY[3*k], MAY[3*k+1], MAY[3*k+2]);
  endfunction
  localparam logic [ROWS-3:0][BITS-1:0] ADDED_COLUMNS = all_added_columns();

  always_comb begin
    logic [BITS-1:0] row[ALL], a, b, c, adds, sums, majority;
    for (int unsigned r = 0; r < ROWS; r++) row[r] = rows[r];
    for (int unsigned k = 0; k < ROWS - 2; k++) begin
      a = row[3*k];
      b = row[3*k+1];
      c = row[3*k+2];
      majority = ((a ^ b) & c) | (~(a ^ b) & a);
      adds = ADDED_COLUMNS[k];
      sums = adds | (adds << 1);
      row[ROWS+2*k] = (sums & (a ^ b ^ c)) | (~sums & (a | (b & ~MAY[3*k])));
      row[ROWS+2*k+1] = ((majority & adds) << 1) | (~sums & (c | (b & MAY[3*k])));
    end
    sum = row[ALL-2];
    carries = row[ALL-1];
  end
endmodule
