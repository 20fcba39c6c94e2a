// The words of a VECTOR operation that cross the SRAM's ports: both inputs, results, and before the work begins the
// table or the records. Readers run ahead of the lanes; `ready` says whether all that the next step reads has crossed.

module dla_vector_traffic
  import dla_isa::*;
#(
    parameter int unsigned BANK_BYTES = 16,
    parameter int unsigned PORTS = 4,
    parameter int unsigned LINE_BUFFER_BYTES = 16384
) (
    input logic clock,
    input logic reset,
    input logic valid,
    // Of the operation: those of its registers that place operands
    /* verilator lint_off UNUSEDSIGNAL */
    input operand_uses_t uses,
    input vector_operands_t operands,
    /* verilator lint_on UNUSEDSIGNAL */
    input logic pool,
    input logic wide_in,
    input logic [31:0] kernel_height,
    input logic [31:0] kernel_width,
    // The lanes' next step
    input logic [31:0] step_row,
    input logic [31:0] step_column,
    input logic [31:0] step_tap_row,
    input logic signed [31:0] step_in_row,
    input logic signed [31:0] step_in_column,
    input logic [31:0] step_bytes,  // of a pixel, up to the step's last
    input logic step_meets,
    // Results of a step
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
  localparam int unsigned RESULTS = 0, PARAMETERS = 1, INPUT = 2, INPUT2 = 3;
  logic [31:0] out_height, out_width, pixel_bytes;
  logic [31:0] parameter_bytes;
  logic inputs_ready, inputs2_ready, parameters_ready, has_parameters, may_read, is_last;
  assign out_height = 32'(operands.out_size.height);
  assign out_width = 32'(operands.out_size.width);
  // The table and the records come first: no step runs without them.
  assign has_parameters = uses.lut.present || uses.param.present;
  assign may_read = valid && (parameters_ready || !has_parameters);
  assign parameter_bytes = !uses.lut.present ? RECORD_BYTES * operands.out_channels
      : uses.lut.wide ? EXPONENTIALS_BYTES : TABLE_BYTES;
  assign pixel_bytes = wide_in ? 4 * operands.out_channels : operands.out_channels;

  /* verilator lint_off PINCONNECTEMPTY */  // there is one group of channels
  dla_raster #(
      .BANK_BYTES(BANK_BYTES),
      .PORTS(PORTS),
      .BUFFER_BYTES(LINE_BUFFER_BYTES)
  ) inputs (
      .clock,
      .reset,
      .enable(may_read && uses.in.present),
      .base(operands.in_addr),
      .row_stride(operands.in_row_stride),
      .pixel_stride(operands.in_pixel_stride),
      .pixel_bytes,
      .in_height(pool ? 32'(operands.in_size.height) : $signed(out_height)),
      .in_width(pool ? 32'(operands.in_size.width) : $signed(out_width)),
      .out_height,
      .out_width,
      .kernel_height,
      .kernel_width,
      .stride_height(pool ? 32'(operands.stride.height) : 1),
      .stride_width(pool ? 32'(operands.stride.width) : 1),
      .dilation_height(pool ? 32'(operands.dilation.height) : 1),
      .dilation_width(pool ? 32'(operands.dilation.width) : 1),
      .pad_top(pool ? 32'(operands.pad.top) : 0),
      .pad_left(pool ? 32'(operands.pad.left) : 0),
      .channels(operands.out_channels),
      .group_step(operands.out_channels),
      .keeps(1'b0),
      .group(),
      .block_row(step_row),
      .step_row,
      .step_group(0),
      .step_tap_row,
      .step_in_row,
      .step_column(step_in_column),
      .step_bytes,
      .ready(inputs_ready),
      .address(request_address[INPUT]),
      .words(request_words[INPUT]),
      .granted(granted[INPUT])
  );
  dla_raster #(
      .BANK_BYTES(BANK_BYTES),
      .PORTS(PORTS),
      .BUFFER_BYTES(LINE_BUFFER_BYTES)
  ) inputs2 (
      .clock,
      .reset,
      .enable(may_read && uses.in2.present),
      .base(operands.in2_addr),
      .row_stride(operands.in2_row_stride),
      .pixel_stride(operands.in2_pixel_stride),
      .pixel_bytes,
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
      .group_step(operands.out_channels),
      .keeps(1'b0),
      .group(),
      .block_row(step_row),
      .step_row,
      .step_group(0),
      .step_tap_row(0),
      .step_in_row($signed(step_row)),
      .step_column($signed(step_column)),
      .step_bytes,
      .ready(inputs2_ready),
      .address(request_address[INPUT2]),
      .words(request_words[INPUT2]),
      .granted(granted[INPUT2])
  );
  dla_raster #(
      .BANK_BYTES(BANK_BYTES),
      .PORTS(PORTS)
  ) parameters (
      .clock,
      .reset,
      .enable(valid && has_parameters),
      .base(uses.lut.present ? operands.lut_addr : operands.param_addr),
      .row_stride(0),
      .pixel_stride(0),
      .pixel_bytes(parameter_bytes),
      .in_height(1),
      .in_width(1),
      .out_height(1),
      .out_width(1),
      .kernel_height(1),
      .kernel_width(1),
      .stride_height(1),
      .stride_width(1),
      .dilation_height(1),
      .dilation_width(1),
      .pad_top(0),
      .pad_left(0),
      .channels(1),
      .group_step(1),
      .keeps(1'b0),
      .group(),
      .block_row(0),
      .step_row(0),
      .step_group(0),
      .step_tap_row(0),
      .step_in_row(0),
      .step_column(0),
      .step_bytes(parameter_bytes),
      .ready(parameters_ready),
      .address(request_address[PARAMETERS]),
      .words(request_words[PARAMETERS]),
      .granted(granted[PARAMETERS])
  );
  /* verilator lint_on PINCONNECTEMPTY */
  assign request_stride[INPUT] = BANK_BYTES;
  assign request_stride[INPUT2] = BANK_BYTES;
  assign request_stride[PARAMETERS] = BANK_BYTES;
  assign ready = (inputs_ready || !step_meets || !uses.in.present) && (inputs2_ready || !uses.in2.present)
      && (parameters_ready || !has_parameters);

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
