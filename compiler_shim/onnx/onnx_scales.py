"""In which scale the results of ONNX nodes are stored: that of the QuantizeLinear behind them.

Between an operator and that conversion may stand a Relu or Clip, which becomes part of the operator, and
whatever only moves elements.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np

from dlasim.compiler_shim.dlag.graph_builder import GraphBuilder
from dlasim.compiler_shim.network.graph import UNSIGNED_OFFSET, Quantization
from dlasim.compiler_shim.onnx.onnx_einsum import without_einsum
from dlasim.compiler_shim.onnx.onnx_emitter import OnnxEmitter
from dlasim.compiler_shim.onnx.onnx_reader import OnnxModel, OnnxNode
from dlasim.compiler_shim.onnx.onnx_values import (
    Known,
    NoIntegerFormError,
    OnnxActivation,
    OnnxConstant,
    RefusedError,
    quantized,
)
from dlasim.compiler_shim.onnx.onnx_versions import in_opset_13
from dlasim.compiler_shim.onnx.qlinear_form import as_qdq
from dlasim.dataclass import dataclass

OFFSETS_OF_EIGHT_BITS = {"int8": 0, "uint8": UNSIGNED_OFFSET}
OFFSETS = {**OFFSETS_OF_EIGHT_BITS, "int16": 0, "uint16": 1 << 15}  # of a file's integers from the graph's
_MAX_MOVED = 256  # tensors between an operator and the conversions behind it
_VIEWS = frozenset(("Flatten", "Identity", "Reshape", "Squeeze", "Transpose", "Unsqueeze"))
# What moves the elements of its first input only: it makes no difference on which side they are quantized.
_MOVES = _VIEWS | {
    "DepthToSpace", "Dropout", "Expand", "Gather", "GatherElements", "GatherND", "Slice", "SpaceToDepth",
    "Split", "Tile",
}  # fmt: skip
_KEEPS_SCALE = _MOVES | {"Concat", "MaxPool", "Pad", "Resize"}
_FUSED = {(0.0, np.inf): "RELU", (0.0, 6.0): "RELU6", (-1.0, 1.0): "RELU_N1_TO_1"}


@dataclass(frozen=True, slots=True)
class ResultScale:
    """What an operator's result is stored as: its quantization, and the limits that a Relu or Clip sets."""

    quantization: Quantization
    low: float = -np.inf
    high: float = np.inf


class OnnxScales(OnnxEmitter):
    """The nodes of a network, the values that are known so far, and the scales that nodes ask for."""

    def __init__(self, model: OnnxModel) -> None:
        super().__init__(GraphBuilder(model.name, rounding="once"))
        self.nodes = as_qdq(without_einsum(in_opset_13(model.nodes, model.opset)))
        self.values: dict[str, Known] = {key: OnnxConstant(data) for key, data in model.constants.items()}
        self.readers: dict[str, list[OnnxNode]] = defaultdict(list)
        for node in self.nodes:
            for source in node.inputs:
                self.readers[source].append(node)
        self._producers = {name: node for node in self.nodes for name in node.outputs}
        self.done: set[int] = set()  # nodes that became part of an earlier one
        self._outputs = frozenset(model.outputs)

    # --- what handlers read ---

    def value(self, node: OnnxNode, position: int = 0) -> Known:
        """An input of any kind."""
        name = node.inputs[position] if position < len(node.inputs) else ""
        if not name or name not in self.values:
            raise RefusedError(f"input {position} is left out")
        return self.values[name]

    def has(self, node: OnnxNode, position: int) -> bool:
        """Whether an optional input is there."""
        return position < len(node.inputs) and bool(node.inputs[position])

    def constant(self, node: OnnxNode, position: int) -> OnnxConstant:
        """An input that must be constant."""
        value = self.value(node, position)
        if not isinstance(value, OnnxConstant):
            raise RefusedError(f"input {position} must be constant")
        return value

    def integers(self, node: OnnxNode, position: int, default: Sequence[int] | None = None) -> list[int]:
        """A constant list of integers, such as axes."""
        if default is not None and not self.has(node, position):
            return list(default)
        data = self.constant(node, position).data
        if data.dtype.kind not in "iu" or data.size > 64:
            raise RefusedError(f"input {position} must be a short list of integers")
        return [int(number) for number in data.ravel()]

    # --- results that need a scale ---

    def target(self, node: OnnxNode) -> ResultScale:
        """The quantization of a node's result, from what reads it; a Relu or Clip between becomes part."""
        found = self._target(node.outputs[0])
        if found is None:
            raise NoIntegerFormError("no QuantizeLinear reads its result, so it has no scale")
        return found

    def optional_target(self, node: OnnxNode, place: int = 0) -> Quantization | None:
        """The quantization that a QuantizeLinear behind the node asks for, if there is one."""
        name = node.outputs[place]
        readers = self.readers[name]
        if readers and all(reader.kind == "QuantizeLinear" for reader in readers):
            return self._known_parameters(readers[0])
        return self.scale_behind(name)

    def quantized_by(self, name: str) -> OnnxNode | None:
        """The QuantizeLinear whose 8-bit numbers a tensor of the file holds; None if it holds real ones."""
        for _ in range(_MAX_MOVED):
            producer = self._producers.get(name)
            if producer is None or producer.kind == "QuantizeLinear":
                return producer
            if producer.kind not in _KEEPS_SCALE:
                return None
            name = producer.inputs[0] if producer.inputs else ""
        return None

    def scale_behind(self, name: str, conversion: str = "QuantizeLinear") -> Quantization | None:
        """The one scale that conversions of this kind give a tensor, once it has been moved; None if there is
        none."""
        waiting, found, seen = [name], set[Quantization | None](), set[str]()
        while waiting:
            name = waiting.pop()
            if name in seen:
                continue
            seen.add(name)
            if name in self._outputs or len(seen) > _MAX_MOVED:
                return None
            for reader in self.readers[name]:
                if reader.kind == conversion and reader.inputs[0] == name:
                    found.add(self._known_parameters(reader))
                elif reader.kind == "Concat" or (reader.kind in _MOVES and reader.inputs[0] == name):
                    waiting += reader.outputs
                elif reader.kind != "Shape":
                    return None
        return found.pop() if len(found) == 1 else None

    def _known_parameters(self, node: OnnxNode) -> Quantization | None:
        try:
            return self.parameters(node)[0]
        except RefusedError:
            return None

    def _target(self, name: str) -> ResultScale | None:
        low, high = -np.inf, np.inf
        for _ in range(_MAX_MOVED):
            readers = self.readers[name]
            if readers and all(reader.kind == "QuantizeLinear" for reader in readers):
                behind = self._known_parameters(readers[0])
                return None if behind is None else ResultScale(behind, low, high)
            behind = self.scale_behind(name)
            if behind is not None:
                return ResultScale(behind, low, high)
            if len(readers) != 1 or name in self._outputs or readers[0].kind not in ("Relu", "Clip"):
                return None
            limits = self.limits(readers[0])
            low, high = max(low, limits[0]), min(high, limits[1])
            name = readers[0].outputs[0]
        return None

    def settle(self, node: OnnxNode, value: OnnxActivation, place: int = 0) -> OnnxActivation:
        """Set a result that is not of 8 bits, or quantize it at once where all that reads it asks for it."""
        name = node.outputs[place]
        quantization = self.optional_target(node, place) if value.dtype == "float32" else None
        if quantization is not None:
            value = self.in_eight_bits(value, quantization, name)
        self.values[name] = value
        return value

    def limits(self, node: OnnxNode) -> tuple[float, float]:
        """The limits of a Relu or Clip."""
        if node.kind == "Relu":
            return 0.0, np.inf
        ends = [-np.inf, np.inf]
        for position in (1, 2):
            if self.has(node, position):
                real = self.constant(node, position).real
                if real.size != 1:
                    raise RefusedError("its limits must be single numbers")
                ends[position - 1] = float(real.ravel()[0])
        return ends[0], ends[1]

    def finish(
        self,
        node: OnnxNode,
        kind: str,
        inputs: Sequence[int | None],
        target: ResultScale,
        can_fuse: bool,
        **options: Any,
    ) -> int:
        """Add the operator with the Relu or Clip behind it, fused or as a table; the number of the result."""
        quantization, fused = target.quantization, "NONE"
        low, high = (int(quantized(end, quantization)) for end in (target.low, target.high))
        if (low, high) == (-128, 127):
            limits = None
        else:
            limits = (low, high)
            if can_fuse and (target.low, target.high) in _FUSED:
                fused, limits = _FUSED[target.low, target.high], None
        if can_fuse:
            options["fused_activation_function"] = fused
        number = self.emit(kind, inputs, quantization, node.outputs[0], **options)
        if limits is not None:
            entries = np.clip(np.arange(-128, 128), *limits).astype(np.int8)
            table = self.eight_bits(f"{node.outputs[0]}/limits", entries, quantization)
            number = self.emit("TABLE", [number, table], quantization, f"{node.outputs[0]}/limited")
        return number

    def store(self, node: OnnxNode, value: OnnxActivation) -> OnnxActivation:
        """The node's result, which becomes that of a Relu or Clip that is part of it, too."""
        name = node.outputs[0]
        while (readers := self.readers[name]) and len(readers) == 1 and readers[0].kind in ("Relu", "Clip"):
            if id(readers[0]) in self.done:  # a file may say that it reads itself
                return value
            self.done.add(id(readers[0]))
            name = readers[0].outputs[0]
            self.values[name] = value
        return value

    def parameters(self, node: OnnxNode) -> tuple[Quantization, str]:
        """Scale and zero point of a conversion, per tensor and for int8, and the type in the file."""
        found, dtype = self.wide_parameters(node)
        if dtype not in OFFSETS_OF_EIGHT_BITS:
            raise RefusedError(f"activations are {dtype}; dlasim takes int8 and uint8")
        return found, dtype

    def wide_parameters(self, node: OnnxNode) -> tuple[Quantization, str]:
        """The same for int8 or int16."""
        found, dtype = self.raw_parameters(node)
        if found.per_channel:
            raise RefusedError("activations must have one scale")
        if dtype not in OFFSETS:
            raise RefusedError(f"activations are {dtype}; dlasim takes int8, uint8, int16 and uint16")
        return Quantization(found.scales, (found.zero_point - OFFSETS[dtype],)), dtype

    def raw_parameters(self, node: OnnxNode) -> tuple[Quantization, str]:
        """Scales and zero points of a conversion as in the file, and the type of the zero points."""
        scales = self.constant(node, 1).data.astype(np.float64).ravel()
        if not scales.size or not (np.isfinite(scales).all() and (scales > 0).all() and scales.max() < 3e38):
            raise RefusedError(
                "its scales must be finite and above 0 (a mask of -inf makes one infinite: use -1e4)"
            )
        if node.attributes.get("block_size"):
            raise RefusedError("blocked quantization is not supported")
        dtype = "uint8"
        points = np.zeros(scales.size, np.int64)
        if self.has(node, 2):
            data = self.constant(node, 2).data
            dtype, points = data.dtype.name, data.astype(np.int64).ravel()
        elif node.kind == "DequantizeLinear":
            source = self.values.get(node.inputs[0])
            dtype = (
                source.data.dtype.name
                if isinstance(source, OnnxConstant)
                else getattr(source, "dtype", "uint8")
            )
        if points.size != scales.size:
            raise RefusedError(f"it has {scales.size} scales and {points.size} zero points")
        axis = node.attributes.get("axis", 1)
        values = tuple(float(np.float32(scale)) for scale in scales)
        return Quantization(values, tuple(points.tolist()), axis), dtype
