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
    parameter int unsigned BUFFER_BYTES = 0,  // 0: no limit
    // Bits that an address of the SRAM has, or a distance in it: no more are computed.
    parameter logic [31:0] PLACE = 32'h000fffff
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
    output logic group_ends,  // with this cycle
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
  // What is compared with the buffer counts no further than beyond it.
  localparam int unsigned ENOUGH_BITS = $clog2(BUFFER_BYTES + 2);
  typedef logic [ENOUGH_BITS-1:0] enough_t;
  function automatic enough_t enough(input logic [31:0] count);
    return count > BUFFER_BYTES ? enough_t'(BUFFER_BYTES + 1) : enough_t'(count);
  endfunction
  function automatic logic [2*ENOUGH_BITS-1:0] bytes_of(input enough_t number, input enough_t bytes_each);
    return (2 * ENOUGH_BITS)'(number) * (2 * ENOUGH_BITS)'(bytes_each);
  endfunction
  function automatic logic holds(input logic [31:0] number, input enough_t bytes_each);
    return BUFFER_BYTES == 0 || bytes_of(enough(number), bytes_each) <= (2 * ENOUGH_BITS)'(BUFFER_BYTES);
  endfunction

  logic sparse;  // the window leaves out columns
  logic fits, is_kept;
  logic [31:0] common_tap, common_row, span, columns, rows_read;
  enough_t line_bytes;
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
  assign line_bytes = holds(columns, enough(pixel_bytes)) ? enough_t'(bytes_of(enough(columns), enough(pixel_bytes)))
      : enough_t'(BUFFER_BYTES + 1);
  assign span = (kernel_height - 1) * dilation_height + 1;
  assign rows_read = stride_height > kernel_height ? out_height * kernel_height
      : (out_height - 1) * stride_height + span;
  assign fits = holds(span, line_bytes);
  assign is_kept = keeps && holds($signed(rows_read) < in_height ? rows_read : $unsigned(in_height), line_bytes);
  // Tap t of output row y reads what tap t + common_tap of row y - common_row has read.
  assign common_tap = stride_height == dilation_height ? 1 : stride_height;
  assign common_row = stride_height == dilation_height ? 1 : dilation_height;

  // ---------------------------------------------------------------------------------------------------- position
  // Registers have the bits that they can need: of a size, a column in front of the picture, or rows of two groups.
  localparam logic [31:0] SIZE = 32'h0000ffff, COLUMNS = 32'h0001ffff, ROWS = 32'h0003ffff, CHANNELS = 32'h01ffffff;
  logic [31:0] passed, row, next_row, next_tap, tap_row, offset, phase, sent, held_word, again, lines;
  logic signed [31:0] in_row, column;
  logic holds_word, finished, active, reads_row, pixel_done, row_done, skips_word, is_ahead, is_level;
  logic [31:0] next_offset;
  assign column = $signed(offset) - pad_left;
  assign in_row = $signed(row * stride_height + tap_row * dilation_height) - pad_top;
  assign reads_row = in_row >= 0 && in_row < in_height
      && (!fits || row < common_row || tap_row + common_tap >= kernel_height);
  // Of a later row only the taps that bring a new row are looked at.
  assign next_row = row + 1 == out_height ? '0 : (row + 1) & SIZE;
  assign next_tap = !fits || next_row < common_row || kernel_height <= common_tap ? '0 : kernel_height - common_tap;
  // Lines from the block's to the reader's, which begins a group with all lines under its first window; it goes no
  // further than into the next group.
  assign again = group == step_group || span < stride_height ? '0 : span - stride_height;
  assign lines = ((passed - block_row) & ROWS) * stride_height + span + again;
  assign is_level = ((passed - step_row) & ROWS) == 0;
  assign is_ahead = !is_level && ((passed - step_row) & ROWS) <= ROWS / 2;
  assign active = enable && !finished && (!is_ahead || BUFFER_BYTES == 0
      || (group <= step_group + group_step && holds(lines, line_bytes)));
  assign next_offset = offset + (sparse && phase + 1 == kernel_width ? stride_width - kernel_width + 1 : 1);
  // ------------------------------------------------------------------------------------------ words of the pixel
  logic [31:0] pixel, first_word, last_word, left;
  assign pixel = (base + in_row * row_stride + column * pixel_stride) & PLACE;
  assign first_word = pixel / BANK_BYTES;
  assign last_word = ((pixel + pixel_bytes - 1) & PLACE) / BANK_BYTES;
  assign skips_word = holds_word && held_word == first_word;
  assign left = (last_word - first_word + 1 - 32'(skips_word) - sent) & PLACE;
  assign request.stride = BANK_BYTES;
  assign request.address = ((first_word + 32'(skips_word) + sent) * BANK_BYTES) & PLACE;
  assign request.words = !active || !reads_row || column < 0 ? '0 : left < PORTS ? left[7:0] : 8'(PORTS);
  assign pixel_done = column < 0 || 32'(granted) == left;
  assign crossed_bytes = active && reads_row && column >= 0 && pixel_done ? pixel_bytes : '0;
  assign row_done = active && (!reads_row || (pixel_done && $signed(next_offset) - pad_left > last_column));

  assign group_ends = row_done && tap_row + 1 == kernel_height && row + 1 == out_height;

  // ------------------------------------------------------------------------------------------- what has crossed
  // Where rows come in order, a step waits only for those above its own.
  logic has_column, in_order;
  assign has_column = column > step_column || (column == step_column && request.address >= ((pixel + step_bytes) & PLACE));
  assign in_order = fits && dilation_height == 1 && group == step_group;
  assign ready = finished || is_ahead
      || (is_level && (tap_row > step_tap_row || (tap_row == step_tap_row && has_column)))
      || (in_order && (in_row > step_in_row || (in_row == step_in_row && has_column)));

  always_ff @(posedge clock) begin
    if (reset) begin
      {passed, row, tap_row, offset, phase, sent, held_word, group} <= '0;
      {holds_word, finished} <= '0;
    end else if (active) begin
      sent <= pixel_done ? '0 : (sent + 32'(granted)) & PLACE;
      if (row_done) begin
        offset <= '0;
        phase <= '0;
        tap_row <= (tap_row + 1 == kernel_height ? next_tap : tap_row + 1) & SIZE;
        if (tap_row + 1 == kernel_height) begin
          passed <= (passed + 1) & ROWS;
          row <= next_row;
          if (row + 1 == out_height) begin
            group <= (group + group_step) & CHANNELS;
            finished <= is_kept || group + group_step >= channels;
          end
        end
      end else if (pixel_done) begin
        offset <= next_offset & COLUMNS;
        phase <= phase + 1 == kernel_width ? '0 : (phase + 1) & SIZE;
      end
      if (reads_row && column >= 0 && pixel_done) begin
        held_word <= last_word;
        holds_word <= 1'b1;
      end
    end
  end
endmodule
