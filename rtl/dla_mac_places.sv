// Which accumulators the pixels of a block add up in, and whether they are free. There are two banks: while a block adds up
// in one, the block before leaves the other, which is free again when its last sums have passed the pipeline.
//
// IN_BLOCKS: places follow each other in a ring instead, and a block goes on with the next group of output channels as long
// as there are accumulators for all pixels once more.

module dla_mac_places #(
    parameter int unsigned BLOCK = 32,  // pixels
    parameter int unsigned PLACES = 64,
    parameter int unsigned PLACE_BITS = 6,
    parameter bit IN_BLOCKS = 0,
    parameter bit LIMITED = 1,  // else sums leave at once, and accumulators are always free
    parameter int unsigned LATE = 0  // cycles from the last sums of a block until its accumulators are free
) (
    input logic clock,
    input logic reset,
    input logic step,  // of a pixel
    input logic first,  // it is the pixel's first one
    input logic ends_taps,  // likewise, its block's last one
    input logic [31:0] index,  // of the pixel in its block
    input logic leaves,  // a pixel
    input logic block_leaves,  // with it its block
    // What whole blocks need
    input logic ends_pixels,  // the block is the group's last one
    input logic ends_group,  // there is no other group
    input logic [31:0] pixels,  // of a group
    output logic [PLACE_BITS-1:0] place,
    output logic hands_over,  // the block ends with this group's pixels
    output logic has_room  // for the step
);
  logic is_free;
  assign has_room = !LIMITED || is_free;
  if (IN_BLOCKS) begin : ring
    logic [PLACE_BITS-1:0] begin_place;
    logic [PLACE_BITS:0] taken;
    logic [31:0] sum, held;  // held: pixels of the block, of the groups before this one
    assign sum = 32'(begin_place) + index;
    assign place = PLACE_BITS'(sum < PLACES ? sum : sum - PLACES);
    assign hands_over = !ends_pixels || ends_group || held + 2 * pixels > BLOCK;
    assign is_free = !first || 32'(taken) < PLACES;
    always_ff @(posedge clock) begin
      if (reset) {begin_place, held, taken} <= '0;
      else begin
        taken <= taken + (PLACE_BITS + 1)'(step && first) - (PLACE_BITS + 1)'(leaves);
        if (step && ends_taps) begin
          begin_place <= 32'(place) == PLACES - 1 ? '0 : place + 1'b1;
          held <= hands_over ? '0 : held + pixels;
        end
      end
    end
    logic unused;
    assign unused = &{1'b0, block_leaves};
  end else begin : banks
    logic bank, begins, frees;
    logic [1:0] taken;
    assign begins = first && index == 0;
    assign place = PLACE_BITS'(index + (bank ? BLOCK : 0));
    assign hands_over = 1'b1;
    assign is_free = !begins || taken < 2;
    always_ff @(posedge clock) begin
      if (reset) {bank, taken} <= '0;
      else begin
        taken <= taken + 2'(step && begins) - 2'(frees);
        if (step && ends_taps) bank <= !bank;
      end
    end
    if (LATE == 0) begin : at_once
      assign frees = block_leaves;
    end else begin : later
      logic [LATE-1:0] left;  // a block, so many cycles ago
      assign frees = left[LATE-1];
      always_ff @(posedge clock) left <= reset ? '0 : LATE'({left, block_leaves});
    end
    logic unused;
    assign unused = &{1'b0, leaves, ends_pixels, ends_group, pixels};
  end
endmodule
