// The words of a MAC operation that cross the SRAM's ports: weights and records, input, partial sums, results.
// Readers run ahead of the array; `ready` says whether all that its next step reads has crossed.

module dla_mac_traffic
  import dla_isa::*;
  import dla_words::*;
#(
    parameter int unsigned PIXEL_ROWS = 1,  // of a turn
    parameter int unsigned PIXEL_COLUMNS = 1,
    parameter int unsigned LANES = 64,
    parameter int unsigned OUTPUT_LANES = LANES,  // fewer where only a depthwise convolution has all of them
    parameter int unsigned BANK_BYTES = 16,
    parameter int unsigned PORTS = 4,
    parameter int unsigned LINE_BUFFER_BYTES = 16384,
    parameter int unsigned WEIGHT_BUFFER_BYTES = 8192,
    parameter int unsigned BLOCK = 32,
    parameter bit IN_BLOCKS = 0,  // which are handed over whole
    parameter int unsigned INT16 = 0,
    // Of results: see dla_writers
    parameter int unsigned WRITER_WORDS = 2,
    parameter int unsigned CHUNK = 16,
    parameter int unsigned DEPTH = 8,
    parameter int unsigned PUT_BITS = 1,
    parameter int unsigned TURNS = 1 << $clog2(WRITER_WORDS),
    parameter int unsigned DELAY = 6,
    parameter int unsigned LONGER = 0,
    parameter logic [31:0] PLACE = 32'h000fffff  // the bits of an address of the SRAM
) (
    input logic clock,
    input logic reset,
    input logic valid,
    // Of the operation: those of its registers that place operands
    /* verilator lint_off UNUSEDSIGNAL */
    input operand_uses_t uses,
    input mac_operands_t operands,
    /* verilator lint_on UNUSEDSIGNAL */
    input logic depthwise,
    input logic int16,
    input window_t window,
    /* verilator lint_off UNUSEDSIGNAL */
    input products_t products,
    /* verilator lint_on UNUSEDSIGNAL */
    input logic [31:0] group_bytes,  // of weights
    // Depthwise: whole input channels of a group's outputs, and outputs of one more
    input logic [31:0] each_channels,
    input logic [31:0] each_before,
    // The array's next step; rows count on from group to group
    input logic [31:0] block_row,
    input logic [31:0] step_row,
    input logic [31:0] step_out_row,
    input logic [31:0] partials_row,
    input logic [31:0] step_column,
    input logic [31:0] step_tap,
    input logic [31:0] step_inputs,  // input channels up to the step's last
    input logic [31:0] step_filter,  // bytes of a filter up to those
    input logic [31:0] step_tap_row,
    input logic [31:0] step_group,
    /* verilator lint_off UNUSEDSIGNAL */
    input pass_t pass,  // over the input, in whole blocks
    /* verilator lint_on UNUSEDSIGNAL */
    input logic signed [31:0] step_in_row,
    input logic signed [31:0] step_in_column,
    input logic [31:0] step_index,  // the pixel's place in the block
    input logic step_meets,
    input logic step_first,
    input logic block_ends,
    input logic group_ends,
    // Results: where they will come, and the chunk of them that must be here
    input logic restart,
    input results_t put,
    input logic [PUT_BITS-1:0] put_select,
    input logic others_settled,  // of units that take turns with this one
    output logic settled,  // results of operations before this one have crossed
    output logic [PUT_BITS-1:0] select,
    output logic result_ends,  // the last chunk is
    input logic [8*CHUNK-1:0] chunk,
    input logic [PIXEL_ROWS-1:0] put_row,  // of a turn, in which they lie
    input logic is_longer,  // their way
    output logic ready,
    output logic room,
    // To the ports
    output request_t request[4],
    output logic [31:0] crossed_bytes[4],  // of operands, with this cycle's words
    input logic [3:0] takes,
    output logic [7:0] result_words,  // new ones of the put
    output logic [7:0] slot_first,  // of results, for the crossbar
    output logic [8*BANK_BYTES-1:0] slot_words[TURNS],
    output logic [BANK_BYTES-1:0] slot_strobes[TURNS]
);
  localparam int unsigned RESULTS = 0, WEIGHTS = 1, INPUT = 2, PARTIALS = 3;

  // An operation reads nothing before the results of those before it have crossed.
  logic has_settled, all_written, may_read;
  assign settled = has_settled || all_written;
  assign may_read = settled && others_settled;
  always_ff @(posedge clock) has_settled <= !reset && settled;

  // ------------------------------------------------------------------------------------------------------ weights
  logic weights_ready, input_ready, partials_ready;
  logic [31:0] group_step;  // output channels of a group
  assign group_step = depthwise ? LANES : OUTPUT_LANES;
  dla_weights #(
      .BANK_BYTES(BANK_BYTES),
      .PORTS(PORTS),
      .PLACE(PLACE),
      .BUFFER_BYTES(WEIGHT_BUFFER_BYTES),
      .LANES(LANES),
      .BLOCK(BLOCK)
  ) weights (
      .clock,
      .reset,
      .enable(valid && may_read),
      .depthwise,
      .has_records(uses.param.present),
      .weight_address(operands.weight_addr),
      .record_address(operands.param_addr),
      .filter_bytes(products.filter_bytes),
      .channels(operands.out_channels),
      .group_step,
      .group_bytes,
      .pixels(products.pixels),
      .step_bytes(step_filter),
      .step_tap,
      .block_ends,
      .group_ends,
      .ready(weights_ready),
      .request(request[WEIGHTS]),
      .crossed_bytes(crossed_bytes[WEIGHTS]),
      .takes(takes[WEIGHTS])
  );

  // -------------------------------------------------------------------------------------------------------- input
  pass_t own;  // a pass for each group, or for each block
  assign own = IN_BLOCKS ? pass : '{
      block_row: block_row, step_row: step_row, group: step_group, channels: group_step, is_known: 1'b1, ends: 1'b1
  };
  logic pixels_ready, slices_ready, serves, sliced;
  logic [31:0] pixels_bytes, slices_bytes;
  request_t pixels_request, slices_request;
  assign sliced = serves && !depthwise;
  // Depthwise: the input channels that a group of outputs reads. Of the first one `fed_before` outputs are in groups
  // before, and each group adds to that as many whole channels as have all of their outputs in it, and the rest.
  // They stand in registers, which a cycle without requests brings up to date.
  logic input_ends, goes_on, is_counted;
  logic [31:0] input_group, input_left, fed_start, fed_first, fed_before, fed_channels, next_before;
  assign input_left = operands.out_channels - input_group;
  assign next_before = (fed_before + each_before) & PLACE;
  assign goes_on = next_before >= products.outputs_each;  // into the channel after those
  always_ff @(posedge clock) begin
    is_counted <= valid && !reset && !input_ends;
    fed_start <= (products.walk.start + (fed_first << (INT16 != 0 && int16))) & PLACE;
    if (input_left <= LANES) fed_channels <= (operands.in_channels - fed_first) & PLACE;
    else if (next_before == 0) fed_channels <= each_channels;
    else fed_channels <= (each_channels + (next_before > products.outputs_each ? 2 : 1)) & PLACE;
    if (reset) {fed_first, fed_before} <= '0;
    else if (input_ends) begin
      fed_first <= (fed_first + each_channels + 32'(goes_on)) & PLACE;
      fed_before <= goes_on ? (next_before - products.outputs_each) & PLACE : next_before;
    end
  end
  dla_raster #(
      .BANK_BYTES(BANK_BYTES),
      .PORTS(PORTS),
      .PLACE(PLACE),
      .BUFFER_BYTES(LINE_BUFFER_BYTES)
  ) pixels (
      .clock,
      .reset,
      .enable(may_read && (depthwise ? valid && is_counted : valid && own.is_known && !sliced)),
      .walk(products.walk),
      .base(depthwise ? fed_start : products.walk.start),
      .pixel_stride(operands.in_pixel_stride),
      .pixel_bytes((depthwise ? fed_channels : operands.in_channels) << (INT16 != 0 && int16)),
      .window,
      .channels(operands.out_channels),
      .group_step(own.channels),
      .keeps(!depthwise),
      .group(input_group),
      .group_ends(input_ends),
      .block_row(own.block_row),
      .step_row(own.step_row),
      .step_group(own.group),
      .step_tap_row,
      .step_in_row,
      .step_column(step_in_column),
      .step_bytes(depthwise ? WHOLE : step_inputs << (INT16 != 0 && int16)),
      .ready(pixels_ready),
      .request(pixels_request),
      .crossed_bytes(pixels_bytes),
      .takes(takes[INPUT])
  );

  // Slices of its pixels, where these are read by one tap and are whole words
  assign input_ready = sliced ? slices_ready : pixels_ready;
  assign request[INPUT] = sliced ? slices_request : pixels_request;
  assign crossed_bytes[INPUT] = sliced ? slices_bytes : pixels_bytes;
  dla_slices #(
      .PIXEL_ROWS(PIXEL_ROWS),
      .PIXEL_COLUMNS(PIXEL_COLUMNS),
      .BANK_BYTES(BANK_BYTES),
      .PORTS(PORTS),
      .PLACE(PLACE),
      .BUFFER_BYTES(LINE_BUFFER_BYTES),
      .BLOCK(BLOCK)
  ) slices (
      .clock,
      .reset,
      .enable(valid && may_read && own.is_known && !depthwise),
      .window,
      .walk(products.walk),
      .pixel_bytes(operands.in_channels << (INT16 != 0 && int16)),
      .channels(operands.out_channels),
      .group_step(own.channels),
      .step_index,
      .step_bytes(step_inputs << (INT16 != 0 && int16)),
      .block_ends(block_ends && own.ends),
      .serves,
      .ready(slices_ready),
      .request(slices_request),
      .crossed_bytes(slices_bytes),
      .takes(takes[INPUT])
  );

  // ----------------------------------------------------------- partial sums, or the tensor that is added to results
  logic [31:0] partial_group, partials_left;
  logic partials_end, partials_known;
  logic [31:0] partials_start, partials_bytes;
  assign partials_left = operands.out_channels - partial_group;
  always_ff @(posedge clock) begin
    partials_known <= valid && !reset && !partials_end;
    partials_start <= (operands.acc_addr + (partial_group << uses.acc.size)) & PLACE;
    partials_bytes <= ((partials_left < group_step ? partials_left : group_step) << uses.acc.size) & PLACE;
  end
  dla_raster #(
      .BANK_BYTES(BANK_BYTES),
      .PORTS(PORTS),
      .PLACE(PLACE),
      .BUFFER_BYTES(4 * BLOCK * PIXEL_ROWS * PIXEL_COLUMNS * LANES)  // the accumulators
  ) partials (
      .clock,
      .reset,
      .enable(valid && may_read && uses.acc.present && partials_known),
      .walk(pixel_walk(operands.acc_row_stride, operands.acc_pixel_stride, operands.out_size.width)),
      .base(partials_start),
      .pixel_stride(operands.acc_pixel_stride),
      .pixel_bytes(partials_bytes),
      .window(each_pixel(operands.out_size)),
      .channels(operands.out_channels),
      .group_step,
      .keeps(1'b0),
      .group(partial_group),
      .group_ends(partials_end),
      .block_row,
      .step_row(partials_row),
      .step_group,
      .step_tap_row(0),
      .step_in_row($signed(step_out_row)),
      .step_column($signed(step_column)),
      .step_bytes(WHOLE),
      .ready(partials_ready),
      .request(request[PARTIALS]),
      .crossed_bytes(crossed_bytes[PARTIALS]),
      .takes(takes[PARTIALS])
  );
  assign ready = may_read && weights_ready && (input_ready || !step_meets)
      && (partials_ready || !uses.acc.present || !step_first);

  // ------------------------------------------------------------------------------------------------------ results
  dla_writers #(
      .ROWS(PIXEL_ROWS),
      .BANK_BYTES(BANK_BYTES),
      .WORDS(WRITER_WORDS),
      .CHUNK(CHUNK),
      .DEPTH(DEPTH),
      .DELAY(DELAY),
      .LONGER(LONGER),
      .SELECT_BITS(PUT_BITS),
      .PLACE(PLACE)
  ) results (
      .clock,
      .reset(restart),
      .is_longer,
      .put,
      .put_row,
      .put_select,
      .room,
      .written(all_written),
      .select,
      .ends(result_ends),
      .data(chunk),
      .request(request[RESULTS]),
      .crossed_bytes(crossed_bytes[RESULTS]),
      .crossed_words(result_words),
      .takes(takes[RESULTS]),
      .slot_first,
      .slot_words,
      .slot_strobes
  );
endmodule
