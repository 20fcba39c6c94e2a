// Asks the SRAM for the input of a convolution with one tap, or of a product of matrices, ahead of the array: for each
// block of pixels a word of each pixel, then the next word of each, in the order in which the array uses them.
//
// That needs pixels whose bytes are whole words; `dla_raster` serves the others. The words of the picture cross again
// for each group of output channels, unless BUFFER_BYTES hold them all.

module dla_slices
  import dla_words::*;
#(
    parameter int unsigned BANK_BYTES = 16,
    parameter int unsigned PORTS = 4,
    parameter int unsigned BUFFER_BYTES = 0,  // 0: no limit
    parameter int unsigned BLOCK = 1,  // pixels
    parameter logic [31:0] PLACE = 32'h000fffff  // the bits of an address of the SRAM
) (
    input logic clock,
    input logic reset,
    input logic enable,
    // The picture; one tap has no dilation.
    /* verilator lint_off UNUSEDSIGNAL */
    input window_t window,
    /* verilator lint_on UNUSEDSIGNAL */
    input logic [31:0] base,
    input logic [31:0] row_stride,
    input logic [31:0] pixel_stride,
    input logic [31:0] pixel_bytes,
    input logic [31:0] channels,
    input logic [31:0] group_step,
    // What the array needs now: its pixel's place in the block, and bytes of the pixel; the end of a block
    input logic [31:0] step_index,
    input logic [31:0] step_bytes,
    input logic block_ends,
    output logic serves,  // this picture
    output logic ready,  // what the step reads has come
    output request_t request,
    output logic [31:0] crossed_bytes,
    input logic [7:0] granted
);
  // ------------------------------------------------------------------------------------------------------- shape
  logic whole_words, is_inside, is_kept;
  logic [31:0] out_height, out_width, row_step, column_step, words;
  assign {out_height, out_width} = {32'(window.out_size.height), 32'(window.out_size.width)};
  assign row_step = (row_stride * 32'(window.stride.height)) & PLACE;
  assign column_step = (pixel_stride * 32'(window.stride.width)) & PLACE;
  assign words = (pixel_bytes & PLACE) / BANK_BYTES;  // of a pixel
  assign whole_words = base % BANK_BYTES == 0 && row_stride % BANK_BYTES == 0 && pixel_stride % BANK_BYTES == 0
      && pixel_bytes % BANK_BYTES == 0;
  assign is_inside = window.pad.top == 0 && window.pad.left == 0
      && (out_height - 1) * 32'(window.stride.height) < 32'(window.in_size.height)
      && (out_width - 1) * 32'(window.stride.width) < 32'(window.in_size.width);
  assign serves = window.kernel.height == 1 && window.kernel.width == 1 && whole_words && is_inside;
  // What is compared with the buffer counts no further than beyond it.
  localparam int unsigned ENOUGH_BITS = $clog2(BUFFER_BYTES + 2);
  typedef logic [ENOUGH_BITS-1:0] enough_t;
  function automatic enough_t enough(input logic [31:0] count);
    return count > BUFFER_BYTES ? enough_t'(BUFFER_BYTES + 1) : enough_t'(count);
  endfunction
  function automatic logic holds(input logic [31:0] number, input logic [31:0] bytes_each);
    return BUFFER_BYTES == 0
        || (2 * ENOUGH_BITS)'(enough(number)) * (2 * ENOUGH_BITS)'(enough(bytes_each)) <= (2 * ENOUGH_BITS)'(BUFFER_BYTES);
  endfunction
  assign is_kept = holds(out_height * out_width, pixel_bytes);

  // ---------------------------------------------------------------------------------------------------- position
  // A run is the part of a row of pixels that is in the block.
  // Registers have the bits that they can need: of a size, of words of a pixel, of channels.
  localparam logic [31:0] SIZE = 32'h0000ffff, CHANNELS = 32'h01ffffff;
  logic [31:0] group, block, first_row, first_column, row, column, index, slice, sent;
  logic [31:0] run, left, next_row, next_column, used, step_slice;
  logic signed [31:0] ahead;
  logic finished, active, run_done, ends_row, ends_block, ends_picture;
  assign run = out_width - column < BLOCK - index ? out_width - column : BLOCK - index;
  assign left = run - sent;
  assign ends_row = column + run == out_width;
  assign ends_picture = ends_row && row + 1 == out_height;
  assign ends_block = index + run == BLOCK || ends_picture;
  assign next_column = ends_row ? '0 : (column + run) & SIZE;
  assign next_row = ends_picture ? '0 : ends_row ? (row + 1) & SIZE : row;
  assign request.stride = column_step;
  assign request.address = (base + row * row_step + (column + sent) * column_step + slice * BANK_BYTES) & PLACE;
  assign request.words = !active ? '0 : left < PORTS ? left[7:0] : 8'(PORTS);
  assign crossed_bytes = active ? 32'(granted) * BANK_BYTES : '0;
  assign run_done = active && 32'(granted) == left;

  // ------------------------------------------------------------------------------------------- what the array uses
  // `used`: blocks before the array's; `ahead`: slices between the array's and the one that is asked for
  assign step_slice = (step_bytes - 1) / BANK_BYTES;
  assign ahead = ((block - used) & PLACE) * words + slice - step_slice;
  assign active = enable && serves && !finished
      && (is_kept || ahead <= 1 || ahead < $signed(BUFFER_BYTES / (BLOCK * BANK_BYTES)));
  assign ready = finished || block != used || slice > step_slice || (slice == step_slice && index + sent > step_index);

  always_ff @(posedge clock) begin
    if (reset) begin
      {group, block, first_row, first_column, row, column, index, slice, sent} <= '0;
      finished <= 1'b0;
    end else if (run_done) begin
      sent <= '0;
      index <= ends_block ? '0 : (index + run) & SIZE;
      row <= next_row;
      column <= next_column;
      if (ends_block && slice + 1 != words) begin
        slice <= (slice + 1) & PLACE;
        row <= first_row;
        column <= first_column;
      end else if (ends_block) begin
        slice <= '0;
        block <= (block + 1) & PLACE;
        first_row <= next_row;
        first_column <= next_column;
        if (ends_picture) begin
          group <= (group + group_step) & CHANNELS;
          finished <= is_kept || group + group_step >= channels;
        end
      end
    end else if (active) sent <= (sent + 32'(granted)) & SIZE;
  end
  always_ff @(posedge clock) begin
    if (reset) used <= '0;
    else if (block_ends) used <= (used + 1) & PLACE;
  end
endmodule
