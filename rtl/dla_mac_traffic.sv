// The words of a MAC operation that cross the SRAM's ports: weights and records, input, partial sums, results.
// Readers run ahead of the array; `ready` says whether all that its next step reads has crossed.

module dla_mac_traffic
  import dla_isa::*;
#(
    parameter int unsigned INPUT_LANES = 1,
    parameter int unsigned LANES = 64,
    parameter int unsigned BANK_BYTES = 16,
    parameter int unsigned PORTS = 4,
    parameter int unsigned LINE_BUFFER_BYTES = 16384,
    parameter int unsigned WEIGHT_BUFFER_BYTES = 8192,
    parameter int unsigned BLOCK = 32
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
    input logic matrix,
    input logic [31:0] kernel_height,
    input logic [31:0] kernel_width,
    input logic [31:0] in_height,
    input logic [31:0] in_width,
    input logic [31:0] filter_bytes,
    input logic [31:0] per_input,
    input logic [31:0] group_step,
    // The array's next step; rows count on from group to group
    input logic [31:0] block_row,
    input logic [31:0] step_row,
    input logic [31:0] step_out_row,
    input logic [31:0] step_column,
    input logic [31:0] step_tap,
    input logic [31:0] step_tap_row,
    input logic [31:0] step_group,
    input logic signed [31:0] step_in_row,
    input logic signed [31:0] step_in_column,
    input logic [31:0] step_depth,
    input logic step_meets,
    input logic step_first,
    input logic block_ends,
    input logic group_ends,
    // Results of a pixel
    input logic put,
    input logic [31:0] put_address,
    input logic [31:0] put_bytes,
    input logic put_ends,
    output logic ready,
    output logic room,
    output logic written,
    // To the ports
    output logic [31:0] request_address[4],
    output logic [31:0] request_stride[4],
    output logic [7:0] request_words[4],
    input logic [7:0] granted[4]
);
  localparam int unsigned RESULTS = 0, WEIGHTS = 1, INPUT = 2, PARTIALS = 3;
  logic [31:0] out_height, out_width;
  assign out_height = 32'(operands.out_size.height);
  assign out_width = 32'(operands.out_size.width);

  // ------------------------------------------------------------------------------------------------------ weights
  logic weights_ready, input_ready, partials_ready, is_last;
  logic [31:0] step_inputs;  // input channels up to the step's last
  assign step_inputs = step_depth + INPUT_LANES < operands.in_channels ? step_depth + INPUT_LANES : operands.in_channels;
  dla_weights #(
      .BANK_BYTES(BANK_BYTES),
      .PORTS(PORTS),
      .BUFFER_BYTES(WEIGHT_BUFFER_BYTES),
      .BLOCK(BLOCK)
  ) weights (
      .clock,
      .reset,
      .enable(valid),
      .depthwise,
      .has_records(uses.param.present),
      .weight_address(operands.weight_addr),
      .record_address(operands.param_addr),
      .filter_bytes,
      .taps(kernel_height * kernel_width),
      .channels(operands.out_channels),
      .group_step,
      .pixels(out_height * out_width),
      .step_bytes(step_tap * operands.in_channels + step_inputs),
      .step_tap,
      .block_ends,
      .group_ends,
      .ready(weights_ready),
      .address(request_address[WEIGHTS]),
      .stride(request_stride[WEIGHTS]),
      .words(request_words[WEIGHTS]),
      .granted(granted[WEIGHTS])
  );

  // -------------------------------------------------------------------------------------------------------- input
  logic [31:0] input_group, input_end, fed_first, fed_last;  // depthwise: the channels that a group reads
  assign input_end = input_group + group_step < operands.out_channels ? input_group + group_step : operands.out_channels;
  assign fed_first = input_group / per_input;
  assign fed_last = (input_end - 1) / per_input;
  dla_raster #(
      .BANK_BYTES(BANK_BYTES),
      .PORTS(PORTS),
      .BUFFER_BYTES(LINE_BUFFER_BYTES)
  ) pixels (
      .clock,
      .reset,
      .enable(valid),
      .base(depthwise ? operands.in_addr + fed_first : operands.in_addr),
      .row_stride(operands.in_row_stride),
      .pixel_stride(operands.in_pixel_stride),
      .pixel_bytes(depthwise ? fed_last - fed_first + 1 : operands.in_channels),
      .in_height($signed(in_height)),
      .in_width($signed(in_width)),
      .out_height,
      .out_width,
      .kernel_height,
      .kernel_width,
      .stride_height(matrix ? 1 : 32'(operands.stride.height)),
      .stride_width(matrix ? 1 : 32'(operands.stride.width)),
      .dilation_height(matrix ? 1 : 32'(operands.dilation.height)),
      .dilation_width(matrix ? 1 : 32'(operands.dilation.width)),
      .pad_top(matrix ? 0 : 32'(operands.pad.top)),
      .pad_left(matrix ? 0 : 32'(operands.pad.left)),
      .channels(operands.out_channels),
      .group_step,
      .keeps(!depthwise),
      .group(input_group),
      .block_row,
      .step_row,
      .step_group,
      .step_tap_row,
      .step_in_row,
      .step_column(step_in_column),
      .step_bytes(depthwise ? fed_last - fed_first + 1 : step_inputs),
      .ready(input_ready),
      .address(request_address[INPUT]),
      .words(request_words[INPUT]),
      .granted(granted[INPUT])
  );
  assign request_stride[INPUT] = BANK_BYTES;

  // ------------------------------------------------------------------------------------------------- partial sums
  logic [31:0] partial_group, partials_left;
  assign partials_left = operands.out_channels - partial_group;
  dla_raster #(
      .BANK_BYTES(BANK_BYTES),
      .PORTS(PORTS),
      .BUFFER_BYTES(4 * BLOCK * LANES)  // the accumulators
  ) partials (
      .clock,
      .reset,
      .enable(valid && uses.acc.present),
      .base(operands.acc_addr + 4 * partial_group),
      .row_stride(operands.acc_row_stride),
      .pixel_stride(operands.acc_pixel_stride),
      .pixel_bytes(4 * (partials_left < group_step ? partials_left : group_step)),
      .in_height($signed(out_height)),
      .in_width($signed(out_width)),
      .out_height,
      .out_width,
      .kernel_height(1),
      .kernel_width(1),
      .stride_height(1),
      .stride_width(1),
      .dilation_height(1),
      .dilation_width(1),
      .pad_top(0),
      .pad_left(0),
      .channels(operands.out_channels),
      .group_step,
      .keeps(1'b0),
      .group(partial_group),
      .block_row,
      .step_row,
      .step_group,
      .step_tap_row(0),
      .step_in_row($signed(step_out_row)),
      .step_column($signed(step_column)),
      .step_bytes(4 * (partials_left < group_step ? partials_left : group_step)),
      .ready(partials_ready),
      .address(request_address[PARTIALS]),
      .words(request_words[PARTIALS]),
      .granted(granted[PARTIALS])
  );
  assign request_stride[PARTIALS] = BANK_BYTES;
  assign ready = weights_ready && (input_ready || !step_meets)
      && (partials_ready || !uses.acc.present || !step_first);

  // ------------------------------------------------------------------------------------------------------ results
  always_ff @(posedge clock) begin
    if (reset) is_last <= 1'b0;
    else if (put && put_ends) is_last <= 1'b1;
  end
  dla_writer #(
      .BANK_BYTES(BANK_BYTES),
      .PORTS(PORTS)
  ) results (
      .clock,
      .reset,
      .put,
      .put_address,
      .put_bytes,
      .flush(is_last),
      .room,
      .empty(written),
      .address(request_address[RESULTS]),
      .words(request_words[RESULTS]),
      .granted(granted[RESULTS])
  );
  assign request_stride[RESULTS] = BANK_BYTES;
endmodule
