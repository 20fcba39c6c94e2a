// Asks the SRAM for the pixels that a window passes over, ahead of the unit that uses them: for each row of the
// output the rows under its window, each from left to right. A word that two pixels share crosses once. Up to four small
// pixels that follow each other in memory are read as one, but for the first.
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
    input logic enable,  // not in the cycle in which the bytes of a pixel become others
    input logic holds,  // it asks for nothing
    // The picture
    input window_t window,
    /* verilator lint_off UNUSEDSIGNAL */
    input walk_t walk,
    /* verilator lint_on UNUSEDSIGNAL */
    input logic [31:0] base,  // under the first tap of the first window
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
    input logic takes
);
  // ------------------------------------------------------------------------------------------------------- shape
  logic sparse;  // the window leaves out columns
  logic [31:0] common_tap, common_row;
  logic signed [31:0] in_height, pad_top, pad_left, last_column;
  logic [31:0] out_height, kernel_height, kernel_width;
  logic [31:0] stride_height, stride_width, dilation_height, dilation_width;
  assign in_height = 32'(window.in_size.height);
  assign out_height = 32'(window.out_size.height);
  assign {kernel_height, kernel_width} = {32'(window.kernel.height), 32'(window.kernel.width)};
  assign {stride_height, stride_width} = {32'(window.stride.height), 32'(window.stride.width)};
  assign {dilation_height, dilation_width} = {32'(window.dilation.height), 32'(window.dilation.width)};
  assign {pad_top, pad_left} = {32'(window.pad.top), 32'(window.pad.left)};
  assign last_column = 32'(walk.last_column);
  assign sparse = dilation_width == 1 && stride_width > kernel_width;
  // Tap t of output row y reads what tap t + common_tap of row y - common_row has read.
  assign common_tap = stride_height == dilation_height ? 1 : stride_height;
  assign common_row = stride_height == dilation_height ? 1 : dilation_height;

  // ---------------------------------------------------------------------------------------------------- position
  // Registers have the bits that they can need: of a size, a column in front of the picture, or rows of two groups.
  localparam logic [31:0] SIZE = 32'h0000ffff, COLUMNS = 32'h0001ffff, ROWS = 32'h0003ffff, CHANNELS = 32'h01ffffff;
  // Beyond the greatest size and its padding no row is in the picture: distances count no further.
  localparam int unsigned DISTANCE_BITS = 18, PLACE_BITS = $clog2(PLACE + 1);
  typedef struct packed {
    logic [DISTANCE_BITS-1:0] row;
    logic [31:0] place;
  } line_t;
  function automatic line_t after(input line_t at, input logic [15:0] rows, input logic [31:0] step);
    return {at.row[DISTANCE_BITS-1] ? at.row : at.row + DISTANCE_BITS'(rows), (at.place + step) & PLACE};
  endfunction

  // The line that is being read, that of the row's first tap, and that of the first tap which brings a new line
  line_t line, first_line, new_line, next_first_line, next_new_line;
  logic [31:0] passed, row, next_row, tap_row, new_tap, phase, sent, held_word;
  // Columns that the row has after this one; they stand in `left_columns` but in the first run
  logic [31:0] more_columns, next_columns, row_columns, left_columns, hop;
  logic signed [31:0] in_row;
  logic signed [DISTANCE_BITS:0] column;
  logic holds_word, finished, active, reads_row, pixel_done, row_done, skips_word, is_ahead;
  logic ends_taps, ends_columns, ends_window;
  logic fits, is_kept, waits, decides, skips_taps, may_go, is_dense;
  logic is_before;  // the picture: a column of its padding
  logic [31:0] window_place, pixel_place, next_pixel_place, run_bytes;
  logic [1:0] most, doublings, next_doublings;  // as a power of 2: the pixels of a run at most, at hand, of the next
  logic [31:0] kept_bytes;  // of a run, but the first
  logic [1:0] row_doublings, run_doublings;  // of the next, where it is a row's first and where it is not
  logic is_first_run;
  assign row_columns = 32'(last_column + pad_left) & COLUMNS;
  assign more_columns = is_first_run ? row_columns : left_columns;
  assign column = (DISTANCE_BITS + 1)'(last_column - $signed(more_columns));
  assign is_before = is_first_run ? pad_left != 0 : left_columns > 32'(last_column);
  assign in_row = $signed(32'(line.row)) - pad_top;
  assign reads_row = in_row >= 0 && in_row < in_height
      && (!fits || row < common_row || tap_row + common_tap >= kernel_height);
  assign next_row = row + 1 == out_height ? '0 : (row + 1) & SIZE;
  assign ends_taps = tap_row == kernel_height - 1;
  assign next_first_line = next_row == 0 ? '0 : after(first_line, window.stride.height, walk.row_step);
  assign next_new_line = after(tap_row == new_tap ? line : new_line, window.stride.height, walk.row_step);
  // Of a later row only the taps that bring a new line are looked at.
  assign new_tap = kernel_height - common_tap;
  assign skips_taps = fits && next_row >= common_row && kernel_height > common_tap;
  assign is_ahead = passed != (step_row & ROWS) && ((passed - step_row) & ROWS) <= ROWS / 2;
  assign active = enable && !holds && !finished && !decides && !(waits && (row >= common_row || ends_taps)) && (!is_ahead || may_go);
  localparam logic [31:0] AT_ONCE = PORTS * BANK_BYTES;  // bytes
  assign is_dense = pixel_stride == pixel_bytes && !sparse;
  assign most = !is_dense ? 2'd0 : pixel_bytes <= AT_ONCE / 4 ? 2'd2 : pixel_bytes <= AT_ONCE / 2 ? 2'd1 : 2'd0;
  assign run_bytes = is_first_run ? pixel_bytes : kept_bytes;
  // So many of the pixels at the next column, and at a row's first. The first run is one, and begins before they are known.
  function automatic logic [1:0] pixels_at(input logic is_inside, input logic [31:0] further);
    return is_inside && (further + 1) >> most != 0 ? most : 2'd0;
  endfunction
  assign next_doublings = row_done ? row_doublings : run_doublings;
  assign row_doublings = pixels_at(pad_left == 0, row_columns);
  assign run_doublings = pixels_at(next_columns <= 32'(last_column), next_columns);
  always_ff @(posedge clock) begin
    if (reset || !enable) begin
      doublings <= '0;
      is_first_run <= 1'b1;
    end else if (active && (row_done || pixel_done)) begin
      doublings <= next_doublings;
      kept_bytes <= row_done ? pixel_bytes << row_doublings : pixel_bytes << run_doublings;
      is_first_run <= 1'b0;
    end
  end
  // A window ends with a hop to the next one, if that leaves out columns.
  assign ends_window = phase == kernel_width - 1;
  assign hop = stride_width - kernel_width + 1;
  assign next_columns = (more_columns - (sparse && ends_window ? hop : 32'd1 << doublings)) & COLUMNS;
  assign ends_columns = sparse && ends_window ? more_columns < hop : more_columns >> doublings == 0;
  assign next_pixel_place = (sparse && ends_window ? window_place + walk.column_step
      : pixel_place + (is_dense ? run_bytes : pixel_stride)) & PLACE;

  // -------------------------------------------------------------------------------------------------- what is held
  // A line's bytes are those of the first line that is read; what is compared with the buffer counts no further than
  // beyond it. The reader begins a group with all lines under its first window; it goes no further than into the next.
  logic measures;
  if (BUFFER_BYTES == 0) begin : all_held
    assign {fits, is_kept, may_go} = {1'b1, keeps, 1'b1};
    assign {waits, measures} = '0;
    logic unused;
    assign unused = &{1'b0, walk.span, group_ends, block_row};
  end else begin : some_held
    localparam int unsigned ENOUGH_BITS = $clog2(BUFFER_BYTES + 2);
    localparam logic [31:0] TOO_MANY = BUFFER_BYTES + 1;
    logic [ENOUGH_BITS-1:0] read_bytes, next_read_bytes;
    logic [31:0] all_bytes;
    logic [17:0] rows, rows_again;
    logic known, is_measured;
    assign all_bytes = 32'(read_bytes) + (run_bytes < TOO_MANY ? run_bytes : TOO_MANY);
    assign next_read_bytes = !(reads_row && !is_before && pixel_done) ? read_bytes
        : ENOUGH_BITS'(all_bytes < TOO_MANY ? all_bytes : TOO_MANY);
    assign measures = row_done && reads_row && !is_measured;
    assign is_kept = keeps && next_read_bytes != ENOUGH_BITS'(TOO_MANY);
    assign waits = is_measured && !known;
    assign may_go = known && group <= step_group + group_step
        && ((passed - block_row) & ROWS) < (group == step_group ? 32'(rows) : 32'(rows_again));
    always_ff @(posedge clock) begin
      if (reset) begin
        read_bytes <= '0;
        is_measured <= 1'b0;
      end else if (active) begin
        read_bytes <= group_ends ? '0 : next_read_bytes;
        is_measured <= group_ends ? keeps && (is_measured || measures) : is_measured || measures;
      end
    end
    dla_fitting #(
        .BYTES(BUFFER_BYTES)
    ) fitting (
        .clock,
        .reset,
        .start(measures),
        .line_bytes(next_read_bytes),
        .span(walk.span),
        .stride(window.stride.height),
        .known,
        .fits,
        .rows,
        .rows_again
    );
  end

  // ------------------------------------------------------------------------------------------ words of the pixel
  // `remaining`: of a run of which some words have been taken
  localparam int unsigned WORD_BITS = $clog2(BANK_BYTES);
  logic [31:0] pixel, first_word, last_word, whole_words, remaining, run_words, left;
  // Besides the words that its bytes fill, a run has one more if either end lies within a word, or two where what is left of
  // it also crosses from one into the next.
  logic [1:0] more_words;
  logic is_aligned, is_split;
  logic is_begun, ends_words, ends_others;  // words at hand that cross together; those but the one that is held
  logic [2:0] ends, ends_but_one;  // the same by `more_words`
  logic is_one_word;
  assign is_one_word = !is_split && whole_words == 32'(is_aligned);
  // Whether a and b and a carry are the sum, without waiting for carries: each bit of the sum says what must come from below,
  // and what then goes on.
  localparam logic [31:0] WORDS = PLACE / BANK_BYTES;  // the bits of a word's number
  function automatic logic is_sum(input logic [31:0] a, b, input logic carry, input logic [31:0] sum);
    logic [31:0] carries;  // into each bit
    carries = (((a & b) | ((a | b) & ~sum)) << 1) | 32'(carry);
    return ((a ^ b ^ sum ^ carries) & WORDS) == 0;
  endfunction
  logic [WORD_BITS:0] low_sum;
  assign low_sum = {1'b0, base[WORD_BITS-1:0]} + {1'b0, pixel_place[WORD_BITS-1:0]};
  assign pixel = (base + pixel_place) & PLACE;
  assign first_word = pixel / BANK_BYTES;
  assign last_word = ((pixel + run_bytes - 1) & PLACE) / BANK_BYTES;
  assign skips_word = holds_word && is_sum(base / BANK_BYTES, pixel_place / BANK_BYTES, low_sum[WORD_BITS], held_word);
  assign whole_words = run_bytes / BANK_BYTES;
  assign is_aligned = low_sum[WORD_BITS-1:0] == 0 && run_bytes % BANK_BYTES == 0;
  assign is_split = 32'(low_sum[WORD_BITS-1:0]) > BANK_BYTES - run_bytes % BANK_BYTES;
  assign more_words = is_split ? 2'd2 : {1'b0, !is_aligned};
  assign run_words = whole_words + 32'(more_words);
  always_comb begin
    for (int unsigned more = 0; more <= 2; more++) begin
      ends[more] = PORTS >= more && whole_words <= PORTS - more;
      ends_but_one[more] = whole_words <= PORTS + 1 - more;
    end
    ends_words = is_split ? ends[2] : is_aligned ? ends[0] : ends[1];
    ends_others = is_split ? ends_but_one[2] : is_aligned ? ends_but_one[0] : ends_but_one[1];
  end
  assign left = is_begun ? remaining : skips_word ? run_words - 1 : run_words;
  assign request.stride = BANK_BYTES;
  assign request.address = (skips_word ? first_word + sent + 1 : first_word + sent) * BANK_BYTES & PLACE;
  assign request.words = !active || !reads_row || is_before ? '0 : left < PORTS ? left[7:0] : 8'(PORTS);
  assign pixel_done = is_before || (skips_word && !is_begun && is_one_word)
      || (takes && (is_begun ? remaining <= PORTS : skips_word ? ends_others : ends_words));
  assign crossed_bytes = active && reads_row && !is_before && pixel_done ? run_bytes : '0;
  assign row_done = active && (!reads_row || (pixel_done && ends_columns));

  assign group_ends = row_done && ends_taps && row + 1 == out_height;

  // ------------------------------------------------------------------------------------------- what has crossed
  // Where the reader was when the words that cross now were taken: all before that have crossed. Where rows come in
  // order, a step waits only for those above its own.
  logic has_finished;
  logic [31:0] crossed_rows, crossed_group, crossed_tap_row;
  logic signed [DISTANCE_BITS:0] crossed_in_row, crossed_column;
  logic signed [PLACE_BITS:0] crossed_part;  // bytes of the pixel
  logic [31:0] ahead;  // rows from the step's on
  logic has_column, in_order;
  always_ff @(posedge clock) begin
    if (reset) begin
      {has_finished, crossed_rows, crossed_group, crossed_tap_row} <= '0;
      {crossed_in_row, crossed_column, crossed_part} <= '0;
    end else if (takes) begin
      {has_finished, crossed_rows, crossed_group, crossed_tap_row} <= {finished, passed, group, tap_row};
      {crossed_in_row, crossed_column} <= {in_row[DISTANCE_BITS:0], column};
      crossed_part <= (PLACE_BITS + 1)'(request.address - pixel);
    end
  end
  assign ahead = (crossed_rows - step_row) & ROWS;
  assign has_column = 32'(crossed_column) > step_column || (32'(crossed_column) == step_column && 32'(crossed_part) >= $signed(step_bytes));
  assign in_order = fits && dilation_height == 1 && crossed_group == step_group;
  assign ready = has_finished || (ahead != 0 && ahead <= ROWS / 2)
      || (ahead == 0 && (crossed_tap_row > step_tap_row || (crossed_tap_row == step_tap_row && has_column)))
      || (in_order && (32'(crossed_in_row) > step_in_row || (32'(crossed_in_row) == step_in_row && has_column)));

  always_ff @(posedge clock) begin
    if (reset) begin
      {passed, row, tap_row, phase, sent, held_word, group} <= '0;
      {line, first_line, new_line, window_place, pixel_place, remaining} <= '0;
      {holds_word, finished, decides, is_begun} <= '0;
    end else if (decides && !waits) begin
      decides <= 1'b0;
      if (fits && row >= common_row) begin
        tap_row <= new_tap & SIZE;
        line <= new_line;
        {window_place, pixel_place} <= {2{new_line.place}};
      end
    end else if (active) begin
      if (pixel_done) {is_begun, sent} <= '0;
      else if (takes && reads_row) begin
        is_begun <= 1'b1;
        sent <= (sent + PORTS) & PLACE;
        remaining <= (left - PORTS) & PLACE;
      end
      if (row_done) begin
        left_columns <= row_columns;
        phase <= '0;
        if (tap_row == new_tap) new_line <= line;
        if (!ends_taps) begin
          tap_row <= (tap_row + 1) & SIZE;
          line <= after(line, window.dilation.height, walk.tap_row_step);
          {window_place, pixel_place} <= {2{(line.place + walk.tap_row_step) & PLACE}};
        end else begin
          passed <= (passed + 1) & ROWS;
          row <= next_row;
          first_line <= next_first_line;
          new_line <= next_new_line;
          decides <= measures && kernel_height > common_tap;
          tap_row <= skips_taps && !measures ? new_tap & SIZE : '0;
          line <= skips_taps && !measures ? next_new_line : next_first_line;
          {window_place, pixel_place} <= {2{skips_taps && !measures ? next_new_line.place : next_first_line.place}};
          if (row + 1 == out_height) begin
            group <= (group + group_step) & CHANNELS;
            finished <= is_kept || group + group_step >= channels;
          end
        end
      end else if (pixel_done) begin
        left_columns <= next_columns;
        phase <= ends_window ? '0 : (phase + 1) & SIZE;
        pixel_place <= next_pixel_place;
        if (ends_window) window_place <= next_pixel_place;
      end
      if (reads_row && !is_before && pixel_done) begin
        held_word <= last_word;
        holds_word <= 1'b1;
      end
    end
  end
endmodule
