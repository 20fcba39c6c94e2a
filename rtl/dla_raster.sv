// Asks the SRAM for the pixels that a window passes over, ahead of the unit that uses them: for each row of the
// output the rows under its window, each from left to right. A word that two pixels share crosses once.
//
// A row that an earlier window had crosses again only if BUFFER_BYTES do not hold the lines under a window. The
// reader goes ahead as far as the buffer has room beside those lines; without that it stays in the unit's row.

module dla_raster
  import dla_words::*;
#(
    parameter int unsigned BANK_BYTES = 16,
    parameter int unsigned PORTS = 4,
    parameter int unsigned BUFFER_BYTES = 0  // 0: no limit
) (
    input logic clock,
    input logic reset,
    input logic enable,
    // The picture
    input window_t window,
    input logic [31:0] base,
    input logic [31:0] row_stride,
    input logic [31:0] pixel_stride,
    input logic [31:0] pixel_bytes,
    // It is passed over once for each group of channels, unless the buffer may keep it.
    input logic [31:0] channels,
    input logic [31:0] group_step,
    input logic keeps,
    output logic [31:0] group,  // whose pixels are being read
    // Where the unit is: rows of output, over all groups, before its block and its step; what the step reads: its
    // group, tap, row and column, and the pixel's first bytes
    input logic [31:0] block_row,
    input logic [31:0] step_row,
    input logic [31:0] step_group,
    input logic [31:0] step_tap_row,
    input logic signed [31:0] step_in_row,
    input logic signed [31:0] step_column,
    input logic [31:0] step_bytes,
    output logic ready,  // what the step reads has come
    output request_t request,
    output logic [31:0] crossed_bytes,
    input logic [7:0] granted
);
  // ------------------------------------------------------------------------------------------------------- shape
  logic sparse;  // the window leaves out columns
  logic fits, is_kept;
  logic [31:0] common_tap, common_row, span, columns, line_bytes, rows_read;
  logic signed [31:0] in_height, in_width, pad_top, pad_left, last_column, reach;
  logic [31:0] out_height, out_width, kernel_height, kernel_width;
  logic [31:0] stride_height, stride_width, dilation_height, dilation_width;
  assign {in_height, in_width} = {32'(window.in_size.height), 32'(window.in_size.width)};
  assign {out_height, out_width} = {32'(window.out_size.height), 32'(window.out_size.width)};
  assign {kernel_height, kernel_width} = {32'(window.kernel.height), 32'(window.kernel.width)};
  assign {stride_height, stride_width} = {32'(window.stride.height), 32'(window.stride.width)};
  assign {dilation_height, dilation_width} = {32'(window.dilation.height), 32'(window.dilation.width)};
  assign {pad_top, pad_left} = {32'(window.pad.top), 32'(window.pad.left)};
  assign sparse = dilation_width == 1 && stride_width > kernel_width;
  assign reach = $signed((out_width - 1) * stride_width + (kernel_width - 1) * dilation_width) - pad_left;
  assign last_column = reach < in_width ? reach : in_width - 1;
  assign columns = sparse ? out_width * kernel_width : $unsigned(last_column) + 1;
  assign line_bytes = columns * pixel_bytes;
  assign span = (kernel_height - 1) * dilation_height + 1;
  assign rows_read = stride_height > kernel_height ? out_height * kernel_height
      : (out_height - 1) * stride_height + span;
  assign fits = BUFFER_BYTES == 0 || span * line_bytes <= BUFFER_BYTES;
  assign is_kept = keeps && (BUFFER_BYTES == 0
      || ($signed(rows_read) < in_height ? rows_read : $unsigned(in_height)) * line_bytes <= BUFFER_BYTES);
  // Tap t of output row y reads what tap t + common_tap of row y - common_row has read.
  assign common_tap = stride_height == dilation_height ? 1 : stride_height;
  assign common_row = stride_height == dilation_height ? 1 : dilation_height;

  // ---------------------------------------------------------------------------------------------------- position
  logic [31:0] passed, row, next_row, next_tap, tap_row, offset, phase, sent, held_word, again, lines;
  logic signed [31:0] in_row, column;
  logic holds_word, finished, active, reads_row, pixel_done, row_done, skips_word;
  logic [31:0] next_offset;
  assign column = $signed(offset) - pad_left;
  assign in_row = $signed(row * stride_height + tap_row * dilation_height) - pad_top;
  assign reads_row = in_row >= 0 && in_row < in_height
      && (!fits || row < common_row || tap_row + common_tap >= kernel_height);
  // Of a later row only the taps that bring a new row are looked at.
  assign next_row = row + 1 == out_height ? '0 : row + 1;
  assign next_tap = !fits || next_row < common_row || kernel_height <= common_tap ? '0 : kernel_height - common_tap;
  // Lines from the block's to the reader's, which begins a group with all lines under its first window; it goes no
  // further than into the next group.
  assign again = group == step_group || span < stride_height ? '0 : span - stride_height;
  assign lines = (passed - block_row) * stride_height + span + again;
  assign active = enable && !finished && (passed <= step_row || BUFFER_BYTES == 0
      || (group <= step_group + group_step && lines * line_bytes <= BUFFER_BYTES));
  assign next_offset = offset + (sparse && phase + 1 == kernel_width ? stride_width - kernel_width + 1 : 1);
  // ------------------------------------------------------------------------------------------ words of the pixel
  logic [31:0] pixel, first_word, last_word, left;
  assign pixel = base + in_row * row_stride + column * pixel_stride;
  assign first_word = pixel / BANK_BYTES;
  assign last_word = (pixel + pixel_bytes - 1) / BANK_BYTES;
  assign skips_word = holds_word && held_word == first_word;
  assign left = last_word - first_word + 1 - 32'(skips_word) - sent;
  assign request.stride = BANK_BYTES;
  assign request.address = (first_word + 32'(skips_word) + sent) * BANK_BYTES;
  assign request.words = !active || !reads_row || column < 0 ? '0 : left < PORTS ? left[7:0] : 8'(PORTS);
  assign pixel_done = column < 0 || 32'(granted) == left;
  assign crossed_bytes = active && reads_row && column >= 0 && pixel_done ? pixel_bytes : '0;
  assign row_done = active && (!reads_row || (pixel_done && $signed(next_offset) - pad_left > last_column));

  // ------------------------------------------------------------------------------------------- what has crossed
  // Where rows come in order, a step waits only for those above its own.
  logic has_column, in_order;
  assign has_column = column > step_column || (column == step_column && request.address >= pixel + step_bytes);
  assign in_order = fits && dilation_height == 1 && group == step_group;
  assign ready = finished || passed > step_row
      || (passed == step_row && (tap_row > step_tap_row || (tap_row == step_tap_row && has_column)))
      || (in_order && (in_row > step_in_row || (in_row == step_in_row && has_column)));

  always_ff @(posedge clock) begin
    if (reset) begin
      {passed, row, tap_row, offset, phase, sent, held_word, group} <= '0;
      {holds_word, finished} <= '0;
    end else if (active) begin
      sent <= pixel_done ? '0 : sent + 32'(granted);
      if (row_done) begin
        offset <= '0;
        phase <= '0;
        tap_row <= tap_row + 1 == kernel_height ? next_tap : tap_row + 1;
        if (tap_row + 1 == kernel_height) begin
          passed <= passed + 1;
          row <= next_row;
          if (row + 1 == out_height) begin
            group <= group + group_step;
            finished <= is_kept || group + group_step >= channels;
          end
        end
      end else if (pixel_done) begin
        offset <= next_offset;
        phase <= phase + 1 == kernel_width ? '0 : phase + 1;
      end
      if (reads_row && column >= 0 && pixel_done) begin
        held_word <= last_word;
        holds_word <= 1'b1;
      end
    end
  end
endmodule
