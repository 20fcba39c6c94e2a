"""What the DLA can run: one small rule for each limit.

Their first lines are the text of `docs/operators.md`, their reasons what a user reads when an operator stays
on the CPU. `dla_forms.py` says which of them apply to which operator.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import prod
from types import SimpleNamespace

import numpy as np

from dlasim.compiler_shim.calls.nodes import Value
from dlasim.compiler_shim.network.graph import label
from dlasim.dataclass import dataclass
from dlasim.isa.host_op_rows import BinaryFunction, ReduceFunction
from dlasim.isa.registers import MAX_EXTENT
from dlasim.sim.arithmetic.numerics import quantize_multiplier

MAX_PARTS = 256  # operations that one operator may become: images, groups, or strips that are moved


POSITION_CODES = 255  # positions that one int8 tells apart in ARG_MAX


@dataclass(frozen=True, slots=True)
class Candidate:
    """A call of a host operator that the DLA might run instead, its tensors as values and by number."""

    name: str
    attributes: SimpleNamespace
    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]
    input_numbers: tuple[int, ...]
    output_number: int
    layer: int
    activation_count: int  # inputs that are not weights, records or tables
    has_instruction: bool
    add: Callable[[Value], int]  # gives a new value its number
    more_outputs: tuple[int, ...] = ()  # by number, behind the first

    @property
    def operands(self) -> tuple[Value, ...]:
        """The activations: inputs that are not weights, records or tables, and the output."""
        return (*self.inputs[: self.activation_count], *self.outputs)


_INT32_RESULTS = ("MATRIX_SUMS", "ARG_MAX")
_MOVED = ("int8", "int16", "bool")
_OTHER_TYPES = {
    **dict.fromkeys(
        ("STRIDED_COPY", "CONCATENATION", "PAD", "RESIZE_NEAREST", "GATHER", "GATHER_ND", "UPDATE_SLICE"),
        _MOVED,
    ),
    "LUT": ("int8", "uint8", "bool", "int16", "int32", "float32"),
    **dict.fromkeys(("QUANTIZE", "QUANTIZE_TABLE"), ("int8", "float32")),
    "LSTM_CELL": ("int8", "int32"),
    "RESCALE": ("int8", "int16", "int32"),
    **dict.fromkeys(("BINARY", "SELECT"), ("int8", "bool")),
    "SVDF": ("int8", "int16"),
}
Rule = Callable[[Candidate], str | None]


def rule_no_floats(candidate: Candidate) -> str | None:
    """No tensor is a float, except where a table quantizes or dequantizes it."""
    is_known = "float32" in _OTHER_TYPES.get(candidate.name, ())
    floats = [value.dtype for value in candidate.operands if value.dtype.startswith("float") and not is_known]
    return f"{floats[0]}: runs on the CPU" if floats else None


def rule_known(candidate: Candidate) -> str | None:
    """The DLA has an instruction for the operator."""
    return None if candidate.has_instruction else f"the DLA has no instruction for {candidate.name}"


def rule_int8(candidate: Candidate) -> str | None:
    """Inputs and outputs are int8, or int16 on a machine that has it; what is moved, chosen or combined may
    be bool, the input of a lookup table also uint8, its results wider. Sums and cells of an LSTM and the
    results of ARG_MAX are int32, the state of SVDF is int16."""
    own = "int16" if candidate.name.endswith("_16") else "int8"
    taken = _OTHER_TYPES.get(candidate.name, (own,))
    for value in candidate.inputs[:1] if candidate.name in _INT32_RESULTS else candidate.operands:
        if value.dtype not in taken:
            return f"{value.dtype}: runs on the CPU"
    return None


def rule_widths(candidate: Candidate) -> str | None:
    """A change from int16 or int32 has zero points of 0, except that of int8; to int32 it keeps the scale."""
    at, (source, target) = candidate.attributes, (candidate.inputs[0].dtype, candidate.outputs[0].dtype)
    if (source, target) == ("int32", "int32"):
        return "from int32 to int32: runs on the CPU"
    if at.input_zero_point or (at.output_zero_point and target != "int8"):
        return "a zero point other than 0"
    if target == "int32" and (at.output_multiplier, at.output_shift) != quantize_multiplier(1.0):
        return "a change of scale to int32"
    return None


def rule_filter_memory(candidate: Candidate) -> str | None:
    """A state of int16 in SVDF has a zero point of 0, and all weights are constant."""
    if candidate.attributes.state_zero_point and candidate.outputs[1].dtype == "int16":
        return f"its state has zero point {candidate.attributes.state_zero_point}, not 0"
    computed = [value for value in candidate.inputs[1:4] if value.data is None]
    return f"weights {label(computed[0].name)} are computed" if computed else None


def rule_batch(candidate: Candidate) -> str | None:
    """A batch has at most 256 images, one operation each."""
    images = max(prod(value.shape[:-3]) for value in candidate.operands)
    return (
        None if images <= MAX_PARTS else f"a batch of {images} images; the DLA supports at most {MAX_PARTS}"
    )


def rule_in_place(candidate: Candidate) -> str | None:
    """A slice is updated in place: the tensor is a variable, and nobody reads its old value afterwards."""
    (source, *_), (number, *_) = candidate.inputs, candidate.input_numbers
    (target,), output = candidate.outputs, candidate.output_number
    old = number if source.alias is None else source.alias
    new = output if target.alias is None else target.alias
    return None if old == new else "not in place: all of the tensor is copied"


def rule_groups(candidate: Candidate) -> str | None:
    """A convolution has at most 256 groups, one operation each."""
    groups = candidate.inputs[0].shape[3] // candidate.inputs[1].shape[3]
    return None if groups <= MAX_PARTS else f"{groups} groups; the DLA supports at most {MAX_PARTS}"


def rule_constant_weights(candidate: Candidate) -> str | None:
    """Weights and biases are constants."""
    for value in candidate.inputs[1:]:
        if value.data is None:
            return f"{label(value.name)} is not constant; the DLA needs constant weights"
    return None


def rule_constant_indices(candidate: Candidate) -> str | None:
    """Indices are constants, the same for all of a batch."""
    indices, shape = candidate.inputs[1], candidate.inputs[0].shape
    if indices.data is None:
        return f"{label(indices.name)} is not constant; the DLA needs constant indices"
    batch = prod(shape[: vars(candidate.attributes).get("batch_dims", 0)])
    return None if batch == 1 else f"each of {batch} batches has indices of its own"


def rule_extents(candidate: Candidate) -> str | None:
    """Height, width, window, stride and dilation are at most 65,535."""
    sizes = [*candidate.inputs[0].shape[1:3], *candidate.outputs[0].shape[1:3]]
    given = vars(candidate.attributes)
    sizes += [
        value for name, value in given.items() if name.startswith(("stride", "dilation", "filter", "pad"))
    ]
    return None if all(0 <= size <= MAX_EXTENT for size in sizes) else f"a size is larger than {MAX_EXTENT}"


def rule_window_overlaps_input(candidate: Candidate) -> str | None:
    """Every window overlaps the input: padding is smaller than the dilated window."""
    given = vars(candidate.attributes)
    for axis, side, pad in ((1, "height", given["pad_top"]), (2, "width", given["pad_left"])):
        filter_name = f"filter_{side}"
        taps = given[filter_name] if filter_name in given else candidate.inputs[1].shape[axis]
        reach = (taps - 1) * given.get(f"dilation_{side}", 1)
        last = (candidate.outputs[0].shape[axis] - 1) * given[f"stride_{side}"] - pad
        if pad > reach or last >= candidate.inputs[0].shape[axis]:
            return "a window lies entirely in the padding"
    return None


def rule_reduced_extents(candidate: Candidate) -> str | None:
    """The dimensions that MEAN, SUM or REDUCE reduces have at most 65,535 elements together, and so have
    those that it keeps before the last of them."""
    outer, reduced, _ = reduced_extents(candidate)
    return None if max(outer, reduced) <= MAX_EXTENT else f"a size is larger than {MAX_EXTENT}"


def reduced_extents(candidate: Candidate) -> tuple[int, int, int]:
    """How many elements the input has in three groups of dimensions: those before the last reduced dimension
    that are kept, all reduced ones, and those after the last reduced one."""
    shape, mask = candidate.inputs[0].shape, candidate.attributes.axis_mask
    axes = [axis for axis, size in enumerate(shape) if mask >> axis & 1 and size > 1]
    if not axes:
        return 1, 1, prod(shape)
    kept = prod(size for axis, size in enumerate(shape[: axes[-1]]) if axis not in axes)
    return kept, prod(shape[axis] for axis in axes), prod(shape[axes[-1] + 1 :])


def rule_positions(candidate: Candidate) -> str | None:
    """ARG_MAX searches at most 65,025 positions, and at most 65,535 times, for results of int32."""
    shape, axis = candidate.inputs[0].shape, candidate.attributes.axis
    if candidate.outputs[0].dtype != "int32":
        return f"{candidate.outputs[0].dtype}: runs on the CPU"
    fits = shape[axis] <= POSITION_CODES**2 and prod(shape[:axis]) <= MAX_EXTENT
    return None if fits else f"a search in {list(shape)} along dimension {axis} is too large"


def rule_extremum(candidate: Candidate) -> str | None:
    """Among the functions of host operator REDUCE, the DLA has only minimum and maximum."""
    if candidate.attributes.function not in (ReduceFunction.MAX, ReduceFunction.MIN):
        return "plain integer arithmetic"
    return None


def rule_broadcast(candidate: Candidate) -> str | None:
    """One input of an element-wise operator has the output's shape, the other too, or only one image, row or
    column; either may have one channel. Both may have other shapes if the output is one image of int8."""
    if element_order(candidate) is not None or _is_one_image(candidate.outputs[0]):
        return None
    shapes = [list(value.shape) for value in candidate.inputs[:2]]
    return f"inputs of shapes {shapes[0]} and {shapes[1]} are broadcast to {list(candidate.outputs[0].shape)}"


def _is_one_image(output: Value) -> bool:
    shape = output.shape
    return (
        output.dtype in ("int8", "bool")
        and prod(shape[:-3]) == 1
        and max(shape[-3:], default=1) <= MAX_EXTENT
    )


def rule_choices(candidate: Candidate) -> str | None:
    """Condition and each choice of SELECT are broadcast like the inputs of an element-wise operator, and so
    are both results."""
    condition, *choices = candidate.inputs
    results = []
    for choice in choices:
        result = replace(choice, shape=np.broadcast_shapes(condition.shape, choice.shape))
        has_minimum = choice.data is None or (condition.data is None and choice.data.size > 1)
        pair = replace(candidate, inputs=(condition, choice), outputs=(result,))
        if has_minimum and (reason := rule_broadcast(pair)):
            return reason
        results.append(result)
    return rule_broadcast(replace(candidate, inputs=tuple(results)))


def element_order(candidate: Candidate) -> tuple[int, int] | None:
    """The positions of two inputs, the first with the output's shape, computed rather than constant if there
    is a choice; None where an instruction cannot spread the second, or would have to spread both."""
    output = candidate.outputs[0].shape
    shapes = [padded(value.shape, len(output)) for value in candidate.inputs[:2]]
    shapes = [(*shape[:-1], output[-1]) if is_spread(shape, output) else shape for shape in shapes]
    orders = [
        (first, 1 - first)
        for first in (0, 1)
        if shapes[first] == output and _spreads_over_images(shapes[1 - first], output)
    ]
    return min(orders, key=lambda order: candidate.inputs[order[0]].data is not None, default=None)


def _spreads_over_images(shape: tuple[int, ...], output: tuple[int, ...]) -> bool:
    """Whether a tensor has all channels, and of images, rows and columns all or one."""
    is_one_image = shape[:-3] in (output[:-3], (1,) * len(output[:-3]))
    return is_one_image and shape[-1:] == output[-1:]


def rule_min_max(candidate: Candidate) -> str | None:
    """Among the functions of host operator BINARY, the DLA has only minimum and maximum."""
    if candidate.attributes.function not in (BinaryFunction.MAXIMUM, BinaryFunction.MINIMUM):
        return "plain integer arithmetic"
    return None


def rule_activation_first(candidate: Candidate) -> str | None:
    """The first input is not a constant, unless an operator of several inputs has another that is not."""
    activations = candidate.inputs[: candidate.activation_count]
    return "its first input is constant" if all(value.data is not None for value in activations) else None


def is_spread(shape: tuple[int, ...], output: tuple[int, ...]) -> bool:
    """Whether a tensor has one channel that serves all of the output's."""
    return bool(output) and (1, *shape)[-1] == 1 and output[-1] > 1


def padded(shape: tuple[int, ...], rank: int) -> tuple[int, ...]:
    """The shape with so many dimensions."""
    return (*(1,) * (rank - len(shape)), *shape)


def as_image(shape: tuple[int, ...]) -> tuple[int, int, int]:
    """Height, width and channels of a tensor with a batch of 1 or none."""
    padded = (1, 1, 1, *shape)[-3:]
    return padded[0], padded[1], padded[2]
