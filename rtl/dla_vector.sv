// The VECTOR unit: LANES channels of one pixel at a time, or one tap of a pooling window of them; OP_SOFTMAX passes
// over the channels of a pixel three times, and rests between. A step in each cycle that neither the output stage nor
// the SRAM's ports (`dla_vector_traffic`) hold up, through a pipeline of eleven stages:
//
//   address | read | enter, three to align | compute | finish, three to rescale | write
//   --- fill: 2 ---|-------------- work, and a drain of 8 -------------------------

module dla_vector
  import dla_isa::*;
  import dla_words::*;
#(
    parameter int unsigned LANES = 16,
    parameter int unsigned FILL = 2,
    parameter int unsigned DRAIN = 8,
    parameter int unsigned COUNT_BITS = 20,  // of the elements of an average
    parameter int unsigned INT16 = 0,  // whether it has elements of int16
    parameter logic [31:0] PLACE = 32'h000fffff,  // the bits of an address of the SRAM: no more are computed
    // The SRAM's ports, the buffer and the output stage: 0 is no limit; cycles of a result in parts of 65536.
    parameter int unsigned BANK_BYTES = 0,
    parameter int unsigned PORTS = 4,
    parameter int unsigned LINE_BUFFER_BYTES = 16384,
    parameter int unsigned REQUANTIZATION_CYCLES = 0,
    parameter int unsigned DIVISION_CYCLES = 0,
    // Of results, where ports have a limit: bytes that come together, and words that are asked for
    parameter int unsigned CARRIED_BYTES = BANK_BYTES == 0 ? 1 : BANK_BYTES,
    parameter int unsigned CHUNK = vector_chunk(CARRIED_BYTES, PORTS, LANES),
    parameter int unsigned WRITER_WORDS = writer_words(CARRIED_BYTES, PORTS, CHUNK, 2),
    parameter int unsigned TURNS = 1 << $clog2(WRITER_WORDS)
) (
    input logic clock,
    input logic reset,
    input logic valid,
    input logic [7:0] opcode,
    input logic [1:0] mode,
    input logic by_channel,
    input logic int16,
    // in_channels is a register of OP_POOL that equals out_channels; the checks have seen to it.
    /* verilator lint_off UNUSEDSIGNAL */
    input vector_operands_t operands,
    /* verilator lint_on UNUSEDSIGNAL */
    input walk_t walk,
    /* verilator lint_off UNUSEDSIGNAL */
    input logic others_settled,  // of units that take turns with this one
    /* verilator lint_on UNUSEDSIGNAL */
    output logic done,
    output logic settled,  // the results of operations that are done have crossed
    output logic waits,  // for words of the SRAM
    output request_t request[4],  // to the ports
    output logic [31:0] crossed_bytes[4],
    input logic [3:0] takes,
    output logic [7:0] result_words,  // new ones, of results that will come
    output logic [7:0] slot_first,  // words of results at the ports, as dla_writers has them
    output logic [8*CARRIED_BYTES-1:0] slot_words[TURNS],
    output logic [CARRIED_BYTES-1:0] slot_strobes[TURNS],
    output logic read,
    output logic [1:0] read_size,  // of an element: its bytes as a power of 2
    output logic [31:0] in_address,
    input logic [31:0] in_data[LANES],
    output logic [31:0] in2_address,
    input logic [31:0] in2_data[LANES],
    output logic finish_read,
    output logic [31:0] table_address[LANES],
    input logic [31:0] table_data[LANES],
    output logic [31:0] record_address,
    input logic [31:0] multiplier_data[LANES],
    input logic [31:0] shift_data[LANES],
    // Results, where ports have no limit
    output logic [LANES-1:0] write,
    output logic [1:0] write_size,
    output logic [31:0] result_address,  // of the first lane; the others follow
    output logic [31:0] result[LANES]
);
  localparam int unsigned LEAST_FILL = 2, LEAST_DRAIN = 8;
  localparam int unsigned ALIGN = 3, RESCALE = 3;  // stages of a lane before compute, and after finish
  if (FILL < LEAST_FILL || DRAIN < LEAST_DRAIN)
    $error("this pipeline needs vector_fill of at least 2 and vector_drain of at least 8");

  localparam int unsigned LANE_BITS = $clog2(LANES + 1);
  typedef struct packed {
    logic valid;
    logic [LANE_BITS-1:0] lanes;  // with a channel
    logic first;  // tap of a window
    logic last;  // tap of it
    logic ends;  // the operation
    logic [1:0] pass;  // over the pixel's channels
    logic pass_first;
    logic pass_last;
    logic meets;  // the tap meets the input
    logic [31:0] channel;  // of the first lane
    logic [31:0] in;  // addresses of the first lane
    logic [31:0] in2;
    logic [31:0] result;
  } step_t;
  // Every stage keeps the whole step, of which the last ones look at little.
  /* verilator lint_off UNUSEDSIGNAL */
  step_t address_s, read_s, align_s[ALIGN], compute_s, finish_s, rescale_s[RESCALE], write_s;
  /* verilator lint_on UNUSEDSIGNAL */

  // ------------------------------------------------------------------------------------------ shape of the work
  logic pool, softmax, softmax16, looks_up16, half, wide_in, wide_out;
  logic [31:0] kernel_height, kernel_width, out_height, out_width;
  assign pool = opcode == OPCODE_OP_POOL;
  assign softmax16 = INT16 != 0 && opcode == OPCODE_OP_E16_SOFTMAX;
  assign softmax = opcode == OPCODE_OP_SOFTMAX || softmax16;
  assign wide_in = opcode == OPCODE_OP_REQUANT || wide_out;
  assign half = INT16 != 0 && (int16 || needs_int16(opcode));
  assign looks_up16 = opcode == OPCODE_OP_E16_SIGMOID || (INT16 != 0 && needs_int16(opcode));
  assign wide_out = opcode == OPCODE_OP_E32_SHIFT || opcode == OPCODE_OP_E32_ADD || opcode == OPCODE_OP_E16_ADD
      || opcode == OPCODE_OP_E16_MUL || opcode == OPCODE_OP_E16_SIGMOID;
  assign read_size = half ? 2'd1 : wide_in ? 2'd2 : 2'd0;
  assign write_size = half ? 2'd1 : wide_out ? 2'd2 : 2'd0;
  assign kernel_height = pool ? 32'(operands.kernel.height) : 1;
  assign kernel_width = pool ? 32'(operands.kernel.width) : 1;
  assign out_height = 32'(operands.out_size.height);
  assign out_width = 32'(operands.out_size.width);

  // ---------------------------------------------------------------------------------- address: the loops, a step
  localparam logic [1:0] LAST_PASS = 2'(SOFTMAX_PASSES - 1);
  // Cycles that `dla_softmax` takes beyond a step's own: for the greatest element, for the sum and its reciprocal
  localparam int unsigned GREATEST_CYCLES = 1, RECIPROCAL_CYCLES = 30;
  // Of int16 the greatest element is needed before the scale, and the reciprocal comes from a table: as many in all.
  localparam int unsigned GREATEST16_CYCLES = GREATEST_CYCLES + ALIGN, RECIPROCAL16_CYCLES = RECIPROCAL_CYCLES - ALIGN;
  // Registers have the bits that they can need: of a size, of channels.
  localparam logic [31:0] SIZE = 32'h0000ffff, CHANNELS = 32'h01ffffff;
  localparam int unsigned WARM_UP = FILL - LEAST_FILL, WARM_UP_BITS = $clog2(WARM_UP + 2);
  logic [31:0] row, column, channel, tap_row, tap_column;
  logic [WARM_UP_BITS-1:0] warm_up;
  logic is_warm;
  assign is_warm = WARM_UP == 0 || warm_up == WARM_UP_BITS'(WARM_UP);
  logic [1:0] pass;
  logic [4:0] rest;  // cycles until the next pass has what it needs of the row
  logic more, may_step, ends_tap_column, ends_tap_row, ends_channel, ends_pass, ends_column, ends_row;
  logic signed [31:0] in_row, in_column;
  assign ends_tap_column = tap_column + 1 == kernel_width;
  assign ends_tap_row = tap_row + 1 == kernel_height;
  assign ends_channel = channel + LANES >= operands.out_channels;
  assign ends_pass = !softmax || pass == LAST_PASS;
  assign ends_column = column + 1 == out_width;
  assign ends_row = row + 1 == out_height;

  logic steps, is_last, ends_all, meets;
  logic [31:0] in_place, in2_place, out_place, out_address;
  logic [LANE_BITS-1:0] results;
  assign steps = valid && more && is_warm && may_step;
  assign is_last = ends_tap_column && ends_tap_row && ends_pass;
  assign ends_all = is_last && ends_channel && ends_column && ends_row;
  assign out_address = (operands.out_addr + out_place + (channel << write_size)) & PLACE;

  always_comb begin
    address_s.valid = steps;
    address_s.lanes = results;
    address_s.first = tap_row == 0 && tap_column == 0;
    address_s.last = is_last;
    address_s.ends = ends_all;
    address_s.pass = pass;
    address_s.pass_first = channel == 0;
    address_s.pass_last = ends_channel;
    address_s.meets = meets;
    address_s.channel = channel;
    address_s.in = (in_place + (channel << read_size)) & PLACE;
    address_s.in2 = (operands.in2_addr + in2_place + (channel << read_size)) & PLACE;
    address_s.result = out_address;
  end

  always_ff @(posedge clock) begin
    if (reset || done) begin
      {row, column, channel, tap_row, tap_column, pass, rest, warm_up} <= '0;
      more <= 1'b1;
    end else if (steps) begin
      tap_column <= ends_tap_column ? 0 : (tap_column + 1) & SIZE;
      if (ends_tap_column) begin
        tap_row <= ends_tap_row ? 0 : (tap_row + 1) & SIZE;
        if (ends_tap_row) begin
          channel <= ends_channel ? 0 : (channel + LANES) & CHANNELS;
          if (ends_channel && !ends_pass) begin
            pass <= pass + 1'b1;
            if (pass + 1'b1 == LAST_PASS) rest <= softmax16 ? 5'(RECIPROCAL16_CYCLES) : 5'(RECIPROCAL_CYCLES);
            else rest <= softmax16 ? 5'(GREATEST16_CYCLES) : 5'(GREATEST_CYCLES);
          end else if (ends_channel) begin
            pass <= '0;
            column <= ends_column ? 0 : (column + 1) & SIZE;
            if (ends_column) begin
              if (ends_row) more <= 1'b0;
              else row <= (row + 1) & SIZE;
            end
          end
        end
      end
    end else if (valid && more && !is_warm) warm_up <= warm_up + 1'b1;
    else if (rest != 0) rest <= rest - 1'b1;
  end

  logic next_pixel;
  assign next_pixel = steps && is_last && ends_channel;
  window_t window;
  assign window = pool ? '{
      in_size: operands.in_size,
      out_size: operands.out_size,
      kernel: operands.kernel,
      stride: operands.stride,
      dilation: operands.dilation,
      pad: operands.pad
  } : each_pixel(operands.out_size);
  dla_window #(.PLACE(PLACE)) inputs (
      .clock, .reset(reset || done), .window, .walk,
      .step(next_pixel), .ends_column, .ends_row, .restarts(1'b0), .starts(1'b0),
      .step_tap(steps), .ends_tap_column, .ends_tap_row,
      .row(in_row), .column(in_column), .meets, .place(in_place)
  );
  dla_walk #(.PLACE(PLACE)) seconds (
      .clock, .reset(reset || done), .step(next_pixel), .ends_column, .ends_row, .restarts(1'b0), .starts(1'b0),
      .row_step(operands.in2_row_stride), .column_step(operands.in2_pixel_stride), .place(in2_place)
  );
  dla_walk #(.PLACE(PLACE)) outputs (
      .clock, .reset(reset || done), .step(next_pixel), .ends_column, .ends_row, .restarts(1'b0), .starts(1'b0),
      .row_step(operands.out_row_stride), .column_step(operands.out_pixel_stride), .place(out_place)
  );

  always_ff @(posedge clock) begin
    read_s <= address_s;
    align_s[0] <= read_s;
    for (int unsigned stage = 1; stage < ALIGN; stage++) align_s[stage] <= align_s[stage-1];
    compute_s <= align_s[ALIGN-1];
    finish_s <= compute_s;
    finish_s.valid <= compute_s.valid && compute_s.last;
    rescale_s[0] <= finish_s;
    for (int unsigned stage = 1; stage < RESCALE; stage++) rescale_s[stage] <= rescale_s[stage-1];
    write_s <= rescale_s[RESCALE-1];
    if (reset) begin
      read_s.valid <= 1'b0;
      for (int unsigned stage = 0; stage < ALIGN; stage++) align_s[stage].valid <= 1'b0;
      compute_s.valid <= 1'b0;
      finish_s.valid <= 1'b0;
      for (int unsigned stage = 0; stage < RESCALE; stage++) rescale_s[stage].valid <= 1'b0;
      write_s.valid <= 1'b0;
    end
  end

  // -------------------------------------------------------------------------------------------------------- read
  assign read = read_s.valid;
  assign in_address = read_s.in;
  assign in2_address = read_s.in2;

  // ------------------------------------------------------------------------------- compute, which looks up tables
  logic [COUNT_BITS-1:0] pixels, pixels_before;  // taps of a window that meet the input
  assign pixels_before = compute_s.first ? '0 : pixels;
  always_ff @(posedge clock)
    if (compute_s.valid) pixels <= pixels_before + COUNT_BITS'(compute_s.meets);

  logic reads_reciprocal;
  logic [8:0] reciprocal_entry;
  assign finish_read = (compute_s.valid && (compute_s.last || softmax)) || reads_reciprocal;
  assign record_address = (operands.param_addr + RECORD_BYTES * compute_s.channel) & PLACE;
  logic signed [31:0] greatest, reciprocal;
  logic [4:0] reciprocal_right;
  logic [LANES-1:0] used;
  localparam int unsigned ELEMENT_BITS = INT16 != 0 ? 16 : 8;
  logic [15:0] element[LANES];  // that entered
  logic [ELEMENT_BITS-1:0] compared[LANES];
  logic signed [31:0] between[LANES];
  logic [31:0] summand[LANES];
  dla_softmax #(
      .LANES(LANES),
      .ELEMENT_BITS(ELEMENT_BITS)
  ) rows (
      .clock,
      .reset,
      .int16(softmax16),
      .compute(compute_s.valid && softmax),
      .first(compute_s.pass_first),
      .last(compute_s.pass_last),
      .pass(compute_s.pass),
      .used,
      .in(compared),
      .looked_up(summand),
      .reads_reciprocal,
      .reciprocal_entry,
      .reciprocal_word(table_data[0]),
      .greatest,
      .reciprocal,
      .right(reciprocal_right)
  );
  choices_t choices;
  dla_vector_choices #(
      .ELEMENT_BITS(ELEMENT_BITS)
  ) choose (
      .clock, .opcode, .mode, .by_channel, .int16, .operands, .choices
  );
  for (genvar l = 0; l < LANES; l++) begin : lane
    assign used[l] = l < 32'(compute_s.lanes);
    logic [8:0] entry;
    logic reads_own;
    assign reads_own = l == 0 && reads_reciprocal;  // of the second half of the table
    assign compared[l] = element[l][ELEMENT_BITS-1:0];
    assign summand[l] = softmax16 ? between[l] : table_data[l];
    assign table_address[l] = PLACE & (operands.lut_addr + (reads_own ? 32'({1'b1, reciprocal_entry}) << 2
        : looks_up16 ? 32'(entry) << 2 : softmax ? (greatest - 32'($signed(element[l]))) << 2
        : 32'({!element[l][7], element[l][6:0]})));
    dla_vector_lane #(
        .COUNT_BITS(COUNT_BITS),
        .ELEMENT_BITS(ELEMENT_BITS)
    ) arithmetic (
        .clock,
        .compute(compute_s.valid),
        .choices,
        .operands,
        .in($signed(in_data[l])),
        .in2($signed(in2_data[l])),
        .greatest,
        .element(element[l]),
        .table_entry(entry),
        .between(between[l]),
        .first(compute_s.first),
        .meets(compute_s.meets),
        .pixels,
        .looked_up(table_data[l]),
        .reciprocal,
        .reciprocal_right,
        .record_multiplier($signed(multiplier_data[l])),
        .record_shift($signed(shift_data[l])),
        .result(result[l])
    );
    assign write[l] = write_s.valid && l < 32'(write_s.lanes);
  end
  assign result_address = write_s.result;

  // ---------------------------------------------------------------------------------------------- the output stage
  // Every lane can rescale; a counter keeps to the rate. `behind` is the time that the stage still needs for the
  // results of the steps before, in parts of a cycle; a step with results waits while that is a cycle or more.
  localparam logic [63:0] CYCLE = 64'd65536, MOST_EACH = 3 * REQUANTIZATION_CYCLES > DIVISION_CYCLES
      ? 64'(3 * REQUANTIZATION_CYCLES) : 64'(DIVISION_CYCLES);
  // A step with results waits for those before, so no more than its own are ever behind.
  localparam int unsigned TIME_BITS = $clog2(LANES * MOST_EACH + CYCLE + 1), LATE_BITS = TIME_BITS - 16;
  typedef logic [TIME_BITS-1:0] stage_time_t;
  logic output_ready, late_over, result_ends, is_over, written;
  assign results = LANE_BITS'(operands.out_channels - channel < LANES ? operands.out_channels - channel : LANES);
  if (REQUANTIZATION_CYCLES == 0 && DIVISION_CYCLES == 0) begin : unlimited_results
    assign output_ready = 1'b1;
    assign late_over = 1'b1;
  end else begin : limited_results
    stage_time_t behind, each;
    logic signed [TIME_BITS:0] left, left_with_results;  // after this cycle
    logic has_ended;  // the last step was in the cycle before
    logic [LATE_BITS-1:0] late;  // cycles from the last result's step to its end, beyond the pipeline's
    always_comb begin
      case (opcode)
        OPCODE_OP_E_ADD, OPCODE_OP_E_SUB, OPCODE_OP_E_SQDIFF, OPCODE_OP_E16_SOFTMAX: each = stage_time_t'(3 * REQUANTIZATION_CYCLES);
        OPCODE_OP_E16_ADD: each = stage_time_t'(2 * REQUANTIZATION_CYCLES);
        OPCODE_OP_REQUANT, OPCODE_OP_ACT_RELU, OPCODE_OP_ACT_LRELU, OPCODE_OP_E_MUL, OPCODE_OP_E_ABS,
        OPCODE_OP_SOFTMAX:
        each = stage_time_t'(REQUANTIZATION_CYCLES);
        OPCODE_OP_POOL:
        each = mode == POOL_MAX ? '0
            : mode == POOL_AVERAGE || mode == POOL_AVERAGE_UP ? stage_time_t'(DIVISION_CYCLES) : stage_time_t'(REQUANTIZATION_CYCLES);
        default: each = '0;
      endcase
    end
    assign output_ready = behind < stage_time_t'(CYCLE) || !is_last;
    assign left = $signed({1'b0, behind}) - $signed({1'b0, stage_time_t'(CYCLE)});
    assign left_with_results = left + $signed({1'b0, stage_time_t'(results) * each});
    assign late_over = late == 0;
    always_ff @(posedge clock) begin
      if (reset || done) {behind, late, has_ended} <= '0;
      else begin
        if (steps && is_last) behind <= left_with_results < 0 ? '0 : left_with_results[TIME_BITS-1:0];
        else behind <= left < 0 ? '0 : left[TIME_BITS-1:0];
        has_ended <= steps && ends_all;
        if (has_ended) late <= LATE_BITS'((behind + stage_time_t'(CYCLE - 1)) >> 16);
        else if ((result_ends || is_over) && late != 0) late <= late - 1'b1;
      end
    end
  end

  // ---------------------------------------------------------------------------------------------- the SRAM's ports
  logic ports_ready, room;
  assign may_step = output_ready && ports_ready && room && rest == 0;
  assign waits = valid && more && is_warm && rest == 0 && !(ports_ready && room);
  if (BANK_BYTES == 0) begin : free
    assign {room, ports_ready, settled} = '1;
    assign result_ends = write_s.valid && write_s.ends;
    assign {result_words, slot_first, slot_words[0], slot_strobes[0]} = '0;
    for (genvar s = 0; s < 4; s++) begin : slot
      assign {request[s], crossed_bytes[s]} = '0;
    end
    logic unused;
    assign unused = &{1'b0, in_row, in_column, takes};
  end else begin : shared
    localparam int unsigned CHUNKS = (4 * LANES + CHUNK - 1) / CHUNK, CHUNK_BITS = CHUNKS > 1 ? $clog2(CHUNKS) : 1;
    localparam int unsigned RESULT_CYCLES = LEAST_FILL + LEAST_DRAIN;  // from a step to its results
    logic writer_room;
    results_t put;
    logic [CHUNK_BITS-1:0] put_chunk, chunk_here;
    logic [8*CHUNK-1:0] bytes_here;
    /* verilator lint_off UNUSEDSIGNAL */  // there is one pixel
    logic put_over, put_row, put_pixel, put_index;
    /* verilator lint_on UNUSEDSIGNAL */
    dla_chunks #(
        .MOST_BYTES(4 * LANES),
        .CHUNK(CHUNK),
        .PLACE(PLACE)
    ) leaving (
        .clock,
        .reset(reset || done),
        .turn('{
            valid: steps && is_last,
            ends: steps && ends_all,
            address: out_address,
            bytes: 32'(results) << write_size
        }),
        .lies(1'b1),
        .result_at('{32'd0}),
        .writer_room,
        .turn_index('0),
        .index_step('0),
        .group_bytes('0),
        .room,
        .put,
        .over(put_over),
        .row(put_row),
        .pixel(put_pixel),
        .chunk(put_chunk),
        .index(put_index)
    );
    dla_chunk #(
        .LANES(LANES),
        .CHUNK(CHUNK),
        .INT16(INT16 != 0)
    ) chunk_of_results (
        .result, .size(write_size), .pixel(1'b0), .chunk(chunk_here), .data(bytes_here)
    );
    dla_vector_traffic #(
        .BANK_BYTES(BANK_BYTES),
        .PORTS(PORTS),
        .LINE_BUFFER_BYTES(LINE_BUFFER_BYTES),
        .WRITER_WORDS(WRITER_WORDS),
        .CHUNK(CHUNK),
        .DEPTH(writer_ring(BANK_BYTES, CHUNK, LANES, RESULT_CYCLES + 2, 65536)),
        .PUT_BITS(CHUNK_BITS),
        .DELAY(RESULT_CYCLES),
        .PLACE(PLACE)
    ) traffic (
        .clock,
        .reset(reset || done),
        .restart(reset),
        .valid(valid && is_warm),
        .uses(operand_uses(64'({int16, by_channel, 1'b0, mode, opcode}))),
        .operands,
        .window,
        .walk,
        .size(read_size),
        .step_row(row),
        .step_column(column),
        .step_tap_row(tap_row),
        .step_in_row(in_row),
        .step_in_column(in_column),
        .step_bytes((channel + 32'(results)) << read_size),
        .step_meets(!pool || meets),
        .put,
        .put_select(put_chunk),
        .others_settled,
        .settled,
        .select(chunk_here),
        .result_ends,
        .chunk(bytes_here),
        .ready(ports_ready),
        .room(writer_room),
        .request,
        .crossed_bytes,
        .takes,
        .result_words,
        .slot_first,
        .slot_words,
        .slot_strobes
    );
  end

  // --------------------------------------------------------------------------------------------------------- end
  assign written = (result_ends || is_over) && late_over;
  always_ff @(posedge clock) begin
    if (reset || done) is_over <= 1'b0;
    else if (result_ends) is_over <= 1'b1;
  end
  if (DRAIN == LEAST_DRAIN) begin : drained
    assign done = written;
  end else begin : drains_on
    logic [31:0] cool_down;  // cycles since the last result
    assign done = cool_down == DRAIN - LEAST_DRAIN;
    always_ff @(posedge clock) begin
      if (reset || done) cool_down <= '0;
      else if (cool_down != 0 || written) cool_down <= cool_down + 1;
    end
  end
endmodule
