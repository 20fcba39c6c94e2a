// Where a window and its tap are in the input: row, column and address, by adding strides. It goes from pixel to pixel of the
// output as `dla_walk` does, and from tap to tap. Where the array computes several pixels at once, these are of the first.

module dla_window
  import dla_isa::*;
  import dla_words::*;
#(
    parameter int unsigned PIXEL_ROWS = 1,  // of the output that the array computes at once
    parameter int unsigned PIXEL_COLUMNS = 1,
    parameter logic [31:0] PLACE = 32'h000fffff  // the bits of an address of the SRAM: no more are computed
) (
    input logic clock,
    input logic reset,
    // It needs neither the sizes that the loops count to nor where the last window lies.
    /* verilator lint_off UNUSEDSIGNAL */
    input window_t window,
    input walk_t walk,
    /* verilator lint_on UNUSEDSIGNAL */
    input logic step,  // to the next pixel, or pixels
    input logic ends_column,  // of the output
    input logic ends_row,
    input logic restarts,  // the block, instead of going on
    input logic starts,  // a block with the next pixel
    input logic step_tap,  // to the next tap
    input logic ends_tap_column,
    input logic ends_tap_row,
    output logic signed [31:0] row,
    output logic signed [31:0] column,
    output logic [PIXEL_ROWS*PIXEL_COLUMNS-1:0] meets,  // the input: the tap of each pixel
    output logic [31:0] place  // the address
);
  // Beyond the greatest size and its padding nothing meets the input: distances count no further.
  localparam int unsigned FAR = 17, BITS = FAR + $clog2((PIXEL_ROWS > PIXEL_COLUMNS ? PIXEL_ROWS : PIXEL_COLUMNS) + 1);
  typedef logic [BITS-1:0] distance_t;
  function automatic distance_t after(input distance_t at, input logic [15:0] stride, input int unsigned pixels);
    return at[BITS-1:FAR] != 0 ? at : at + distance_t'(pixels * 32'(stride));
  endfunction

  distance_t window_row, window_column, next_row, next_column, first_row, first_column, tap_row, tap_column;
  assign next_row = !ends_column ? window_row : ends_row ? '0 : after(window_row, window.stride.height, PIXEL_ROWS);
  assign next_column = ends_column ? '0 : after(window_column, window.stride.width, PIXEL_COLUMNS);
  assign row = $signed(32'(window_row) + 32'(tap_row) - 32'(window.pad.top));
  assign column = $signed(32'(window_column) + 32'(tap_column) - 32'(window.pad.left));
  for (genvar p = 0; p < PIXEL_ROWS * PIXEL_COLUMNS; p++) begin : pixel
    logic signed [31:0] own_row, own_column;
    assign own_row = row + $signed((p / PIXEL_COLUMNS) * 32'(window.stride.height));
    assign own_column = column + $signed((p % PIXEL_COLUMNS) * 32'(window.stride.width));
    assign meets[p] = own_row >= 0 && own_row < 32'(window.in_size.height)
        && own_column >= 0 && own_column < 32'(window.in_size.width);
  end
  always_ff @(posedge clock) begin
    if (reset) {window_row, window_column, first_row, first_column} <= '0;
    else if (step) begin
      {window_row, window_column} <= restarts ? {first_row, first_column} : {next_row, next_column};
      if (starts) {first_row, first_column} <= {next_row, next_column};
    end
  end

  logic [31:0] window_place, tap_place, tap_row_place, next_tap_row_place;
  assign place = (walk.start + window_place + tap_place) & PLACE;
  dla_walk #(
      .PLACE(PLACE)
  ) windows (
      .clock,
      .reset,
      .step,
      .ends_column,
      .ends_row,
      .restarts,
      .starts,
      .row_step(PIXEL_ROWS * walk.row_step),
      .column_step(PIXEL_COLUMNS * walk.column_step),
      .place(window_place)
  );

  assign next_tap_row_place = !ends_tap_column ? tap_row_place
      : ends_tap_row ? '0 : (tap_row_place + walk.tap_row_step) & PLACE;
  always_ff @(posedge clock) begin
    if (reset) {tap_row, tap_column, tap_place, tap_row_place} <= '0;
    else if (step_tap) begin
      if (ends_tap_column) tap_row <= ends_tap_row ? '0 : after(tap_row, window.dilation.height, 1);
      tap_column <= ends_tap_column ? '0 : after(tap_column, window.dilation.width, 1);
      tap_row_place <= next_tap_row_place;
      tap_place <= ends_tap_column ? next_tap_row_place : (tap_place + walk.tap_column_step) & PLACE;
    end
  end
endmodule
