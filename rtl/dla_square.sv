// The square of a value, shifted to the left as its rescaling will want it; the low 32 bits, a cycle later. It is 0 where
// it does not take part. A square has each product of two different bits twice: half as many products, a place further.

module dla_square (
    input logic clock,
    input logic takes_part,
    input logic signed [31:0] value,
    input logic signed [6:0] shift,
    output logic signed [31:0] square
);
  localparam int unsigned ROWS = 16;
  typedef logic [ROWS-1:0][31:0] places_t;
  function automatic places_t places();
    for (int unsigned r = 0; r < ROWS; r++) places[r] = 32'hfffffffd << (2 * r);
  endfunction
  logic [31:0] own, rows[ROWS], sum, carries;
  assign own = takes_part ? value : '0;
  for (genvar r = 0; r < ROWS; r++) begin : bit_
    assign rows[r] = {32{own[r]}} & (32'({own >> (r + 1), 2'b01}) << (2 * r));
  end
  dla_carry_save #(
      .ROWS(ROWS),
      .PLACES(places())
  ) tree (
      .rows, .sum, .carries
  );
  always_ff @(posedge clock) square <= $signed((sum + carries) << (shift > 0 ? shift[4:0] : 5'd0));
endmodule
