// The operand checks of an operation that is about to issue, from the registers as they are now: the fault with
// the lowest number, and the address that belongs to it. Combinational: an operation issues in one cycle.
//
// One fault of the manual is not seen here: a pooling window whose taps straddle the input without meeting it,
// which takes a dilation larger than the input.

module dla_checks
  import dla_isa::*;
#(
    parameter int unsigned SRAM_BYTES = 524288
) (
    input logic enable,
    input logic [63:0] word,
    // Padding values and such are legal by themselves.
    /* verilator lint_off UNUSEDSIGNAL */
    input operand_file_t file,
    /* verilator lint_on UNUSEDSIGNAL */
    input logic [31:0] region_bytes[REGION_COUNT],
    output fault_t fault,
    output logic [31:0] address
);
  localparam logic [111:0] MAX_STEPS = 112'd1 << 48;
  localparam int unsigned OPERANDS = 9;  // two of transfers, seven of compute operations

  // Runs of bytes at two strides; run_bytes is wide enough for any product of the registers.
  typedef struct packed {
    logic [31:0] address;
    logic [23:0] planes;
    logic [31:0] plane_stride;
    logic [23:0] runs;
    logic [31:0] run_stride;
    logic [79:0] run_bytes;
  } box_t;

  typedef struct packed {
    logic present;
    logic wide;
    logic disjoint;  // must be
    box_t box;
  } operand_t;

  // ------------------------------------------------------------------------------------------- a box by itself
  // Each function looks at a part of the box, and a transfer's region has 3 bits.
  /* verilator lint_off UNUSEDSIGNAL */
  function automatic logic [80:0] end_of(input box_t box);
    return 81'(box.address) + (81'(box.planes) - 81'd1) * 81'(box.plane_stride)
        + (81'(box.runs) - 81'd1) * 81'(box.run_stride) + 81'(box.run_bytes);
  endfunction

  // The inner stride clears a run, the outer one all inner runs.
  function automatic logic is_nested(input logic [79:0] run_bytes, input logic [23:0] few,
                                     input logic [31:0] small_stride, input logic [23:0] many,
                                     input logic [31:0] large_stride);
    return (few == 1 || 80'(small_stride) >= run_bytes)
        && (many == 1 || 81'(large_stride) >= (81'(few) - 81'd1) * 81'(small_stride) + 81'(run_bytes));
  endfunction

  function automatic logic is_disjoint(input box_t box);
    return is_nested(box.run_bytes, box.runs, box.run_stride, box.planes, box.plane_stride)
        || is_nested(box.run_bytes, box.planes, box.plane_stride, box.runs, box.run_stride);
  endfunction

  function automatic logic is_misaligned(input box_t box);
    return box.address[1:0] != 0 || box.plane_stride[1:0] != 0 || box.run_stride[1:0] != 0;
  endfunction

  // --------------------------------------------------------------------- an output on what its operation reads
  function automatic logic meets(input box_t source, input box_t target);
    return 81'(source.address) < end_of(target) && 81'(target.address) < end_of(source);
  endfunction

  // Element by element on it, or in VECTOR before it: that unit reads and writes in the order of addresses.
  function automatic logic is_in_place(input box_t source, input box_t target, input logic in_order);
    return (source.planes == 1 || source.plane_stride == target.plane_stride)
        && (source.runs == 1 || source.run_stride == target.run_stride)
        && (source.address == target.address || (in_order && target.address < source.address
            && (source.planes == 1 || 81'(source.plane_stride) >= row_bytes(source))));
  endfunction

  // `first` and then `second` have channels of their own of each pixel, or columns of their own of each row.
  function automatic logic are_slices(input box_t first, input box_t second);
    return first.plane_stride == second.plane_stride
        && ((first.run_stride == second.run_stride
            && 56'(first.plane_stride) >= 56'(first.runs) * 56'(first.run_stride)
            && 56'(first.plane_stride) >= 56'(second.runs) * 56'(first.run_stride)
            && are_apart(first, 81'(first.run_bytes), second, 81'(second.run_bytes), 81'(first.run_stride)))
          || are_apart(first, row_bytes(first), second, row_bytes(second), 81'(first.plane_stride)));
  endfunction

  function automatic logic are_apart(input box_t first, input logic [80:0] own, input box_t second,
      input logic [80:0] other, input logic [80:0] stride);
    return 81'(first.address) + own <= 81'(second.address)
        && 81'(second.address) + other <= 81'(first.address) + stride;
  endfunction

  function automatic logic [80:0] row_bytes(input box_t box);
    return (81'(box.runs) - 81'd1) * 81'(box.run_stride) + 81'(box.run_bytes);
  endfunction

  // -------------------------------------------------------------------------------- the operands as boxes of bytes
  function automatic operand_t view(input operand_use_t use_, input logic [31:0] start, pixel, row);
    extent_t size;
    logic [31:0] channels;
    size = use_.extent == EXTENT_INPUT ? file.in_size : file.out_size;
    channels = use_.extent == EXTENT_OUTPUT ? file.out_channels : file.in_channels;
    return {use_.present, use_.wide, use_.disjoint, start, 24'(size.height), row, 24'(size.width), pixel,
            use_.wide ? 80'(channels) * 4 : 80'(channels)};
  endfunction

  function automatic operand_t linear(input operand_use_t use_, input logic [31:0] start);
    logic [79:0] taps, bytes;
    taps = 80'(file.kernel.height) * 80'(file.kernel.width);
    case (use_.extent)
      EXTENT_CONV_WEIGHTS: bytes = taps * 80'(file.out_channels) * 80'(file.in_channels);
      EXTENT_DEPTH_WEIGHTS: bytes = taps * 80'(file.out_channels);
      EXTENT_MATRIX: bytes = 80'(file.out_channels) * 80'(file.in_channels);
      EXTENT_RECORDS: bytes = 80'(file.out_channels) * RECORD_BYTES;
      EXTENT_EXPONENTIALS: bytes = 80'(EXPONENTIALS_BYTES);
      default: bytes = 80'(TABLE_BYTES);
    endcase
    return {use_.present, use_.wide, use_.disjoint, start, 24'd1, 32'd0, 24'd1, 32'd0, bytes};
  endfunction

  function automatic box_t transfer(input dma_operands_t dma, input logic in_sram);
    return {in_sram ? dma.sram_addr : dma.offset, 24'(dma.planes),
            in_sram ? dma.plane_sram_stride : dma.plane_stride, 24'(dma.runs),
            in_sram ? dma.run_sram_stride : dma.run_stride, 80'(dma.run_bytes)};
  endfunction

  /* verilator lint_on UNUSEDSIGNAL */

  // ------------------------------------------------------------------------------------ shapes that fit together
  function automatic logic has_empty_window(input logic [15:0] size, outputs, kernel, stride, dilation, pad);
    logic [32:0] reach, last_start;
    reach = (33'(kernel) - 33'd1) * 33'(dilation);
    last_start = (33'(outputs) - 33'd1) * 33'(stride);
    return reach < 33'(pad) || last_start >= 33'(pad) + 33'(size);
  endfunction

  function automatic logic is_bad_shape(input logic [7:0] opcode);
    logic [111:0] steps;
    steps = 112'(file.out_size.height) * 112'(file.out_size.width) * 112'(file.out_channels);
    if (has_kernel(opcode)) steps = steps * 112'(file.kernel.height) * 112'(file.kernel.width);
    if (sums_channels(opcode)) steps = steps * 112'(file.in_channels);
    if (is_clamped(opcode) && file.act_min > file.act_max) return 1'b1;
    if (opcode == OPCODE_OP_DEPTH_CONV && file.out_channels % file.in_channels != 0) return 1'b1;
    if (opcode == OPCODE_OP_POOL && (file.out_channels != file.in_channels
        || has_empty_window(file.in_size.height, file.out_size.height, file.kernel.height,
                            file.stride.height, file.dilation.height, file.pad.top)
        || has_empty_window(file.in_size.width, file.out_size.width, file.kernel.width,
                            file.stride.width, file.dilation.width, file.pad.left))) return 1'b1;
    return steps > MAX_STEPS;
  endfunction

  // ------------------------------------------------------------------------------------------------- the verdict
  logic [7:0] opcode;
  logic is_in, is_out;
  /* verilator lint_off UNUSEDSIGNAL */
  dma_operands_t dma;  // of its region 3 bits matter
  /* verilator lint_on UNUSEDSIGNAL */
  box_t system_box;
  operand_uses_t uses;
  operand_t operands[OPERANDS];
  logic [OPERANDS-1:0] is_view, is_output_like;
  assign opcode = word[7:0];
  assign is_in = opcode == OPCODE_OP_DMA_READ;
  assign is_out = opcode == OPCODE_OP_DMA_WRITE;
  assign dma = is_in ? dma_in_operands(file) : dma_out_operands(file);
  assign uses = operand_uses(word);

  always_comb begin
    fault = FAULT_NONE;
    address = '0;
    system_box = '0;
    {is_view, is_output_like} = '0;
    for (int unsigned i = 0; i < OPERANDS; i++) operands[i] = '0;
    if (enable) begin
      // In the order in which they are looked at: of several with the same fault the first is named.
      system_box = transfer(dma, 1'b0);
      operands[0] = {is_out, 1'b0, 1'b1, system_box};
      operands[1] = {is_in || is_out, 1'b0, is_in, transfer(dma, 1'b1)};
      operands[2] = view(uses.in, file.in_addr, file.in_pixel_stride, file.in_row_stride);
      operands[3] = view(uses.in2, file.in2_addr, file.in2_pixel_stride, file.in2_row_stride);
      operands[4] = linear(uses.weight, file.weight_addr);
      operands[5] = view(uses.acc, file.acc_addr, file.acc_pixel_stride, file.acc_row_stride);
      operands[6] = linear(uses.param, file.param_addr);
      operands[7] = linear(uses.lut, file.lut_addr);
      operands[8] = view(uses.out, file.out_addr, file.out_pixel_stride, file.out_row_stride);

      is_view = 9'b0_0010_1100;
      is_output_like = '0;
      is_output_like[2] = uses.in.extent == EXTENT_OUTPUT;
      is_output_like[3] = 1'b1;
      is_output_like[5] = 1'b1;

      // From the highest number to the lowest, and from the last operand to the first: what is found later wins.
      if (is_out && (dma.region[2:0] == REGION_CONSTANTS || dma.region[2:0] == REGION_COMMANDS)) begin
        fault = FAULT_REGION_READ_ONLY;
        address = dma.offset;
      end
      if ((is_in || is_out) && end_of(system_box) > 81'(region_bytes[dma.region[2:0]])) begin
        fault = FAULT_REGION_RANGE;
        address = dma.offset;
      end
      for (int i = OPERANDS - 2; i > 1; i--)
        if (operands[i].present && operands[8].present && meets(operands[i].box, operands[8].box)
            && !(is_view[i] && (are_slices(operands[i].box, operands[8].box)
                || are_slices(operands[8].box, operands[i].box)))
            && !(is_output_like[i] && operands[i].wide == operands[8].wide
                && is_in_place(operands[i].box, operands[8].box, !uses.weight.present))) begin
          fault = FAULT_OVERLAP;
          address = operands[i].box.address;
        end
      for (int i = OPERANDS - 1; i >= 0; i--)
        if (operands[i].present && operands[i].disjoint && !is_disjoint(operands[i].box)) begin
          fault = FAULT_OVERLAP;
          address = operands[i].box.address;
        end
      for (int i = OPERANDS - 1; i > 0; i--)  // operand 0 does not lie in the SRAM
        if (operands[i].present && end_of(operands[i].box) > 81'(SRAM_BYTES)) begin
          fault = FAULT_SRAM_RANGE;
          address = operands[i].box.address;
        end
      for (int i = OPERANDS - 1; i > 0; i--)
        if (operands[i].present && operands[i].wide && is_misaligned(operands[i].box)) begin
          fault = FAULT_MISALIGNED;
          address = operands[i].box.address;
        end
      if (!is_in && !is_out && is_bad_shape(opcode)) begin
        fault = FAULT_BAD_OPERANDS;
        address = '0;
      end
    end
  end
endmodule
