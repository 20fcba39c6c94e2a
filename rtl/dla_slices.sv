// Asks the SRAM for the input of a convolution with one tap, or of a product of matrices, ahead of the array: for each
// block of pixels a word of each pixel, then the next word of each, in the order in which the array uses them.
//
// It serves several pixels whose bytes are whole words, and others where the buffer has no room for two blocks of them:
// there `dla_raster`, which serves the rest, would read a block while the array waits. Of pixels that are not whole words
// those that two share cross twice, so they must be long. The words of the picture cross again for each group of output
// channels, unless BUFFER_BYTES hold them all.
//
// Where the array computes several pixels at once, what is said of a pixel holds for a turn of them: a word of each is
// asked for row by row, and PORTS words at a time where a row has more.

module dla_slices
  import dla_words::*;
#(
    parameter int unsigned BANK_BYTES = 16,
    parameter int unsigned PORTS = 4,
    parameter int unsigned BUFFER_BYTES = 0,  // 0: no limit
    parameter int unsigned BLOCK = 1,  // pixels
    parameter int unsigned PIXEL_ROWS = 1,  // of a turn
    parameter int unsigned PIXEL_COLUMNS = 1,
    parameter logic [31:0] PLACE = 32'h000fffff  // the bits of an address of the SRAM
) (
    input logic clock,
    input logic reset,
    input logic enable,
    input logic holds,  // it asks for nothing
    // The picture; one tap has no dilation.
    /* verilator lint_off UNUSEDSIGNAL */
    input window_t window,
    input walk_t walk,
    /* verilator lint_on UNUSEDSIGNAL */
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
    input logic takes
);
  localparam logic [31:0] LONG = 8 * BANK_BYTES;
  localparam int unsigned PIXELS = PIXEL_ROWS * PIXEL_COLUMNS;
  localparam int unsigned MOST = PORTS > PIXEL_COLUMNS ? PORTS / PIXEL_COLUMNS : 1;  // pixels of a run, or turns

  // ------------------------------------------------------------------------------------------------------- shape
  logic whole_words, is_crowded, is_kept, is_column;
  logic [31:0] out_height, out_width, column_step, turn_step, row_step, words, shift;
  // A picture of one column is read as a row: a cycle brings words of one row only.
  assign is_column = window.out_size.width == 1;
  assign out_height = is_column ? 1 : (32'(window.out_size.height) + PIXEL_ROWS - 1) / PIXEL_ROWS;
  assign out_width = is_column ? (32'(window.out_size.height) + PIXEL_ROWS - 1) / PIXEL_ROWS
      : (32'(window.out_size.width) + PIXEL_COLUMNS - 1) / PIXEL_COLUMNS;
  assign column_step = is_column ? walk.row_step : walk.column_step;
  assign turn_step = (is_column ? PIXEL_ROWS : PIXEL_COLUMNS) * column_step;
  assign row_step = PIXEL_ROWS * walk.row_step;
  assign shift = whole_words ? 0 : BANK_BYTES - 1;  // the most of a pixel
  assign words = ((pixel_bytes & PLACE) + shift - 1) / BANK_BYTES + 1;  // of a pixel
  assign whole_words = walk.start % BANK_BYTES == 0 && walk.row_step % BANK_BYTES == 0
      && column_step % BANK_BYTES == 0 && pixel_bytes % BANK_BYTES == 0;
  assign is_crowded = BUFFER_BYTES != 0 && pixel_bytes > BUFFER_BYTES / (2 * BLOCK * PIXELS) && pixel_bytes >= LONG;
  assign serves = window.kernel.height == 1 && window.kernel.width == 1 && (whole_words || is_crowded) && walk.is_inside
      && (window.out_size.height != 1 || !is_column);

  // ---------------------------------------------------------------------------------------------------- position
  // In a cycle it reads a word of each pixel of a run: those of a row and of the block, as many as there are ports.
  // Registers have the bits that they can need: of a size, of words of a pixel, of channels.
  localparam logic [31:0] SIZE = 32'h0000ffff, CHANNELS = 32'h01ffffff;
  logic [31:0] group, first_row, first_column, row, column, index, slice;
  // Where the pixel lies, and its row; and how far into the pixels the slice
  typedef struct packed {
    logic [31:0] place;
    logic [31:0] row_place;
  } at_t;
  at_t at, first, after;
  localparam int unsigned WIDTH_BITS = $clog2(BANK_BYTES + 1), COUNT_BITS = $clog2(MOST + 1);
  logic [31:0] slice_place, row_left, block_left, next_place, next_row_place, step_slice, ahead;
  logic [COUNT_BITS-1:0] run;
  logic [WIDTH_BITS-1:0] own_bytes;
  logic [31:0] turn_place;  // of the turn's row at hand, and its words
  logic [7:0] run_words;
  logic ends_turns;
  logic finished, settles, active, moves, ends_row, ends_block, ends_slices, ends_picture;
  assign row_left = out_width - column;
  assign block_left = BLOCK - index;
  assign run = row_left < MOST && row_left < block_left ? COUNT_BITS'(row_left)
      : block_left < MOST ? COUNT_BITS'(block_left) : COUNT_BITS'(MOST);
  assign ends_row = row_left <= MOST && row_left <= block_left;
  assign ends_picture = ends_row && row + 1 == out_height;
  assign ends_block = block_left == 32'(run) || ends_picture;
  assign ends_slices = slice + 1 == words;
  assign request.stride = column_step;
  assign request.address = (walk.start + at.place + slice_place + turn_place) & PLACE;
  assign request.words = active ? run_words : '0;
  // Of a word of each pixel count the bytes that the pixel still has there.
  assign own_bytes = WIDTH_BITS'(pixel_bytes <= slice_place ? 0
      : pixel_bytes - slice_place < BANK_BYTES ? pixel_bytes - slice_place : BANK_BYTES);
  assign moves = active && takes && ends_turns;
  assign crossed_bytes = active && takes ? 32'(run_words) * 32'(own_bytes) : '0;

  // Of a run of turns: their rows, and of a row so many words at a time
  if (PIXELS == 1) begin : one_pixel
    assign {turn_place, run_words, ends_turns} = {32'd0, 8'(run), 1'b1};
  end else begin : several
    logic [15:0] turn_row, last_row, row_words, sent;
    logic [31:0] row_place, next_row;
    logic ends_words;
    assign last_row = is_column ? '0 : row + 1 == out_height ? (window.out_size.height - 16'd1) % 16'(PIXEL_ROWS) : 16'(PIXEL_ROWS - 1);
    assign row_words = !ends_row ? 16'(is_column ? run * PIXEL_ROWS : run * PIXEL_COLUMNS)
        : is_column ? window.out_size.height - 16'(column * PIXEL_ROWS) : window.out_size.width - 16'(column * PIXEL_COLUMNS);
    assign ends_words = row_words - sent <= 16'(PORTS);
    assign run_words = ends_words ? 8'(row_words - sent) : 8'(PORTS);
    assign ends_turns = ends_words && turn_row == last_row;
    assign next_row = (row_place + walk.row_step) & PLACE;
    always_ff @(posedge clock) begin
      if (reset) {turn_row, sent, row_place, turn_place} <= '0;
      else if (active && takes) begin
        sent <= ends_words ? '0 : sent + 16'(PORTS);
        if (ends_turns) {turn_row, row_place, turn_place} <= '0;
        else if (ends_words) {turn_row, row_place, turn_place} <= {turn_row + 16'd1, {2{next_row}}};
        else turn_place <= (turn_place + PORTS * column_step) & PLACE;
      end
    end
  end

  always_comb begin
    next_place = at.place;
    for (int unsigned k = 1; k <= MOST; k++) if (run == COUNT_BITS'(k)) next_place = (at.place + k * turn_step) & PLACE;
  end
  assign next_row_place = ends_row ? (at.row_place + row_step) & PLACE : at.row_place;
  assign after = ends_picture ? '0 : {ends_row ? next_row_place : next_place, next_row_place};

  // ------------------------------------------------------------------------------------------- what the array uses
  // Slices are counted from the operation's first: those that have come, and those before the array's block. Bytes of the
  // picture's first pass, no further than beyond the buffer, are counted a cycle after they were asked for; so are those
  // that decide whether there is a second pass.
  localparam int unsigned BYTES_BITS = $clog2(BUFFER_BYTES + PORTS * BANK_BYTES + 2);
  localparam int unsigned BLOCK_BYTES = BLOCK * PIXELS * BANK_BYTES;
  localparam int unsigned BLOCKS_HELD = BUFFER_BYTES > BLOCK_BYTES ? BUFFER_BYTES / BLOCK_BYTES : 1;
  logic [31:0] come, used;
  logic [BYTES_BITS-1:0] read_bytes, taken_bytes;
  assign is_kept = BUFFER_BYTES == 0 || 32'(read_bytes) + 32'(taken_bytes) <= BUFFER_BYTES;
  assign step_slice = (shift + step_bytes - 1) / BANK_BYTES;
  assign ahead = (come - used - step_slice) & PLACE;
  assign active = enable && !holds && serves && !finished && !settles
      && (is_kept || ahead <= 1 || ahead > PLACE / 2 || ahead < BLOCKS_HELD);
  // What had been taken before the words that cross now
  logic has_finished;
  logic [31:0] crossed, crossed_pixels, block_crossed, crossed_ahead;  // slices; pixels of the next; slices of the block at hand
  always_ff @(posedge clock) begin
    if (reset) {has_finished, crossed, crossed_pixels} <= '0;
    else if (takes) {has_finished, crossed, crossed_pixels} <= {finished, come, index};
  end
  assign block_crossed = (crossed - used) & PLACE;
  assign crossed_ahead = (crossed - used - step_slice) & PLACE;
  assign ready = has_finished || (block_crossed != step_slice && crossed_ahead <= PLACE / 2)
      || (block_crossed == step_slice && crossed_pixels > step_index);

  always_ff @(posedge clock) begin
    if (reset) begin
      {group, first_row, first_column, row, column, index, slice, come, used, read_bytes, taken_bytes} <= '0;
      {at, first, slice_place} <= '0;
      {finished, settles} <= '0;
    end else begin
      taken_bytes <= BYTES_BITS'(crossed_bytes);
      if (32'(read_bytes) <= BUFFER_BYTES) read_bytes <= read_bytes + taken_bytes;
      if (block_ends) used <= (used + words) & PLACE;
      settles <= moves && ends_picture && ends_slices;
      if (settles) finished <= is_kept || group >= channels;
      if (moves) begin
        index <= ends_block ? '0 : (index + 32'(run)) & SIZE;
        row <= ends_picture ? '0 : ends_row ? (row + 1) & SIZE : row;
        column <= ends_row ? '0 : (column + 32'(run)) & SIZE;
        at <= after;
        if (ends_block) come <= (come + 1) & PLACE;
        if (ends_block && !ends_slices) begin
          slice <= (slice + 1) & PLACE;
          slice_place <= (slice_place + BANK_BYTES) & PLACE;
          row <= first_row;
          column <= first_column;
          at <= first;
        end else if (ends_block) begin
          slice <= '0;
          slice_place <= '0;
          first_row <= ends_picture ? '0 : ends_row ? (row + 1) & SIZE : row;
          first_column <= ends_row ? '0 : (column + 32'(run)) & SIZE;
          first <= after;
          if (ends_picture) group <= (group + group_step) & CHANNELS;
        end
      end
    end
  end
endmodule
