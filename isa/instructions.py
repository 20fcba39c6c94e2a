"""The instruction table: what the DLA executes, read by everything that names an instruction."""

from __future__ import annotations

import enum
from dataclasses import replace

from dlasim.isa import registers
from dlasim.isa.bits import Field
from dlasim.isa.faults import Fault
from dlasim.isa.instruction_rows import (
    INT16_BYTES,
    INT32_BYTES,
    UNITS,
    Channels,
    Elements,
    Extent,
    Init,
    Instruction,
    Operand,
    Out,
    PoolMode,
    Quant,
    ShiftMode,
    SigmoidMode,
    Sum,
    Unit,
    Weights,
    When,
)


def _names(kind: type[enum.IntEnum]) -> tuple[str, ...]:
    return tuple(member.name.lower() for member in kind)


_INIT = Field(
    "init",
    8,
    2,
    "accumulator starts from zero, from the record's bias, or from the partial result at ACC",
    names=_names(Init),
)
_OUT = Field(
    "out", 10, 1, "int8: requantized and clamped; int32: the accumulator as it is", names=_names(Out)
)
_QUANT = Field(
    "quant",
    11,
    1,
    "multiplier and shift from OUT_MULT and OUT_SHIFT, or from the record of the channel",
    names=_names(Quant),
)

_ELEMENTS = Field(
    "elements", 12, 1, "of inputs and output; int16 needs machine parameter int16", names=_names(Elements)
)
_ELEMENTS16 = Field(
    "elements",
    12,
    1,
    "of input and output; int16 needs machine parameter int16",
    names=("int32", Elements.INT16.name.lower()),
)

_SUM = Field(
    "sum",
    13,
    1,
    "tensor: the int8 tensor at ACC is added to the results; needs machine parameter mac_sums",
    names=_names(Sum),
)

_WEIGHTS16 = Field(
    "weights", 14, 1, "elements of the matrix; int16 needs elements=int16", names=_names(Weights)
)

_INT32_OUT = When("out", (Out.INT32,))
_INT16 = When("elements", (Elements.INT16,))
_NEEDS_RECORDS = (When("init", (Init.BIAS,)), When("quant", (Quant.CHANNEL,)))
_ACC = Operand("ACC", Extent.OUTPUT, element_bytes=INT32_BYTES, present_when=(When("init", (Init.PARTIAL,)),))
_SUMMED = When("sum", (Sum.TENSOR,))
_ACC_SUMMED = replace(_ACC, int8_when=_SUMMED, present_when=(*_ACC.present_when, _SUMMED))
_RECORDS = Operand("PARAM_ADDR", Extent.RECORDS, element_bytes=INT32_BYTES, present_when=_NEEDS_RECORDS)
_OUT8 = Operand("OUT", Extent.OUTPUT, writes=True)
_OUT32 = Operand("OUT", Extent.OUTPUT, writes=True, element_bytes=INT32_BYTES)
_OUT_ANY = Operand("OUT", Extent.OUTPUT, writes=True, int32_when=_INT32_OUT, int16_when=_INT16)
_OUT8_16 = Operand("OUT", Extent.OUTPUT, writes=True, int16_when=_INT16)
_IN8 = Operand("IN", Extent.OUTPUT)
_IN8_16 = Operand("IN", Extent.OUTPUT, int16_when=_INT16)
_IN32 = Operand("IN", Extent.OUTPUT, element_bytes=INT32_BYTES)
_IN2_8 = Operand("IN2", Extent.OUTPUT)
_IN2_8_16 = Operand("IN2", Extent.OUTPUT, int16_when=_INT16)
_IN2_32 = Operand("IN2", Extent.OUTPUT, element_bytes=INT32_BYTES)

_SIZES = ("OUT_SIZE", "OUT_CHANNELS")
_INSIDE = ("IN_SIZE", "IN_CHANNELS", "KERNEL", "STRIDE", "DILATION", "PAD")  # of a window without padding
_WINDOW = (*_INSIDE, "PAD_VALUE")
_MAC_ZERO_POINTS = ("IN_ZP", "WEIGHT_ZP")
_CLAMP = ("OUT_ZP", "ACT_MIN", "ACT_MAX")
_RESCALE = ("OUT_MULT", "OUT_SHIFT", *_CLAMP)
_ALIGNMENT = ("IN2_ZP", "IN_MULT", "IN_SHIFT", "IN2_MULT", "IN2_SHIFT")
_SUM_RESCALE = ("IN_ZP", "LEFT_SHIFT", *_ALIGNMENT, *_RESCALE)
_SUM_PARAMETERS = (*_ALIGNMENT, "SUM_ZP", "SUM_MIN", "SUM_MAX")

_DMA_ERRORS = (Fault.SRAM_RANGE, Fault.OVERLAP, Fault.REGION_RANGE)

_ACCUMULATE = """\
    acc[y,x,o] = start + sum over taps and channels of (in - IN_ZP) * (weight - WEIGHT_ZP)  (wraps at 32 bits)
    start      = 0 | record[o].bias | ACC[y,x,o]                                 (init)
A tap outside the input reads PAD_VALUE. Then
    out = acc                                                                    (out=int32)
    out = clamp(OUT_ZP + requant(acc, multiplier, shift), ACT_MIN, ACT_MAX)      (out=int8)
with multiplier and shift from OUT_MULT and OUT_SHIFT or from record[o] (quant). A bias enters once: the
first pass over input channels takes init=bias, later ones init=partial.
With elements=int16 (and out=int8, init=zero or bias) all zero points and PAD_VALUE count as 0,
acc wraps at 48 bits, and
    out = clamp16((acc * factor + 2^(14 - shift)) >> (15 - shift))               (the low 32 bits)
Such a record holds the low 32 bits of its bias, then factor in 16 bits and above it the bias's upper 16,
then shift, which counts as at least -31 and at most 14; with quant=tensor, factor is the low 16 bits of
OUT_MULT, and shift OUT_SHIFT. clamp16 limits to 256 * ACT_MIN and 256 * ACT_MAX + 255.
With sum=tensor (and elements=int8, out=int8, init=zero or bias, quant=channel) the result `out` above is not
stored, but added to the tensor of int8 at ACC, as OP_E_ADD adds:
    a   = requant((out - OUT_ZP) << 20, IN_MULT, min(IN_SHIFT, 0))
    b   = requant((ACC[y,x,o] - IN2_ZP) << 20, IN2_MULT, min(IN2_SHIFT, 0))
    sum = clamp(SUM_ZP + requant(a + b, OUT_MULT, OUT_SHIFT), SUM_MIN, SUM_MAX)"""

_SOFTMAX = """\
    e[c]  = table[greatest in of the pixel - in[c]]                    (int32)
    sum   = (sum over c of rounded(e[c], 12)) modulo 2^32, or 1 if that is 0
    zeros = leading zeros of sum, as a number of 32 bits
    d     = (sum << zeros) >> 1                                        (2^30 to 2^31 - 1)
    g     = 1515870810 + high(d, -1010580540)
    three times: g = g + 4 * high(g, 2^29 - high(d, g))
    r     = min(2 * g, 2^31 - 1)
    out   = clamp(rounded(high(e[c], r), 35 - zeros) - 128)            (to -128 .. 127)
with high(a, b) = (a * b + 2^30) >> 31, which is at most 2^31 - 1, and rounded(v, n) = v / 2^n to nearest,
halves away from zero. This is the fixed point of TensorFlow Lite's reference kernel: the table holds
exp(-scale * n) for n = 0 to 255 with 31 fractional bits, the sum has 19 of them, g approaches 2^60 / d by
three steps of Newton's method, and out has scale 1/256 and zero point -128. The compiler computes the
table. No other instruction looks up 32 bits, sums over channels in the VECTOR unit, or multiplies by a
number that depends on the data."""

_SIGMOID = """\
    x   = (in * IN_MULT + half) >> SHIFT_AMOUNT     with half = (2^SHIFT_AMOUNT) / 2, rounded down
    k   = |x| >> n                                  with n = 9 (logistic) or 8 (tanh)
    t   = (value[k] << n) + (|x| modulo 2^n) * difference[k]
    out = x >= 0 ? (t + 512) >> 10       : (2^25 - t + 511) >> 10          (logistic)
    out = x >= 0 ? (t - 2^23 + 128) >> 8 : (2^23 - t + 127) >> 8           (tanh)
where only the low 16 bits of in (signed) and of IN_MULT (unsigned) count, and the sum wraps at 32 bits. From
k = 255 on, t is 65534 << n (logistic) or 65535 << n (tanh). Entry k of the table holds value[k] in its low 16
bits, difference[k] in the 10 bits above. This is how TensorFlow Lite computes LOGISTIC and TANH of int16, and
both functions in an LSTM, where value[k] is 65536 / (1 + exp(-k / 24)); out has 15 fractional bits,
and an element of int16 keeps its low 16 bits."""

_LOOKUP16 = """\
    lookup(x) = value[k] + ((x modulo 128) * difference[k] + 64 >> 7)      with k = x >> 7"""

_SOFTMAX16 = """\
    d     = limit16(requant(in[c] - greatest in of the pixel, IN_MULT, IN_SHIFT) + 32767) + 32768
    e[c]  = lookup(d)
    sum   = (sum over c of e[c]) modulo 2^32, or 1 if that is 0
    zeros = leading zeros of sum, as a number of 32 bits
    p     = min(((sum << zeros >> 1) + 2^13 >> 14) - 65536, 65535)     (from 0 on)
    r     = lookup(65536 + p)
    m     = r << max(zeros - 1, 0)                                     (wraps at 32 bits)
    out   = min(max(requant(2 * e[c], m, 0), 0), 32767)
with lookup as in OP_E16_LUT. This is how TensorFlow Lite computes the softmax of int16: the first 512 entries
of the table are exp(10 * k / 512 - 10), the others 1 / (1 + k / 512), both with 15 fractional bits. IN_MULT
and IN_SHIFT bring differences to steps of 10 / 65535. A machine with int16 = 0 does not have the
instruction."""

_DMA_FIELDS = (
    "{0}_RUN_BYTES contiguous bytes, {0}_RUNS times at the run strides, {0}_PLANES times at the plane strides"
)


def _dma_parameters(prefix: str) -> tuple[str, ...]:
    return tuple(r.name for r in registers.OPERANDS if r.name.startswith(f"{prefix}_"))


INSTRUCTIONS: tuple[Instruction, ...] = (
    Instruction("NOP", 0x01, Unit.ISSUE, "do nothing", "Takes an issue slot and has no other effect."),
    Instruction("CFG", 0x02, Unit.ISSUE, "write an operand register",
        "The register keeps the value until it is written again, even across HALT. Operations read a "
        "snapshot of the register file when they issue, so a later CFG never disturbs one that "
        "waits in a queue.",
        fields=(Field("register", 8, 10, "number of the register: its address / 4"),
            Field("value", 32, 32, "the 32-bit pattern to write")),
        own_errors=(Fault.BAD_REGISTER, Fault.BAD_VALUE, Fault.CONFIG_MISMATCH)),
    Instruction("WAIT", 0x03, Unit.ISSUE, "block issue until a unit has few operations outstanding",
        "Issue continues when `unit` has at most `max_outstanding` operations queued or running. Units work "
        "in order, so all but the last `max_outstanding` operations issued to it are complete.",
        fields=(Field("unit", 8, 2, "the unit to wait for", names=tuple(unit.name.lower() for unit in UNITS)),
            Field("max_outstanding", 16, 8, "operations that may still be outstanding"))),
    Instruction("IRQ", 0x04, Unit.ISSUE, "raise the marker interrupt",
        "Waits until all units are idle, then sets IRQ_STATUS.marker. The stream goes on."),
    Instruction("HALT", 0x05, Unit.ISSUE, "end the stream",
        "Waits until all units are idle, then counts STREAMS_DONE up and sets IRQ_STATUS.done. Registers and "
        "SRAM keep their contents. The next stream starts at the following word once the doorbell allows "
        "it."),
    Instruction("OP_DMA_READ", 0x10, Unit.DMA_IN, "copy from system memory to SRAM",
        _DMA_FIELDS.format("DMA_IN") + ", from DMA_IN_REGION at DMA_IN_OFFSET to SRAM at DMA_IN_SRAM_ADDR.",
        operands=(Operand("DMA_IN_SRAM_ADDR", Extent.TRANSFER, writes=True),),
        parameters=_dma_parameters("DMA_IN"), own_errors=_DMA_ERRORS),
    Instruction("OP_DMA_WRITE", 0x11, Unit.DMA_OUT, "copy from SRAM to system memory",
        _DMA_FIELDS.format("DMA_OUT")
        + ", from SRAM at DMA_OUT_SRAM_ADDR to DMA_OUT_REGION at DMA_OUT_OFFSET. "
        "Regions CONSTANTS and COMMANDS cannot be written.",
        operands=(Operand("DMA_OUT_SRAM_ADDR", Extent.TRANSFER),), parameters=_dma_parameters("DMA_OUT"),
        own_errors=(*_DMA_ERRORS, Fault.REGION_READ_ONLY)),
    Instruction("OP_DMA_UNPACK", 0x14, Unit.DMA_IN,
        "copy from system memory to SRAM, and unpack numbers of 4 bits",
        "As OP_DMA_READ of one run (DMA_IN_RUNS = DMA_IN_PLANES = 1) of DMA_IN_RUN_BYTES in SRAM. The first "
        "4 * packed of these come from 2 * packed bytes: signed numbers of 4 bits, each of which becomes a "
        "byte, the one in a byte's low half first. The others follow, and are copied. A machine with "
        "dma_unpacking = 0 does not have the instruction.",
        fields=(Field("packed", 8, 24, "bytes to unpack from, by twos"),),
        operands=(Operand("DMA_IN_SRAM_ADDR", Extent.TRANSFER, writes=True),),
        parameters=_dma_parameters("DMA_IN"), own_errors=(Fault.BAD_OPERANDS, *_DMA_ERRORS)),
    Instruction("OP_DMA_DECODE", 0x15, Unit.DMA_IN,
        "copy from system memory to SRAM, and decode compressed weights",
        "As OP_DMA_READ of one run (DMA_IN_RUNS = DMA_IN_PLANES = 1) of DMA_IN_RUN_BYTES in SRAM. All but "
        "the last 4 * copied of these come from so many words of 16 bytes, in so many steps, as in "
        "docs/weight-code.md. The others follow, and are copied. A machine with dma_decoding = 0 "
        "does not have the instruction.",
        fields=(Field("words", 8, 20, "words of 16 bytes to decode"),
            Field("steps", 28, 20, "steps in which they are decoded, each of at most 64 bytes"),
            Field("copied", 48, 16, "bytes to copy after them, by fours")),
        operands=(Operand("DMA_IN_SRAM_ADDR", Extent.TRANSFER, writes=True),),
        parameters=_dma_parameters("DMA_IN"), own_errors=(Fault.BAD_OPERANDS, *_DMA_ERRORS)),
    Instruction("OP_FILL", 0x12, Unit.VECTOR, "fill a view with one byte", "    out[y,x,c] = FILL_VALUE",
        operands=(_OUT8,), parameters=(*_SIZES, "FILL_VALUE")),
    Instruction("OP_E16_ADD", 0x18, Unit.VECTOR, "element-wise sum with rescaling and limits of 16 bits",
        "    a   = limit16(requant(in, IN_MULT, IN_SHIFT))\n"
        "    b   = limit16(requant(in2, IN2_MULT, IN2_SHIFT))\n"
        "    out = clamp(limit16(a + b), -LIMIT, LIMIT)\n"
        "with limit16(v) = clamp(v, -32768, 32767). All elements are int32.",
        operands=(_IN32, _IN2_32, _OUT32),
        parameters=(*_SIZES, "IN_MULT", "IN_SHIFT", "IN2_MULT", "IN2_SHIFT", "LIMIT")),
    Instruction("OP_E16_MUL", 0x19, Unit.VECTOR, "element-wise product of 16-bit numbers",
        "    out = in * in2     (of the low 16 bits of each, as signed numbers)\nAll elements are int32.",
        operands=(_IN32, _IN2_32, _OUT32), parameters=_SIZES),
    Instruction("OP_E16_SIGMOID", 0x1A, Unit.VECTOR, "logistic function or tanh of 16-bit numbers",
        _SIGMOID,
        fields=(Field("mode", 8, 2, "the function", names=_names(SigmoidMode)),
            _ELEMENTS16),
        operands=(Operand("IN", Extent.OUTPUT, element_bytes=INT32_BYTES, int16_when=_INT16),
            Operand("LUT_ADDR", Extent.SEGMENTS, element_bytes=INT32_BYTES),
            Operand("OUT", Extent.OUTPUT, writes=True, element_bytes=INT32_BYTES, int16_when=_INT16)),
        parameters=(*_SIZES, "IN_MULT", "SHIFT_AMOUNT")),
    Instruction("OP_E16_SOFTMAX", 0x1B, Unit.VECTOR, "softmax of int16 along the channels of each pixel",
        _SOFTMAX16,
        operands=(Operand("IN", Extent.OUTPUT, element_bytes=INT16_BYTES),
            Operand("LUT_ADDR", Extent.CURVES, element_bytes=INT32_BYTES),
            Operand("OUT", Extent.OUTPUT, writes=True, element_bytes=INT16_BYTES)),
        parameters=(*_SIZES, "IN_MULT", "IN_SHIFT")),
    Instruction("OP_E16_LUT", 0x1C, Unit.VECTOR,
        "any unary function of int16, by a table that is interpolated",
        "    out = lookup(in + 32768)     (the low 16 bits)\n"
        f"with\n{_LOOKUP16}\n"
        "Entry k of the table holds value[k] in its low 16 bits, difference[k] in those above, both with a "
        "sign. A machine with int16 = 0 does not have the instruction.",
        operands=(Operand("IN", Extent.OUTPUT, element_bytes=INT16_BYTES),
            Operand("LUT_ADDR", Extent.CURVE, element_bytes=INT32_BYTES),
            Operand("OUT", Extent.OUTPUT, writes=True, element_bytes=INT16_BYTES)),
        parameters=_SIZES),
    Instruction("OP_CONV", 0x20, Unit.MAC, "convolution, optionally requantized",
        _ACCUMULATE + "\nWeights are [OUT_CHANNELS][kernel height][kernel width][IN_CHANNELS].",
        fields=(_INIT, _OUT, _QUANT, _ELEMENTS, _SUM),
        operands=(Operand("IN", Extent.INPUT, int16_when=_INT16),
            Operand("WEIGHT_ADDR", Extent.CONV_WEIGHTS),
            _ACC_SUMMED,
            _RECORDS,
            _OUT_ANY),
        parameters=(*_SIZES, *_WINDOW, *_MAC_ZERO_POINTS, *_RESCALE), sum_parameters=_SUM_PARAMETERS,
        channels=Channels.REDUCED),
    Instruction("OP_CONV_RELU", 0x21, Unit.MAC, "convolution, requantized, with ReLU",
        "As OP_CONV with out=int8, and the lower clamp is the larger of ACT_MIN and OUT_ZP.",
        fields=(_INIT, _QUANT),
        operands=(Operand("IN", Extent.INPUT),
            Operand("WEIGHT_ADDR", Extent.CONV_WEIGHTS),
            _ACC,
            _RECORDS,
            _OUT8),
        parameters=(*_SIZES, *_WINDOW, *_MAC_ZERO_POINTS, *_RESCALE), channels=Channels.REDUCED,
        sums="OP_CONV"),
    Instruction("OP_DEPTH_CONV", 0x22, Unit.MAC, "depthwise convolution, optionally requantized",
        "As OP_CONV, but output channel o reads only input channel o / (OUT_CHANNELS / IN_CHANNELS); "
        "IN_CHANNELS divides OUT_CHANNELS. Weights are [kernel height][kernel width][OUT_CHANNELS].",
        fields=(_INIT, _OUT, _QUANT, _ELEMENTS, _SUM),
        operands=(Operand("IN", Extent.INPUT, int16_when=_INT16),
            Operand("WEIGHT_ADDR", Extent.DEPTH_WEIGHTS),
            _ACC_SUMMED,
            _RECORDS,
            _OUT_ANY),
        parameters=(*_SIZES, *_WINDOW, *_MAC_ZERO_POINTS, *_RESCALE), sum_parameters=_SUM_PARAMETERS,
        channels=Channels.GROUPED),
    Instruction("OP_MAT_MUL", 0x23, Unit.MAC, "matrix multiplication, optionally requantized",
        "Each pixel of the input is a row of IN_CHANNELS values; the matrix is [OUT_CHANNELS][IN_CHANNELS]:\n"
        "    acc[row,o] = start + sum over i of (in[row,i] - IN_ZP) * (matrix[o,i] - WEIGHT_ZP)\n"
        "init, out, quant, elements and sum are those of OP_CONV. With weights=int16 the matrix has "
        "elements of int16.",
        fields=(_INIT, _OUT, _QUANT, _ELEMENTS, _SUM, _WEIGHTS16),
        operands=(Operand("IN", Extent.ROWS_OF_INPUT, int16_when=_INT16),
            Operand("WEIGHT_ADDR", Extent.MATRIX, int16_when=When("weights", (Weights.INT16,))),
            _ACC_SUMMED,
            _RECORDS,
            _OUT_ANY),
        parameters=(*_SIZES, "IN_CHANNELS", *_MAC_ZERO_POINTS, *_RESCALE), sum_parameters=_SUM_PARAMETERS,
        channels=Channels.REDUCED),
    Instruction("OP_REQUANT", 0x30, Unit.VECTOR, "int32 to int8",
        "    out = clamp(OUT_ZP + requant(in, multiplier, shift), ACT_MIN, ACT_MAX)\n"
        "The bias of a record is not used.",
        fields=(_QUANT,),
        operands=(_IN32,
            Operand("PARAM_ADDR", Extent.RECORDS, element_bytes=INT32_BYTES,
                present_when=(When("quant", (Quant.CHANNEL,)),)),
            _OUT8),
        parameters=(*_SIZES, *_RESCALE)),
    Instruction("OP_E32_SHIFT", 0x31, Unit.VECTOR, "shift of int32 elements",
        "By SHIFT_AMOUNT bits. left wraps at 32 bits; right is arithmetic; right_round rounds to nearest, "
        "halves away from zero.",
        fields=(Field("mode", 8, 2, "direction and rounding", names=_names(ShiftMode)),),
        operands=(_IN32, _OUT32), parameters=(*_SIZES, "SHIFT_AMOUNT")),
    Instruction("OP_E32_ADD", 0x32, Unit.VECTOR, "element-wise sum of int32 tensors",
        "    out = in + in2     (wraps at 32 bits)", operands=(_IN32, _IN2_32, _OUT32), parameters=_SIZES),
    Instruction("OP_POOL", 0x33, Unit.VECTOR, "pooling",
        "Over the pixels of each window that lie inside the input; at least one must. Sums wrap at 32 bits.\n"
        "    max:        out = clamp(largest in)\n"
        "    average:    out = clamp(sum of in / pixels, rounded to nearest, halves away from zero)\n"
        "    mean:       out = clamp(OUT_ZP + requant(sum of (in - IN_ZP), OUT_MULT, OUT_SHIFT))\n"
        "    average_up: out = clamp(sum of in / pixels, rounded to nearest, halves up): as uint8 rounds",
        fields=(Field("mode", 8, 2, "what a window computes", names=_names(PoolMode)),
            _ELEMENTS),
        operands=(Operand("IN", Extent.INPUT, int16_when=_INT16), _OUT8_16),
        parameters=(*_SIZES, *_INSIDE, "IN_ZP", *_RESCALE), channels=Channels.EQUAL),
    Instruction("OP_ACT_RELU", 0x34, Unit.VECTOR, "ReLU",
        "    out = clamp(OUT_ZP + requant(in - IN_ZP, OUT_MULT, OUT_SHIFT), max(ACT_MIN, OUT_ZP), ACT_MAX)\n"
        "The reset values of OUT_MULT and OUT_SHIFT leave the value as it is.",
        operands=(_IN8, _OUT8), parameters=(*_SIZES, "IN_ZP", *_RESCALE)),
    Instruction("OP_ACT_LRELU", 0x35, Unit.VECTOR, "leaky ReLU",
        "    d   = in - IN_ZP\n"
        "    out = clamp(OUT_ZP + scaled)\n"
        "with scaled = d >= 0 ? requant(d, OUT_MULT, OUT_SHIFT) : requant(d, IN_MULT, IN_SHIFT)",
        fields=(_ELEMENTS,), operands=(_IN8_16, _OUT8_16),
        parameters=(*_SIZES, "IN_ZP", "IN_MULT", "IN_SHIFT", *_RESCALE)),
    Instruction("OP_ACT_LUT", 0x36, Unit.VECTOR, "any unary function of int8, by table",
        "    out = table[in + 128]", operands=(_IN8, Operand("LUT_ADDR", Extent.TABLE), _OUT8),
        parameters=_SIZES),
    Instruction("OP_E_ADD", 0x37, Unit.VECTOR, "element-wise sum with rescaling",
        "    a   = requant((in - IN_ZP) << LEFT_SHIFT, IN_MULT, IN_SHIFT)\n"
        "    b   = requant((in2 - IN2_ZP) << LEFT_SHIFT, IN2_MULT, IN2_SHIFT)\n"
        "    out = clamp(OUT_ZP + requant(a + b, OUT_MULT, OUT_SHIFT), ACT_MIN, ACT_MAX)",
        fields=(_ELEMENTS,), operands=(_IN8_16, _IN2_8_16, _OUT8_16), parameters=(*_SIZES, *_SUM_RESCALE)),
    Instruction("OP_E_SUB", 0x38, Unit.VECTOR, "element-wise difference with rescaling",
        "As OP_E_ADD with a - b.", fields=(_ELEMENTS,), operands=(_IN8_16, _IN2_8_16, _OUT8_16),
        parameters=(*_SIZES, *_SUM_RESCALE)),
    Instruction("OP_E_MUL", 0x39, Unit.VECTOR, "element-wise product with rescaling",
        "    p   = (in - IN_ZP) * (in2 - IN2_ZP)\n"
        "    out = clamp(OUT_ZP + requant(p, OUT_MULT, OUT_SHIFT), ACT_MIN, ACT_MAX)",
        fields=(_ELEMENTS,), operands=(_IN8_16, _IN2_8_16, _OUT8_16),
        parameters=(*_SIZES, "IN_ZP", "IN2_ZP", *_RESCALE)),
    Instruction("OP_E_ABS", 0x3A, Unit.VECTOR, "absolute value with rescaling",
        "    out = clamp(OUT_ZP + requant(|in - IN_ZP|, OUT_MULT, OUT_SHIFT), ACT_MIN, ACT_MAX)",
        operands=(_IN8, _OUT8), parameters=(*_SIZES, "IN_ZP", *_RESCALE)),
    Instruction("OP_C_MIN", 0x3B, Unit.VECTOR, "element-wise minimum", "    out = min(in, in2)",
        operands=(_IN8, _IN2_8, _OUT8), parameters=_SIZES),
    Instruction("OP_C_MAX", 0x3C, Unit.VECTOR, "element-wise maximum", "    out = max(in, in2)",
        operands=(_IN8, _IN2_8, _OUT8), parameters=_SIZES),
    Instruction("OP_SOFTMAX", 0x3D, Unit.VECTOR, "softmax along the channels of each pixel", _SOFTMAX,
        operands=(_IN8,
            Operand("LUT_ADDR", Extent.EXPONENTIALS, element_bytes=INT32_BYTES),
            _OUT8),
        parameters=_SIZES),
    Instruction("OP_E_SQDIFF", 0x3E, Unit.VECTOR, "element-wise squared difference with rescaling",
        "With a and b as in OP_E_ADD:\n"
        "    out = clamp(OUT_ZP + requant((a - b) * (a - b), OUT_MULT, OUT_SHIFT), ACT_MIN, ACT_MAX)\n"
        "The difference and its square wrap at 32 bits.",
        fields=(_ELEMENTS,), operands=(_IN8_16, _IN2_8_16, _OUT8_16), parameters=(*_SIZES, *_SUM_RESCALE)),
)  # fmt: skip

# The parameter of a machine that is 0 where it does not have an instruction
OPTIONAL = {"OP_DMA_UNPACK": "dma_unpacking", "OP_DMA_DECODE": "dma_decoding"}
BY_MNEMONIC = {instruction.mnemonic: instruction for instruction in INSTRUCTIONS}
BY_OPCODE = {instruction.opcode: instruction for instruction in INSTRUCTIONS}


def sum_registers(unit: Unit) -> set[str]:
    """The registers that a unit reads for sum=tensor alone."""
    rows = [row for row in INSTRUCTIONS if row.unit is unit]
    return {name for row in rows for name in row.sum_parameters if name not in row.parameters}
