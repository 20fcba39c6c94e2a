// The address of a pixel, from the first one on: a sum of strides, row by row. A block of pixels is walked over again and
// again, until the next one starts.

module dla_walk #(
    parameter logic [31:0] PLACE = 32'h000fffff  // the bits of an address of the SRAM: no more are computed
) (
    input logic clock,
    input logic reset,
    input logic step,  // to the next pixel
    input logic ends_column,  // of the picture
    input logic ends_row,
    input logic restarts,  // the block, instead of going on
    input logic starts,  // a block with the next pixel
    input logic [31:0] row_step,
    input logic [31:0] column_step,
    output logic [31:0] place
);
  logic [31:0] row_place, next_place, next_row_place, first_place, first_row_place;
  assign next_row_place = !ends_column ? row_place & PLACE : ends_row ? '0 : (row_place + row_step) & PLACE;
  assign next_place = ends_column ? next_row_place : (place + column_step) & PLACE;
  always_ff @(posedge clock) begin
    if (reset) {place, row_place, first_place, first_row_place} <= '0;
    else if (step) begin
      {place, row_place} <= restarts ? {first_place & PLACE, first_row_place & PLACE} : {next_place, next_row_place};
      if (starts) {first_place, first_row_place} <= {next_place, next_row_place};
    end
  end
endmodule
