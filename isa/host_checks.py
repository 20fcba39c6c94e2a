"""What a host call must fulfil besides types and ranges: rules for shapes and attributes together.

Each rule is a condition in a small part of Python, which the simulator evaluates and from which the
firmware's C is generated: integers, comparisons, arithmetic, `and`, `or`, `x if c else y`. Names are
attributes, and operands with `.rank`, `.elements`, `.type`, `.shape[k]` (dimension k, 1 beyond the rank) and
`.back[k]` (dimension k from the end). Element types stand for themselves. `product(operand, first, end)`
multiplies dimensions, `kept(operand, mask)` those that are not in a mask, `volume(attribute)` the words of an
attribute; `total(operand)` adds the elements of all repeated operands. Rules are evaluated in order up to the
first that fails, so a later one may rely on an earlier one: what is divided has 32 bits, everything else 64.
One with a repeated operand holds for each.
"""

from __future__ import annotations

from dlasim.dataclass import dataclass
from dlasim.isa.host_op_rows import BinaryFunction, CompareFunction, ReduceFunction, UnaryFunction
from dlasim.isa.host_ops import BY_NAME
from dlasim.isa.limits import MAX_RANK

RESIZE_ENTRY_WORDS = 3


@dataclass(frozen=True, slots=True)
class Rule:
    """A condition, and the sentence that says so. With `dimensions` it holds for each of them, k."""

    condition: str
    text: str
    dimensions: range = range(0)


_ALL_DIMENSIONS = range(MAX_RANK)


def _sum(term: str) -> str:
    return " + ".join(f"({term.replace('[k]', f'[{k}]')})" for k in range(MAX_RANK))


def _ranks(rank: int, *operands: str) -> tuple[Rule, ...]:
    return tuple(
        Rule(f"{name}.rank == {rank}", f"{name} must have {rank} dimension{'s' * (rank > 1)}")
        for name in operands
    )


def _same_type(*operands: str) -> tuple[Rule, ...]:
    return tuple(
        Rule(f"{name}.type == output.type", f"{name} must have the output's type") for name in operands
    )


def _not_empty(*operands: str) -> tuple[Rule, ...]:
    return tuple(Rule(f"{name}.elements > 0", f"{name} must not be empty") for name in operands)


def _new_state(name: str) -> Rule:
    condition = f"new_{name}.type == {name}.type and new_{name}.elements == {name}.elements"
    return Rule(condition, f"new_{name} must be like {name}")


def _elements(name: str, count: int) -> Rule:
    return Rule(f"{name}.elements == {count}", f"{name} must have {count} elements")


_KEPT = Rule(
    "output.elements == kept(input, axis_mask)", "output must have the dimensions that are not reduced"
)
_DIMENSION = Rule("input.rank > 0", "input must have a dimension")
_AXIS = Rule("axis < input.rank", "axis must be a dimension of the input")
_FILTERS = Rule("weights.shape[0] == output.shape[3]", "weights must have a filter for each output channel")
_SAME_ELEMENTS = Rule(
    "input.elements == output.elements", "input and output must have the same number of elements"
)
_CLAMP = Rule("clamp_min <= clamp_max", "clamp_min must not be greater than clamp_max")
_RECORDS = (*_ranks(2, "records"), Rule("records.shape[1] == 3", "records must have three columns"))
_WIDE_RECORDS = (*_ranks(2, "records"), Rule("records.shape[1] == 4", "records must have four columns"))
_IMAGES = (
    *_ranks(4, "input", "output"),
    *_not_empty("input"),
    Rule("input.shape[0] == output.shape[0]", "input and output must have the same number of images"),
)
_WEIGHTS = (*_ranks(4, "weights"), *_not_empty("weights"))
_SAME_CHANNELS = Rule("input.shape[3] == output.shape[3]", "input and output must have the same channels")
_MAX_EXTENT = 1 << 30


def _window_along(axis: int, taps: str, stride: str, pad: str, dilation: str, what: str) -> tuple[Rule, ...]:
    """The first window begins less than its length before the image, the last one inside it."""
    extent = f"({taps} - 1) * {dilation} + 1"
    return (
        Rule(f"{extent} <= {_MAX_EXTENT}", f"a window must be at most 2^30 {what} large"),
        Rule(f"{pad} < {extent}", f"{pad} must be less than the {what} of a window"),
        Rule(
            f"(output.shape[{axis}] - 1) * {stride} - {pad} < input.shape[{axis}]",
            f"the last window must begin inside the image: output has too many {what}",
        ),
    )


def _windows(taps: tuple[str, str], dilation: tuple[str, str]) -> tuple[Rule, ...]:
    return (
        *_window_along(1, taps[0], "stride_height", "pad_top", dilation[0], "rows"),
        *_window_along(2, taps[1], "stride_width", "pad_left", dilation[1], "columns"),
    )


_FILTER_WINDOWS = _windows(("weights.shape[1]", "weights.shape[2]"), ("dilation_height", "dilation_width"))
_POOL = (*_IMAGES, _SAME_CHANNELS, *_windows(("filter_height", "filter_width"), ("1", "1")), _CLAMP)
_OUTPUT_CHANNELS = Rule(
    "records.shape[0] == output.shape[3]", "records must have a row for each output channel"
)


def _broadcast(one: str, other: str, first: int = 0) -> Rule:
    """From the dimension `first`, counted from the last one."""
    dimension = (
        f"output.back[k] == ({other}.back[k] if {one}.back[k] == 1 else {one}.back[k]) "
        f"and ({other}.back[k] == 1 or {other}.back[k] == output.back[k])"
    )
    text = f"{one} and {other} must broadcast to the output's shape"
    return Rule(dimension, text, range(first, MAX_RANK))


_TWO_INPUTS = (_broadcast("input1", "input2"), _CLAMP)
_EXTREMUM = f"function == {BinaryFunction.MAXIMUM.value} or function == {BinaryFunction.MINIMUM.value}"
_STEP = "(size[k] - 1) * stride[k]"
_GATHERED = "indices.elements // product(input, 0, batch_dims)"
_IMAGES_RESIZED = (*_IMAGES, _SAME_CHANNELS)
_RESIZED = (
    *_IMAGES_RESIZED,
    *_ranks(2, "rows", "columns"),
    Rule(
        f"rows.shape[0] == output.shape[1] and rows.shape[1] == {RESIZE_ENTRY_WORDS}",
        "rows must have three words for each output row",
    ),
    Rule(
        f"columns.shape[0] == output.shape[2] and columns.shape[1] == {RESIZE_ENTRY_WORDS}",
        "columns must have three words for each output column",
    ),
)

_MEAN = (*_not_empty("input"), _KEPT)


def _convolution(records: tuple[Rule, ...]) -> tuple[Rule, ...]:
    return (
        *_IMAGES,
        *_WEIGHTS,
        *records,
        _FILTERS,
        _OUTPUT_CHANNELS,
        Rule(
            "input.shape[3] % weights.shape[3] == 0",
            "input channels must be a multiple of the weights' depth",
        ),
        Rule(
            "output.shape[3] % (input.shape[3] // weights.shape[3]) == 0",
            "output channels must be a multiple of the groups",
        ),
        *_FILTER_WINDOWS,
        _CLAMP,
    )


def _product(records: tuple[Rule, ...]) -> tuple[Rule, ...]:
    return (
        *_ranks(2, "weights"),
        *_not_empty("weights"),
        *records,
        Rule("records.shape[0] == weights.shape[0]", "records must have a row for each row of weights"),
        Rule("input.elements % weights.shape[1] == 0", "input must be whole rows as deep as the weights"),
        Rule(
            "output.elements == input.elements // weights.shape[1] * weights.shape[0]",
            "output must have a row of as many channels as weights has rows for each row of the input",
        ),
    )


def _transposed(records: tuple[Rule, ...]) -> tuple[Rule, ...]:
    return (
        *_IMAGES,
        *_WEIGHTS,
        *records,
        _FILTERS,
        _OUTPUT_CHANNELS,
        Rule("weights.shape[3] == input.shape[3]", "weights must be as deep as the input"),
        _CLAMP,
    )


_MATRICES = (
    Rule(
        "input1.rank >= 2 and input2.rank >= 2 and output.rank >= 2",
        "both inputs and the output must have two dimensions at least",
    ),
    Rule(
        "(input1.back[1] if transposed1 == 1 else input1.back[0]) "
        "== (input2.back[0] if transposed2 == 1 else input2.back[1])",
        "the rows of input1 must be as long as the columns of input2",
    ),
    Rule(
        "output.back[1] == (input1.back[0] if transposed1 == 1 else input1.back[1])"
        " and output.back[0] == (input2.back[1] if transposed2 == 1 else input2.back[0])",
        "the output must have input1's rows and input2's columns",
    ),
    _broadcast("input1", "input2", 2),
)

RULES: dict[str, tuple[Rule, ...]] = {
    "CONV_2D": _convolution(_RECORDS),
    "CONV_2D_16": _convolution(_WIDE_RECORDS),
    "DEPTHWISE_CONV_2D": (*_IMAGES, *_WEIGHTS, *_RECORDS,
        Rule("weights.shape[0] == 1", "the first dimension of weights must be 1"),
        Rule("weights.shape[3] == output.shape[3]", "weights must have a filter for each output channel"),
        _OUTPUT_CHANNELS,
        Rule("output.shape[3] % input.shape[3] == 0", "output channels must be a multiple of input channels"),
        *_FILTER_WINDOWS, _CLAMP),
    "FULLY_CONNECTED": (*_product(_RECORDS), _CLAMP),
    "FULLY_CONNECTED_16": (*_product(_WIDE_RECORDS), _CLAMP),
    "TRANSPOSE_CONV": _transposed(_RECORDS),
    "TRANSPOSE_CONV_16": _transposed(_WIDE_RECORDS),
    "REQUANT": (_SAME_ELEMENTS, *_RECORDS, *_not_empty("input"),
        Rule("records.shape[0] == input.back[0]", "records must have a row for each channel"), _CLAMP),
    "LUT": (_SAME_ELEMENTS, _elements("table", 256), *_same_type("table")),
    "ADD": _TWO_INPUTS,
    "SUB": _TWO_INPUTS,
    "MUL": _TWO_INPUTS,
    "DIV": _TWO_INPUTS,
    "MUL_LUT": (_elements("table", 256), *_TWO_INPUTS),
    "SQUARED_DIFFERENCE": _TWO_INPUTS,
    "BATCH_MATMUL": _MATRICES,
    "BATCH_MATMUL_16": _MATRICES,
    "PRELU": (_broadcast("input", "alpha"),),
    "AVERAGE_POOL_2D": _POOL,
    "MAX_POOL_2D": _POOL,
    "MEAN": _MEAN,
    "SOFTMAX": (_SAME_ELEMENTS, _DIMENSION, *_ranks(1, "table"), _elements("table", 256)),
    "PAD": (*_same_type("input"),
        Rule("input.rank == output.rank", "input and output must have as many dimensions"),
        Rule("before[k] + input.shape[k] <= output.shape[k]", "the input must lie inside the output",
          _ALL_DIMENSIONS),
        Rule("(output.type != int8 or (value >= -128 and value <= 127))"
          " and (output.type != uint8 or (value >= 0 and value <= 255))"
          " and (output.type != int16 or (value >= -32768 and value <= 32767))"
          " and (output.type != bool or (value >= 0 and value <= 1))", "value must fit the output's type")),
    "CONCATENATION": (*_same_type("inputs"),
        Rule("axis < output.rank", "axis must be a dimension of the output"),
        Rule("inputs.elements % product(output, 0, axis) == 0",
          "each input must divide into as many parts as there are positions before axis"),
        Rule("total(inputs) == output.elements", "the inputs together must have the output's elements")),
    "STRIDED_COPY": (*_same_type("input"),
        Rule("volume(size) == output.elements", "the product of size must be the output's elements"),
        Rule("offset + " + _sum(f"{_STEP} if stride[k] < 0 else 0") + " >= 0",
          "the first element read must lie inside the input"),
        Rule("offset + " + _sum(f"{_STEP} if stride[k] > 0 else 0") + " < input.elements",
          "the last element read must lie inside the input")),
    "RESIZE_NEAREST": (*_same_type("input"), *_IMAGES_RESIZED, *_ranks(1, "rows", "columns"),
        Rule("rows.shape[0] == output.shape[1]", "rows must have an entry for each output row"),
        Rule("columns.shape[0] == output.shape[2]", "columns must have an entry for each output column")),
    "RESIZE_BILINEAR": _RESIZED,
    "QUANTIZE": (_SAME_ELEMENTS,),
    "QUANTIZE_TABLE": (_SAME_ELEMENTS,
        Rule("cells.elements == positive_cells + negative_cells + 2",
          "cells must have those of both sides and one more of each"), _elements("starts", 256),
        *(Rule(f"{side}_cells <= (2147483648 - first) >> bits", f"too many {side}_cells")
          for side in ("positive", "negative"))),
    "RESCALE": (_SAME_ELEMENTS,),
    "ARITHMETIC_16": _TWO_INPUTS,
    "POOL_16": _POOL,
    "MEAN_16": _MEAN,
    "SOFTMAX_FLOAT": (_SAME_ELEMENTS, _DIMENSION),
    "RESIZE_FLOAT": (*_same_type("input"), *_RESIZED),
    "SOFTMAX_16": (_SAME_ELEMENTS, _DIMENSION, _elements("exponentials", 513), _elements("reciprocals", 513),
        Rule("input.back[0] < 65536", "a row must have less than 65536 elements")),
    "SIGMOID_16": (_SAME_ELEMENTS, _elements("table", 256)),
    "LEAKY_16": (_SAME_ELEMENTS, _CLAMP),
    "MATRIX_SUMS": _product(_RECORDS),
    "LSTM_CELL": (*_ranks(2, "input_sums", "output"),
        Rule("input_sums.shape[1] == 4 * output.shape[1]", "input_sums must have four sums for each unit"),
        Rule("recurrent_sums.elements == 4 * output.elements",
          "recurrent_sums must have four for each output"),
        Rule("cell.elements == output.elements", "cell must have the output's elements"),
        Rule("new_cell.elements == output.elements", "new_cell must have the output's elements"),
        _elements("table", 256),
        Rule("first_row + (output.shape[0] - 1) * row_step < input_sums.shape[0]",
          "the row of the last batch must lie inside input_sums")),
    "DEQUANTIZE": (_SAME_ELEMENTS,),
    "CAST": (_SAME_ELEMENTS,),
    "BINARY": (*_same_type("input1", "input2"), _broadcast("input1", "input2"),
        Rule(f"(output.type != int8 and output.type != bool) or {_EXTREMUM}",
          "int8 and bool have MAXIMUM and MINIMUM only"),
        Rule(f"output.type == int32 or function != {BinaryFunction.POW.value}", "POW is of int32 only"),
        Rule(f"output.type != int32 or {_EXTREMUM} or {_CLAMP.condition}", _CLAMP.text)),
    "UNARY": (*_same_type("input"), _SAME_ELEMENTS,
        Rule(f"function <= {UnaryFunction.NEG.value} or function == {UnaryFunction.SQUARE.value}"
          " or output.type == float32", "int32 has ABS, NEG and SQUARE only")),
    "REDUCE": (*_same_type("input"), *_not_empty("input"), _KEPT,
        Rule(f"(function >= {ReduceFunction.ANY.value} and output.type == bool)"
          f" or (function < {ReduceFunction.ANY.value} and output.type != bool)",
          "ANY and ALL are for bool, and bool has no others"),
        Rule(f"(output.type != int8 and output.type != int16) or function == {ReduceFunction.MAX.value}"
          f" or function == {ReduceFunction.MIN.value}", "int8 and int16 have MAX and MIN only")),
    "LUT_16": (_SAME_ELEMENTS, _elements("table", 513)),
    "PRODUCT": (*_same_type("input"), *_not_empty("input"), _KEPT),
    "CUMULATIVE_SUM": (*_same_type("input"), _SAME_ELEMENTS, _AXIS),
    "TOP_K": (
        Rule("values.type == input.type", "values must have the input's type"),
        Rule("input.rank > 0 and values.rank > 0", "input and values must have a dimension"),
        Rule("values.elements == indices.elements", "values and indices must have the same elements"),
        Rule("values.back[0] <= input.back[0]", "a row of values must not be longer than one of the input"),
        Rule("values.elements * input.back[0] == input.elements * values.back[0]",
          "values must have the input's rows")),
    "L2_NORMALIZATION": (_SAME_ELEMENTS, _DIMENSION),
    "NORMALIZE": (_SAME_ELEMENTS, *_not_empty("input"), *_ranks(2, "records"),
        Rule("records.shape[1] == 2", "records must have two columns"), *_not_empty("records"),
        Rule("input.back[0] <= 16384", "a row must have at most 16,384 elements")),
    "COMPARE": (
        Rule("input1.type == input2.type", "both inputs must have one type"),
        _broadcast("input1", "input2"),
        Rule(f"input1.type != bool or function <= {CompareFunction.NOT_EQUAL.value}",
          "bool has EQUAL and NOT_EQUAL only")),
    "SELECT": (*_same_type("input1", "input2"),
        *(Rule(f"{name}.back[k] == 1 or {name}.back[k] == output.back[k]",
          f"{name} must broadcast to the output's shape", _ALL_DIMENSIONS)
          for name in ("condition", "input1", "input2")),
        Rule("output.back[k] == condition.back[k] or output.back[k] == input1.back[k]"
          " or output.back[k] == input2.back[k]", "the output must be no larger than its inputs",
          _ALL_DIMENSIONS)),
    "ARG_MAX": (*_not_empty("input"), _AXIS,
        Rule("output.elements * input.shape[axis] == input.elements",
          "output must have the input's elements without the axis")),
    "GATHER": (*_same_type("input"), *_not_empty("input"), _AXIS,
        Rule("batch_dims <= axis", "batch_dims must not be greater than axis"),
        Rule("indices.elements % product(input, 0, batch_dims) == 0",
          "indices must divide into as many parts as there are batches"),
        Rule(f"output.elements == input.elements // input.shape[axis] * ({_GATHERED})",
          "output must have an entry for each index")),
    "GATHER_ND": (*_same_type("input"), *_not_empty("input"),
        Rule("indices.rank > 0", "indices must have a dimension"),
        Rule("indices.back[0] > 0 and indices.back[0] <= input.rank",
          "an index must have at least one and at most as many words as the input has dimensions"),
        Rule("output.elements == indices.elements // indices.back[0] "
          "* product(input, indices.back[0], input.rank)", "output must have an entry for each index")),
    "UPDATE_SLICE": (*_same_type("input", "update"), *_not_empty("update"), _SAME_ELEMENTS,
        Rule("input.rank > 0 and update.rank == input.rank", "input and update must have as many dimensions"),
        Rule("start.elements == input.rank", "start must have a word for each dimension"),
        Rule("update.shape[k] <= input.shape[k]", "update must not be larger than the input",
          _ALL_DIMENSIONS)),
    "PLACE_CURSOR": (_elements("place", 1),
        Rule(f"start.elements <= {MAX_RANK}", f"start must have at most {MAX_RANK} words"),
        Rule(f"{_sum('room[k] * stride[k]')} == reach", "reach must be the sum of all room times stride")),
    "DECODE_BOXES": (
        Rule("encodings.back[0] >= 4", "an encoding must have at least four elements"),
        *_ranks(2, "anchors", "boxes"),
        Rule("anchors.shape[1] == 4 and boxes.shape[1] == 4", "anchors and boxes must have four columns"),
        Rule("anchors.shape[0] == boxes.shape[0]", "there must be an anchor for each box"),
        Rule("encodings.elements == anchors.shape[0] * encodings.back[0]",
          "there must be an encoding for each box")),
    "SUPPRESS_BOXES": (*_ranks(2, "input"), *_not_empty("input"),
        Rule("scores.rank > 0", "scores must have a dimension"),
        Rule("input.shape[1] == 4", "input must have four columns"),
        Rule("scores.elements == input.shape[0] * scores.back[0]", "there must be scores for each box"),
        Rule("scores.back[0] == classes or scores.back[0] == classes + 1",
          "a box must have a score for each class, or one more"),
        Rule("labels.elements == max_detections * max_classes", "labels must have one for each detection"),
        Rule("best.elements == labels.elements", "best must have the elements of labels"),
        Rule("boxes.elements == 4 * labels.elements", "boxes must have four elements for each label"),
        Rule("count.elements == 1", "count must have one element"),
        Rule("workspace.elements == 3 * input.shape[0] + 2 * max_detections",
          "workspace must have three elements for each box and two for each detection")),
    "SVDF": (*_ranks(2, "input", "feature_weights", "time_weights"), *_not_empty("input", "time_weights"),
        Rule("feature_weights.shape[1] == input.shape[1]", "feature_weights must be as deep as the input"),
        Rule("feature_weights.shape[0] == time_weights.shape[0]",
          "feature_weights and time_weights must have the same filters"),
        Rule("time_weights.shape[0] == bias.elements * rank",
          "bias must have a word for each `rank` filters"),
        Rule("state.elements == input.shape[0] * time_weights.elements",
          "state must have the elements of time_weights for each batch"),
        Rule("time_weights.type == state.type", "time_weights must have the state's type"),
        _new_state("state"),
        Rule("output.elements == input.shape[0] * bias.elements", "output must have a unit for each bias")),
}  # fmt: skip
assert RULES.keys() == BY_NAME.keys(), f"without rules, or rules of none: {RULES.keys() ^ BY_NAME.keys()}"
