"""What the DLA can run: one small rule for each limit.

Their first lines are the text of `docs/operators.md`, their reasons what a user reads when an operator stays
on the CPU. `dla_forms.py` says which of them apply to which operator.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace

from dlasim.compiler_shim.graph import label
from dlasim.compiler_shim.nodes import Value
from dlasim.isa.host_ops import BinaryFunction

MAX_EXTENT = (1 << 16) - 1


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
    activation_count: int  # inputs that are no weights, records or tables
    has_instruction: bool

    @property
    def operands(self) -> tuple[Value, ...]:
        """The activations: inputs that are no weights, records or tables, and the output."""
        return (*self.inputs[: self.activation_count], *self.outputs)


Rule = Callable[[Candidate], str | None]


def rule_no_floats(candidate: Candidate) -> str | None:
    """Nothing is a float."""
    floats = [value.dtype for value in candidate.operands if value.dtype.startswith("float")]
    return f"{floats[0]}: runs on the CPU" if floats else None


def rule_known(candidate: Candidate) -> str | None:
    """The DLA has an instruction for the operator."""
    return None if candidate.has_instruction else f"the DLA has no instruction for {candidate.name}"


def rule_int8(candidate: Candidate) -> str | None:
    """Inputs and output are int8."""
    for value in candidate.operands:
        if value.dtype != "int8":
            return f"{value.dtype}: runs on the CPU"
    return None


def rule_batch(candidate: Candidate) -> str | None:
    """Tensors have at most one batch, and at most height, width and channels besides."""
    for value in candidate.operands:
        if len(value.shape) > 3 and value.shape[:-3] != (1,) * (len(value.shape) - 3):
            return f"{label(value.name)} has shape {list(value.shape)}, the DLA takes a batch of 1"
    return None


def rule_one_group(candidate: Candidate) -> str | None:
    """Convolutions have one group: weights as deep as the input."""
    if candidate.inputs[1].shape[3] != candidate.inputs[0].shape[3]:
        return "grouped convolution"
    return None


def rule_constant_weights(candidate: Candidate) -> str | None:
    """Weights and biases are constants."""
    for value in candidate.inputs[1:]:
        if value.data is None:
            return f"{label(value.name)} is computed by the network, the DLA takes constant weights"
    return None


def rule_extents(candidate: Candidate) -> str | None:
    """Height, width, window, stride and dilation are at most 65,535."""
    sizes = [*candidate.inputs[0].shape[1:3], *candidate.outputs[0].shape[1:3]]
    given = vars(candidate.attributes)
    sizes += [
        value for name, value in given.items() if name.startswith(("stride", "dilation", "filter", "pad"))
    ]
    return None if all(0 <= size <= MAX_EXTENT for size in sizes) else f"an extent beyond {MAX_EXTENT}"


def rule_window_meets_input(candidate: Candidate) -> str | None:
    """Every window meets the input: padding is smaller than the window's reach."""
    given = vars(candidate.attributes)
    for axis, side, pad in ((1, "height", given["pad_top"]), (2, "width", given["pad_left"])):
        filter_name = f"filter_{side}"
        taps = given[filter_name] if filter_name in given else candidate.inputs[1].shape[axis]
        reach = (taps - 1) * given.get(f"dilation_{side}", 1)
        last = (candidate.outputs[0].shape[axis] - 1) * given[f"stride_{side}"] - pad
        if pad > reach or last >= candidate.inputs[0].shape[axis]:
            return "a window that lies in the padding as a whole"
    return None


def rule_mean_over_pixels(candidate: Candidate) -> str | None:
    """MEAN runs over height and width of an NHWC tensor, both of them."""
    if len(candidate.inputs[0].shape) != 4 or candidate.attributes.axis_mask != 0b0110:
        return "MEAN over other axes than height and width"
    return None


def rule_broadcast(candidate: Candidate) -> str | None:
    """The second input of an element-wise operator has the output's shape, or one row or column of it."""
    first, second = (as_image(value.shape) for value in candidate.inputs[:2])
    output = as_image(candidate.outputs[0].shape)
    if first != output:
        return f"the first input is broadcast from {list(first)} to {list(output)}"
    if second[2] != output[2] or any(second[axis] not in (1, output[axis]) for axis in (0, 1)):
        return f"the second input is broadcast from {list(second)} to {list(output)}"
    return None


def rule_min_max(candidate: Candidate) -> str | None:
    """Of the plain binary functions the DLA has minimum and maximum."""
    if candidate.attributes.function not in (BinaryFunction.MAXIMUM, BinaryFunction.MINIMUM):
        return "plain integer arithmetic"
    return None


def rule_activation_first(candidate: Candidate) -> str | None:
    """The first input is computed by the network; only the second may be constant."""
    return "its first input is constant" if candidate.inputs[0].data is not None else None


def as_image(shape: tuple[int, ...]) -> tuple[int, int, int]:
    """Height, width and channels of a tensor with a batch of 1 or none."""
    padded = (1, 1, 1, *shape)[-3:]
    return padded[0], padded[1], padded[2]
