"""An ONNX network to the graph of every model: node by node, in the order of the file.

Each kind of node has a handler; the tables of the other modules of this folder join in `HANDLERS`. A handler
reads values by name and gives the node's result; None where it has set several. What cannot be placed is
noted, and said at the end.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import NoReturn

import numpy as np

from dlasim.compiler_shim.files.npu_compilers import refuse_compiled
from dlasim.compiler_shim.files.recipes import ONNX, as_page_shows
from dlasim.compiler_shim.network.graph import UNSIGNED_OFFSET, Graph, Quantization, label
from dlasim.compiler_shim.onnx.onnx_folding import fold_node
from dlasim.compiler_shim.onnx.onnx_reader import OnnxModel, OnnxNode, Port
from dlasim.compiler_shim.onnx.onnx_scales import OnnxScales
from dlasim.compiler_shim.onnx.onnx_values import (
    NO_SCALE,
    Known,
    Missing,
    NoIntegerFormError,
    OnnxActivation,
    OnnxConstant,
    Order,
    RealInput,
    RefusedError,
    Traced,
    channels_last,
    covering,
    plain,
)
from dlasim.dataclass import dataclass
from dlasim.errors import InputError

_MAX_NAMED = 3
_INSTEAD = {
    "MatMulNBits": "its activations are float32, which has no exact integer form; quantize them, too: "
    "quantize_static with weight_type=QuantType.QInt4"
}
_SEES_CHANNELS = frozenset(
    ("Conv", "ConvTranspose", "MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool", "Resize",
     "BatchNormalization", "DepthToSpace", "SpaceToDepth", "InstanceNormalization")
)  # fmt: skip
_PASSES_LAYOUT = frozenset(
    ("QuantizeLinear", "DequantizeLinear", "Relu", "Clip", "Pad", "Add", "Sub", "Mul", "Div", "Sigmoid",
     "HardSwish", "Identity")
)  # fmt: skip
_DYNAMIC = (
    "DynamicQuantizeLinear", "ConvInteger", "MatMulInteger", "DynamicQuantizeLSTM", "DynamicQuantizeMatMul",
)  # fmt: skip
_CONVERSIONS = ("QuantizeLinear", "DequantizeLinear")
_PLAIN = ("float32", "int32", "int64", "bool")  # types of inputs whose numbers stand for themselves
_EIGHT_BITS = ("int8", "uint8")
_RECIPE = f"quantize it {as_page_shows(ONNX)}"


@dataclass(frozen=True, slots=True)
class Converted:
    """The graph; which of its tensors are which of the file's; how to make its inputs for ONNX; and in which
    order of the file's dimensions its outputs are."""

    graph: Graph
    traced: tuple[Traced, ...]
    inputs: tuple[Traced, ...]
    output_orders: tuple[Order, ...]


Handler = Callable[["Converter", OnnxNode], Known | None]


def without_dead(graph: Graph) -> Graph:
    """The graph without operators whose results nothing reads."""
    wanted, kept = set(graph.outputs), []
    for operator in reversed(graph.operators):
        if not wanted.isdisjoint(operator.outputs):
            wanted.update(operator.inputs)
            kept.append(operator)
    return replace(graph, operators=tuple(reversed(kept)))


class Converter(OnnxScales):
    """One network being converted; `name` is how errors call it.

    `handlers` compute with integers, and `real` in float32 what has no such form.
    """

    def __init__(
        self, model: OnnxModel, name: str, handlers: Mapping[str, Handler], real: Mapping[str, Handler]
    ) -> None:
        self._model, self._name, self._handlers, self._in_float32 = model, name, handlers, real
        super().__init__(model)
        self._traced: list[Traced] = []
        self._inputs: dict[str, Traced] = {}
        self._refusals: list[tuple[OnnxNode, str]] = []
        self._budget = model.budget

    # --- the whole network ---

    def run(self) -> Converted:
        """The network; one InputError names all that cannot be placed."""
        self._check_kinds()
        for port in self._model.inputs:
            self.values[port.name] = RealInput(port.name, self._sizes(port), port.dtype)
        self._fold_all()
        for node in self.nodes:
            if id(node) not in self.done:
                self._node(node)
        if self._refusals:
            self._refuse_all()
        found = [self._output(name) for name in self._model.outputs]
        for port in self._model.inputs:
            if port.name not in self._inputs:
                self._open(port.name)
        graph = without_dead(self.builder.graph([value.number for value in found]))
        inputs = tuple(self._inputs[port.name] for port in self._model.inputs)
        numbers = tuple(traced.number for traced in inputs)
        return Converted(
            replace(graph, inputs=numbers), tuple(self._traced), inputs, tuple(value.order for value in found)
        )

    def _fold_all(self) -> None:
        """Compute what is constant, before anything asks for it."""
        for node in self.nodes:
            inputs = [self.values.get(name) for name in node.inputs if name]
            if all(isinstance(value, OnnxConstant) for value in inputs):
                self._spend(node, node.inputs)
                if node.kind in _CONVERSIONS:
                    with suppress(RefusedError):
                        self._handle(self._handlers[node.kind], node)
                        self.done.add(id(node))
                elif self._fold(node, [value for value in inputs if isinstance(value, OnnxConstant)]):
                    self.done.add(id(node))
                self._spend(node, node.outputs)

    def _check_kinds(self) -> None:
        kinds = Counter(node.kind for node in self.nodes)
        if not kinds:
            raise InputError(f"{self._name}: the network has no operators")
        refuse_compiled(kinds, self._name)
        for kind in _DYNAMIC:
            if kinds[kind]:
                raise InputError(
                    f"{self._name}: {kind}: the ranges of its activations are only known at run time "
                    f"(quantize_dynamic); {_RECIPE}"
                )
        if not kinds["QuantizeLinear"] and not kinds["DequantizeLinear"]:
            raise InputError(f"{self._name}: computes in float32; dlasim runs int8 networks: {_RECIPE}")

    def _sizes(self, port: Port) -> tuple[int, ...]:
        """The shape of an input; a dynamic batch is 1."""
        sizes = [1 if size is None and axis == 0 else size for axis, size in enumerate(port.shape)]
        if None in sizes:
            raise InputError(
                f"{self._name}: dimension {sizes.index(None)} of input {label(port.name)} is dynamic; only "
                "the batch (dimension 0) may be dynamic. Fix it with "
                "onnxruntime.tools.make_dynamic_shape_fixed"
            )
        return tuple(size for size in sizes if size is not None)

    def _node(self, node: OnnxNode) -> None:
        inputs = [self.values.get(name, Missing()) for name in node.inputs if name]
        if any(isinstance(value, Missing) for value in inputs):
            self._lose(node)
            return
        self._spend(node, node.inputs)
        try:
            if not self._fold(node, inputs):
                self._place(node)
        except RefusedError as error:
            self._refusals.append((node, str(error)))
        except InputError as error:  # the builder's, whose place in the graph says nothing here
            self._refusals.append((node, str(error).split(": ", 2)[-1]))
        self._lose(node)
        self._spend(node, node.outputs)

    def _spend(self, node: OnnxNode, names: Sequence[str]) -> None:
        """Count the constants of these names that a node reads or has computed."""
        values = [self.values.get(name) for name in names]
        size_bytes = sum(value.data.nbytes for value in values if isinstance(value, OnnxConstant))
        self._budget.spend(size_bytes, f"{self._name}: {label(node.kind)} ({label(node.name)})")

    def _place(self, node: OnnxNode) -> None:
        """Compute the node with integers, or else in float32."""
        handler, real = self._handlers.get(node.kind), self._in_float32.get(node.kind)
        if handler is None and real is None:
            raise RefusedError(_INSTEAD.get(node.kind, "dlasim does not support this operator"))
        if handler is not None:
            try:
                return self._handle(handler, node)
            except NoIntegerFormError:
                if real is None:
                    raise
        assert real is not None
        return self._handle(real, node)

    def _handle(self, handler: Handler, node: OnnxNode) -> None:
        result = handler(self, node)
        if result is not None:
            self.values[node.outputs[0]] = result

    def _lose(self, node: OnnxNode) -> None:
        for name in node.outputs:
            self.values.setdefault(name, Missing())

    def _fold(self, node: OnnxNode, inputs: list[Known]) -> bool:
        """Whether the node's result is constant."""
        constants = [value for value in inputs if isinstance(value, OnnxConstant)]
        if len(constants) < len(inputs) or node.kind in _CONVERSIONS:
            return False
        results = fold_node(node, [self.values.get(name) for name in node.inputs])
        if results is None:
            return False
        self.values.update(zip(node.outputs, results, strict=True))
        return True

    def _refuse_all(self) -> NoReturn:
        found: dict[tuple[str, str], list[str]] = defaultdict(list)
        for node, reason in self._refusals:
            found[node.kind, reason].append(label(node.name))
        parts = []
        for (kind, reason), names in found.items():
            more = f" and {len(names) - _MAX_NAMED} more" if len(names) > _MAX_NAMED else ""
            parts.append(f"{label(kind)} ({', '.join(names[:_MAX_NAMED])}{more}): {reason[:200]}")
        raise InputError(f"{self._name}: unsupported operators: {'; '.join(parts)}")

    def _output(self, name: str) -> OnnxActivation:
        value = self.values.get(name)
        if not isinstance(value, OnnxActivation):
            what = "is not computed from the inputs by operators that dlasim knows"
            raise InputError(f"{self._name}: output {label(name)} {what}")
        value = self.with_reshape(value, name)
        if value.curve is not None:
            value = self.table(value, value.curve, covering(value.curve), name)
            self.values[name] = value
        return value

    # --- inputs and scales ---

    def quantize_input(self, source: RealInput, quantization: Quantization) -> OnnxActivation:
        """The network's input as int8, images with their channels last."""
        rank = len(source.shape)
        order = channels_last(rank) if rank > 2 and self._has_channels(source.name) else plain(rank)
        shape = tuple(source.shape[axis] for axis in order)
        number = self.builder.input(
            source.name, shape, scale=quantization.scale, zero_point=quantization.zero_point
        )
        offset = UNSIGNED_OFFSET if source.dtype == "uint8" else 0
        self._inputs[source.name] = Traced(source.name, number, order, source.shape, offset)
        return OnnxActivation(number, source.shape, order, quantization)

    def _open(self, name: str) -> OnnxActivation:
        """An input of the network, in the scale that all that reads it asks for, or else as it is."""
        source = self.values[name]
        assert isinstance(source, RealInput)
        found = None
        if source.dtype in _EIGHT_BITS:
            own = Quantization((1.0,), (-UNSIGNED_OFFSET if source.dtype == "uint8" else 0,))
            found = self.scale_behind(name, "DequantizeLinear") or own
        elif source.dtype in ("float16", "float32"):
            found = self.scale_behind(name)
        value = self._plain_input(source) if found is None else self.quantize_input(source, found)
        self.values[name] = value
        return value

    def _plain_input(self, source: RealInput) -> OnnxActivation:
        """An input whose numbers stand for themselves."""
        if source.dtype not in _PLAIN:
            raise RefusedError(f"input {label(source.name)} is {source.dtype}, which dlasim does not take")
        order = plain(len(source.shape))
        number = self.builder.input(source.name, source.shape, dtype=source.dtype)
        self._inputs[source.name] = Traced(source.name, number, order, source.shape, 0)
        return OnnxActivation(number, source.shape, order, NO_SCALE, dtype=source.dtype)

    def _has_channels(self, name: str) -> bool:
        """Whether the tensor is an image for an operator behind it."""
        waiting, seen = [name], {name}
        while waiting:
            for node in self.readers[waiting.pop()]:
                if node.kind in _SEES_CHANNELS:
                    return True
                if node.kind in _PASSES_LAYOUT:
                    waiting += [output for output in node.outputs if output not in seen]
                    seen.update(node.outputs)
        return False

    def trace(self, name: str, value: OnnxActivation, offset: int) -> None:
        """Note which tensor of the graph holds the numbers of the file's tensor of this name."""
        if value.source is None:
            self._traced.append(Traced(name, value.number, value.order, value.shape, offset))

    # --- what handlers read ---

    def known(self, node: OnnxNode, position: int = 0) -> OnnxActivation | OnnxConstant:
        """An input that the network computes, or a constant."""
        value = self.value(node, position)
        return value if isinstance(value, OnnxConstant) else self.activation(node, position)

    def activation(self, node: OnnxNode, position: int = 0) -> OnnxActivation:
        """An input that the network computes, through any function of each element."""
        value = self.value(node, position)
        if isinstance(value, RealInput):
            value = self._open(node.inputs[position])
        if not isinstance(value, OnnxActivation):
            raise RefusedError(f"input {position} must not be constant")
        return value

    def exact(self, node: OnnxNode, position: int = 0) -> OnnxActivation:
        """An input that the network computes, whose numbers are those of its scale."""
        value = self.activation(node, position)
        if value.curve is not None or value.dtype != "int8":
            raise NoIntegerFormError(f"its input {label(node.inputs[position])} is not quantized")
        return value

    def real(self, node: OnnxNode, position: int = 0) -> OnnxActivation:
        """An input of any kind in float32, in an order of its own."""
        value = self.value(node, position)
        if not isinstance(value, OnnxConstant):
            return self.in_float32(self.activation(node, position), node.outputs[0])
        data = np.asarray(value.real, np.float32)
        number = self.builder.constant(f"{label(node.outputs[0])}/constant", data)
        return OnnxActivation(number, data.shape, plain(data.ndim), NO_SCALE, dtype="float32")
