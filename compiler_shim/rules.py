"""What the DLA can run: one small rule for each limit. Their first lines are the text of `docs/operators.md`,
their reasons what a user reads when an operator stays on the CPU."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import SimpleNamespace

from dlasim.compiler_shim.graph import label
from dlasim.compiler_shim.nodes import Value

HALF = (1 << 16) - 1


@dataclass(frozen=True, slots=True)
class Candidate:
    """A host call that the DLA might run instead."""

    name: str
    attributes: SimpleNamespace
    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]

    @property
    def operands(self) -> tuple[Value, ...]:
        """The activations: inputs that are no weights, records or tables, and the output."""
        count = 2 if self.name in TWO_INPUTS else 1
        return (*self.inputs[:count], *self.outputs)


Rule = Callable[[Candidate], str | None]

TWO_INPUTS = ("ADD", "SUB", "MUL", "BINARY")
CONVOLUTIONS = ("CONV_2D", "DEPTHWISE_CONV_2D")
POOLS = ("AVERAGE_POOL_2D", "MAX_POOL_2D")
SUPPORTED = (*CONVOLUTIONS, "FULLY_CONNECTED", *POOLS, "MEAN", "ADD", "SUB", "MUL", "BINARY", "LUT")


def rule_no_floats(candidate: Candidate) -> str | None:
    """Nothing is a float."""
    floats = [value.dtype for value in candidate.operands if value.dtype.startswith("float")]
    return f"{floats[0]}: runs on the CPU" if floats else None


def rule_known(candidate: Candidate) -> str | None:
    """The DLA has an instruction for the operator."""
    if candidate.name not in SUPPORTED:
        return f"the DLA has no instruction for {candidate.name}"
    return None


def rule_int8(candidate: Candidate) -> str | None:
    """Inputs and output are int8."""
    for value in candidate.operands:
        if value.dtype != "int8":
            return f"{value.dtype}: runs on the CPU"
    return None


def rule_batch(candidate: Candidate) -> str | None:
    """Tensors have at most one batch, and at most height, width and channels besides."""
    if candidate.name in ("LUT", "FULLY_CONNECTED"):
        return None
    for value in candidate.operands:
        if len(value.shape) > 3 and value.shape[:-3] != (1,) * (len(value.shape) - 3):
            return f"{label(value.name)} has shape {list(value.shape)}, the DLA takes a batch of 1"
    return None


def rule_one_group(candidate: Candidate) -> str | None:
    """Convolutions have one group: weights as deep as the input."""
    if candidate.name == "CONV_2D" and candidate.inputs[1].shape[3] != candidate.inputs[0].shape[3]:
        return "grouped convolution"
    return None


def rule_constant_weights(candidate: Candidate) -> str | None:
    """Weights and biases are constants."""
    if candidate.name in (*CONVOLUTIONS, "FULLY_CONNECTED"):
        for value in candidate.inputs[1:]:
            if value.data is None:
                return f"{label(value.name)} is computed by the network, the DLA takes constant weights"
    return None


def rule_extents(candidate: Candidate) -> str | None:
    """Height, width, window, stride and dilation are at most 65,535."""
    if candidate.name not in (*CONVOLUTIONS, *POOLS, "MEAN"):
        return None
    sizes = [*candidate.inputs[0].shape[1:3], *candidate.outputs[0].shape[1:3]]
    given = vars(candidate.attributes)
    sizes += [
        value for name, value in given.items() if name.startswith(("stride", "dilation", "filter", "pad"))
    ]
    return None if all(0 <= size <= HALF for size in sizes) else f"an extent beyond {HALF}"


def rule_window_meets_input(candidate: Candidate) -> str | None:
    """Every window meets the input: padding is smaller than the window's reach."""
    if candidate.name not in (*CONVOLUTIONS, *POOLS):
        return None
    at = candidate.attributes
    if candidate.name in POOLS:
        kernel, dilation = [at.filter_height, at.filter_width], [1, 1]
    else:
        kernel = list(candidate.inputs[1].shape[1:3])
        dilation = [at.dilation_height, at.dilation_width]
    for axis, pad in enumerate((at.pad_top, at.pad_left)):
        stride = (at.stride_height, at.stride_width)[axis]
        last = (candidate.outputs[0].shape[1 + axis] - 1) * stride - pad
        if pad > (kernel[axis] - 1) * dilation[axis] or last >= candidate.inputs[0].shape[1 + axis]:
            return "a window that lies in the padding as a whole"
    return None


def rule_mean_over_pixels(candidate: Candidate) -> str | None:
    """MEAN runs over height and width of an NHWC tensor, both of them."""
    if candidate.name != "MEAN":
        return None
    if len(candidate.inputs[0].shape) != 4 or candidate.attributes.axis_mask != 0b0110:
        return "MEAN over other axes than height and width"
    return None


def rule_broadcast(candidate: Candidate) -> str | None:
    """The second input of an element-wise operator has the output's shape, or one row or column of it."""
    if candidate.name not in TWO_INPUTS:
        return None
    first, second = (as_image(value.shape) for value in candidate.inputs[:2])
    output = as_image(candidate.outputs[0].shape)
    if first != output:
        return f"the first input is broadcast from {list(first)} to {list(output)}"
    if second[2] != output[2] or any(second[axis] not in (1, output[axis]) for axis in (0, 1)):
        return f"the second input is broadcast from {list(second)} to {list(output)}"
    return None


def rule_min_max(candidate: Candidate) -> str | None:
    """Of the plain binary functions the DLA has minimum and maximum."""
    from dlasim.isa.host_ops import BinaryFunction

    if candidate.name == "BINARY" and candidate.attributes.function not in (
        BinaryFunction.MAXIMUM,
        BinaryFunction.MINIMUM,
    ):
        return "plain integer arithmetic"
    return None


def rule_activation_first(candidate: Candidate) -> str | None:
    """The first input is computed by the network; only the second may be constant."""
    return "its first input is constant" if candidate.inputs[0].data is not None else None


RULES: Sequence[Rule] = (
    rule_no_floats,
    rule_known,
    rule_int8,
    rule_batch,
    rule_one_group,
    rule_constant_weights,
    rule_extents,
    rule_window_meets_input,
    rule_mean_over_pixels,
    rule_broadcast,
    rule_min_max,
    rule_activation_first,
)


def refusal(candidate: Candidate) -> str:
    """Why the DLA cannot run a call; empty where it can."""
    for rule in RULES:
        reason = rule(candidate)
        if reason is not None:
            return reason
    return ""


def as_image(shape: tuple[int, ...]) -> tuple[int, int, int]:
    """Height, width and channels of a tensor with a batch of 1 or none."""
    padded = (1, 1, 1, *shape)[-3:]
    return padded[0], padded[1], padded[2]
