// The sums of finished pixels leave their accumulators at RESULT_CYCLES of RATE_SCALE cycles for each, in the order
// in which they were finished. A block's accumulators are free for the next but one when all of its pixels have left.
//
// IN_BLOCKS: a block has as many groups of output channels as there are accumulators for, and its places follow those of
// the block before in a ring. If it GATHERS, none of its pixels leaves before the block is whole; so where a block loses
// steps behind its last one.

module dla_mac_results
  import dla_isa::*;
#(
    parameter int unsigned LANES = 64,
    parameter int unsigned PIXEL_ROWS = 1,  // of a turn, which is what leaves together
    parameter int unsigned PIXEL_COLUMNS = 1,
    parameter int unsigned BLOCK = 32,
    parameter int unsigned RESULT_CYCLES = 0,
    parameter bit IN_BLOCKS = 0,
    parameter bit GATHERS = 0,
    parameter int unsigned PLACE_BITS = 6,
    parameter logic [31:0] PLACE = 32'h000fffff  // the bits of an address of the SRAM
) (
    input logic clock,
    input logic reset,
    input logic closes,  // a pixel's sums are complete with this cycle
    /* verilator lint_off UNUSEDSIGNAL */
    input logic gathers,  // now, if it can
    input logic hands_over,  // with this cycle all of its block are
    input logic is_whole,  // nothing more of such a block passes the array
    input logic [31:0] pixels,  // of a group
    /* verilator lint_on UNUSEDSIGNAL */
    input logic room,  // for its results
    input logic [1:0] size,  // of a result: its bytes as a power of 2
    input logic [1:0] partial_size,  // likewise, of what is added
    input logic [31:0] group_step,
    // Of the operation's registers it needs those of the results.
    /* verilator lint_off UNUSEDSIGNAL */
    input mac_operands_t operands,
    /* verilator lint_on UNUSEDSIGNAL */
    output logic leaves,  // a pixel, in this cycle
    output logic ends,  // it is the last
    output logic block_leaves,  // it is the last of its block
    output logic [31:0] block_index,  // its place among those
    output logic [PLACE_BITS-1:0] place,  // of its accumulators
    output logic [PIXEL_ROWS*PIXEL_COLUMNS-1:0] lies,  // its pixels in the output
    output logic [31:0] output_channel,
    output logic [31:0] lanes,
    output logic [31:0] partial,
    output logic [31:0] result
);
  // The time of a turn; what has passed is counted up to that at least.
  localparam longint unsigned LONGEST = 64'(LANES) * PIXEL_ROWS * PIXEL_COLUMNS * RESULT_CYCLES, LEAST = 64'd1 << 30;
  localparam int unsigned LANE_BITS = $clog2(LANES + 1), NEEDED_BITS = $clog2(LONGEST + 1) + 1;
  localparam int unsigned TIME_BITS = NEEDED_BITS > 32 ? NEEDED_BITS : 32;
  localparam logic [TIME_BITS-1:0] RATE_SCALE = TIME_BITS'(65536), MOST = TIME_BITS'(LONGEST > LEAST ? LONGEST : LEAST);
  localparam int unsigned PIXEL_BITS = PLACE_BITS + 1;  // as many as there are accumulators may wait
  logic [31:0] group, row, column;
  logic [TIME_BITS-1:0] time_;
  logic [PLACE_BITS-1:0] index;
  logic [PIXEL_BITS-1:0] waiting;
  logic pending, in_time, ends_column, ends_row, ends_group, is_begun;
  logic [NEEDED_BITS-1:0] needed_each, needed;  // each: of a pixel
  logic [31:0] count;  // of pixels in the output

  // ------------------------------------------------------------------------------------------- when a pixel leaves
  // The channels from this group on, its lanes and their time stand in registers, long before the first pixel is complete.
  logic [31:0] left, next_left;
  logic [LANE_BITS-1:0] next_lanes;
  assign next_left = leaves && ends_column && ends_row ? left - group_step : is_begun ? left : operands.out_channels;
  assign next_lanes = LANE_BITS'(next_left < group_step ? next_left : group_step);
  always_ff @(posedge clock) begin
    is_begun <= !reset && (is_begun || leaves);
    left <= next_left & 32'h01ffffff;
    lanes <= 32'(next_lanes);
    needed_each <= NEEDED_BITS'(64'(next_lanes) * RESULT_CYCLES);
  end
  assign needed = NEEDED_BITS'(64'(needed_each) * count);
  dla_mac_tile #(
      .PIXEL_ROWS(PIXEL_ROWS),
      .PIXEL_COLUMNS(PIXEL_COLUMNS)
  ) tile (
      .size(operands.out_size), .ends_column, .ends_row, .lies, .count
  );
  logic [PIXEL_BITS-1:0] arriving;
  if (GATHERS) begin : whole
    logic [PIXEL_BITS-1:0] gathered, all;
    logic is_complete, has_all;
    assign all = gathered + PIXEL_BITS'(closes);
    assign has_all = is_complete || hands_over;
    assign arriving = !gathers ? PIXEL_BITS'(closes) : has_all && is_whole ? all : '0;
    always_ff @(posedge clock) begin
      if (reset || !gathers) {gathered, is_complete} <= '0;
      else begin
        gathered <= arriving != 0 ? '0 : all;
        is_complete <= has_all && !is_whole;
      end
    end
  end else begin : single
    assign arriving = PIXEL_BITS'(closes);
  end
  assign pending = waiting != 0 || arriving != 0;
  if (RESULT_CYCLES == 0) begin : unlimited
    assign in_time = 1'b1;
  end else begin : limited
    assign in_time = 64'(time_) + 64'(RATE_SCALE) >= 64'(needed);
  end
  assign leaves = pending && room && in_time;
  always_ff @(posedge clock) begin
    if (reset) begin
      waiting <= '0;
      time_ <= '0;
    end else begin
      waiting <= waiting + arriving - PIXEL_BITS'(leaves);
      if (leaves) time_ <= waiting + arriving == 1 ? '0 : TIME_BITS'(64'(time_) + 64'(RATE_SCALE) - 64'(needed));
      else if (pending && time_ < MOST) time_ <= time_ + RATE_SCALE;
    end
  end

  // -------------------------------------------------------------------------------------------------- which it is
  assign ends_column = column + PIXEL_COLUMNS == in_turns(operands.out_size.width, PIXEL_COLUMNS);
  assign ends_row = row + PIXEL_ROWS == in_turns(operands.out_size.height, PIXEL_ROWS);
  function automatic logic [31:0] in_turns(input logic [15:0] extent, input int unsigned each);  // whole ones
    return (32'(extent) + each - 1) / each * each;
  endfunction
  assign ends_group = left <= group_step;
  assign ends = leaves && ends_column && ends_row && ends_group;
  if (IN_BLOCKS) begin : ring
    logic [PLACE_BITS-1:0] next;
    assign place = next;
    assign block_leaves = leaves && (32'(index) + 1 == BLOCK
        || (ends_column && ends_row && (ends_group || 32'(index) + 1 + pixels > BLOCK)));
    always_ff @(posedge clock) begin
      if (reset) next <= '0;
      else if (leaves) next <= 32'(next) == 2 * BLOCK - 1 ? '0 : next + 1'b1;
    end
  end else begin : banks
    logic bank;
    assign place = index + PLACE_BITS'(bank ? BLOCK : 0);
    assign block_leaves = leaves && (32'(index) + 1 == BLOCK || (ends_column && ends_row));
    always_ff @(posedge clock) begin
      if (reset) bank <= 1'b0;
      else if (block_leaves) bank <= !bank;
    end
  end
  assign output_channel = group;
  assign block_index = 32'(index);
  logic [31:0] acc_place, out_place;
  assign partial = (operands.acc_addr + acc_place + (group << partial_size)) & PLACE;
  assign result = (operands.out_addr + out_place + (group << size)) & PLACE;
  dla_walk #(.PLACE(PLACE)) partials (
      .clock, .reset, .step(leaves), .ends_column, .ends_row, .restarts(1'b0), .starts(1'b0),
      .row_step(PIXEL_ROWS * operands.acc_row_stride), .column_step(PIXEL_COLUMNS * operands.acc_pixel_stride), .place(acc_place)
  );
  dla_walk #(.PLACE(PLACE)) results (
      .clock, .reset, .step(leaves), .ends_column, .ends_row, .restarts(1'b0), .starts(1'b0),
      .row_step(PIXEL_ROWS * operands.out_row_stride), .column_step(PIXEL_COLUMNS * operands.out_pixel_stride), .place(out_place)
  );
  always_ff @(posedge clock) begin
    if (reset) begin
      {group, row, column, index} <= '0;
    end else if (leaves) begin
      index <= block_leaves ? '0 : index + 1;
      column <= ends_column ? '0 : (column + PIXEL_COLUMNS) & 32'h0000ffff;
      if (ends_column) begin
        row <= ends_row ? '0 : (row + PIXEL_ROWS) & 32'h0000ffff;
        if (ends_row) group <= (group + group_step) & 32'h01ffffff;
      end
    end
  end
endmodule
