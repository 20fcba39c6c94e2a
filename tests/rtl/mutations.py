"""Seeded mistakes in the RTL, each a substitution in one file, that the comparison must find."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Mutation:
    """In `file`, the text `old`, which occurs once, becomes `new`."""

    name: str
    file: str
    old: str
    new: str


MUTATIONS = (
    Mutation("latency", "dla_dma.sv", "elapsed == LATENCY", "elapsed == LATENCY + 1"),
    Mutation("short beat", "dla_dma.sv", "left < BEAT_BYTES ? left : BEAT_BYTES", "BEAT_BYTES"),
    Mutation("unmerged runs", "dla_dma.sv", "operands.run_stride == operands.run_bytes || ", ""),
    Mutation("unmerged planes", "dla_dma.sv",
             "operands.plane_stride == operands.run_bytes * operands.runs || operands.planes == 1",
             "operands.planes == 1"),
    Mutation("burst", "dla_dma.sv", "requested + BURST_BYTES", "requested + BURST_BYTES + 1"),
    Mutation("plane's place in SRAM", "dla_dma.sv", "after.run_offset = '0;", ""),
    Mutation("share of the bus", "dla_dma_bus.sv", "wants == 2'b11 ? BITS'(TOGETHER) : BITS'(ALONE)",
             "wants != 2'b00 ? BITS'(TOGETHER) : BITS'(ALONE)"),
    Mutation("progress kept", "dla_dma_bus.sv", "if (reset || done[d]) progress", "if (reset) progress"),
    Mutation("queue's depth", "dla_issue.sv", ">= 9'(QUEUE_DEPTH)", "> 9'(QUEUE_DEPTH)"),
    Mutation("WAIT", "dla_issue.sv", "remaining[wait_unit] > most_outstanding",
             "remaining[wait_unit] >= most_outstanding && remaining[wait_unit] != 0"),
    Mutation("WAIT a cycle late", "dla_issue.sv",
             "held = remaining[wait_unit]", "held = outstanding[wait_unit]"),
    Mutation("HALT does not wait", "dla_issue.sv", "OPCODE_IRQ, OPCODE_HALT: held", "OPCODE_IRQ: held"),
    Mutation("a word's cycles", "dla_issue.sv", "spent == ISSUE_CYCLES - 1", "spent == ISSUE_CYCLES"),
    Mutation("cost of a fault", "dla_issue.sv", "counts = running && !faults", "counts = running"),
    Mutation("order of faults", "dla_issue.sv", "if (32'(cfg_number) >= OPERAND_COUNT) fault",
             "if (32'(cfg_number) > OPERAND_COUNT) fault"),
    Mutation("range of the SRAM", "dla_checks.sv", "end_of(operands[i].box) > 81'(SRAM_BYTES)",
             "end_of(operands[i].box) >= 81'(SRAM_BYTES)"),
    Mutation("first operand at fault", "dla_checks.sv",
             "if (operands[i].present && operands[i].wide", "if (operands[i].wide"),
    Mutation("ReLU", "dla_mac.sv",
             "opcode == OPCODE_OP_CONV_RELU ? larger", "opcode == OPCODE_OP_CONV ? larger"),
    Mutation("padding", "dla_mac.sv", ": operands.pad_value;", ": operands.in_zp;"),
    Mutation("input beyond the channels", "dla_mac.sv",
             "depthwise || multiply_s.input_channel + i < operands.in_channels", "1'b1"),
    Mutation("column of a tap", "dla_mac.sv", "tap_column * 32'(operands.dilation.width)", "tap_column"),
    Mutation("channel multiplier", "dla_mac.sv", "group_before <= next_before", "group_before <= '0"),
    Mutation("partial sum", "dla_mac.sv",
             "operands.acc_pixel_stride + 4 * group", "operands.acc_pixel_stride + group"),
    Mutation("fill", "dla_mac.sv", "warm_up == FILL - LEAST_FILL && may_step", "warm_up >= '0 && may_step"),
    Mutation("drain", "dla_mac.sv",
             "cool_down == DRAIN - LEAST_DRAIN", "cool_down == DRAIN - LEAST_DRAIN + 1"),
    Mutation("accumulator's start", "dla_mac_lane.sv", "accumulate_first ? 0 : accumulator", "accumulator"),
    Mutation("clamp", "dla_mac_lane.sv", "clamp(rounded, lowest, highest)", "rounded"),
    Mutation("weight's sign", "dla_mac_pe.sv",
             "17'(value) * 17'(weight)", "17'(value) * 17'($unsigned(weight))"),
    Mutation("weight's zero point", "dla_mac.sv", " - operands.weight_zp", ""),
    Mutation("rounding of halves", "dla_fixed_point.sv",
             "(value < 0 && exponent != 0)", "1'b0 && (exponent != 0)"),
    Mutation("rounding of the product", "dla_fixed_point.sv", "64'sd1073741824", "64'sd1073741823"),
    Mutation("saturation", "dla_fixed_point.sv",
             "high > 33'sh07fffffff ? 32'sh7fffffff : high[31:0]", "high[31:0]"),
    Mutation("average", "dla_fixed_point.sv", "magnitude + (count >> 1)", "magnitude"),
    Mutation("average, halves up", "dla_fixed_point.sv",
             "total + 128 * count, count) - 128", "total, count)"),
    Mutation("second input", "dla_vector_lane.sv", "aligned - aligned2", "aligned2 - aligned"),
    Mutation("leaky ReLU", "dla_vector_lane.sv",
             "OPCODE_OP_ACT_LRELU && value < 0", "OPCODE_OP_ACT_LRELU && value > 0"),
    Mutation("zero point of a mean", "dla_vector_lane.sv",
             "default: pooled = pooled + centred", "default: pooled = pooled + in"),
    Mutation("table", "dla_vector.sv", "in_data[l] + 128", "in_data[l] + 127"),
    Mutation("window's pixels", "dla_vector.sv", "compute_s.first ? 0 : pixels", "pixels"),
    Mutation("lanes beyond the channels", "dla_vector.sv",
             "write_s.valid && write_s.channel + l < operands.out_channels", "write_s.valid"),
    Mutation("counter of MACs", "dla_mac.sv",
             "outputs_left < out_step ? outputs_left : out_step", "out_step"),
    Mutation("bytes that arrive", "dla.sv", "i < beat_bytes[DMA_IN]", "i <= beat_bytes[DMA_IN]"),
    Mutation("a second interrupt", "dla_host.sv", "if (write_data[1]) irq_marker <= 1'b0;", ""),
    Mutation("the next stream", "dla_host.sv",
             "assign looks = halts || (rings && !running)", "assign looks = rings && !running"),
)  # fmt: skip

# Mistakes in what limits a machine
LIMIT_MUTATIONS = (
    Mutation("number of ports", "dla_ports.sv", "p < PORTS", "p < 1"),
    Mutation("conflicts of banks", "dla_ports.sv", "if (!used[bank]) begin", "begin"),
    Mutation("turns at the ports", "dla_ports.sv", "next_turn = u + 1'b1", "next_turn = '0"),
    Mutation("rows that cross again", "dla_raster.sv",
             "fits = BUFFER_BYTES == 0 ||", "fits = BUFFER_BYTES == 0 &&"),
    Mutation("lines that do not fit", "dla_raster.sv", "span * line_bytes <= BUFFER_BYTES", "1'b1"),
    Mutation("a word of two pixels", "dla_raster.sv", "holds_word && held_word == first_word", "1'b0"),
    Mutation("weights that are held", "dla_weights.sv", "!at_records && pixel != 0 &&", "1'b0 &&"),
    Mutation("weights that have come", "dla_mac_traffic.sv", "ready = weights_ready &&", "ready = 1'b1 &&"),
    Mutation("input that has come", "dla_vector_traffic.sv",
             "(inputs_ready || !step_meets || !uses.in.present)", "1'b1"),
    Mutation("runs that are written", "dla_writer.sv", "pops = !from_open &&", "pops = 1'b0 &&"),
    Mutation("blocks of accumulators", "dla_mac.sv", "blocks < 2", "blocks < 1"),
    Mutation("place of an accumulator", "dla_mac_results.sv", "index + (bank ? BLOCK : 0)", "index"),
    Mutation("rate of sums", "dla_mac_results.sv", "RATE_SCALE = 32'd65536", "RATE_SCALE = 32'd80000"),
    Mutation("three rescalings of a sum", "dla_vector.sv",
             "3 * REQUANTIZATION_CYCLES", "2 * REQUANTIZATION_CYCLES"),
    Mutation("rate of averages", "dla_vector.sv",
             "? 48'(DIVISION_CYCLES) :", "? 48'(REQUANTIZATION_CYCLES) :"),
    Mutation("words of a transfer", "dla_dma_words.sv", "crossed = all == 32'(granted)", "crossed = 1'b1"),
)  # fmt: skip
