// The results of a turn on their way to the ports: those of its first pixel at once, then those of one pixel in a cycle.

module dla_mac_turn
  import dla_words::*;
#(
    parameter int unsigned PIXEL_ROWS = 1,
    parameter int unsigned PIXEL_COLUMNS = 1,
    parameter int unsigned PIXELS = PIXEL_ROWS * PIXEL_COLUMNS,
    parameter logic [31:0] PLACE = 32'h000fffff  // the bits of an address of the SRAM
) (
    input logic clock,
    input logic reset,
    input results_t turn,  // those of its first pixel
    input logic [PIXELS-1:0] lies,  // the pixels in the output, of which the first is one
    input logic [31:0] result_at[PIXELS],  // of each pixel, from the first one's
    input logic writer_room,
    output logic room,  // for a turn
    output logic is_empty,
    output results_t put,
    output logic [PIXEL_ROWS-1:0] row  // of the pixel
);
  logic [PIXELS-1:0] left, next_left;
  results_t kept;
  logic [31:0] place;
  always_comb begin
    {next_left, place} = '0;
    row = PIXEL_ROWS'(1);
    for (int p = int'(PIXELS) - 1; p >= 0; p--) begin
      if (left[p]) begin
        next_left = left & ~(PIXELS'(1) << p);
        place = result_at[p];
        row = PIXEL_ROWS'(1) << (p / PIXEL_COLUMNS);
      end
    end
  end
  assign is_empty = left == 0;
  assign room = writer_room && is_empty;
  always_comb begin
    put = is_empty ? turn : kept;
    put.valid = is_empty ? turn.valid : writer_room;
    put.ends = is_empty ? turn.ends && lies == PIXELS'(1) : writer_room && kept.ends && next_left == 0;
    if (!is_empty) put.address = (kept.address + place) & PLACE;
  end
  always_ff @(posedge clock) begin
    if (reset) left <= '0;
    else if (turn.valid) left <= lies & ~PIXELS'(1);
    else if (put.valid) left <= next_left;
    if (turn.valid) kept <= turn;
  end
endmodule
