"""The table of host operators: what the CPU computes between streams, and how a program tells it.

A host call names an operator, its tensors, and a flat list of int32 words: the operator's attributes, in the
order given here. Shapes and element types come from the tensors. All quantization arithmetic is prepared by
the compiler, so the int8 operators need no floating point. Kernels live elsewhere, bound by name.

Throughout, `requant(x, multiplier, shift)` is TFLite's: shift left by a positive shift, wrapping at 32 bits;
high 32 bits of the doubled product, rounded; shift right by a negative shift, rounded half away from zero.
`clamp(x)` limits to [clamp_min, clamp_max]. Sums are int32. Tensors are dense and row-major.
"""

from __future__ import annotations

import enum
from dataclasses import replace

from dlasim.isa.host_op_rows import (
    MAX_FLOAT,
    MIN_INT32,
    ONE,
    PLACE_CURSOR,
    Attribute,
    BinaryFunction,
    CompareFunction,
    HostOperand,
    HostOperator,
    PoolFunction,
    ReduceFunction,
    SigmoidFunction,
    UnaryFunction,
    WideFunction,
    Word,
)
from dlasim.isa.limits import MAX_RANK
from dlasim.isa.registers import CURSORS

_TYPES = {
    "any": ("int8", "int32", "float32", "bool", "int64", "uint8", "int16"),
    "numbers": ("int8", "int32", "int64", "float32"),
    "index": ("int32", "int64"),
}


def _operand(text: str) -> HostOperand:
    name, *types = text.partition(": ")[0].split()
    chosen = tuple(each for word in types for each in _TYPES.get(word, (word,)))
    return HostOperand(name.rstrip("+"), chosen, text.partition(": ")[2], name.endswith("+"))


def _operator(name: str, code: int, firmware: str, doc: str, *parts: str | Attribute) -> HostOperator:
    """A row, whose operands are `name types: meaning`, those of outputs behind an arrow; a "+" marks one that
    may be repeated."""
    texts = [part for part in parts if isinstance(part, str)]
    inputs = tuple(_operand(text) for text in texts if not text.startswith("-> "))
    outputs = tuple(_operand(text.removeprefix("-> ")) for text in texts if text.startswith("-> "))
    attributes = tuple(part for part in parts if isinstance(part, Attribute))
    return HostOperator(name, code, doc, inputs, outputs, attributes, firmware)


_OUTPUT = "-> output int8: the result"
_RECORDS = "records int32: [OC, 3]: bias, multiplier and shift of each output channel"


def _int8(name: str, doc: str) -> Attribute:
    return Attribute(name, doc, least=-128, greatest=127)


def _int16(name: str, doc: str) -> Attribute:
    return Attribute(name, doc, least=-(1 << 15), greatest=(1 << 15) - 1)


def _flag(name: str, doc: str) -> Attribute:
    return Attribute(name, doc, least=0, greatest=1)


def _distance(name: str, doc: str, least: int = 1) -> Attribute:
    return Attribute(name, doc, least=least, greatest=1 << 30)


_INPUT_ZERO_POINT = _int8("input_zero_point", "the input's integer that means 0; also what padding is")
_OUTPUT_ZERO_POINT = _int8("output_zero_point", "the output's integer that means 0")
_CLAMP = (_int8("clamp_min", "least output value"), _int8("clamp_max", "greatest output value"))
_WINDOW = (
    _distance("stride_height", "rows from one window to the next"),
    _distance("stride_width", "columns from one window to the next"),
    _distance("pad_top", "rows before the first; what lacks at the bottom follows from the shapes", 0),
    _distance("pad_left", "columns before the first", 0),
)
_DILATION = (
    _distance("dilation_height", "rows from one tap to the next"),
    _distance("dilation_width", "columns from one tap to the next"),
)
_WEIGHT_ZERO_POINT = _int8("weight_zero_point", "the weights' integer that means 0")
_CONVOLUTION = (*_WINDOW, *_DILATION, _INPUT_ZERO_POINT, _OUTPUT_ZERO_POINT, *_CLAMP, _WEIGHT_ZERO_POINT)
_POOL = (
    *_WINDOW,
    _distance("filter_height", "rows of a window"),
    _distance("filter_width", "columns of a window"),
    *_CLAMP,
)
_TWO_INPUTS = ("input1 int8: any shape", "input2 int8: broadcast with input1 as in NumPy")
_TWO_ZERO_POINTS = (
    _int8("input1_zero_point", "input1's integer that means 0"),
    _int8("input2_zero_point", "input2's integer that means 0"),
    _OUTPUT_ZERO_POINT,
)


def _scale(prefix: str, doc: str) -> tuple[Attribute, Attribute]:
    return (
        Attribute(f"{prefix}multiplier", f"multiplier of {doc}", least=0),
        Attribute(f"{prefix}shift", f"shift of {doc}"),
    )


_ADD = (
    *_TWO_ZERO_POINTS,
    *_scale("input1_", "input1"),
    *_scale("input2_", "input2"),
    *_scale("output_", "the result"),
    *_CLAMP,
)


_MASK = Attribute("axis_mask", "bit n: dimension n of the input is reduced")


def _per_axis(name: str, doc: str, least: int = MIN_INT32) -> Attribute:
    return Attribute(name, doc, count=MAX_RANK, least=least)


def _axis(name: str, doc: str) -> Attribute:
    return Attribute(name, doc, least=0, greatest=MAX_RANK - 1)


def _function(values: type[enum.IntEnum]) -> Attribute:
    return Attribute("function", "what to compute", values=values, least=min(values), greatest=max(values))


_SEGMENTS = (
    "table int32: [256]: 65536 / (1 + exp(-k / 24)), and in the 10 bits above 16 the difference to the next"
)
_INT16_IN, _INT16_OUT = "input int16: NHWC", "-> output int16: the result"
_WIDE_RECORDS = "records int32: [OC, 4]: bias_low, bias_high, multiplier and shift of each output channel"
_WIDE_CLAMP = (_int16("clamp_min", "least output value"), _int16("clamp_max", "greatest output value"))
_WIDE_SUMS = _flag("wide_sums", "1: sums and biases have 64 bits")

# Bit patterns of the least and the greatest float32 above 0 that are numbers.
_SCALE = Attribute("scale", "real value of one step", Word.FLOAT32, least=1, greatest=MAX_FLOAT)


HOST_OPERATORS = (
    _operator("CONV_2D", 1, "convolve",
        "clamp(requant(bias + sum((x - input_zero_point) * (w - weight_zero_point))) + output_zero_point). "
        "Pixels outside add nothing. Weights less deep than the input make a grouped convolution: output "
        "channel c belongs to group c / (OC / groups), with groups = input channels / weight depth.",
        "input int8: NHWC", "weights int8: [OC, KH, KW, IC / groups]", _RECORDS, _OUTPUT, *_CONVOLUTION),
    _operator("DEPTHWISE_CONV_2D", 2, "convolve_depthwise",
        "As CONV_2D, but output channel c reads only input channel c / (OC / IC).",
        "input int8: NHWC", "weights int8: [1, KH, KW, OC]", _RECORDS, _OUTPUT, *_CONVOLUTION),
    _operator("FULLY_CONNECTED", 3, "multiply_matrix",
        "As CONV_2D, for a matrix: the input is cut into rows as deep as the weights, whatever its shape.",
        "input int8: elements in rows of IC", "weights int8: [OC, IC]", _RECORDS,
        "-> output int8: a row of OC for each row of the input", _INPUT_ZERO_POINT, _OUTPUT_ZERO_POINT,
        *_CLAMP, _WEIGHT_ZERO_POINT),
    _operator("TRANSPOSE_CONV", 4, "convolve_transposed",
        "Input pixel (y, x) adds (x - input_zero_point) * (w - weight_zero_point) of tap (ky, kx) to output "
        "pixel (y * stride_height - pad_top + ky, x * stride_width - pad_left + kx) where that exists; bias, "
        "requant and clamp as in CONV_2D.",
        "input int8: NHWC", "weights int8: [OC, KH, KW, IC]", _RECORDS, _OUTPUT, *_WINDOW, _INPUT_ZERO_POINT,
        _OUTPUT_ZERO_POINT, *_CLAMP, _WEIGHT_ZERO_POINT),
    _operator("LUT", 5, "look_up",
        "table[q + 128] for int8, else table[q]: every operator with one 8-bit input and no neighbours.",
        "input int8 uint8 bool: any shape", "table any: 256 elements of the output's type",
        "-> output any: the input's shape"),
    _operator("ADD", 6, "add",
        "clamp(requant(s1 + s2, output) + output_zero_point), where "
        "s = requant((x - zero_point) << 20, of that input).",
        *_TWO_INPUTS, _OUTPUT, *_ADD),
    _operator("SUB", 7, "subtract",
        "As ADD, with s1 - s2.",
        *_TWO_INPUTS, _OUTPUT, *_ADD),
    _operator("MUL", 8, "multiply",
        "clamp(requant((x1 - input1_zero_point) * (x2 - input2_zero_point)) + output_zero_point).",
        *_TWO_INPUTS, _OUTPUT, *_TWO_ZERO_POINTS, *_scale("output_", "the result"), *_CLAMP),
    _operator("PRELU", 9, "prelu",
        "With v = x - input_zero_point: requant(v, positive) where v >= 0, else "
        "requant(v * (alpha - alpha_zero_point), negative); plus output_zero_point, limited to int8.",
        "input int8: any shape", "alpha int8: broadcast with the input", _OUTPUT, _INPUT_ZERO_POINT,
        _int8("alpha_zero_point", "alpha's integer that means 0"), _OUTPUT_ZERO_POINT,
        *_scale("positive_", "values from 0 up"), *_scale("negative_", "values below 0, times alpha")),
    _operator("AVERAGE_POOL_2D", 10, "pool_average",
        "clamp(sum / n) over the n pixels of the window that exist, rounded half away from zero, or half up; "
        "the integers as they are, zero point included.",
        "input int8: NHWC", _OUTPUT, *_POOL, _flag("halves_up", "1: halves round up, as in uint8")),
    _operator("MAX_POOL_2D", 11, "pool_maximum",
        "clamp(maximum) over the pixels of the window that exist.",
        "input int8: NHWC", _OUTPUT, *_POOL),
    _operator("MEAN", 12, "mean",
        "requant(sum - n * input_zero_point) + output_zero_point, limited to int8, over the n elements that "
        "differ only along the reduced axes. 1/n is part of the multiplier.",
        "input int8: any shape", "-> output int8: the axes that stay, in order; reduced ones may stand as 1",
        _MASK, _INPUT_ZERO_POINT, _OUTPUT_ZERO_POINT, *_scale("output_", "the sum")),
    _operator("SOFTMAX", 13, "softmax",
        "For each row along the last dimension: e = table[max(row) - q]; sum = of e, each shifted right by "
        "12 bits, rounded half away from zero; z = leading zeros of sum; r = 1 / (1 + x) in Q0.31 by "
        "gemmlowp's one_over_one_plus_x_for_x_in_0_1, with x = (sum << z) - 2^31 in Q0.31. The output is the "
        "rounded doubled high product of r and e, shifted right by 35 - z bits (27 - z for int16), rounded "
        "half away from zero, less 128 (32768), limited to the output's type.",
        "input int8: rows along the last dimension",
        "table int32: [256]: exp(-d * beta * scale) in Q0.31 for d = 0 .. 255",
        "-> output int8 int16: scale 1/256 and zero point -128; 1/65536 and -32768"),
    _operator("PAD", 14, "pad",
        "The input with `value` around it. What follows it along a dimension is what the output has left.",
        "input any: any shape", "-> output any: as many dimensions",
        _per_axis("before", "elements before the input along each dimension, 0 beyond its rank", least=0),
        Attribute("value", "what surrounds the input", Word.ELEMENT)),
    _operator("CONCATENATION", 15, "concatenate",
        "With n = the product of the output's dimensions before `axis`: n times, the next 1/n-th of each "
        "input in turn. (Hence inputs may lack the axis, as those of PACK do.)",
        "inputs+ any: the output's type", "-> output any: the inputs side by side",
        _axis("axis", "dimension of the output along which they stand")),
    _operator("STRIDED_COPY", 16, "copy_strided",
        "Copies input[offset + sum(i[k] * stride[k])] for every i with 0 <= i[k] < size[k], the last index "
        "fastest, into consecutive elements of the output. Serves slices, splits, transposes and reshapes. "
        "The compiler merges dimensions, so the last ones are as long as can be.",
        "input any: any shape", "-> output any: product(size) elements, any shape",
        Attribute("offset", "the first element read"),
        _per_axis("size", "how many elements along each dimension; leading ones are 1", least=1),
        _per_axis("stride", "elements of the input from one to the next; may be negative")),
    _operator("RESIZE_NEAREST", 17, "resize_nearest",
        "output[b, y, x] = input[b, rows[y], columns[x]], whole pixels.",
        "input any: NHWC",
        "rows int32: [OH]: the row each output row comes from; one outside stands for the nearest",
        "columns int32: [OW]: the column each output column comes from, likewise", "-> output any: NHWC"),
    _operator("RESIZE_BILINEAR", 18, "resize_bilinear",
        "Of the four pixels at (lower, upper) x (lower, upper), the sum weighted by (1024 - fraction) and "
        "fraction in each direction, divided by 2^20, rounded half away from zero; int32 holds the sums.",
        "input int8: NHWC",
        "rows int32: [OH, 3]: lower row, upper row, fraction of 1024; limited to what there is",
        "columns int32: [OW, 3]: lower column, upper column, fraction of 1024, likewise", _OUTPUT),
    _operator("QUANTIZE", 19, "quantize",
        "round(x / scale) + zero_point, limited to the output's type: float32 division, rounded half away "
        "from zero. NaN counts as an infinity of its sign.",
        "input float32: any shape", "-> output int8 uint8 int16: the input's shape", _SCALE,
        _int16("zero_point", "the integer that means 0")),
    _operator("DEQUANTIZE", 20, "dequantize",
        "scale * (q - zero_point) in float64, rounded once to float32; 8-bit inputs use LUT instead.",
        "input int16: any shape", "-> output float32: the input's shape", _SCALE,
        _int16("zero_point", "the integer that means 0")),
    _operator("CAST", 21, "cast",
        "As a C cast: integers wrap, floats are truncated, bool is whether it is not 0. A float outside the "
        "integer's range becomes its nearest value, NaN becomes 0.",
        "input any: any shape", "-> output any: the input's shape"),
    _operator("BINARY", 22, "compute_binary",
        "clamp(function(x1, x2)) in the element type itself, no quantization; integers wrap, int64 is "
        "not clamped. DIV truncates; FLOOR_DIV floors, and divides float32 in float64; an integer divided "
        "by 0 is 0. FLOOR_MOD has the divisor's sign, and is 0 for 0. POW is of int32 only, an exponent "
        "below 0 counts as 0, and what does not fit becomes the least int32. MAXIMUM is x1 > x2 ? x1 : x2, "
        "MINIMUM x1 < x2 ? x1 : x2; of bool these are or and and. int8 and bool only for these two. "
        "float32 is rounded to nearest, half to even; the bits of a NaN that is computed are not defined, "
        "and clamp lets it pass.",
        "input1 numbers bool: any shape",
        "input2 numbers bool: the same type; broadcast with input1 as in NumPy",
        "-> output numbers bool: the same type", _function(BinaryFunction),
        Attribute("clamp_min", "least output value; not used by MAXIMUM and MINIMUM", Word.ELEMENT),
        Attribute("clamp_max", "greatest output value; not used by MAXIMUM and MINIMUM", Word.ELEMENT)),
    _operator("UNARY", 23, "compute_unary",
        "function(x) in the element type itself; of int32 ABS, NEG and SQUARE only. SQRT is correctly "
        "rounded, RSQRT is 1 / SQRT, ROUND takes halves to even; EXP, LOGISTIC and ELU are in integers.",
        "input int32 float32: any shape", "-> output int32 float32: the same type and shape",
        _function(UnaryFunction)),
    _operator("ARG_MAX", 24, "find_maximum",
        "The position of the greatest element along a dimension, the first of equals; NaN is none, but in "
        "first place the result.",
        "input numbers: any shape", "-> output index: the input's shape without that dimension",
        _axis("axis", "dimension of the input that is searched")),
    _operator("GATHER", 25, "gather",
        "output[b, o, i, k] = input[b, o, indices[b, i], k], where b are the batch dimensions, o those "
        "between them and the axis, i the remaining ones of indices, k those behind the axis. An index "
        "outside gives zeros.",
        "input any: any shape", "indices index: any shape", "-> output any: the input's type",
        _axis("axis", "dimension of the input that the indices count along"),
        _axis("batch_dims", "leading dimensions that input and indices share")),
    _operator("GATHER_ND", 26, "gather_nd",
        "The last dimension of indices holds an index for each of the input's first dimensions; what lies "
        "there is copied. An index outside gives zeros.",
        "input any: any shape", "indices index: [..., n]", "-> output any: the input's type"),
    _operator("SVDF", 27, "filter_memory",
        "For each batch, the state of every filter moves one step to the front and its last element becomes "
        "requant(sum((x - input_zero_point) * feature), feature), limited to the state's type, plus "
        "state_zero_point, which may wrap. Then each unit is bias + the sum over its `rank` consecutive "
        "filters of sum((state - state_zero_point) * time), and the output is requant(unit, output) + "
        "output_zero_point, limited to int8. The output state is the same tensor as "
        "the input state, updated in place; before the first inference all of it is "
        "state_zero_point.",
        "input int8: [batch, IC]", "feature_weights int8: [filters, IC]",
        "time_weights int8 int16: [filters, memory]", "bias int32: [filters / rank]",
        "state int8 int16: [batch, filters * memory]", "-> output int8: [batch, filters / rank]",
        "-> new_state int8 int16: the tensor that is also the input state",
        Attribute("rank", "filters of a unit", least=1), _INPUT_ZERO_POINT, _OUTPUT_ZERO_POINT,
        _int16("state_zero_point", "the state's integer that means 0"),
        *_scale("feature_", "what enters the state"), *_scale("output_", "the result")),
    _operator("SQUARED_DIFFERENCE", 28, "square_difference",
        "clamp(requant((s1 - s2) * (s1 - s2), output) + output_zero_point), where s is that of ADD, but "
        "shifted left by 7 bits.",
        *_TWO_INPUTS, _OUTPUT, *_ADD),
    _operator("BATCH_MATMUL", 29, "multiply_batches",
        "For each batch, requant(sum((x1 - input1_zero_point) * (x2 - input2_zero_point))) + "
        "output_zero_point, limited to int8: the product of the matrices in the last two dimensions.",
        "input1 int8: [..., R, K], or [..., K, R] if transposed",
        "input2 int8: [..., K, C], or [..., C, K] if transposed; batches broadcast as in NumPy",
        "-> output int8: [..., R, C]", *_TWO_ZERO_POINTS, *_scale("output_", "the sum"),
        _flag("transposed1", "1: input1 is transposed"), _flag("transposed2", "1: input2 is transposed")),
    _operator("REQUANT", 30, "requantize_channels",
        "clamp(requant(x) + output_zero_point) with the multiplier and shift of the element's channel: the "
        "end of a convolution whose sums, bias included, are in memory. With rounds_once, what replaces "
        "requant(x) is x * multiplier / 2^31 * 2^shift, rounded once, halves away from zero.",
        "input int32: [..., OC]: the sums", _RECORDS, "-> output int8: the input's elements",
        _OUTPUT_ZERO_POINT, *_CLAMP, _flag("rounds_once", "1: one rounding, for shifts from -31 to 0")),
    _operator("REDUCE", 31, "reduce",
        "function over the elements that differ only along the reduced axes, in the element type itself: "
        "integers wrap, and floats are combined one after the other. MAX of r and x is x > r ? x : r, MIN "
        "x < r ? x : r. int8 and int16 have MAX and MIN only, bool has ANY and ALL, which nothing else has.",
        "input numbers bool int16: any shape",
        "-> output numbers bool int16: the axes that stay, in order; reduced ones may stand as 1",
        _function(ReduceFunction), _MASK),
    _operator("CUMULATIVE_SUM", 32, "add_up",
        "Each element is the sum of those before it along the axis, and of itself unless exclusive; with "
        "reverse, of those behind it. Integers wrap. int8 adds (x - input_zero_point) << 19 in int32, "
        "begins with that of x = 0, as TFLite Micro does, and limits requant(sum) + output_zero_point to "
        "int8.",
        "input numbers: any shape", "-> output numbers: the same type and shape",
        _axis("axis", "dimension along which is added"), _flag("exclusive", "1: without the element itself"),
        _flag("reverse", "1: from the end"), _INPUT_ZERO_POINT, _OUTPUT_ZERO_POINT,
        *_scale("output_", "the sum; int8 only")),
    _operator("TOP_K", 33, "find_greatest",
        "The greatest elements of each row, in descending order, and their positions; of equals the first "
        "comes first. There are as many as a row of the outputs holds.",
        "input numbers int16: rows along the last dimension", "-> values numbers int16: the same type",
        "-> indices int32: the shape of values"),
    _operator("L2_NORMALIZATION", 34, "normalize",
        "For each row along the last dimension: with v = x - input_zero_point, requant(v << early_bits, m, "
        "s + 7 - early_bits), limited to int8, where m and s stand for 1 / sqrt(the sum of v * v): TFLite's "
        "five steps of Newton's method.",
        "input int8: rows along the last dimension", "-> output int8: scale 1/128, zero point 0",
        _INPUT_ZERO_POINT, Attribute("early_bits", "0, or 7 as in uint8", least=0, greatest=7)),
    _operator("NORMALIZE", 63, "normalize_rows",
        "For each row of n elements along the last dimension, with c = x - input_zero_point: s = sum(c), "
        "or 0 unless is_centred; d = n * c - s; v = n * sum(c * c) - s * s; w = 2^12 * v + epsilon, "
        "divided by 4 without its remainder h times, until it is below 2^29; m * 2^-(31 + t) stands for 1 "
        "/ sqrt(w), as in L2_NORMALIZATION, with m from 2^30. y = (d * 2^(28 - t - h) * m) >> 32 is the "
        "normalized number with 21 bits below the point. Element k of the tensor has record k / repeat, "
        "counted in a circle: (y * factor + offset * 2^offset_shift) >> shift, rounded half up, + "
        "output_zero_point, limited to int8. Normalizations of ONNX.",
        "input int8: rows of at most 16,384 elements along the last dimension",
        "records int32: [C, 2]: factor and offset", "-> output int8: the input's elements", _INPUT_ZERO_POINT,
        _OUTPUT_ZERO_POINT, _flag("is_centred", "1: a row's average becomes 0"),
        Attribute("epsilon_low", "low word of epsilon"),
        Attribute("epsilon_high", "high word of epsilon", least=0, greatest=1 << 24),
        Attribute("repeat", "elements one after another that have one record", least=1),
        Attribute("shift", "bits below the point of a product", least=33, greatest=62),
        Attribute("offset_shift", "bits that an offset lacks", least=1, greatest=30)),
    _operator("COMPARE", 35, "compare",
        "Whether x1 and x2 relate as the function says. int8, and int16 in EQUAL and NOT_EQUAL, compares "
        "requant((x - zero_point) << 8, of that input). bool has EQUAL and NOT_EQUAL only.",
        "input1 numbers bool int16: any shape",
        "input2 numbers bool int16: the same type; broadcast with input1 as in NumPy",
        "-> output bool: the result", _function(CompareFunction), *_TWO_ZERO_POINTS[:2],
        *_scale("input1_", "input1; int8 and int16 only"), *_scale("input2_", "input2; int8 and int16 only")),
    _operator("SELECT", 36, "select",
        "condition ? x1 : x2, all three broadcast as in NumPy.",
        "condition bool: any shape", "input1 any: the output's type", "input2 any: the output's type",
        "-> output any: the result"),
    _operator("DIV", 40, "divide_quantized",
        "clamp(quotient((x1 - input1_zero_point) / (x2 - input2_zero_point)) + output_zero_point), where "
        "quotient multiplies by a reciprocal, as TFLite does: numerics.md, Division.",
        *_TWO_INPUTS, _OUTPUT, *_TWO_ZERO_POINTS, *_scale("output_", "the result"), *_CLAMP),
    _operator("PRODUCT", 41, "reduce_product",
        "The product of x - input_zero_point over the elements that differ only along the reduced axes, with "
        "narrow(p * x) after each factor and narrow(p) + output_zero_point, limited to int8, at the end; "
        "narrow(p) = (p * m + 2^(14 - s)) >> (15 - s), with m = output_multiplier / 2^16, rounded, at most "
        "2^15 - 1, and s = output_shift. int16 likewise, limited to int16.",
        "input int8 int16: any shape",
        "-> output int8 int16: the axes that stay, in order; reduced ones may stand as 1", _MASK,
        _INPUT_ZERO_POINT, _OUTPUT_ZERO_POINT,
        Attribute("output_multiplier", "multiplier of each product", least=0),
        Attribute("output_shift", "shift of each product", least=-31, greatest=7)),
    _operator("RESCALE", 44, "rescale",
        "requant(x - input_zero_point) + output_zero_point, limited to the output's type.",
        "input int16 int32: any shape", "-> output int8 int16 int32: the input's shape",
        _int16("input_zero_point", "the input's integer that means 0"),
        _int16("output_zero_point", "the output's integer that means 0"), *_scale("output_", "the result")),
    _operator("MATRIX_SUMS", 45, "sum_matrix",
        "bias + sum((x - input_zero_point) * w): the sums of FULLY_CONNECTED as they are. Of the records "
        "only the bias counts.",
        "input int8: elements in rows of IC", "weights int8: [OC, IC]", _RECORDS,
        "-> output int32: a row of OC for each row of the input", _INPUT_ZERO_POINT),
    _operator("LSTM_CELL", 46, "step_lstm",
        "One step of a long short-term memory. limit16 limits to int16. For gate g of each unit, v is "
        "limit16(limit16(requant(its input sum, input of g)) + limit16(requant(its recurrent sum, recurrent "
        "of g))). Gates 0 (input), 1 (forget) and 2 (output) are logistic(3 * v), gate 3 (candidate) is "
        "tanh(3 * v). The new cell is limit16(limit16(requant(forget * cell, forget)) + "
        "limit16(requant(input * candidate, update))), limited to -cell_clip and cell_clip. The result is "
        "requant(output * tanh((tanh_factor * new cell) >> tanh_shift, rounded half up), output) + "
        "output_zero_point, limited to int8. Both functions are linear between the entries of the table. "
        "For a = |x| and n bits, t_n = (low << n) + (a & (2^n - 1)) * high, with low the low 16 bits of "
        "table[k], high the 10 bits above, and k = a >> n; from k = 255 on, t_9 is 0x7FFF << 10, "
        "t_8 is 0xFFFF << 8. logistic(x) is (t_9 + 512) >> 10, below 0 (2^25 - t_9 + 511) >> 10. tanh(x) is "
        "(t_8 - 2^23 + 128) >> 8, below 0 (2^23 - t_8 + 127) >> 8.",
        "input_sums int32: [rows, 4 * units]: of all steps, gate by gate",
        "recurrent_sums int32: [batch, 4 * units]: of the last output, gate by gate",
        "cell int32: [batch, units]: of 16 bits", _SEGMENTS, "-> output int8: [batch, units]",
        "-> new_cell int32: [batch, units]",
        Attribute("first_row", "row of input_sums of the first batch", least=0),
        Attribute("row_step", "rows from one batch to the next", least=0),
        *(replace(attribute, count=4) for name in ("input", "recurrent")
          for attribute in _scale(f"{name}_", f"each gate's {name} sums")),
        *_scale("forget_", "what stays of the cell"), *_scale("update_", "what is added to the cell"),
        *_scale("output_", "the result"), _OUTPUT_ZERO_POINT,
        Attribute("cell_clip", "greatest new cell; 32768 limits nothing", least=0, greatest=1 << 15),
        Attribute("tanh_factor", "factor of the cell", least=0, greatest=3 << 12),
        Attribute("tanh_shift", "right shift of the cell", least=0, greatest=31)),
    _operator("CONV_2D_16", 47, "convolve16",
        "As CONV_2D, of int16 and without zero points. With wide_sums, sums and biases have 64 bits, and "
        "requant is (sum * min((multiplier + 2^15) >> 16, 0x7FFF) + 2^(14 - shift)) >> (15 - shift); else "
        "they have 32 bits, those of bias_low, and requant is the usual one.",
        _INT16_IN, "weights int8: [OC, KH, KW, IC / groups]", _WIDE_RECORDS, _INT16_OUT, *_WINDOW, *_DILATION,
        *_WIDE_CLAMP, _WIDE_SUMS),
    _operator("FULLY_CONNECTED_16", 48, "multiply_matrix16",
        "As CONV_2D_16, for a matrix: the input is cut into rows as deep as the weights, whatever its shape.",
        _INT16_IN, "weights int8: [OC, IC]", _WIDE_RECORDS,
        "-> output int16: a row of OC for each row of the input", *_WIDE_CLAMP, _WIDE_SUMS),
    _operator("BATCH_MATMUL_16", 65, "multiply_batches16",
        "As BATCH_MATMUL, of int16 and without zero points; sums have 64 bits, and requant is that of "
        "CONV_2D_16 with wide_sums.",
        "input1 int16: [..., R, K], or [..., K, R] if transposed",
        "input2 int16: [..., K, C], or [..., C, K] if transposed; batches broadcast as in NumPy",
        "-> output int16: [..., R, C]", *_scale("output_", "the sum"),
        _flag("transposed1", "1: input1 is transposed"), _flag("transposed2", "1: input2 is transposed")),
    _operator("TRANSPOSE_CONV_16", 49, "convolve_transposed16",
        "The sums of TRANSPOSE_CONV, of int16 and without zero points; bias, requant and clamp as in "
        "CONV_2D_16.",
        _INT16_IN, "weights int8: [OC, KH, KW, IC]", _WIDE_RECORDS, _INT16_OUT, *_WINDOW, *_WIDE_CLAMP,
        _WIDE_SUMS),
    _operator("ARITHMETIC_16", 50, "compute16",
        "clamp(requant(result, output)). ADD and SUB are those of s = requant(x << 15, of that input), "
        "SQUARED_DIFFERENCE is that of s = requant(x, of that input), squared in int32, MUL is x1 * x2. DIV "
        "is the clamped quotient of DIV.",
        "input1 int16: any shape", "input2 int16: broadcast with input1 as in NumPy", _INT16_OUT,
        _function(WideFunction), *_scale("input1_", "input1; not of MUL and DIV"),
        *_scale("input2_", "input2; not of MUL and DIV"), *_scale("output_", "the result"), *_WIDE_CLAMP),
    _operator("POOL_16", 51, "pool16",
        "AVERAGE_POOL_2D, rounded half away from zero, or MAX_POOL_2D of int16.",
        _INT16_IN, _INT16_OUT, _function(PoolFunction), *_WINDOW,
        _distance("filter_height", "rows of a window"), _distance("filter_width", "columns of a window"),
        *_WIDE_CLAMP),
    _operator("MEAN_16", 52, "mean16",
        "As MEAN, of int16 and without zero points.",
        "input int16: any shape",
        "-> output int16: the axes that stay, in order; reduced ones may stand as 1", _MASK,
        *_scale("output_", "the sum")),
    _operator("SOFTMAX_16", 53, "softmax16",
        "For each row along the last dimension: e = lookup(exponentials, requant(x - max(row), input) + "
        "32767), z = leading zeros of the sum of e, at least 2, in 32 bits, r = lookup(reciprocals, "
        "(((sum << (z - 1)) + 8192) >> 14) - 98304). The output is (e * r + 2^(30 - z)) >> (31 - z), "
        "limited to 0 and 32767. lookup limits q to int16; with k = 256 + (q >> 7) it gives table[k] + "
        "(((table[k + 1] - table[k]) * (q & 127) + 64) >> 7).",
        "input int16: rows along the last dimension",
        "exponentials int16: [513]: exp(5 * (n / 256 - 2)) in Q0.15",
        "reciprocals int16: [513]: 1 / (1 + n / 512) in Q0.15", "-> output int16: scale 1/32768",
        *_scale("input_", "a difference")),
    _operator("SIGMOID_16", 54, "sigmoid16",
        "The functions of LSTM_CELL: function((factor * x >> shift, rounded half up)).",
        "input int16: any shape", _SEGMENTS, "-> output int16: scale 1/32768", _function(SigmoidFunction),
        Attribute("factor", "factor of the input", least=0, greatest=(1 << 16) - 1),
        Attribute("shift", "right shift of the input", least=0, greatest=31)),
    _operator("LEAKY_16", 55, "leak16",
        "clamp(requant(x, positive)) from 0 up, clamp(requant(x, negative)) below.",
        "input int16: any shape", _INT16_OUT, *_scale("positive_", "values from 0 up"),
        *_scale("negative_", "values below 0"), *_WIDE_CLAMP),
    _operator("QUANTIZE_TABLE", 56, "quantize_by_table",
        "QUANTIZE to 8 bits by tables. Let d be the bit pattern of |x| less `first`, as unsigned numbers. "
        "For a positive x with d < positive_cells * 2^bits let c be &cells[d >> bits]; for a negative one "
        "with d < negative_cells * 2^bits let c be &cells[positive_cells + 1 + (d >> bits)]. The result is"
        " c[0]; where that is zero_point, the result is c[1] if the bit pattern of x is at least "
        "starts[c[1]], and else c[1] - 1 for a positive x, c[1] + 1 for a negative one; all modulo 2^8. Of"
        " the others, what is below `first` becomes zero_point, the rest the limit of the "
        "output's type on that side.",
        "input float32: any shape",
        "cells uint8: results of the positive side, then of the negative side; one more each",
        "starts int32: [256]: for each result the bit pattern of a float",
        "-> output int8 uint8: the input's shape",
        Attribute("first", "bit pattern of the least float of the cells", least=0),
        _int16("zero_point", "the integer that means 0"),
        Attribute("bits", "2^this floats share a cell", least=0, greatest=19),
        *(Attribute(f"{side}_cells", f"cells of the {side} side", least=0, greatest=1 << 14)
          for side in ("positive", "negative"))),
    _operator("LUT_16", 59, "look_up16",
        "lookup(table, x), that of SOFTMAX_16: a function of one element, linear between 513 places.",
        "input int16: any shape", "table int16: [513]", _INT16_OUT),
    _operator("DECODE_BOXES", 57, "decode_boxes",
        "With y, x, h, w the first four of an encoding's elements and Y, X, H, W those of its anchor: centre "
        "y / y_scale * H + Y, half height exp(h / h_scale) / 2 * H, in float64, rounded to float32; likewise "
        "across. A box is top, left, bottom and right: centre less half height, and so on. exp is that of "
        "numerics.md, Detection. What is infinite or NaN counts as 0.",
        "encodings float32: [..., N, 4 or more]", "anchors float32: [N, 4]: y, x, height, width",
        "-> boxes float32: [N, 4]",
        *(replace(_SCALE, name=f"{side}_scale", doc=f"scale of {side}") for side in "yxhw")),
    _operator("SUPPRESS_BOXES", 58, "suppress_boxes",
        "Selecting from scores takes those of at least score_threshold, best first and of equals the first, "
        "and leaves out each whose box overlaps one taken before: intersection over union above "
        "iou_threshold, in float32; a box without area overlaps none. Fast: of the best scores of all boxes, "
        "max_detections are selected, and each gives its max_classes best classes. Regular: of each class, "
        "detections_per_class are selected, and the max_detections best of all are the result. A first class "
        "beyond the number of classes is background. What follows the detections is 0; NaN counts as "
        "-infinity.",
        "input float32: [N, 4]: the boxes", "scores float32: [..., N, classes, or one more]",
        "-> boxes float32: [..., max_detections * max_classes, 4]",
        "-> labels float32: [..., max_detections * max_classes]: class numbers",
        "-> best float32: [..., max_detections * max_classes]: scores",
        "-> count float32: [1]: how many detections there are",
        "-> workspace int32: [3 * N + 2 * max_detections]: of the kernel; 0 afterwards",
        _distance("max_detections", "detections at most"), _distance("max_classes", "classes of a detection"),
        _distance("detections_per_class", "detections of a class; regular only"),
        _distance("classes", "classes without the background"),
        _flag("regular", "1: each class by itself; 0: fast"),
        Attribute("score_threshold", "least score", Word.ELEMENT),
        Attribute("iou_threshold", "greatest overlap", Word.FLOAT32, least=1, greatest=ONE)),
    _operator("SOFTMAX_FLOAT", 60, "softmax_float",
        "For each row along the last dimension: e = exp((x - max(row)) * beta), with UNARY's EXP, and e "
        "divided by the sum of the row's, one after another in float32.",
        "input float32: rows along the last dimension", "-> output float32: the same shape",
        replace(_SCALE, name="beta", doc="factor of the exponents")),
    _operator("RESIZE_FLOAT", 61, "resize_float",
        "Of the four pixels at (lower, upper) x (lower, upper), the sum weighted by 1 - fraction and "
        "fraction in each direction, in float32 and in the order of rows; int8 stands for numbers that are "
        "128 higher, to which a half is added before they are cut off.",
        "input int8 float32: NHWC",
        "rows int32: [OH, 3]: lower row, upper row, bits of the fraction as float32",
        "columns int32: [OW, 3]: lower column, upper column, fraction, likewise",
        "-> output int8 float32: the input's type"),
    _operator("UPDATE_SLICE", 62, "update_slice",
        "The input, and over it update, from the index start on, which is moved inside where update would "
        "stand out. The output may have the input's bytes: then only those of update are written.",
        "input any: any shape", "update any: the input's type and rank, no dimension larger",
        "start index: [rank]: where its first element goes", "-> output any: the input's type and shape"),
    _operator("PLACE_CURSOR", PLACE_CURSOR, "place_cursor",
        "The sum of clamp(start[k], 0, room[k]) * stride[k] over all dimensions k. From then on the cursor's "
        "region begins so many bytes behind the first one of the arena, and is smaller than that by `reach`. "
        "No stream may be running, since REGIONn_BASE is written.",
        "start index: [rank]: where the first element goes", "-> place int32: [1]: bytes",
        Attribute("cursor", "number of the cursor", least=0, greatest=len(CURSORS) - 1),
        _distance("reach", "the greatest sum", 0),
        replace(_distance("room", "greatest start in each dimension", 0), count=MAX_RANK),
        replace(_distance("stride", "bytes from an element to the next", 0), count=MAX_RANK)),
    _operator("MUL_LUT", 64, "multiply_by_table",
        "clamp(requant((x1 - input1_zero_point) * table[x2 + 128]) + output_zero_point); the product wraps "
        "at 32 bits.",
        *_TWO_INPUTS, "table int32: [256]: what x1 is multiplied by, for each value of x2", _OUTPUT,
        _TWO_ZERO_POINTS[0], _OUTPUT_ZERO_POINT, *_scale("output_", "the result"), *_CLAMP),
)  # fmt: skip
BY_NAME = {operator.name: operator for operator in HOST_OPERATORS}
BY_CODE = {operator.code: operator for operator in HOST_OPERATORS}
assert len(BY_NAME) == len(BY_CODE) == len(HOST_OPERATORS), "two host operators share a name or code"
