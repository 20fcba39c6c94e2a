// The operand checks of an operation that is about to issue, from the registers as they are: an operand in a cycle, and
// beside them the operation's steps by one multiplier and the remainder of its channels. After CYCLES the fault with the
// lowest number is there, and the address that belongs to it; and the products that the units need, which the same
// multipliers make where no operand takes them.
//
// A size beyond any memory counts as one that is just too large. One fault of the manual is not seen here: a pooling
// window whose taps straddle the input without meeting it, which takes a dilation larger than the input.

module dla_checks
  import dla_isa::*;
  import dla_memory::*;
  import dla_words::*;
#(
    parameter int unsigned SRAM_BYTES = 524288,
    parameter region_beats_t REGION_BEATS = {REGIONS{32'd8}},  // bytes of a beat at most, by the region
    parameter int unsigned CYCLES = 16,  // no choice: what the steps below take
    parameter int unsigned INT16 = 0,  // whether MAC and VECTOR have elements of int16
    parameter int unsigned MAC_SUMS = 0,  // whether MAC can add a tensor to its results
    parameter int unsigned PIXEL_ROWS = 1,  // of the output that MAC computes at once
    parameter int unsigned PIXEL_COLUMNS = 1,
    parameter bit UNPACKS = 0,  // OP_DMA_UNPACK is an instruction
    parameter bit DECODES = 0  // OP_DMA_DECODE is
) (
    input logic clock,
    input logic [31:0] step,  // cycles since the word is at hand
    // Of a word the fields of operations, and of the registers those that place operands or give sizes.
    /* verilator lint_off UNUSEDSIGNAL */
    input logic [63:0] word,
    input operand_file_t file,
    /* verilator lint_on UNUSEDSIGNAL */
    input logic [31:0] region_bytes[REGION_COUNT],
    output fault_t fault,
    output logic [31:0] address,
    output products_t products,
    output merged_t merged
);
  // ------------------------------------------------------------------------------------------------ what is looked at
  // Operands by number: of several with the same fault the first is named. Windows are looked at in the same way.
  localparam logic [3:0] SYSTEM = 4'd0, TRANSFER = 4'd1, IN = 4'd2, IN2 = 4'd3, WEIGHT = 4'd4, ACC = 4'd5, PARAM = 4'd6,
      LUT = 4'd7, OUT = 4'd8, WINDOW_ROWS = 4'd9, WINDOW_COLUMNS = 4'd10, PADS = 4'd11, AREA = 4'd12, NOTHING = 4'd15;
  // The output is first, because others are compared with it; weights are last, when their size is known.
  localparam logic [3:0] ORDER[16] = '{OUT, SYSTEM, TRANSFER, IN, IN2, ACC, PARAM, LUT, WINDOW_ROWS, WINDOW_COLUMNS, WEIGHT,
      PADS, AREA, NOTHING, NOTHING, NOTHING};
  localparam int unsigned SIZE_BITS = 34, END_BITS = 36;  // of bytes, and of sums of them
  typedef logic [END_BITS-1:0] sum_t;

  // Runs of bytes at two strides: how many planes and runs follow the first. Of a window: taps, dilation, outputs and stride
  // along an axis, the input's size as address, the padding as bytes.
  typedef struct packed {
    logic [3:0] number;
    logic present;
    logic [1:0] size;  // of an element: its bytes as a power of 2
    logic disjoint;  // must be
    logic output_like;
    logic [31:0] address;
    logic [23:0] more_planes;
    logic [31:0] plane_stride;
    logic [23:0] more_runs;
    logic [31:0] run_stride;
    logic [SIZE_BITS-1:0] run_bytes;
  } box_t;

  logic [7:0] opcode;
  logic unpacks, decodes, is_in, is_out, is_transfer, is_pool, is_wide_matrix;
  logic [31:0] packed_bytes;  // from which a transfer unpacks twice as many
  logic [31:0] copied_bytes, code_bytes;  // behind those that a transfer decodes; all in system memory
  logic [31:0] most_region_bytes;
  /* verilator lint_off UNUSEDSIGNAL */
  dma_operands_t dma;  // of its region 3 bits matter
  /* verilator lint_on UNUSEDSIGNAL */
  operand_uses_t uses;
  assign opcode = word[7:0];
  assign unpacks = UNPACKS && opcode == OPCODE_OP_DMA_UNPACK;
  assign decodes = DECODES && opcode == OPCODE_OP_DMA_DECODE;
  assign is_in = opcode == OPCODE_OP_DMA_READ || unpacks || decodes;
  assign is_out = opcode == OPCODE_OP_DMA_WRITE;
  assign is_transfer = is_in || is_out;
  assign packed_bytes = unpacks ? 32'(word[PACKED_LOW+:PACKED_BITS]) << 1 : '0;
  assign copied_bytes = 32'(word[COPIED_LOW+:COPIED_BITS]) << 2;
  assign code_bytes = (32'(word[WORDS_LOW+:WORDS_BITS]) << 4) + copied_bytes;
  assign is_pool = opcode == OPCODE_OP_POOL;
  assign dma = is_in ? dma_in_operands(file) : dma_out_operands(file);
  assign most_region_bytes = region_bytes[dma.region[2:0]];
  assign uses = operand_uses(word);
  assign is_wide_matrix = has_weights(opcode) && word[WEIGHTS_LOW] == WEIGHTS_INT16;

  // ------------------------------------------------------------- products of the operation: three cycles for each factor,
  // two of which multiply by a half of it, after one in which the first half is chosen; the last product is there after CYCLES.
  // Channels of the input by taps are the bytes of a filter, by channels of the output those of weights; by pixels, the
  // steps. Of a transfer bytes of a run by runs and planes.
  localparam int unsigned STEP_BITS = 49;  // 2^48 are allowed
  logic [STEP_BITS-1:0] steps, first_factor;
  logic [STEP_BITS:0] weights_bytes;
  assign weights_bytes = (STEP_BITS + 1)'(steps) << is_wide_matrix;
  logic [STEP_BITS+11:0] product, low_product, high_product;
  logic [STEP_BITS+24:0] whole_product;
  logic [23:0] factor;
  logic [11:0] half_factor;
  logic [1:0] phase;
  assign first_factor = is_transfer ? STEP_BITS'(dma.run_bytes) : sums_channels(opcode) ? STEP_BITS'(file.in_channels) : STEP_BITS'(1);
  dla_multiplier #(
      .VALUE_BITS(STEP_BITS + 1),
      .DIGITS_BITS(13),
      .BITS(STEP_BITS + 12)
  ) multiply (
      .value($signed({1'b0, steps})), .digits($signed({1'b0, half_factor})), .added('0), .product
  );
  always_comb begin
    factor = 24'd1;
    case (step[3:0])
      4'd0, 4'd1, 4'd2: factor = is_transfer ? dma.runs[23:0] : has_kernel(opcode) ? 24'(file.kernel.height) : 24'd1;
      4'd3, 4'd4, 4'd5: factor = is_transfer ? dma.planes[23:0] : has_kernel(opcode) ? 24'(file.kernel.width) : 24'd1;
      4'd6, 4'd7, 4'd8: factor = file.out_channels[23:0];
      4'd9, 4'd10, 4'd11: factor = 24'(file.out_size.height);
      default: factor = 24'(file.out_size.width);
    endcase
    phase = 2'(32'(step[3:0]) % 3);
    whole_product = {1'b0, high_product, 12'd0} + (STEP_BITS + 25)'(low_product);
  end
  always_ff @(posedge clock) begin
    half_factor <= phase == 0 ? factor[11:0] : factor[23:12];
    if (phase == 1) low_product <= product;
    high_product <= product;
    if (step == 0) steps <= first_factor;
    else if (phase == 0 && step < CYCLES)
      steps <= whole_product[STEP_BITS+24:STEP_BITS] != 0 ? '1 : whole_product[STEP_BITS-1:0];
  end

  // Two binary digits a cycle of the channels' quotient, which follow the dividend's from the right
  logic [23:0] remainder, dividend, next_remainder, half_remainder;
  function automatic logic [23:0] after_digit(input logic [23:0] rest, input logic digit, input logic [23:0] divisor);
    logic [24:0] whole;
    whole = {rest, digit};
    return whole >= {1'b0, divisor} ? 24'(whole - {1'b0, divisor}) : whole[23:0];
  endfunction
  function automatic logic fits_in(input logic [23:0] rest, input logic digit, input logic [23:0] divisor);
    return {rest, digit} >= {1'b0, divisor};
  endfunction
  assign half_remainder = after_digit(remainder, dividend[23], file.in_channels[23:0]);
  assign next_remainder = after_digit(half_remainder, dividend[22], file.in_channels[23:0]);
  always_ff @(posedge clock) begin
    if (step == 0) {remainder, dividend} <= {24'd0, file.out_channels[23:0]};
    else if (step <= 12) begin
      remainder <= next_remainder;
      dividend <= {dividend[21:0], fits_in(remainder, dividend[23], file.in_channels[23:0]),
                   fits_in(half_remainder, dividend[22], file.in_channels[23:0])};
    end
  end

  // ------------------------------------------------------------------------------------------ first stage: an operand
  /* verilator lint_off UNUSEDSIGNAL */
  box_t chosen, first, second;  // a late stage looks at less of it
  /* verilator lint_on UNUSEDSIGNAL */
  function automatic box_t view(input logic [3:0] number, input operand_use_t use_, input logic [31:0] start, pixel, row);
    extent_t size;
    logic [31:0] channels;
    size = use_.extent == EXTENT_INPUT ? file.in_size : file.out_size;
    channels = use_.extent == EXTENT_OUTPUT ? file.out_channels : file.in_channels;
    return {number, use_.present, use_.size, use_.disjoint, number != IN || use_.extent == EXTENT_OUTPUT, start,
            24'(size.height) - 24'd1, row, 24'(size.width) - 24'd1, pixel, SIZE_BITS'(channels) << use_.size};
  endfunction

  /* verilator lint_off UNUSEDSIGNAL */
  function automatic box_t linear(input logic [3:0] number, input operand_use_t use_, input logic [31:0] start,
                                  input logic [SIZE_BITS-1:0] bytes);
    /* verilator lint_on UNUSEDSIGNAL */
    return {number, use_.present, use_.size, use_.disjoint, 1'b0, start, 24'd0, 32'd0, 24'd0, 32'd0, bytes};
  endfunction

  function automatic box_t window(input logic [3:0] number, input logic [15:0] size, outputs, kernel, stride, dilation,
                                  pad);
    return {number, is_pool, 4'b0, 32'(size), 24'(kernel) - 24'd1, 32'(dilation), 24'(outputs) - 24'd1, 32'(stride), SIZE_BITS'(pad)};
  endfunction

  // Of an operation that computes, the places of a transfer's operands serve for products, as do further ones.
  function automatic box_t factors(input logic [3:0] number, input logic [15:0] planes, input logic [31:0] plane_stride,
                                   input logic [15:0] runs, input logic [31:0] run_stride);
    return {number, 5'b0, 32'd0, 24'(planes), plane_stride, 24'(runs), run_stride, SIZE_BITS'(0)};
  endfunction
  /* verilator lint_off UNUSEDSIGNAL */
  window_t windows;  // the output's size is the file's
  /* verilator lint_on UNUSEDSIGNAL */
  assign windows = !has_kernel(opcode) ? each_pixel(file.out_size) : '{
      in_size: file.in_size,
      out_size: file.out_size,
      kernel: file.kernel,
      stride: file.stride,
      dilation: file.dilation,
      pad: file.pad
  };

  always_comb begin
    case (step < CYCLES ? ORDER[step[3:0]] : NOTHING)
      PADS: chosen = factors(PADS, windows.pad.top, file.in_row_stride, windows.pad.left, file.in_pixel_stride);
      AREA:
      chosen = factors(AREA, 16'((32'(file.out_size.height) + PIXEL_ROWS - 1) / PIXEL_ROWS),
                       (32'(file.out_size.width) + PIXEL_COLUMNS - 1) / PIXEL_COLUMNS, '0, '0);
      SYSTEM:
      if (!is_transfer) chosen = factors(SYSTEM, windows.stride.height, file.in_row_stride, windows.stride.width, file.in_pixel_stride);
      else
      chosen = {SYSTEM, is_transfer, 2'b0, is_out, 1'b0, dma.offset, 24'(dma.planes) - 24'd1, dma.plane_stride,
                24'(dma.runs) - 24'd1, dma.run_stride, decodes ? SIZE_BITS'(code_bytes) : SIZE_BITS'(dma.run_bytes) - SIZE_BITS'(packed_bytes)};
      TRANSFER:
      if (!is_transfer)
        chosen = factors(TRANSFER, windows.dilation.height, file.in_row_stride, windows.dilation.width, file.in_pixel_stride);
      else
      chosen = {TRANSFER, is_transfer, 2'b0, is_in, 1'b0, dma.sram_addr, 24'(dma.planes) - 24'd1, dma.plane_sram_stride,
                24'(dma.runs) - 24'd1, dma.run_sram_stride, SIZE_BITS'(dma.run_bytes)};
      IN: chosen = view(IN, uses.in, file.in_addr, file.in_pixel_stride, file.in_row_stride);
      IN2: chosen = view(IN2, uses.in2, file.in2_addr, file.in2_pixel_stride, file.in2_row_stride);
      WEIGHT:
      chosen = linear(WEIGHT, uses.weight, file.weight_addr,
                      weights_bytes[STEP_BITS:SIZE_BITS] != 0 ? '1 : weights_bytes[SIZE_BITS-1:0]);
      ACC: chosen = view(ACC, uses.acc, file.acc_addr, file.acc_pixel_stride, file.acc_row_stride);
      PARAM: chosen = linear(PARAM, uses.param, file.param_addr, SIZE_BITS'(file.out_channels) * SIZE_BITS'(RECORD_BYTES));
      LUT:
      chosen = linear(LUT, uses.lut, file.lut_addr,
                      SIZE_BITS'(table_bytes(uses.lut.extent)));
      OUT: chosen = view(OUT, uses.out, file.out_addr, file.out_pixel_stride, file.out_row_stride);
      WINDOW_ROWS:
      chosen = window(WINDOW_ROWS, windows.in_size.height, file.out_size.height, windows.kernel.height,
                      windows.stride.height, windows.dilation.height, windows.pad.top);
      WINDOW_COLUMNS:
      chosen = window(WINDOW_COLUMNS, windows.in_size.width, file.out_size.width, windows.kernel.width,
                      windows.stride.width, windows.dilation.width, windows.pad.left);
      default: chosen = factors(NOTHING, '0, '0, '0, '0);
    endcase
  end

  // -------------------------------------------------------------- second stage: from the first plane and run to the last
  logic [55:0] planes_product, runs_product, far_plane, far_run;
  dla_multiplier #(
      .VALUE_BITS(33),
      .DIGITS_BITS(25),
      .BITS(56)
  ) planes (
      .value($signed({1'b0, first.plane_stride})), .digits($signed({1'b0, first.more_planes})), .added('0),
      .product(far_plane)
  );
  dla_multiplier #(
      .VALUE_BITS(33),
      .DIGITS_BITS(25),
      .BITS(56)
  ) runs (
      .value($signed({1'b0, first.run_stride})), .digits($signed({1'b0, first.more_runs})), .added('0),
      .product(far_run)
  );
  always_ff @(posedge clock) begin
    first <= chosen;
    second <= first;
    planes_product <= far_plane;
    runs_product <= far_run;
  end

  // The bits of an address of the SRAM, and one more, as in the units.
  localparam logic [31:0] PLACE = (32'd2 << $clog2(SRAM_BYTES)) - 1;
  // Of an axis of windows: how far the last window is from the first, and a window's last tap from its first
  function automatic logic [18:0] distance(input logic [55:0] far);
    return far[55:17] != 0 ? 19'h20000 : far[18:0];
  endfunction
  logic [18:0] last_window, last_tap, last_reached;
  logic [15:0] size_outside;
  assign last_window = distance(runs_product);
  assign last_tap = distance(planes_product);
  assign last_reached = last_window + last_tap - 19'(second.run_bytes);
  assign size_outside = second.address[15:0] - 16'd1;
  logic is_wide;  // a run is no shorter than a beat, so that a beat lies in two runs at most
  assign is_wide = dma.run_bytes >= REGION_BEATS[dma.region[2:0]];
  always_ff @(posedge clock) begin
    if (second.number == WINDOW_ROWS) begin
      products.walk.span <= last_tap >= 19'hffff ? '1 : last_tap[15:0] + 16'd1;
      products.walk.is_inside <= second.run_bytes == 0 && last_window <= 19'(size_outside);
    end
    if (second.number == WINDOW_COLUMNS) begin
      products.walk.last_column <= last_reached < 19'(size_outside) ? last_reached[15:0] : size_outside;
      if (second.run_bytes != 0 || last_window > 19'(size_outside)) products.walk.is_inside <= 1'b0;
    end
    case (second.number)
      SYSTEM: {products.walk.row_step, products.walk.column_step} <= {planes_product[31:0] & PLACE, runs_product[31:0] & PLACE};
      TRANSFER:
      {products.walk.tap_row_step, products.walk.tap_column_step} <= {planes_product[31:0] & PLACE, runs_product[31:0] & PLACE};
      PADS: products.walk.start <= (file.in_addr - planes_product[31:0] - runs_product[31:0]) & PLACE;
      AREA: products.pixels <= planes_product[31:0] & PLACE;
      default: ;
    endcase
    products.outputs_each <= 32'(dividend) & PLACE;
    merged.runs_touch <= dma.runs == 1 || (dma.run_bytes == dma.run_stride
        && (is_wide || dma.run_sram_stride == dma.run_bytes));
    merged.burst_runs_touch <= dma.runs == 1 || dma.run_stride == dma.run_bytes;
    if (step == 4) begin
      merged.burst_planes_touch <= merged.burst_runs_touch && (dma.planes == 1 || 49'(dma.plane_stride) == steps);
      merged.planes_touch <= merged.runs_touch && (dma.planes == 1
          || (steps == 49'(dma.plane_stride) && (is_wide || 49'(dma.plane_sram_stride) == steps)));
      merged.run_bytes <= merged.runs_touch ? steps[31:0] : dma.run_bytes;
    end
    if (step == 7 && merged.planes_touch) merged.run_bytes <= decodes ? code_bytes : steps[31:0] - packed_bytes;
    if (step == 7) products.filter_bytes <= (steps[31:0] << is_wide_matrix) & PLACE;
  end

  // ----------------------------------------------------------------------------------------- third stage: where it ends
  typedef struct packed {
    box_t box;
    logic is_disjoint;
    sum_t end_;
    sum_t row_bytes;  // from a row's first byte to its last
    sum_t rows_apart;  // where pixels do not lie among those of other rows, a row takes this
  } extent_sum_t;
  /* verilator lint_off UNUSEDSIGNAL */
  extent_sum_t third, target;  // target: the output
  /* verilator lint_on UNUSEDSIGNAL */
  function automatic sum_t bounded(input logic [55:0] bytes);
    return bytes[55:SIZE_BITS] != 0 ? END_BITS'({SIZE_BITS{1'b1}}) : END_BITS'(bytes[SIZE_BITS-1:0]);
  endfunction

  sum_t planes_span, runs_span, run_bytes;
  logic one_plane, one_run;
  assign planes_span = bounded(planes_product);
  assign runs_span = bounded(runs_product);
  assign run_bytes = END_BITS'(second.run_bytes);
  assign one_plane = second.more_planes == 0;
  assign one_run = second.more_runs == 0;
  always_ff @(posedge clock) begin
    third.box <= second;
    // One stride clears a run, and the other clears all of those.
    third.is_disjoint <= ((one_run || END_BITS'(second.run_stride) >= run_bytes)
            && (one_plane || END_BITS'(second.plane_stride) >= runs_span + run_bytes))
        || ((one_plane || END_BITS'(second.plane_stride) >= run_bytes)
            && (one_run || END_BITS'(second.run_stride) >= planes_span + run_bytes));
    third.end_ <= END_BITS'(second.address) + planes_span + runs_span + run_bytes;
    third.row_bytes <= runs_span + run_bytes;
    third.rows_apart <= runs_span + END_BITS'(second.run_stride);
    if (third.box.number == OUT) target <= third;
  end

  // A window has no tap in the input: its first one ends before it, or its last one begins after it.
  logic is_empty_window, has_empty_window;
  sum_t third_planes_span, third_runs_span;
  assign is_empty_window = third.box.present && (third.box.number == WINDOW_ROWS || third.box.number == WINDOW_COLUMNS)
      && (third_planes_span < END_BITS'(third.box.run_bytes)
          || third_runs_span >= END_BITS'(third.box.run_bytes) + END_BITS'(third.box.address));
  always_ff @(posedge clock) begin
    third_planes_span <= planes_span;
    third_runs_span <= runs_span;
    has_empty_window <= step != 0 && (has_empty_window || is_empty_window);
  end

  // ------------------------------------------------------------- fourth stage: an output on what its operation reads
  function automatic logic are_apart(input logic [31:0] start, input sum_t own, input logic [31:0] other,
                                     input sum_t others, input logic [31:0] stride);
    return END_BITS'(start) + own <= END_BITS'(other)
        && END_BITS'(other) + others <= END_BITS'(start) + END_BITS'(stride);
  endfunction

  logic same_rows, same_pixels, meets, in_pixels, in_rows, is_in_place, in_order, overlaps;
  assign same_rows = third.box.plane_stride == target.box.plane_stride;
  assign same_pixels = third.box.run_stride == target.box.run_stride;
  assign meets = END_BITS'(third.box.address) < target.end_ && END_BITS'(target.box.address) < third.end_;
  assign in_pixels = same_pixels && END_BITS'(third.box.plane_stride) >= third.rows_apart
      && END_BITS'(third.box.plane_stride) >= target.rows_apart
      && (are_apart(third.box.address, END_BITS'(third.box.run_bytes), target.box.address, END_BITS'(target.box.run_bytes), third.box.run_stride)
       || are_apart(target.box.address, END_BITS'(target.box.run_bytes), third.box.address, END_BITS'(third.box.run_bytes), third.box.run_stride));
  assign in_rows = are_apart(third.box.address, third.row_bytes, target.box.address, target.row_bytes, third.box.plane_stride)
      || are_apart(target.box.address, target.row_bytes, third.box.address, third.row_bytes, third.box.plane_stride);
  // Element by element on it, or in VECTOR before it: that unit reads and writes in the order of addresses.
  assign in_order = !uses.weight.present && target.box.address < third.box.address
      && (third.box.more_planes == 0 || END_BITS'(third.box.plane_stride) >= third.row_bytes);
  assign is_in_place = third.box.output_like && third.box.size == target.box.size
      && (third.box.more_planes == 0 || same_rows) && (third.box.more_runs == 0 || same_pixels)
      && (third.box.address == target.box.address || in_order);
  logic is_view;
  assign is_view = third.box.number == IN || third.box.number == IN2 || third.box.number == ACC;
  assign overlaps = third.box.present && third.box.number >= IN && third.box.number < OUT && meets
      && !(is_view && same_rows && (in_pixels || in_rows)) && !is_in_place;

  // ------------------------------------------------------------------------------------------------------- the verdict
  // Faults from the lowest number on; an operand that overlaps itself comes before one on which the output lies.
  typedef enum logic [2:0] {BAD, MISALIGNED, OUTSIDE, TWICE, MET, BEYOND, READ_ONLY, NONE} verdict_t;
  logic in_sram, computes, is_bad, has_too_many_steps;  // the latter is known after CYCLES
  verdict_t found, worst;
  logic [3:0] worst_number;
  logic [31:0] worst_address;
  assign in_sram = third.box.present && third.box.number >= TRANSFER && third.box.number <= OUT;
  logic [1:0] low_bits;  // of the operand's place
  assign low_bits = third.box.address[1:0] | third.box.plane_stride[1:0] | third.box.run_stride[1:0];
  logic is_int16, lacks_int16, is_sum, lacks_sum, is_one_pass;
  assign is_int16 = has_elements(opcode) && word[ELEMENTS_LOW] == ELEMENTS_INT16;
  assign is_one_pass = word[OUT_LOW] == OUT_INT8 && word[INIT_LOW+:INIT_BITS] != INIT_PARTIAL;
  assign lacks_int16 = INT16 == 0 || (unit_of(opcode) == UNIT_MAC && !is_one_pass);
  assign is_sum = has_sum(opcode) && word[SUM_LOW] == SUM_TENSOR;
  assign lacks_sum = MAC_SUMS == 0 || is_int16 || !is_one_pass || word[QUANT_LOW] != QUANT_CHANNEL || file.sum_min > file.sum_max;
  always_comb begin
    found = NONE;
    if (in_sram && (low_bits & {third.box.size[1], third.box.size != 0}) != 0)
      found = MISALIGNED;
    else if (in_sram && third.end_ > END_BITS'(SRAM_BYTES)) found = OUTSIDE;
    else if (third.box.present && third.box.disjoint && !third.is_disjoint) found = TWICE;
    else if (overlaps) found = MET;
    else if (third.box.present && third.box.number == SYSTEM) begin
      if (third.end_ > END_BITS'(most_region_bytes)) found = BEYOND;
      else if (is_out && (dma.region[2:0] == REGION_CONSTANTS || dma.region[2:0] == REGION_COMMANDS)) found = READ_ONLY;
    end
  end
  assign computes = unit_of(opcode) == UNIT_MAC || unit_of(opcode) == UNIT_VECTOR;
  assign is_bad = computes && ((is_clamped(opcode) && file.act_min > file.act_max) || (opcode == OPCODE_OP_DEPTH_CONV && remainder != 0)
          || (is_pool && (file.out_channels != file.in_channels || has_empty_window))
          || (is_int16 && lacks_int16) || (needs_int16(opcode) && INT16 == 0) || (is_wide_matrix && !is_int16)
          || (is_sum && lacks_sum))
      || ((unpacks || decodes) && (dma.runs != 1 || dma.planes != 1))
      || (unpacks && packed_bytes > dma.run_bytes >> 1)
      || (decodes && (copied_bytes > dma.run_bytes || word[WORDS_LOW+:WORDS_BITS] > word[STEPS_LOW+:STEPS_BITS]
          || dma.run_bytes - copied_bytes > 32'(word[STEPS_LOW+:STEPS_BITS]) << 6));
  always_ff @(posedge clock) begin
    if (step == 0) worst <= NONE;
    else if (step == CYCLES - 1 && is_bad) begin
      worst <= BAD;
      worst_address <= '0;
    end else if ({found, third.box.number} < {worst, worst_number} && found != NONE && step < CYCLES - 1) begin
      worst <= found;
      worst_number <= third.box.number;
      worst_address <= third.box.address;
    end
  end
  assign has_too_many_steps = computes && steps > STEP_BITS'(1) << 48;
  assign address = has_too_many_steps ? '0 : worst_address;
  always_comb begin
    case (has_too_many_steps ? BAD : worst)
      BAD: fault = FAULT_BAD_OPERANDS;
      MISALIGNED: fault = FAULT_MISALIGNED;
      OUTSIDE: fault = FAULT_SRAM_RANGE;
      TWICE, MET: fault = FAULT_OVERLAP;
      BEYOND: fault = FAULT_REGION_RANGE;
      READ_ONLY: fault = FAULT_REGION_READ_ONLY;
      default: fault = FAULT_NONE;
    endcase
  end
endmodule
