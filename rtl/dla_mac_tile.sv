// Which pixels of a turn lie in the output: those of its last row or column of turns may not all.

module dla_mac_tile
  import dla_isa::*;
#(
    parameter int unsigned PIXEL_ROWS = 1,
    parameter int unsigned PIXEL_COLUMNS = 1,
    parameter int unsigned PIXELS = PIXEL_ROWS * PIXEL_COLUMNS
) (
    input extent_t size,  // of the output
    input logic ends_column,  // the turn is the last one of its row
    input logic ends_row,  // its row is the last one
    output logic [PIXELS-1:0] lies,  // row by row
    output logic [31:0] count
);
  logic [31:0] rows, columns;
  assign rows = ends_row ? (32'(size.height) - 1) % PIXEL_ROWS + 1 : PIXEL_ROWS;
  assign columns = ends_column ? (32'(size.width) - 1) % PIXEL_COLUMNS + 1 : PIXEL_COLUMNS;
  assign count = rows * columns;
  for (genvar p = 0; p < PIXELS; p++) begin : pixel
    assign lies[p] = p / PIXEL_COLUMNS < rows && p % PIXEL_COLUMNS < columns;
  end
endmodule
