// When the array's next step may begin. Weights reach it at a limited rate: a step takes at least LOAD_CYCLES, however few
// pixels its block has. And it takes STEP_GROUP steps of an output together: taps of a slice of input channels, or slices
// of a tap. Steps of the last group that find neither are lost; they pass at the end of a block.

module dla_mac_pace #(
    parameter int unsigned LOAD_CYCLES = 1,
    parameter int unsigned STEP_GROUP = 1,
    parameter int unsigned INPUT_LANES = 1,
    parameter int unsigned BLOCK = 1,  // pixels
    parameter bit IN_BLOCKS = 0,  // which are handed over whole
    parameter int unsigned LATENCY = 9  // from the end of the last step to that of the operation
) (
    input logic clock,
    input logic reset,
    input logic step,  // of a pixel
    input logic ends_step,  // with the block's last pixel
    input logic ends_block,  // likewise, its last step
    input logic [31:0] index,  // of the pixel in its block
    input logic [15:0] kernel_height,
    input logic [15:0] kernel_width,
    input logic [31:0] depths,  // bytes of a weight for each tap and output
    input logic depthwise,
    input logic passes_twice,  // over the bytes of int16
    input logic is_longer,  // a tensor is added: eight stages more
    output logic may_begin,  // a step
    output logic gathers,  // sums wait for steps that their block loses
    output logic is_whole,  // none of these is left: all have passed, or the last one is passing
    output logic is_over  // nothing delays the operation's end
);
  // ------------------------------------------------------------------------------- steps that a block of pixels loses
  logic [31:0] lost;
  if (STEP_GROUP == 1) begin : each
    assign lost = '0;
    logic unused;
    assign unused = &{1'b0, kernel_height, kernel_width, depths, depthwise, passes_twice};
  end else begin : groups
    // What is left of slices goes in groups of taps or in groups of slices, whichever loses less.
    logic [31:0] taps, slices, rest, lost_taps, lost_slices;
    assign taps = 32'(kernel_height) * 32'(kernel_width);
    assign slices = depthwise ? 1 : (depths + INPUT_LANES - 1) / INPUT_LANES;
    assign rest = slices % STEP_GROUP;
    assign lost_taps = (STEP_GROUP - taps % STEP_GROUP) % STEP_GROUP * rest;
    assign lost_slices = (STEP_GROUP - rest) % STEP_GROUP * taps;
    assign lost = (lost_taps < lost_slices ? lost_taps : lost_slices) << passes_twice;
  end

  // --------------------------------------------------------------------------------------------------------- counting
  localparam int unsigned MOST = LOAD_CYCLES > BLOCK ? LOAD_CYCLES : BLOCK, BITS = $clog2(MOST + 1);
  logic [BITS-1:0] left, pixels;  // cycles of the step; pixels of the block
  logic [31:0] lost_left, cooling;
  assign may_begin = left == 0 && lost_left == 0;
  assign gathers = IN_BLOCKS || lost != 0;
  assign is_whole = IN_BLOCKS ? may_begin : lost_left == 0;
  assign is_over = cooling == 0;
  always_ff @(posedge clock) begin
    if (reset) {left, lost_left, cooling} <= '0;
    else begin
      if (step && index == 0) left <= BITS'(LOAD_CYCLES - 1);
      else if (left != 0) left <= left - 1'b1;
      else if (lost_left != 0) left <= 32'(pixels) < LOAD_CYCLES ? BITS'(LOAD_CYCLES - 1) : pixels - 1'b1;
      if (step && ends_step) pixels <= BITS'(index + 1);
      if (step && ends_block) lost_left <= lost;
      else if (left == 0 && lost_left != 0) lost_left <= lost_left - 1;
      if (!may_begin) cooling <= LATENCY + (is_longer ? 8 : 0);
      else if (cooling != 0) cooling <= cooling - 1;
    end
  end
endmodule
