"""What lowering works on: DLA operations on whole tensors, and host calls, free of any configuration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from math import prod
from operator import mul
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dlasim.compiler_shim.calls.views import Layout, View, composed, dense, dense_layout, image_layout
from dlasim.dataclass import dataclass
from dlasim.isa.file_records import LayerKind
from dlasim.isa.instruction_rows import INT32_BYTES, Elements, adds_tensor
from dlasim.isa.instructions import BY_MNEMONIC
from dlasim.isa.program import HostCall
from dlasim.isa.registers import CURSORS, Region
from dlasim.named_tuple import NamedTuple

if TYPE_CHECKING:
    from dlasim.compiler_shim.lowering.addresses.weight_codes import WeightCodes

Shape = tuple[int, int, int]  # height, width, channels
Pair = tuple[int, int]


class Cursor(NamedTuple):
    """Where a part of a tensor begins, as the CPU finds it: the value that has its first index in each
    dimension, how large that may be, and the bytes from one to the next. The region is the place."""

    start: int
    room: tuple[int, ...]
    stride: tuple[int, ...]
    region: Region = CURSORS[0]

    @property
    def reach(self) -> int:
        """By how many bytes it may move."""
        return sum(map(mul, self.room, self.stride))


@dataclass(frozen=True, slots=True)
class Value:
    """A tensor between nodes: an activation, or a constant that a host call reads."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    scale: float = 0.0
    zero_point: int = 0
    data: NDArray[Any] | None = None
    alias: int | None = None  # the value whose bytes it shares
    view: View | None = None  # which elements of the alias, in which order; None for all of them in order

    @property
    def size_bytes(self) -> int:
        """Bytes of a dense copy."""
        return prod(self.shape) * np.dtype(self.dtype).itemsize


@dataclass(frozen=True, slots=True, eq=False)
class DlaNode:
    """One operation of the instruction set on whole tensors; lowering cuts it into tiles. Each is equal to
    itself alone; placements of a network share them."""

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
    matrix: int | None = None  # value that stands for weights though the network computes it: [OC][IC]
    packs_weights: bool = False  # all weights are numbers of 4 bits
    code_parts: int = 0  # of CODE_PARTS of the time that bytes take, compressed ones do; 0: they are not
    records: int | None = None  # value: int32 [OC][3]
    table: int | None = None  # value: [256], int8, or int32 for softmax and sigmoid
    is_channel_by_channel: bool = False  # a depthwise convolution by OP_CONV, one channel at a time
    in_element_bytes: int = 1
    out_element_bytes: int = 1
    broadcast: Pair = (1, 1)  # per axis of the second input: 0 where one row or column serves all
    swaps_inputs: bool = False  # the first input is the instruction's second
    is_tensor: bool = False  # int32 results are a tensor of the model
    is_copy: bool = False  # the output is the input, elsewhere
    layouts: tuple[Layout | None, ...] = ()  # of the inputs, then of the output; None or nothing: dense
    matrix_layout: Layout | None = None
    cursor: Cursor | None = None  # from which the output lies where it would from the tensor's begin

    @property
    def is_dense(self) -> bool:
        """Whether every output channel reads every input channel."""
        return BY_MNEMONIC[self.mnemonic].reduces_channels and not self.is_channel_by_channel

    @property
    def is_observed(self) -> bool:
        """Whether a verification looks at what it writes; behind a cursor it does when that is complete."""
        return self.cursor is None and (self.out_element_bytes < INT32_BYTES or self.is_tensor)

    @property
    def adds_tensor(self) -> bool:
        """Whether MAC adds its second input to the results."""
        return bool(adds_tensor(self.fields))

    @property
    def is_int16(self) -> bool:
        """Whether it takes a machine that has elements of int16."""
        return BY_MNEMONIC[self.mnemonic].needs_int16 or self.fields.get("elements") == Elements.INT16

    @property
    def multiplier(self) -> int:
        """Output channels for each input channel, if channels stay separate."""
        return self.out_shape[2] // self.in_shape[2]

    @property
    def depth(self) -> int:
        """Input channels that an output channel reads."""
        return self.in_shape[2] if self.is_dense else 1

    @property
    def weights_key(self) -> tuple[object, ...]:
        """What decides about the bytes of its weights, besides how they are cut."""
        return self.weights, self.mnemonic, self.is_channel_by_channel, self.out_shape[2], self.depth

    @property
    def table_bytes(self) -> int:
        """Bytes of its table."""
        return 0 if self.table is None else BY_MNEMONIC[self.mnemonic].table_bytes

    @property
    def weight_bytes_per_channel(self) -> int:
        """Weights that one output channel needs."""
        if self.weights is None and self.matrix is None:
            return 0
        return self._products * (1 if self.matrix is None else self.in_element_bytes)

    @property
    def _products(self) -> int:
        """Of an element of the output, if it has weights."""
        return self.kernel[0] * self.kernel[1] * self.depth

    @property
    def images(self) -> tuple[Shape, ...]:
        """The shapes in which it reads its inputs, then that of its output."""
        height, width, channels = self.out_shape
        second = (height if self.broadcast[0] else 1, width if self.broadcast[1] else 1, channels)
        return (self.in_shape, *(second,) * (len(self.inputs) - 1), self.out_shape)

    @property
    def matrix_image(self) -> Shape:
        """The matrix as an image: a row for each output channel."""
        return self.out_shape[2], 1, self.in_shape[2]

    @property
    def sources(self) -> tuple[int, ...]:
        """The values that it reads: its inputs, then the matrix."""
        return self.inputs if self.matrix is None else (*self.inputs, self.matrix)

    @property
    def operand_layouts(self) -> list[Layout]:
        """How its sources lie, then its output."""
        layouts = [self.layout(number) or dense_layout(image) for number, image in enumerate(self.images)]
        if self.matrix is not None:
            layouts.insert(-1, self.matrix_layout or dense_layout(self.matrix_image))
        return layouts

    def layout(self, number: int) -> Layout | None:
        """The layout of an input, or of the output, which follows them; None for a dense one."""
        return self.layouts[number] if self.layouts else None

    @property
    def macs(self) -> int:
        """Multiply-accumulates."""
        height, width, channels = self.out_shape
        return height * width * channels * self._products if self.weight_bytes_per_channel else 0


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
    reason: str = ""  # where nothing else says it, what the machine's placement does
    macs: int = 0


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class PlacedNetwork:
    """A network for one machine, each operator on the DLA or the CPU: values, nodes in order, layers.

    Each is itself only, so that what follows from one can be remembered.
    """

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
    model_inputs: tuple[int, ...] = ()  # the file's own inputs, where conversions are left out
    left_out: tuple[str, ...] = ()  # those conversions
    codes: WeightCodes | None = None  # of compressed weights

    def computed_order(self) -> list[int]:
        """The values that nodes write, in the order in which they are complete; those whose parts they write
        too."""
        last: dict[int, int] = {}
        for step, node in enumerate(self.nodes):
            for value in (node.output,) if isinstance(node, DlaNode) else node.call.outputs:
                last |= dict.fromkeys(alias_chain(self.values, value), step)
        return sorted(last, key=lambda value: last[value])


def alias_chain(values: Sequence[Value], value: int) -> list[int]:
    """The value, the one whose bytes it shares, and so on."""
    chain = [value]
    while (alias := values[chain[-1]].alias) is not None:
        chain.append(alias)
    return chain


def root_of(values: Sequence[Value], value: int) -> int:
    """The value whose bytes this one shares, or itself if it has its own."""
    while (alias := values[value].alias) is not None:
        value = alias
    return value


def whole_view(values: Sequence[Value], value: int) -> View | None:
    """A value's elements in terms of the last value of its chain; None where strides do not describe them."""
    *chain, root = alias_chain(values, value)
    view = dense(values[value].shape)
    for number in chain:
        base = values[number].view
        if base is not None:
            found = composed(view, base)
            if found is None:
                return None
            view = found
    assert values[root].alias is None
    return view


def with_layouts(node: DlaNode, values: Sequence[Value]) -> DlaNode | None:
    """The node with the layouts of its operands; None where one of them cannot be an image."""
    if node.matrix is not None:
        layout = _layout(values, node.matrix, node.matrix_image)
        if layout is None:
            return None
        node = replace(node, matrix_layout=layout)
    operands = (*node.inputs, node.output)
    if all(values[number].view is None for value in operands for number in alias_chain(values, value)):
        return replace(node, layouts=()) if node.layouts else node
    layouts: list[Layout | None] = []
    for value, image in zip(operands, node.images, strict=True):
        layout = _layout(values, value, image)
        if layout is None:
            return None
        layouts.append(layout)
    return replace(node, layouts=tuple(layouts))


def _layout(values: Sequence[Value], value: int, image: Shape) -> Layout | None:
    view = whole_view(values, value)
    return None if view is None else image_layout(view, image)
