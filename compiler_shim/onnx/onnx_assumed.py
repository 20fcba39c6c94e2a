"""A float ONNX network with stand-in scales: what it would cost if it were int8, not what it would compute.

Every real tensor that an operator computes gets conversions of one scale, and so do the weights.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from dlasim.compiler_shim.onnx.onnx_reader import OnnxModel, OnnxNode
from dlasim.compiler_shim.onnx.onnx_schema import DTYPES
from dlasim.errors import InputError

_SCALE, _POINT = "assumed scale", "assumed zero point"
_ASSUMED_SCALE = 1 / 16  # of everything: a range of -8 to 8
_WEIGHTED = ("Conv", "ConvTranspose", "Gemm", "MatMul")
_ARITHMETIC = ("Add", "Div", "Mul", "Sub")  # whose constants onnxruntime's quantizer converts, too
_FUSED = ("Clip", "Relu")  # an operator behind whose results are limited
_INTEGERS = frozenset(
    ("And", "ArgMax", "ArgMin", "Equal", "Greater", "GreaterOrEqual", "IsInf", "IsNaN", "Less", "LessOrEqual",
     "NonZero", "Not", "Or", "Shape", "Size", "Xor")
)  # fmt: skip


def with_assumed_scales(model: OnnxModel, name: str) -> OnnxModel:
    """The network between conversions; one that is quantized is refused."""
    if any("Quantize" in node.kind or "QLinear" in node.kind for node in model.nodes):
        raise InputError(f"{name} is quantized; --assume-int8 is for float networks")
    constants = {
        **model.constants,
        _SCALE: np.array(_ASSUMED_SCALE, np.float32),
        _POINT: np.array(0, np.int8),
    }
    return _Assumption(replace(model, constants=constants)).run()


class _Assumption:
    """One network on its way; `real` are the names of its real tensors, `fixed` those of constants."""

    def __init__(self, model: OnnxModel) -> None:
        self._model = model
        self._readers = Counter(name for node in model.nodes for name in {*node.inputs})
        self._fusing = {node.inputs[0] for node in model.nodes if node.kind in _FUSED and node.inputs}
        self._fixed = set(model.constants)
        self._real = {name for name, data in model.constants.items() if data.dtype.kind == "f"}
        self._real |= {port.name for port in model.inputs if port.dtype.startswith("float")}
        self._renamed: dict[str, str] = {}

    def run(self) -> OnnxModel:
        """The nodes with conversions in between."""
        nodes: list[OnnxNode] = []
        for port in self._model.inputs:
            if port.name in self._real:
                nodes += self._converted(port.name)
        for node in self._model.nodes:
            nodes += self._node(node)
        outputs = tuple(self._renamed.get(name, name) for name in self._model.outputs)
        return replace(self._model, nodes=tuple(nodes), outputs=outputs)

    def _node(self, node: OnnxNode) -> Iterator[OnnxNode]:
        weights = (
            node.inputs if node.kind in _ARITHMETIC else node.inputs[1:2] if node.kind in _WEIGHTED else ()
        )
        for name in dict.fromkeys(weights):
            if name in self._fixed & self._real and name not in self._renamed:
                yield from self._converted(name)
        yield replace(node, inputs=tuple(self._renamed.get(name, name) for name in node.inputs))
        is_fixed, is_real = all(name in self._fixed for name in node.inputs if name), self._is_real(node)
        for name in node.outputs:
            if is_fixed:
                self._fixed.add(name)
            if is_real and name:
                self._real.add(name)
                is_limited = name in self._fusing and self._readers[name] == 1
                if not is_fixed and not (is_limited and node.kind in (*_WEIGHTED, "Add", "Mul")):
                    yield from self._converted(name)

    def _is_real(self, node: OnnxNode) -> bool:
        at = node.attributes
        if node.kind == "Cast":
            return DTYPES.get(at.get("to", 0), "").startswith("float")
        if node.kind in ("Constant", "ConstantOfShape"):
            integers = {"value_int", "value_ints"} & at.keys()
            return not integers and ("value" not in at or np.asarray(at["value"]).dtype.kind == "f")
        given = node.inputs[1:] if node.kind == "Where" else node.inputs[:1]
        return node.kind not in _INTEGERS and any(name in self._real for name in given)

    def _converted(self, name: str) -> Iterator[OnnxNode]:
        """Conversions of a tensor, which all that follows reads."""
        numbers, result = f"{name}/int8", f"{name}/real"
        self._renamed[name] = result
        self._fixed |= {numbers, result} if name in self._fixed else set()
        yield OnnxNode("QuantizeLinear", (name, _SCALE, _POINT), (numbers,), {}, numbers)
        yield OnnxNode("DequantizeLinear", (numbers, _SCALE, _POINT), (result,), {}, result)
