// The words of a VECTOR operation that cross the SRAM's ports: both inputs, results, and before the work begins the
// table or the records. Readers run ahead of the lanes; `ready` says whether all that the next step reads has crossed.

module dla_vector_traffic
  import dla_isa::*;
  import dla_words::*;
#(
    parameter int unsigned BANK_BYTES = 16,
    parameter int unsigned PORTS = 4,
    parameter int unsigned LINE_BUFFER_BYTES = 16384,
    // Of results: see dla_writers
    parameter int unsigned WRITER_WORDS = 2,
    parameter int unsigned CHUNK = 16,
    parameter int unsigned DEPTH = 8,
    parameter int unsigned PUT_BITS = 1,
    parameter int unsigned TURNS = 1 << $clog2(WRITER_WORDS),
    parameter int unsigned DELAY = 10,
    parameter logic [31:0] PLACE = 32'h000fffff  // the bits of an address of the SRAM
) (
    input logic clock,
    input logic reset,
    input logic valid,
    // Of the operation: those of its registers that place operands
    /* verilator lint_off UNUSEDSIGNAL */
    input operand_uses_t uses,
    input vector_operands_t operands,
    /* verilator lint_on UNUSEDSIGNAL */
    input window_t window,
    input walk_t walk,
    input logic [1:0] size,  // of an element: its bytes as a power of 2
    // The lanes' next step
    input logic [31:0] step_row,
    input logic [31:0] step_column,
    input logic [31:0] step_tap_row,
    input logic signed [31:0] step_in_row,
    input logic signed [31:0] step_in_column,
    input logic [31:0] step_bytes,  // of a pixel, up to the step's last
    input logic step_meets,
    // Results: where they will come, and the chunk of them that must be here
    input logic restart,
    input results_t put,
    input logic [PUT_BITS-1:0] put_select,
    input logic others_settled,  // of units that take turns with this one
    output logic settled,  // results of operations before this one have crossed
    output logic [PUT_BITS-1:0] select,
    output logic result_ends,  // the last chunk is
    input logic [8*CHUNK-1:0] chunk,
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
  localparam int unsigned RESULTS = 0, PARAMETERS = 1, INPUT = 2, INPUT2 = 3;
  logic [31:0] pixel_bytes, parameter_bytes;
  logic inputs_ready, inputs2_ready, parameters_ready, parameters_end, are_asked, has_parameters;
  logic may_read, may_read_inputs;
  // The table and the records are asked for first: no step runs without them.
  assign has_parameters = uses.lut.present || uses.param.present;
  assign may_read_inputs = valid && may_read && (are_asked || !has_parameters);
  always_ff @(posedge clock) are_asked <= !reset && (are_asked || parameters_end);
  assign parameter_bytes = !uses.lut.present ? RECORD_BYTES * operands.out_channels
      : table_bytes(uses.lut.extent);
  assign pixel_bytes = operands.out_channels << size;

  // An operation reads nothing before the results of those before it have crossed.
  logic has_settled, all_written;
  assign settled = has_settled || all_written;
  assign may_read = settled && others_settled;
  always_ff @(posedge clock) has_settled <= !reset && settled;

  /* verilator lint_off PINCONNECTEMPTY */  // there is one group of channels
  dla_raster #(
      .BANK_BYTES(BANK_BYTES),
      .PORTS(PORTS),
      .PLACE(PLACE),
      .BUFFER_BYTES(LINE_BUFFER_BYTES)
  ) inputs (
      .clock,
      .reset,
      .enable(may_read_inputs && uses.in.present),
      .walk,
      .base(walk.start),
      .pixel_stride(operands.in_pixel_stride),
      .pixel_bytes,
      .window,
      .channels(operands.out_channels),
      .group_step(operands.out_channels),
      .keeps(1'b0),
      .group(),
      .group_ends(),
      .block_row(step_row),
      .step_row,
      .step_group(0),
      .step_tap_row,
      .step_in_row,
      .step_column(step_in_column),
      .step_bytes,
      .ready(inputs_ready),
      .request(request[INPUT]),
      .crossed_bytes(crossed_bytes[INPUT]),
      .takes(takes[INPUT])
  );
  dla_raster #(
      .BANK_BYTES(BANK_BYTES),
      .PORTS(PORTS),
      .PLACE(PLACE),
      .BUFFER_BYTES(LINE_BUFFER_BYTES)
  ) inputs2 (
      .clock,
      .reset,
      .enable(may_read_inputs && uses.in2.present),
      .walk(pixel_walk(operands.in2_row_stride, operands.in2_pixel_stride, operands.out_size.width)),
      .base(operands.in2_addr),
      .pixel_stride(operands.in2_pixel_stride),
      .pixel_bytes,
      .window(each_pixel(operands.out_size)),
      .channels(operands.out_channels),
      .group_step(operands.out_channels),
      .keeps(1'b0),
      .group(),
      .group_ends(),
      .block_row(step_row),
      .step_row,
      .step_group(0),
      .step_tap_row(0),
      .step_in_row($signed(step_row)),
      .step_column($signed(step_column)),
      .step_bytes,
      .ready(inputs2_ready),
      .request(request[INPUT2]),
      .crossed_bytes(crossed_bytes[INPUT2]),
      .takes(takes[INPUT2])
  );
  dla_raster #(
      .BANK_BYTES(BANK_BYTES),
      .PORTS(PORTS),
      .PLACE(PLACE)
  ) parameters (
      .clock,
      .reset,
      .enable(valid && may_read && has_parameters),
      .base(uses.lut.present ? operands.lut_addr : operands.param_addr),
      .walk(pixel_walk('0, '0, 16'd1)),
      .pixel_stride(0),
      .pixel_bytes(parameter_bytes),
      .window(each_pixel(One)),
      .channels(1),
      .group_step(1),
      .keeps(1'b0),
      .group(),
      .group_ends(parameters_end),
      .block_row(0),
      .step_row(0),
      .step_group(0),
      .step_tap_row(0),
      .step_in_row(0),
      .step_column(0),
      .step_bytes(WHOLE),
      .ready(parameters_ready),
      .request(request[PARAMETERS]),
      .crossed_bytes(crossed_bytes[PARAMETERS]),
      .takes(takes[PARAMETERS])
  );
  /* verilator lint_on PINCONNECTEMPTY */
  assign ready = may_read && (inputs_ready || !step_meets || !uses.in.present) && (inputs2_ready || !uses.in2.present)
      && (parameters_ready || !has_parameters);

  dla_writers #(
      .BANK_BYTES(BANK_BYTES),
      .WORDS(WRITER_WORDS),
      .CHUNK(CHUNK),
      .DEPTH(DEPTH),
      .DELAY(DELAY),
      .SELECT_BITS(PUT_BITS),
      .PLACE(PLACE)
  ) results (
      .clock,
      .reset(restart),
      .is_longer(1'b0),
      .put,
      .put_row(1'b1),
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
