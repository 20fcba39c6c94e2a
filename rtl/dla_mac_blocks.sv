// Blocks of pixels that are handed over whole: a block has as many groups of output channels as there are accumulators
// for. One pass over the input serves all of them, and its results go to the SRAM when all have passed the output stage,
// those of a pixel together.

module dla_mac_blocks
  import dla_isa::*;
  import dla_words::*;
#(
    parameter int unsigned LANES = 64,
    parameter int unsigned PIXEL_ROWS = 1,
    parameter int unsigned PIXEL_COLUMNS = 1,
    parameter int unsigned BLOCK = 32,
    parameter int unsigned PLACE_BITS = 6,
    parameter logic [31:0] PLACE = 32'h000fffff  // the bits of an address of the SRAM
) (
    input logic clock,
    input logic reset,
    input logic valid,
    input logic depthwise,  // each group has an input of its own
    input logic [31:0] pixels,
    input logic [31:0] group,  // of the array's step
    input logic [31:0] group_step,
    input logic [31:0] rows_before,  // of the groups before this one
    input logic [31:0] block_row,
    input logic [31:0] row,
    input logic [31:0] out_height,
    input logic group_ends,  // with the array's step
    input logic hands_over,  // what ends is all of its block
    input mac_operands_t operands,
    input logic [1:0] size,  // of a result: its bytes as a power of 2
    input logic leaves,  // a pixel of a group, to the output stage
    input logic [31:0] index,  // its place among those of the block
    input logic block_leaves,  // it is the last of these
    input logic [PLACE_BITS-1:0] place,  // of its accumulators, and of its results
    input logic writer_room,
    input logic turn_leaves,  // the last results of what was put last go to the writers
    output pass_t pass,  // over the input
    output logic room,  // for the results of another pixel: those of two blocks are held
    output results_t put,
    output logic [PIXEL_ROWS*PIXEL_COLUMNS-1:0] lies,  // pixels of these in the output
    output logic [PLACE_BITS-1:0] put_place  // of those of the first group
);
  // ---------------------------------------------------------------- groups of a block: a bit of their number in a cycle
  localparam int unsigned BITS = $clog2(BLOCK + 1);
  logic [BITS-1:0] digit, groups;  // digit: the bit at hand
  logic [31:0] used, more, block_step;
  assign more = pixels > BLOCK ? pixels : used + pixels * 32'(digit);
  assign block_step = group_step * (groups == 0 ? 1 : 32'(groups));
  always_ff @(posedge clock) begin
    if (reset || !valid) begin
      digit <= BITS'(1) << (BITS - 1);
      {groups, used} <= '0;
    end else begin
      digit <= digit >> 1;
      if (more <= BLOCK) {groups, used} <= {groups | digit, more};
    end
  end

  // ------------------------------------------------------------------------------------------------------------ input
  logic [31:0] first_group, blocks_rows, passed_rows;
  assign passed_rows = depthwise ? rows_before : blocks_rows;
  assign pass.block_row = passed_rows + block_row;
  assign pass.step_row = passed_rows + row;
  assign pass.group = depthwise ? group : first_group;
  assign pass.channels = depthwise ? group_step : block_step;
  assign pass.is_known = digit == 0;
  assign pass.ends = hands_over;
  always_ff @(posedge clock) begin
    if (reset) {first_group, blocks_rows} <= '0;
    else if (group_ends && hands_over) begin
      first_group <= group + group_step;
      blocks_rows <= blocks_rows + out_height;
    end
  end

  // ---------------------------------------------------------------------------------------------------------- results
  logic [1:0] blocks;  // that are held, or begin to be
  logic block_put, block_waits, block_frees;  // it has been put, but for what waits for a writer
  logic [31:0] put_lanes;
  assign room = index != 0 || blocks < 2;
  assign block_frees = turn_leaves && (block_put || block_waits);
  assign put.bytes = put_lanes << size;
  always_ff @(posedge clock) begin
    if (reset) {blocks, block_waits} <= '0;
    else begin
      blocks <= blocks + 2'(leaves && index == 0) - 2'(block_frees);
      block_waits <= (block_put || block_waits) && !block_frees;
    end
  end

  // Where the results of both blocks begin in the ring of places
  /* verilator lint_off UNUSEDSIGNAL */
  logic [31:0] put_index;  // of a pixel among those of its block
  /* verilator lint_on UNUSEDSIGNAL */
  logic [PLACE_BITS-1:0] begins[2], base;
  logic newest, oldest;  // the block that leaves, and the one that is put
  logic [PLACE_BITS:0] beyond;
  assign base = leaves && index == 0 && newest == oldest ? place : begins[oldest];
  assign beyond = (PLACE_BITS + 1)'(base) + (PLACE_BITS + 1)'(put_index);
  assign put_place = PLACE_BITS'(32'(beyond) < 2 * BLOCK ? beyond : beyond - (PLACE_BITS + 1)'(2 * BLOCK));
  for (genvar b = 0; b < 2; b++) begin : held
    always_ff @(posedge clock) if (leaves && index == 0 && newest == (b == 1)) begins[b] <= place;
  end
  always_ff @(posedge clock) begin
    if (reset) {newest, oldest} <= '0;
    else {newest, oldest} <= {newest ^ block_leaves, oldest ^ block_put};
  end
  /* verilator lint_off UNUSEDSIGNAL */
  logic [PLACE_BITS-1:0] unused_place;
  logic [31:0] unused_channel, unused_partial;
  /* verilator lint_on UNUSEDSIGNAL */
  dla_mac_results #(
      .LANES(BLOCK * LANES),
      .PIXEL_ROWS(PIXEL_ROWS),
      .PIXEL_COLUMNS(PIXEL_COLUMNS),
      .BLOCK(BLOCK),
      .GATHERS(1'b1),
      .PLACE_BITS(PLACE_BITS),
      .PLACE(PLACE)
  ) results (
      .clock,
      .reset,
      .closes(leaves && index < pixels),  // of the first group
      .gathers(1'b1),
      .hands_over(block_leaves),
      .is_whole(1'b1),
      .room(writer_room && pass.is_known),
      .size,
      .partial_size(size),
      .group_step(block_step),
      .operands,
      .pixels,
      .leaves(put.valid),
      .ends(put.ends),
      .block_leaves(block_put),
      .block_index(put_index),
      .place(unused_place),
      .lies,
      .output_channel(unused_channel),
      .lanes(put_lanes),
      .partial(unused_partial),
      .result(put.address)
  );
endmodule
