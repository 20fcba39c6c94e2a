// Places of the results of a turn, as they go to the writers: a chunk of bytes in a cycle, pixel by pixel, and of a pixel
// that has several groups of channels group by group. The first goes with the turn itself.

module dla_chunks
  import dla_words::*;
#(
    parameter int unsigned PIXEL_ROWS = 1,
    parameter int unsigned PIXEL_COLUMNS = 1,
    parameter int unsigned MOST_BYTES = 256,  // of a pixel's group
    parameter int unsigned CHUNK = 64,
    parameter bit GROUPS = 0,  // whether a turn has several
    parameter int unsigned INDEXES = 1,  // of places where they are kept, in a ring
    parameter logic [31:0] PLACE = 32'h000fffff,  // the bits of an address of the SRAM
    // What follows
    parameter int unsigned PIXELS = PIXEL_ROWS * PIXEL_COLUMNS,
    parameter int unsigned CHUNKS = (MOST_BYTES + CHUNK - 1) / CHUNK,
    parameter int unsigned PIXEL_BITS = PIXELS > 1 ? $clog2(PIXELS) : 1,
    parameter int unsigned CHUNK_BITS = CHUNKS > 1 ? $clog2(CHUNKS) : 1,
    parameter int unsigned INDEX_BITS = INDEXES > 1 ? $clog2(INDEXES) : 1
) (
    input logic clock,
    input logic reset,
    input results_t turn,  // those of its first pixel
    input logic [PIXELS-1:0] lies,  // the pixels in the output, of which the first is one
    input logic [31:0] result_at[PIXELS],  // of each pixel, from the first one's
    input logic writer_room,
    // With groups: where the turn's first one is kept, from there to the next one, and bytes of a group
    /* verilator lint_off UNUSEDSIGNAL */
    input logic [INDEX_BITS-1:0] turn_index,
    input logic [INDEX_BITS-1:0] index_step,
    input logic [31:0] group_bytes,
    /* verilator lint_on UNUSEDSIGNAL */
    output logic room,  // for a turn
    output results_t put,
    output logic over,  // it is the turn's last
    output logic [PIXEL_ROWS-1:0] row,  // of the pixel
    output logic [PIXEL_BITS-1:0] pixel,
    output logic [CHUNK_BITS-1:0] chunk,  // of the pixel's group
    output logic [INDEX_BITS-1:0] index
);
  if (PIXELS == 1 && CHUNKS == 1 && !GROUPS) begin : at_once
    assign put = turn;
    assign over = 1'b1;
    assign room = writer_room;
    assign {row, pixel, chunk, index} = {PIXEL_ROWS'(1), {PIXEL_BITS + CHUNK_BITS + INDEX_BITS{1'b0}}};
    logic unused;
    assign unused = &{1'b0, clock, reset, lies, result_at[0]};
  end else begin : in_turns
    logic is_busy;  // with a turn that came before
    results_t kept;
    logic [PIXELS-1:0] kept_left, left, next_left;
    logic [31:0] pixel_done, group_done, kept_done, kept_group_done, pixel_left, group_left, at;  // bytes
    logic [CHUNK_BITS-1:0] kept_chunk;
    logic [INDEX_BITS-1:0] kept_index, first_index;
    logic ends_group, ends_pixel;
    assign left = is_busy ? kept_left : lies;
    assign pixel_done = is_busy ? kept_done : '0;
    assign group_done = !GROUPS ? pixel_done : is_busy ? kept_group_done : '0;
    assign chunk = is_busy ? kept_chunk : '0;
    assign index = is_busy ? kept_index : turn_index;
    logic [INDEX_BITS:0] beyond;
    logic [INDEX_BITS-1:0] next_index;
    assign beyond = (INDEX_BITS + 1)'(index) + (INDEX_BITS + 1)'(index_step);
    assign next_index = INDEX_BITS'(32'(beyond) < INDEXES ? beyond : beyond - (INDEX_BITS + 1)'(INDEXES));
    always_comb begin
      next_left = '0;
      {row, pixel, at} = {PIXEL_ROWS'(1), {PIXEL_BITS + 32{1'b0}}};
      for (int p = int'(PIXELS) - 1; p >= 0; p--)
        if (left[p]) begin
          next_left = left & ~(PIXELS'(1) << p);
          {row, pixel, at} = {PIXEL_ROWS'(1) << p / PIXEL_COLUMNS, PIXEL_BITS'(p), p == 0 ? '0 : result_at[p]};
        end
    end
    always_comb begin
      put = is_busy ? kept : turn;
      pixel_left = put.bytes - pixel_done;
      group_left = GROUPS && group_bytes - group_done < pixel_left ? group_bytes - group_done : pixel_left;
      ends_group = group_left <= CHUNK;
      ends_pixel = ends_group && group_left == pixel_left;
      over = ends_pixel && next_left == '0;
      if (is_busy) put.valid = writer_room;
      put.address = (put.address + at + pixel_done) & PLACE;
      put.ends = put.ends && over;
      put.bytes = ends_group ? group_left : CHUNK;
    end
    assign room = writer_room && !is_busy;
    always_ff @(posedge clock) begin
      if (reset) is_busy <= 1'b0;
      else if (put.valid) is_busy <= !over;
      if (turn.valid && !is_busy) begin
        kept <= turn;
        first_index <= turn_index;
      end
      if (put.valid) begin
        kept_left <= ends_pixel ? next_left : left;
        kept_done <= ends_pixel ? '0 : pixel_done + put.bytes;
        kept_group_done <= ends_group ? '0 : group_done + put.bytes;
        kept_chunk <= ends_group ? '0 : chunk + 1'b1;
        kept_index <= !GROUPS ? '0 : ends_pixel ? (is_busy ? first_index : turn_index) : ends_group ? next_index : index;
      end
    end
  end
endmodule
