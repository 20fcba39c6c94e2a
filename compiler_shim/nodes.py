"""What lowering works on: DLA operations on whole tensors, and host calls, free of any configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dlasim.isa.instructions import BY_MNEMONIC
from dlasim.isa.program import HostCall
from dlasim.isa.records import LayerKind

Shape = tuple[int, int, int]  # height, width, channels
Pair = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Value:
    """A tensor between nodes: an activation, or a constant that a host call reads."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    scale: float = 0.0
    zero_point: int = 0
    data: NDArray[Any] | None = None
    alias: int | None = None  # the value whose bytes it is, under another shape

    @property
    def size_bytes(self) -> int:
        """Bytes of a dense copy."""
        return prod(self.shape) * np.dtype(self.dtype).itemsize


@dataclass(frozen=True, slots=True)
class DlaNode:
    """One operation of the instruction set on whole tensors; lowering cuts it into tiles."""

    mnemonic: str
    layer: int
    inputs: tuple[int, ...]
    output: int
    in_shape: Shape
    out_shape: Shape
    kernel: Pair = (1, 1)
    stride: Pair = (1, 1)
    dilation: Pair = (1, 1)
    pad: Pair = (0, 0)
    fields: Mapping[str, int] = field(default_factory=dict)
    registers: Mapping[str, int] = field(default_factory=dict)
    weights: int | None = None  # value: [OC][KH][KW][IC], depthwise [KH][KW][OC], matrix [OC][IC]
    records: int | None = None  # value: int32 [OC][3]
    table: int | None = None  # value: int8 [256]
    one_by_one: bool = False  # a depthwise convolution by OP_CONV, one channel at a time
    in_element_bytes: int = 1
    out_element_bytes: int = 1
    broadcast: Pair = (1, 1)  # per axis of the second input: 0 where one row or column serves all

    @property
    def is_dense(self) -> bool:
        """Whether every output channel reads every input channel."""
        return BY_MNEMONIC[self.mnemonic].reduces_channels and not self.one_by_one

    @property
    def multiplier(self) -> int:
        """Output channels for each input channel, where channels stay apart."""
        return self.out_shape[2] // self.in_shape[2]

    @property
    def weight_bytes_per_channel(self) -> int:
        """Weights that one output channel needs."""
        if self.weights is None:
            return 0
        taps = self.kernel[0] * self.kernel[1]
        return taps * self.in_shape[2] if self.is_dense else taps

    @property
    def macs(self) -> int:
        """Multiply-accumulates."""
        height, width, channels = self.out_shape
        return height * width * channels * self.weight_bytes_per_channel


@dataclass(frozen=True, slots=True)
class HostNode:
    """An operator that stays on the CPU."""

    call: HostCall

    @property
    def layer(self) -> int:
        """The layer it belongs to."""
        return self.call.layer


@dataclass(frozen=True, slots=True)
class LayerInfo:
    """A layer of the model: what reports and explanations call it, and why it runs where it does."""

    name: str
    operator: str
    kind: LayerKind
    target: str
    reason: str
    macs: int = 0


@dataclass(frozen=True, slots=True)
class PlacedNetwork:
    """A network for one machine, each operator on the DLA or the CPU: values, nodes in order, layers."""

    name: str
    values: tuple[Value, ...]
    nodes: tuple[DlaNode | HostNode, ...]
    layers: tuple[LayerInfo, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    tensor_count: int = 0  # the first so many values are the model's tensors, by their number in the file
    model_outputs: tuple[
        int, ...
    ] = ()  # the model's own outputs; one that shares bytes has a copy in outputs

    def computed_order(self) -> list[int]:
        """The values that nodes write, in the order in which they are complete."""
        last: dict[int, int] = {}
        for step, node in enumerate(self.nodes):
            for value in (node.output,) if isinstance(node, DlaNode) else node.call.outputs:
                last[value] = step
        return sorted(last, key=lambda value: last[value])
