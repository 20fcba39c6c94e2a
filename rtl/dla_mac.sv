// The MAC unit: a grid of INPUT_LANES x OUTPUT_LANES multipliers, an adder tree and an accumulator for each
// output lane. A step in each cycle, through a pipeline of eleven stages:
//
//   address | read | multiply | tree | accumulate | start | shift | multiply | add | round | write
//   ----------- fill: 4 --------------|-- work ----|------------------ drain: 6 ------------------
//
// The loops, from the outside: group of output channels, block of pixels, tap, group of input channels, pixel of the
// block. A step waits until the words that it reads have crossed the SRAM's ports (`dla_mac_traffic`), and a block until
// accumulators are free; results leave at the rate of the output stage (`dla_mac_results`). In a
// depthwise convolution there is no tree: each lane takes a product of its own channel. With an array of one
// output lane all multipliers are such lanes then, so there are as many accumulators.
//
// There are PIXEL_ROWS x PIXEL_COLUMNS such grids, which take the same weights. In a turn they compute as many neighbouring
// pixels of the output. Where there are several, what the loops and the parts of this unit do with a pixel they do with a turn.
//
// With SUMS it can add a tensor of int8 to its results (`dla_mac_sum`), in eight stages more.
//
// With INT16 it also takes elements of 16 bits: for each group of input channels it passes over the low bytes, which have
// no sign, and then over the high ones, whose products count 256-fold in sums of 48 bits. A matrix of int16 has its bytes
// side by side in the lanes: those of one element meet the same input, and the product of the high one counts 256-fold.

module dla_mac
  import dla_isa::*;
  import dla_words::*;
  import dla_fixed_point::*;
#(
    parameter int unsigned INPUT_LANES = 1,
    parameter int unsigned OUTPUT_LANES = 64,
    parameter int unsigned PIXEL_ROWS = 1,  // of the output that it computes at once
    parameter int unsigned PIXEL_COLUMNS = 1,
    parameter int unsigned FILL = 4,
    parameter int unsigned DRAIN = 6,
    // The SRAM's ports, the buffers and the output stage: 0 is no limit.
    parameter int unsigned BANK_BYTES = 0,
    parameter int unsigned PORTS = 4,
    parameter int unsigned LINE_BUFFER_BYTES = 16384,
    parameter int unsigned WEIGHT_BUFFER_BYTES = 8192,
    parameter int unsigned ACCUMULATORS = 32,
    parameter int unsigned RESULT_CYCLES = 0,  // of a result, in parts of 65536
    parameter int unsigned WEIGHTS = 0,  // that reach the array in a cycle
    parameter int unsigned STEP_GROUP = 1,  // steps of an output that it takes together
    parameter int unsigned HANDOVER = 0,  // of sums to the output stage: 0 one by one, 1 in whole blocks
    parameter logic [31:0] PLACE = 32'h000fffff,  // the bits of an address of the SRAM: no more are computed
    parameter int unsigned INT16 = 0,  // whether it has elements of int16
    parameter int unsigned SUMS = 0,  // whether it can add a tensor to its results
    // What follows from the array; PEs, lanes and inputs are those of each pixel.
    parameter int unsigned PIXELS = PIXEL_ROWS * PIXEL_COLUMNS,
    parameter int unsigned PES = INPUT_LANES * OUTPUT_LANES,
    parameter int unsigned LANES = OUTPUT_LANES == 1 ? PES : OUTPUT_LANES,
    parameter int unsigned INPUTS = LANES > INPUT_LANES ? LANES : INPUT_LANES,
    parameter int unsigned OFFSET_BITS = $clog2(INPUTS + 1) + INT16,
    // Of results, where ports have a limit: bytes that come together, and words that are asked for
    parameter int unsigned CARRIED_BYTES = BANK_BYTES == 0 ? 1 : BANK_BYTES,
    parameter int unsigned CHUNK = mac_chunk(CARRIED_BYTES, PORTS, LANES, PIXELS, HANDOVER != 0 ? 0 : RESULT_CYCLES),
    parameter int unsigned WRITER_WORDS = writer_words(CARRIED_BYTES, PORTS, CHUNK, 1),
    parameter int unsigned TURNS = 1 << $clog2(WRITER_WORDS)
) (
    input logic clock,
    input logic reset,
    input logic valid,
    input logic [7:0] opcode,
    input logic [1:0] init,
    input logic wide,
    input logic by_channel,
    /* verilator lint_off UNUSEDSIGNAL */
    input logic int16,
    input logic adds_tensor,
    input logic wide_matrix,
    /* verilator lint_on UNUSEDSIGNAL */
    // What places the input has been multiplied out; without limits nothing asks for words.
    /* verilator lint_off UNUSEDSIGNAL */
    input mac_operands_t operands,
    input products_t products,
    /* verilator lint_on UNUSEDSIGNAL */
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
    output logic [31:0] macs,  // multiply-accumulates that begin in this cycle
    output logic read,
    output logic [31:0] input_address,  // of the first lane and pixel
    output logic [31:0] input_at[PIXELS],  // of each pixel, from there
    output logic [OFFSET_BITS-1:0] input_offset[INPUTS],  // of each lane, from there
    input logic [7:0] input_data[PIXELS*INPUTS],
    output logic [31:0] weight_address,  // of the first PE
    output logic [31:0] filter_step,  // bytes from an output lane's to the next one's
    input logic [7:0] weight_data[PES],
    output logic finish_read,
    output logic [31:0] partial_address,
    output logic [31:0] partial_at[PIXELS],
    output logic [1:0] partial_size,
    input logic [31:0] partial_data[PIXELS*LANES],
    output logic [31:0] record_address,
    input logic [31:0] bias_data[LANES],
    input logic [31:0] multiplier_data[LANES],
    input logic [31:0] shift_data[LANES],
    // Results, where ports have no limit
    output logic [PIXELS*LANES-1:0] write,
    output logic [1:0] write_size,  // of an element: its bytes as a power of 2
    output logic [31:0] result_address,  // of the first lane; the others follow
    output logic [31:0] result_at[PIXELS],
    output logic [31:0] result[PIXELS*LANES]
);
  localparam int unsigned LEAST_FILL = 4, LEAST_DRAIN = 6;
  if (FILL < LEAST_FILL || DRAIN < LEAST_DRAIN)
    $error("this pipeline needs mac_fill of at least 4 and mac_drain of at least 6");
  // Without limits a pixel follows the other, each with all of its products; with them the weights in the array
  // serve a block of pixels, and two blocks have accumulators: one adds up while the other leaves.
  localparam int unsigned LOAD_CYCLES = WEIGHTS == 0 ? 1 : (PES + WEIGHTS - 1) / WEIGHTS;  // of a step's weights
  localparam bit PACED = LOAD_CYCLES > 1 || STEP_GROUP > 1;
  localparam bit LIMITED = BANK_BYTES != 0 || RESULT_CYCLES != 0 || PACED;
  localparam bit IN_BLOCKS = LIMITED && HANDOVER != 0;
  localparam bit SUMS_WAIT = BANK_BYTES != 0 || RESULT_CYCLES != 0;
  localparam int unsigned BLOCK = LIMITED ? ACCUMULATORS : 1;
  localparam int unsigned PLACES = LIMITED ? 2 * BLOCK : 1;
  localparam int unsigned PLACE_BITS = LIMITED ? $clog2(PLACES) : 1, INDEX_BITS = BLOCK > 1 ? $clog2(BLOCK) : 1;
  if (BLOCK < 1) $error("accumulators must be limited where ports, results or weights are, or steps come in groups");

  // What a stage knows of its step.
  typedef struct packed {
    logic valid;
    logic first;  // of the products of an output
    logic last;  // of them
    logic ends;  // the operation
    logic hands_over;  // the block, with its last pixel
    logic high;  // byte of elements of int16
    logic [PIXELS-1:0] lies;  // pixels in the output
    logic [PIXELS-1:0] meets;  // those whose tap meets the input
    logic [31:0] output_channel;  // of the first lane
    logic [31:0] input_channel;  // of the first lane
    logic [31:0] pixel;  // address of the input pixel
    logic [31:0] weight;  // address of the first lane's weight
    logic [31:0] partial;  // addresses of the output pixel
    logic [31:0] result;
    logic [PLACE_BITS-1:0] place;  // of its accumulators
  } step_t;
  // Every stage keeps the whole step, of which the last ones look at little.
  /* verilator lint_off UNUSEDSIGNAL */
  step_t address_s, read_s, multiply_s, tree_s, accumulate_s, leave_s, start_s, shift_s, product_s, add_s, round_s, write_s;
  step_t final_s;  // write, or the last stage of a sum
  /* verilator lint_on UNUSEDSIGNAL */

  // ------------------------------------------------------------------------------------------ shape of the work
  logic is_int16, is_sum, is_wide;
  logic [31:0] depths;  // bytes of a weight for each tap and output
  assign is_wide = INT16 != 0 && wide_matrix;
  assign depths = operands.in_channels << is_wide;
  assign is_sum = SUMS != 0 && adds_tensor;
  assign partial_size = is_sum ? 2'd0 : 2'd2;
  assign is_int16 = INT16 != 0 && int16;
  localparam int unsigned ACCUMULATOR_BITS = INT16 != 0 ? 48 : 32;
  logic depthwise, matrix;
  logic [31:0] kernel_height, kernel_width, out_height, out_width;
  logic [31:0] in_step, out_step, filter_bytes;
  assign depthwise = opcode == OPCODE_OP_DEPTH_CONV;
  assign matrix = opcode == OPCODE_OP_MAT_MUL;
  window_t window;
  assign window = matrix ? each_pixel(operands.out_size) : '{
      in_size: operands.in_size,
      out_size: operands.out_size,
      kernel: operands.kernel,
      stride: operands.stride,
      dilation: operands.dilation,
      pad: operands.pad
  };
  assign kernel_height = 32'(window.kernel.height);
  assign kernel_width = 32'(window.kernel.width);
  assign out_height = 32'(operands.out_size.height);
  assign out_width = 32'(operands.out_size.width);
  assign write_size = wide ? 2'd2 : 2'(is_int16);
  assign in_step = depthwise ? operands.in_channels : INPUT_LANES;
  assign out_step = depthwise ? LANES : OUTPUT_LANES;
  assign filter_bytes = products.filter_bytes;

  // ---------------------------------------------------------------------------------- address: the loops, a step
  // Registers have the bits that they can need: of a size, of channels, of an address.
  localparam logic [31:0] SIZE = 32'h0000ffff, CHANNELS = 32'h01ffffff;
  localparam int unsigned WARM_UP = FILL - LEAST_FILL, WARM_UP_BITS = $clog2(WARM_UP + 2);
  logic [31:0] group, block_row, block_column, row, column, tap_row, tap_column, depth;
  logic [WARM_UP_BITS-1:0] warm_up;
  logic [INDEX_BITS-1:0] index;  // of the pixel in its block
  // Where the group's first filter begins, and how far into it the tap lies: sums of what follows each other in memory
  logic [31:0] weight_group, groups_weights, group_bytes, weight_tap;
  logic [31:0] group_channel;  // the first lane's of a depthwise convolution
  logic more, ends_depth, ends_tap_column, ends_tap_row, ends_column, ends_row, ends_group, ends_block, may_step;
  logic [31:0] last_row, last_column;  // of the output's last turns
  logic high, ends_bytes;  // a pass over high bytes; the last over this group of input channels
  logic signed [31:0] in_row, in_column;
  logic [31:0] tap, next_row, next_column;
  assign next_row = (row + PIXEL_ROWS) & SIZE;
  assign next_column = (column + PIXEL_COLUMNS) & SIZE;
  assign last_row = (out_height - 1) / PIXEL_ROWS * PIXEL_ROWS;
  assign last_column = (out_width - 1) / PIXEL_COLUMNS * PIXEL_COLUMNS;
  assign ends_bytes = !is_int16 || high;
  // What a counter is compared with takes the sum, as it does not change during an operation.
  assign ends_depth = ends_bytes && depth >= beyond(depths, in_step);
  assign ends_tap_column = tap_column == kernel_width - 1;
  assign ends_tap_row = tap_row == kernel_height - 1;
  assign ends_column = column == last_column;
  assign ends_row = row == last_row;
  assign ends_block = index == INDEX_BITS'(BLOCK - 1) || (ends_column && ends_row);
  assign ends_group = group >= beyond(operands.out_channels, out_step);
  function automatic logic [31:0] beyond(input logic [31:0] all, input logic [31:0] step);  // so many remain for the last step
    return all > step ? all - step : '0;
  endfunction

  logic steps, is_first, is_last;
  logic [PIXELS-1:0] lies, meets, taps_meet;
  logic [31:0] count;  // of pixels in the output
  logic is_warm;
  assign is_warm = WARM_UP == 0 || warm_up == WARM_UP_BITS'(WARM_UP);
  assign steps = valid && more && is_warm && may_step;
  assign is_first = tap_row == 0 && tap_column == 0 && depth == 0 && !high;
  assign is_last = ends_depth && ends_tap_column && ends_tap_row;

  // Within a block a pixel follows the other; all of them, for each tap and group of input channels.
  logic [31:0] in_place, acc_place, out_place;
  logic ends_taps;
  assign ends_taps = ends_block && is_last;
  logic [PLACE_BITS-1:0] place;  // of the pixel's accumulators
  logic hands_over;  // the block ends with this group's pixels
  dla_window #(
      .PIXEL_ROWS(PIXEL_ROWS),
      .PIXEL_COLUMNS(PIXEL_COLUMNS),
      .PLACE(PLACE)
  ) windows (
      .clock,
      .reset(reset || done),
      .window,
      .walk(products.walk),
      .step(steps),
      .ends_column,
      .ends_row,
      .restarts(ends_block && !is_last),
      .starts(ends_taps),
      .step_tap(steps && ends_block && ends_depth),
      .ends_tap_column,
      .ends_tap_row,
      .row(in_row),
      .column(in_column),
      .meets(taps_meet),
      .place(in_place)
  );
  dla_mac_tile #(
      .PIXEL_ROWS(PIXEL_ROWS),
      .PIXEL_COLUMNS(PIXEL_COLUMNS)
  ) tile (
      .size(operands.out_size), .ends_column, .ends_row, .lies, .count
  );
  assign meets = taps_meet & lies;

  // Where the turn's pixels lie from the first one on. They stand in registers before anything looks at them.
  for (genvar p = 0; p < PIXELS; p++) begin : pixel
    localparam int unsigned ROW = p / PIXEL_COLUMNS, COLUMN = p % PIXEL_COLUMNS;
    always_ff @(posedge clock) begin
      input_at[p] <= (ROW * products.walk.row_step + COLUMN * products.walk.column_step) & PLACE;
      partial_at[p] <= (ROW * operands.acc_row_stride + COLUMN * operands.acc_pixel_stride) & PLACE;
      result_at[p] <= (ROW * operands.out_row_stride + COLUMN * operands.out_pixel_stride) & PLACE;
    end
  end

  always_comb begin
    address_s.valid = steps;
    address_s.first = is_first;
    address_s.last = is_last;
    address_s.ends = is_last && ends_column && ends_row && ends_group;
    address_s.hands_over = ends_taps && hands_over;
    address_s.high = high;
    address_s.lies = lies;
    address_s.meets = meets;
    address_s.output_channel = group;
    address_s.input_channel = depth;
    address_s.pixel = (in_place + ((depthwise ? group_channel : depth >> is_wide) << is_int16) + 32'(high)) & PLACE;
    address_s.weight = (weight_group + weight_tap + (depthwise ? group : depth)) & PLACE;
    address_s.partial = (operands.acc_addr + acc_place + (group << partial_size)) & PLACE;
    address_s.result = (operands.out_addr + out_place + (group << write_size)) & PLACE;
    address_s.place = place;
  end

  always_ff @(posedge clock) begin
    if (reset || done) begin
      {group, block_row, block_column, row, column, tap, tap_row, tap_column, depth, warm_up} <= '0;
      {index, weight_tap} <= '0;
      more <= 1'b1;
      high <= 1'b0;
    end else if (steps) begin
      if (!ends_block) begin
        index <= index + 1'b1;
        column <= ends_column ? 0 : next_column;
        if (ends_column) row <= next_row;
      end else begin
        index <= '0;
        row <= block_row & SIZE;
        column <= block_column & SIZE;
        high <= is_int16 && !high;
        if (ends_bytes) depth <= ends_depth ? 0 : (depth + in_step) & CHANNELS;
        if (ends_depth) begin
          tap_column <= ends_tap_column ? 0 : (tap_column + 1) & SIZE;
          tap <= (tap + 1) & PLACE;
          weight_tap <= (weight_tap + (depthwise ? operands.out_channels : depths)) & PLACE;
          if (ends_tap_column) begin
            tap_row <= ends_tap_row ? 0 : (tap_row + 1) & SIZE;
            if (ends_tap_row) begin
              {tap, weight_tap} <= '0;
              {row, block_row} <= {2{!ends_column ? row & SIZE : ends_row ? 32'd0 : next_row}};
              {column, block_column} <= {2{ends_column ? 32'd0 : next_column}};
              if (ends_column && ends_row) begin
                if (ends_group) more <= 1'b0;
                else group <= (group + out_step) & CHANNELS;
              end
            end
          end
        end
      end
    end else if (valid && more && !is_warm) warm_up <= warm_up + 1'b1;
  end

  logic leaves, block_leaves, has_accumulators;
  dla_mac_places #(
      .BLOCK(BLOCK),
      .PLACES(PLACES),
      .PLACE_BITS(PLACE_BITS),
      .IN_BLOCKS(IN_BLOCKS),
      .LIMITED(SUMS_WAIT),
      .LATE(WARM_UP)
  ) places (
      .clock,
      .reset(reset || done),
      .step(steps),
      .first(is_first),
      .ends_taps,
      .index(32'(index)),
      .leaves,
      .block_leaves,
      .ends_pixels(ends_column && ends_row),
      .ends_group,
      .pixels(products.pixels),
      .place,
      .hands_over,
      .has_room(has_accumulators)
  );

  // The filters of a group follow those of the one before, but in a depthwise convolution.
  always_ff @(posedge clock) begin
    if (reset || done) groups_weights <= '0;
    else if (steps && is_last && ends_column && ends_row && !depthwise)
      groups_weights <= (groups_weights + group_bytes) & PLACE;
  end
  assign group_bytes = (OUTPUT_LANES * filter_bytes) & PLACE;
  assign weight_group = (operands.weight_addr + groups_weights) & PLACE;

  // Depthwise: which input channel each lane works on. The first lane's is kept, with how many outputs of that
  // channel came before. A group has so many whole channels, and outputs of one more:
  logic [31:0] each_channels, each_before, group_before, next_before, channel_left;
  logic goes_on;  // into the channel after those
  logic [LANES-1:0] begins;  // lanes in which another channel begins
  logic [LANES-1:0][OFFSET_BITS-1:0] begun, begun_s, channel_offset;  // how many up to each; begun_s: in read
  logic [LANES-1:0] whole_begins;  // where the first lane begins one, too
  always_comb begin
    each_channels = '0;
    each_before = '0;
    whole_begins = LANES'(1);
    for (int unsigned outputs = 1; outputs <= LANES; outputs++) begin
      each_channels |= products.outputs_each == outputs ? LANES / outputs : '0;
      each_before |= products.outputs_each == outputs ? LANES % outputs : '0;
      for (int unsigned l = outputs; l < LANES; l += outputs) whole_begins[l] |= products.outputs_each == outputs;
    end
    if (products.outputs_each > LANES) each_before = LANES;
  end
  assign channel_left = (products.outputs_each - group_before) & PLACE;
  assign begins = channel_left < LANES ? whole_begins << channel_left[OFFSET_BITS-1:0] : '0;
  assign next_before = (group_before + each_before) & PLACE;
  assign goes_on = next_before >= products.outputs_each;
  always_ff @(posedge clock) begin
    if (steps) begun_s <= begun;
    if (reset || done) {group_channel, group_before} <= '0;
    else if (steps && is_last && ends_column && ends_row) begin
      group_channel <= (group_channel + each_channels + 32'(goes_on)) & PLACE;
      group_before <= goes_on ? (next_before - products.outputs_each) & PLACE : next_before;
    end
  end

  // A lane's channel counts on from the first one's: sums over pairs of lanes and fours in this stage, then over eights, ...
  localparam int EARLY_LEVELS = 2;
  always_comb begin
    for (int unsigned l = 0; l < LANES; l++) begun[l] = OFFSET_BITS'(begins[l]);
    for (int level = 0; level < EARLY_LEVELS; level++)
      for (int unsigned l = 0; l < LANES; l++)
        if (((l >> level) & 1) != 0) begun[l] = begun[l] + begun[((l>>level)<<level)-1];
  end
  always_comb begin
    channel_offset = begun_s;
    for (int level = EARLY_LEVELS; level < $clog2(LANES); level++)
      for (int unsigned l = 0; l < LANES; l++)
        if (((l >> level) & 1) != 0) channel_offset[l] = channel_offset[l] + channel_offset[((l>>level)<<level)-1];
  end

  // ------------------------------------------------------------------------------------------- the stages' steps
  always_ff @(posedge clock) begin
    read_s <= address_s;
    multiply_s <= read_s;
    tree_s <= multiply_s;
    accumulate_s <= tree_s;
    start_s <= leave_s;
    shift_s <= start_s;
    product_s <= shift_s;
    add_s <= product_s;
    round_s <= add_s;
    write_s <= round_s;
    if (reset) begin
      read_s.valid <= 1'b0;
      multiply_s.valid <= 1'b0;
      tree_s.valid <= 1'b0;
      accumulate_s.valid <= 1'b0;
      start_s.valid <= 1'b0;
      shift_s.valid <= 1'b0;
      product_s.valid <= 1'b0;
      add_s.valid <= 1'b0;
      round_s.valid <= 1'b0;
      write_s.valid <= 1'b0;
    end
  end

  // -------------------------------------------------------------------------------------------------------- read
  assign read = read_s.valid;
  assign input_address = read_s.pixel;
  logic begins_high;  // the first lane has the high byte of a weight
  assign begins_high = INPUT_LANES % 2 != 0 && is_wide && read_s.input_channel[0];
  for (genvar i = 0; i < INPUTS; i++) begin : input_ports
    logic [OFFSET_BITS-1:0] own;
    assign own = is_wide ? (OFFSET_BITS'(i) + OFFSET_BITS'(begins_high)) >> 1 : OFFSET_BITS'(i);
    if (i < LANES) assign input_offset[i] = (depthwise ? channel_offset[i] : own) << is_int16;
    else assign input_offset[i] = own << is_int16;
  end
  assign weight_address = read_s.weight;
  assign filter_step = depthwise ? 1 : filter_bytes;

  // ---------------------------------------------------------------------------------------------------- multiply
  logic signed [8:0] value[PIXELS*INPUTS];
  logic signed [16:0] product[PIXELS*PES];
  logic signed [31:0] term[PIXELS*PES];
  for (genvar i = 0; i < PIXELS * INPUTS; i++) begin : inputs
    logic signed [31:0] raw;
    assign raw = !multiply_s.meets[i/INPUTS] ? (is_int16 ? '0 : operands.pad_value)
        : is_int16 && !multiply_s.high ? 32'(input_data[i]) : 32'($signed(input_data[i]));
    assign value[i] = depthwise || multiply_s.input_channel + i % INPUTS < depths
        ? 9'(raw - (is_int16 ? '0 : operands.in_zp)) : '0;
  end
  for (genvar p = 0; p < PIXELS * PES; p++) begin : pe
    localparam int unsigned FIRST_INPUT = p / PES * INPUTS, OWN = p % PES;  // of its pixel
    localparam int unsigned INPUT = OWN % INPUT_LANES;
    localparam int unsigned LANE = OUTPUT_LANES == 1 ? OWN : OWN / INPUT_LANES;
    logic is_low;  // byte of a weight of int16
    if (INT16 == 0) begin : bytes
      assign is_low = 1'b0;
      assign term[p] = 32'(product[p]);
    end else begin : halves
      logic is_high;  // the same of the product, which comes a cycle later
      assign is_low = is_wide && (INPUT % 2 != 0) == (INPUT_LANES % 2 != 0 && multiply_s.input_channel[0]);
      always_ff @(posedge clock) if (multiply_s.valid) is_high <= is_wide && !is_low;
      assign term[p] = is_high ? 32'(product[p]) <<< 8 : 32'(product[p]);
    end
    dla_mac_pe multiplier (
        .clock,
        .enable(multiply_s.valid),
        .value(depthwise ? value[FIRST_INPUT+LANE] : value[FIRST_INPUT+INPUT]),
        .weight(9'((is_low ? 32'(weight_data[OWN]) : 32'($signed(weight_data[OWN]))) - (is_int16 ? '0 : operands.weight_zp))),
        .product(product[p])
    );
  end

  // ------------------------------------------------------------------------------------------------ accumulators
  // A step reads its place in the tree's stage, and writes it in the next; a sum that leaves is read when it does.
  logic signed [ACCUMULATOR_BITS-1:0] growing[PIXELS*LANES], added[PIXELS*LANES], complete[PIXELS*LANES];
  logic accumulate_again, start_again;  // the place is the one that was written last
  if (PLACES == 1) begin : single
    assign {accumulate_again, start_again} = '1;
    for (genvar l = 0; l < PIXELS * LANES; l++) begin : lane
      assign {growing[l], complete[l]} = '0;
      logic unused;
      assign unused = &{1'b0, added[l]};
    end
  end else begin : several
    logic [PLACE_BITS-1:0] newest_place;
    assign accumulate_again = newest_place == accumulate_s.place;
    assign start_again = newest_place == start_s.place;
    always_ff @(posedge clock) if (accumulate_s.valid) newest_place <= accumulate_s.place;
    dla_accumulators #(
        .BITS(ACCUMULATOR_BITS),
        .LANES(PIXELS * LANES),
        .PLACES(PLACES),
        .PLACE_BITS(PLACE_BITS)
    ) memory (
        .clock,
        .write(accumulate_s.valid),
        .write_place(accumulate_s.place),
        .written(added),
        .add_place(tree_s.place),
        .growing,
        .leave_place(leave_s.place),
        .complete
    );
  end

  // -------------------------------------------------------------------------------------- tree, and what follows
  logic signed [31:0] lowest, highest;
  assign lowest = is_int16 ? operands.act_min << 8
      : opcode == OPCODE_OP_CONV_RELU ? larger(operands.act_min, operands.out_zp) : operands.act_min;
  assign highest = is_int16 ? {operands.act_max[23:0], 8'hff} : operands.act_max;
  for (genvar l = 0; l < PIXELS * LANES; l++) begin : lane
    localparam int unsigned PIXEL = l / LANES, LANE = l % LANES;
    localparam int unsigned FIRST = PIXEL * PES + (OUTPUT_LANES == 1 ? LANE : LANE * INPUT_LANES);
    logic signed [31:0] sum;
    if (LANE < OUTPUT_LANES) begin : with_tree
      always_comb begin
        sum = term[FIRST];
        if (!depthwise) for (int unsigned i = 1; i < INPUT_LANES; i++) sum = sum + term[FIRST+i];
      end
    end else begin : without_tree
      assign sum = term[FIRST];
    end
    logic signed [ACCUMULATOR_BITS-1:0] newest;
    logic [31:0] own_result;
    dla_mac_lane #(
        .BITS(ACCUMULATOR_BITS)
    ) adder (
        .clock,
        .tree(tree_s.valid),
        .accumulate(accumulate_s.valid),
        .accumulate_first(accumulate_s.first),
        .accumulate_again,
        .growing(growing[l]),
        .added(added[l]),
        .newest,
        .high(tree_s.high),
        .sum
    );
    dla_mac_result #(
        .BITS(ACCUMULATOR_BITS)
    ) tail (
        .clock,
        .int16(is_int16),
        .start(start_s.valid),
        .start_again,
        .newest,
        .complete(complete[l]),
        .init,
        .wide,
        .by_channel,
        .partial($signed(partial_data[l])),
        .bias($signed(bias_data[LANE])),
        .record_multiplier($signed(multiplier_data[LANE])),
        .record_shift($signed(shift_data[LANE])),
        .multiplier($signed(operands.out_mult)),
        .shift(operands.out_shift),
        .zero_point(operands.out_zp),
        .lowest,
        .highest,
        .result(own_result)
    );
    if (SUMS == 0) begin : without_sum
      assign result[l] = own_result;
    end else begin : with_sum
      logic [31:0] sum_result;
      dla_mac_sum sum_tail (
          .clock,
          .tensor(partial_data[l][7:0]),
          .result($signed(own_result)),
          .result_zero_point(operands.out_zp),
          .tensor_zero_point(operands.in2_zp),
          .result_multiplier(operands.in_mult[30:0]),
          .tensor_multiplier(operands.in2_mult[30:0]),
          .result_shift(operands.in_shift),
          .tensor_shift(operands.in2_shift),
          .shift(operands.out_shift),
          .multiplier($signed(operands.out_mult)),
          .zero_point(operands.sum_zp),
          .lowest(operands.sum_min),
          .highest(operands.sum_max),
          .sum(sum_result)
      );
      assign result[l] = is_sum ? sum_result : own_result;
    end
    assign write[l] = final_s.valid && final_s.lies[PIXEL] && LANE < out_step
        && final_s.output_channel + LANE < operands.out_channels;
  end
  localparam int unsigned STAGES = SUMS == 0 ? 0 : 8;  // of a sum
  if (SUMS == 0) begin : without_sums
    assign final_s = write_s;
  end else begin : with_sums
    step_t sum_s[STAGES];
    assign final_s = is_sum ? sum_s[STAGES-1] : write_s;
    always_ff @(posedge clock) begin
      sum_s[0] <= write_s;
      sum_s[0].valid <= !reset && is_sum && write_s.valid;
      for (int unsigned i = 1; i < STAGES; i++) begin
        sum_s[i] <= sum_s[i-1];
        if (reset) sum_s[i].valid <= 1'b0;
      end
    end
  end
  assign result_address = final_s.result;
  assign finish_read = leave_s.valid;
  assign partial_address = leave_s.partial;
  assign record_address = (operands.param_addr + RECORD_BYTES * leave_s.output_channel) & PLACE;

  // ------------------------------------------------------------------------------------- limits: leave, and ports
  logic result_ends, written;  // the last result is being written; and nothing else is left
  if (LIMITED) begin : limits
    logic ports_ready, room, leave_ends, is_over, may_begin, is_at_rest, group_ends, gathers, is_whole;
    logic [31:0] lanes, block_index, rows_before, leaving_group, leaving_partial, leaving_result;
    logic [2:0] passed;  // whether the block was whole one, two and three cycles before
    dla_mac_results #(
        .LANES(LANES),
        .PIXEL_ROWS(PIXEL_ROWS),
        .PIXEL_COLUMNS(PIXEL_COLUMNS),
        .BLOCK(BLOCK),
        .RESULT_CYCLES(RESULT_CYCLES),
        .IN_BLOCKS(IN_BLOCKS),
        .GATHERS(IN_BLOCKS ? RESULT_CYCLES != 0 : SUMS_WAIT && STEP_GROUP > 1),
        .PLACE_BITS(PLACE_BITS),
        .PLACE(PLACE)
    ) results (
        .clock,
        .reset(reset || done),
        .closes(accumulate_s.valid && accumulate_s.last),
        .gathers,
        .hands_over(accumulate_s.valid && accumulate_s.hands_over),
        .is_whole(passed[2]),
        .room,
        .size(write_size),
        .partial_size,
        .group_step(out_step),
        .operands,
        .pixels(products.pixels),
        .leaves,
        .ends(leave_ends),
        .block_leaves,
        .block_index,
        .place(leave_s.place),
        .lies(leave_s.lies),
        .output_channel(leaving_group),
        .lanes,
        .partial(leaving_partial),
        .result(leaving_result)
    );
    assign leave_s.output_channel = leaving_group & CHANNELS;
    assign leave_s.partial = leaving_partial & PLACE;
    assign leave_s.result = leaving_result & PLACE;
    assign leave_s.valid = leaves;
    assign leave_s.ends = leave_ends;
    assign {leave_s.first, leave_s.last, leave_s.high, leave_s.meets, leave_s.hands_over} = '0;
    assign {leave_s.input_channel, leave_s.pixel, leave_s.weight} = '0;

    assign {acc_place, out_place} = '0;  // results leave later
    assign group_ends = steps && is_last && ends_column && ends_row;
    assign may_step = ports_ready && has_accumulators && (index != 0 || may_begin);
    if (PACED) begin : paced
      dla_mac_pace #(
          .LOAD_CYCLES(LOAD_CYCLES),
          .STEP_GROUP(STEP_GROUP),
          .INPUT_LANES(INPUT_LANES),
          .BLOCK(BLOCK),
          .IN_BLOCKS(IN_BLOCKS)
      ) pace (
          .clock,
          .reset(reset || done),
          .step(steps),
          .ends_step(ends_block),
          .ends_block(ends_taps),
          .index(32'(index)),
          .kernel_height(window.kernel.height),
          .kernel_width(window.kernel.width),
          .depths,
          .depthwise,
          .passes_twice(is_int16),
          .is_longer(is_sum),
          .may_begin,
          .gathers,
          .is_whole,
          .is_over(is_at_rest)
      );
    end else begin : at_will
      assign {may_begin, gathers, is_whole, is_at_rest} = {1'b1, IN_BLOCKS, 2'b11};
    end
    assign waits = valid && more && is_warm && !ports_ready;
    // A step is added three stages after it begins, so whether the block is whole is looked at three cycles late, too.
    always_ff @(posedge clock) passed <= {passed[1:0], is_whole};

    // Rows of the groups before this one; whether the last result has left
    always_ff @(posedge clock) begin
      if (reset || done) begin
        rows_before <= '0;
        is_over <= 1'b0;
      end else begin
        if (group_ends) rows_before <= rows_before + out_height;
        if (result_ends) is_over <= 1'b1;
      end
    end
    assign written = (result_ends || is_over) && is_at_rest;

    if (BANK_BYTES == 0) begin : free
      assign {room, ports_ready, settled} = '1;
      assign result_ends = final_s.valid && final_s.ends;
      assign {result_words, slot_first, slot_words[0], slot_strobes[0]} = '0;
      for (genvar s = 0; s < 4; s++) begin : slot
        assign {request[s], crossed_bytes[s]} = '0;
      end
      logic unused;
      assign unused = &{1'b0, in_row, in_column, lanes, rows_before, block_index, block_leaves, takes};
    end else begin : shared
      // Up to where the step reads: input channels, and bytes of a filter. No step runs before they stand there.
      logic [31:0] first_inputs, more_inputs, inputs_end, filter_end;
      logic starts_over;
      assign first_inputs = depths < INPUT_LANES ? depths : INPUT_LANES;
      assign more_inputs = ends_depth || depths - inputs_end >= first_inputs ? first_inputs : depths - inputs_end;
      always_ff @(posedge clock) begin
        starts_over <= reset || done || !valid;
        if (starts_over) {inputs_end, filter_end} <= {2{first_inputs}};
        else if (steps && ends_block && ends_bytes) begin
          inputs_end <= ((ends_depth ? '0 : inputs_end) + more_inputs) & (CHANNELS << 1 | 32'd1);  // a matrix of int16 has two
          filter_end <= ((is_last ? '0 : filter_end) + more_inputs) & PLACE;
        end
      end
      pass_t pass;
      // Results on their way to the ports: turns, chunks of them, and their bytes when they are there
      // A chunk has several groups of channels where blocks wait for their results, and groups are small.
      localparam int unsigned JOINED = IN_BLOCKS && OUTPUT_LANES == LANES && CHUNK > LANES && CHUNK % LANES == 0 ? CHUNK / LANES : 1;
      localparam int unsigned CHUNKS = (4 * JOINED * LANES + CHUNK - 1) / CHUNK;
      localparam int unsigned PIXEL_BITS = PIXELS > 1 ? $clog2(PIXELS) : 1, CHUNK_BITS = CHUNKS > 1 ? $clog2(CHUNKS) : 1;
      localparam int unsigned SELECT_BITS = PLACE_BITS + PIXEL_BITS + CHUNK_BITS;
      localparam longint unsigned TURN_CYCLES = IN_BLOCKS ? 64'd0 : 64'(RESULT_CYCLES) * 64'(LANES);
      localparam longint unsigned LEAVING = TURN_CYCLES <= 65536 ? 64'd65536 : 64'h100000000 / TURN_CYCLES;
      logic writer_room, turn_room, turn_over;  // over: with the put
      results_t turn, put;
      logic [PIXELS-1:0] turn_lies;
      logic [PIXEL_ROWS-1:0] put_row;
      logic [PLACE_BITS-1:0] turn_place, group_places, put_place, place_here;
      logic [PIXEL_BITS-1:0] put_pixel, pixel_here;
      logic [CHUNK_BITS-1:0] put_chunk, chunk_here;
      logic [8*CHUNK-1:0] bytes_here;
      logic [31:0] group_bytes_put;
      logic [31:0] results_here[PIXELS*JOINED*LANES];
      dla_chunk #(
          .LANES(JOINED * LANES),
          .PIXELS(PIXELS),
          .CHUNK(CHUNK),
          .INT16(INT16 != 0)
      ) chunk_of_results (
          .result(results_here), .size(write_size), .pixel(pixel_here), .chunk(chunk_here), .data(bytes_here)
      );
      // The turn's last pixels in the output, and whose taps meet the input
      logic [31:0] far_row, far_column, reach_row, reach_column;
      always_comb begin
        {far_row, far_column, reach_row, reach_column} = '0;
        for (int unsigned p = 1; p < PIXELS; p++) begin
          if (lies[p]) {far_row, far_column} = {p / PIXEL_COLUMNS, p % PIXEL_COLUMNS};
          if (meets[p]) {reach_row, reach_column} = {p / PIXEL_COLUMNS, p % PIXEL_COLUMNS};
        end
      end
      if (IN_BLOCKS) begin : whole_blocks
        dla_mac_blocks #(
            .LANES(LANES),
            .PIXEL_ROWS(PIXEL_ROWS),
            .PIXEL_COLUMNS(PIXEL_COLUMNS),
            .BLOCK(BLOCK),
            .PLACE_BITS(PLACE_BITS),
            .PLACE(PLACE)
        ) whole (
            .clock,
            .reset(reset || done),
            .valid,
            .depthwise,
            .pixels(products.pixels),
            .group,
            .group_step(out_step),
            .rows_before,
            .block_row,
            .row(row + reach_row),
            .out_height,
            .group_ends,
            .hands_over,
            .operands,
            .size(write_size),
            .leaves,
            .index(block_index),
            .block_leaves,
            .place(leave_s.place),
            .writer_room(turn_room),
            .turn_leaves(put.valid && turn_over),
            .pass,
            .room,
            .put(turn),
            .lies(turn_lies),
            .put_place(turn_place)
        );
        // Elements of a byte: as many groups as a chunk has
        logic joins;
        assign joins = JOINED > 1 && write_size == 0;
        assign group_places = PLACE_BITS'(joins ? JOINED * products.pixels : products.pixels);
        assign group_bytes_put = joins ? CHUNK : out_step << write_size;
        // Results wait here until their block is whole. The last ones may be asked for when they come.
        logic [PLACE_BITS-1:0] read_place[JOINED];
        for (genvar j = 0; j < JOINED; j++) begin : group_place
          logic [31:0] beyond_place;
          assign beyond_place = 32'(place_here) + j * products.pixels;
          assign read_place[j] = PLACE_BITS'(beyond_place < PLACES ? beyond_place : beyond_place - PLACES);
        end
        for (genvar l = 0; l < PIXELS * LANES; l++) begin : kept
          localparam int unsigned AT = l / LANES * JOINED * LANES + l % LANES;
          logic [31:0] of_place[PLACES];
          for (genvar p = 0; p < PLACES; p++) begin : place
            always_ff @(posedge clock) if (final_s.valid && final_s.place == PLACE_BITS'(p)) of_place[p] <= result[l];
          end
          for (genvar j = 0; j < JOINED; j++) begin : of_group
            assign results_here[AT+j*LANES] =
                final_s.valid && final_s.place == read_place[j] ? result[l] : of_place[read_place[j]];
          end
        end
        logic unused;
        assign unused = &{1'b0, lanes};
      end else begin : at_once
        assign pass = '0;
        assign room = turn_room;
        assign {turn_place, group_places, group_bytes_put} = '0;
        assign results_here = result;
        logic unused;
        assign unused = &{1'b0, block_leaves, block_index, place_here, turn_over};
        assign turn_lies = leave_s.lies;
        assign turn = '{valid: leaves, ends: leave_ends, address: leave_s.result, bytes: lanes << write_size};
      end
      dla_chunks #(
          .PIXEL_ROWS(PIXEL_ROWS),
          .PIXEL_COLUMNS(PIXEL_COLUMNS),
          .MOST_BYTES(4 * JOINED * LANES),
          .CHUNK(CHUNK),
          .GROUPS(IN_BLOCKS),
          .INDEXES(PLACES),
          .PLACE(PLACE)
      ) leaving (
          .clock,
          .reset(reset || done),
          .turn,
          .lies(turn_lies),
          .result_at,
          .writer_room,
          .turn_index(turn_place),
          .index_step(group_places),
          .group_bytes(group_bytes_put),
          .room(turn_room),
          .put,
          .over(turn_over),
          .row(put_row),
          .pixel(put_pixel),
          .chunk(put_chunk),
          .index(put_place)
      );
      dla_mac_traffic #(
          .PIXEL_ROWS(PIXEL_ROWS),
          .PIXEL_COLUMNS(PIXEL_COLUMNS),
          .LANES(LANES),
          .OUTPUT_LANES(OUTPUT_LANES),
          .BANK_BYTES(BANK_BYTES),
          .PORTS(PORTS),
          .LINE_BUFFER_BYTES(LINE_BUFFER_BYTES),
          .WEIGHT_BUFFER_BYTES(WEIGHT_BUFFER_BYTES),
          .BLOCK(BLOCK),
          .IN_BLOCKS(IN_BLOCKS),
          .INT16(INT16),
          .WRITER_WORDS(WRITER_WORDS),
          .CHUNK(CHUNK),
          .DEPTH(writer_ring(BANK_BYTES, CHUNK, LANES, LEAST_DRAIN + 2, LEAVING)),
          .PUT_BITS(SELECT_BITS),
          .DELAY(LEAST_DRAIN),
          .LONGER(STAGES),
          .PLACE(PLACE)
      ) traffic (
          .clock,
          .reset(reset || done),
          .restart(reset),
          .valid(valid && is_warm),
          .uses(operand_uses(64'({is_wide, is_sum, is_int16, by_channel, wide, init, opcode}))),
          .depthwise,
          .int16(is_int16),
          .operands,
          .window,
          .products,
          .group_bytes,
          .each_channels,
          .each_before,
          .block_row(rows_before + block_row),
          .step_row(rows_before + row + reach_row),
          .step_out_row(row + far_row),
          .partials_row(rows_before + row + far_row),
          .step_column(column + far_column),
          .step_group(group),
          .pass,
          .step_in_row(in_row + $signed(reach_row * 32'(window.stride.height))),
          .step_tap(tap),
          .step_inputs((inputs_end + 32'(is_wide)) >> is_wide),
          .step_filter(filter_end),
          .step_tap_row(tap_row),
          .step_in_column(in_column + $signed(reach_column * 32'(window.stride.width))),
          .step_index(32'(index)),
          .step_meets(meets != 0),
          .step_first(is_first),
          .block_ends(steps && is_last && ends_block),
          .group_ends,
          .put,
          .put_row,
          .put_select({put_place, put_pixel, put_chunk}),
          .is_longer(is_sum),
          .others_settled,
          .settled,
          .select({place_here, pixel_here, chunk_here}),
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
  end else begin : ideal
    assign may_step = 1'b1;
    assign {leaves, block_leaves} = '0;
    dla_walk #(.PLACE(PLACE)) partials (
        .clock, .reset(reset || done), .step(steps && is_last), .ends_column, .ends_row, .restarts(1'b0), .starts(1'b0),
        .row_step(PIXEL_ROWS * operands.acc_row_stride), .column_step(PIXEL_COLUMNS * operands.acc_pixel_stride), .place(acc_place)
    );
    dla_walk #(.PLACE(PLACE)) results (
        .clock, .reset(reset || done), .step(steps && is_last), .ends_column, .ends_row, .restarts(1'b0), .starts(1'b0),
        .row_step(PIXEL_ROWS * operands.out_row_stride), .column_step(PIXEL_COLUMNS * operands.out_pixel_stride), .place(out_place)
    );
    assign waits = 1'b0;
    assign settled = 1'b1;
    assign result_ends = final_s.valid && final_s.ends;
    assign written = result_ends;
    assign {result_words, slot_first, slot_words[0], slot_strobes[0]} = '0;
    always_comb begin
      leave_s = accumulate_s;
      leave_s.valid = accumulate_s.valid && accumulate_s.last;
    end
    for (genvar s = 0; s < 4; s++) begin : slot
      assign {request[s], crossed_bytes[s]} = '0;
    end
    logic unused;
    assign unused = &{1'b0, by_channel, in_row, in_column, takes, has_accumulators};
  end

  // --------------------------------------------------------------------------------------------------------- end
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

  logic [31:0] outputs_left, inputs_left;
  assign outputs_left = operands.out_channels - group;
  assign inputs_left = depths - depth;
  // Few bits, for a small multiplier
  localparam int unsigned STEP_BITS = $clog2(LANES + 1), INPUT_BITS = $clog2(INPUT_LANES + 1);
  logic [STEP_BITS-1:0] step_outputs;
  logic [INPUT_BITS-1:0] step_inputs;
  assign step_outputs = STEP_BITS'(outputs_left < out_step ? outputs_left : out_step);
  assign step_inputs = INPUT_BITS'(depthwise ? 1 : inputs_left < INPUT_LANES ? inputs_left : INPUT_LANES);
  // Of a matrix of int16 those count that have a high byte.
  logic [INPUT_BITS-1:0] step_products;
  assign step_products = is_wide ? INPUT_BITS'((32'(step_inputs) + 32'(depth[0])) >> 1) : step_inputs;
  assign macs = !steps || !ends_bytes ? 0 : 32'(step_outputs) * 32'(step_products) * count;
endmodule
