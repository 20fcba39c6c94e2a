"""Networks of a few operators between conversions, and how far dlasim's result is from onnxruntime's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from dlasim.checking.onnx_comparison import OnnxComparison, compare
from dlasim.checking.own_kernels import HostKernels
from dlasim.compiler_shim.files.importing import prepare
from dlasim.compiler_shim.network.graph import Graph
from dlasim.compiler_shim.onnx.onnx_import import convert
from dlasim.compiler_shim.tflite.reader import ReadModel

Array = np.ndarray[Any, Any]
KINDS = {np.dtype(np.float32): TensorProto.FLOAT, np.dtype(np.int64): TensorProto.INT64,
         np.dtype(np.int32): TensorProto.INT32, np.dtype(np.bool_): TensorProto.BOOL,
         np.dtype(np.uint8): TensorProto.UINT8}  # fmt: skip


def node(kind: str, inputs: str, outputs: str, **attributes: Any) -> Any:
    """A node by the names of its tensors; "-" stands for an input left out."""
    names = ["" if name == "-" else name for name in inputs.split()]
    return helper.make_node(kind, names, outputs.split(), name=f"{kind} {outputs}", **attributes)


def quantized(name: str, scale: float = 0.02, zero_point: int = 3) -> list[Any]:
    """Conversions of a tensor: `x` becomes `x_d`."""
    step, point = np.float32(scale), np.int8(zero_point)
    return [
        node("Constant", "", f"{name}_s", value=numpy_helper.from_array(np.array(step))),
        node("Constant", "", f"{name}_z", value=numpy_helper.from_array(np.array(point))),
        node("QuantizeLinear", f"{name} {name}_s {name}_z", f"{name}_q"),
        node("DequantizeLinear", f"{name}_q {name}_s {name}_z", f"{name}_d"),
    ]


def saved(
    path: Path,
    nodes: Sequence[Any],
    inputs: Mapping[str, tuple[Sequence[int], Any]],
    outputs: Sequence[str],
    constants: Mapping[str, Array] | None = None,
    opset: int = 17,
) -> Path:
    """A file with this network."""
    ports = [
        helper.make_tensor_value_info(name, KINDS[np.dtype(dtype)], shape)
        for name, (shape, dtype) in inputs.items()
    ]
    results = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs]
    data = [numpy_helper.from_array(np.asarray(value), name) for name, value in (constants or {}).items()]
    graph = helper.make_graph(list(nodes), "few", ports, results, data)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)
    onnx.save(model, path)
    return path


class _EitherHalf(HostKernels):
    """Kernels that take exact halves of these tensors as they are given, on whichever side that is.

    A half is what goes to the other side if the scale changes by a millionth, up or down.
    """

    def __init__(self, graph: Graph, numbers: Sequence[int]) -> None:
        super().__init__(graph)
        self._nudged = [
            (number, HostKernels(_with_scale(graph, number, factor)))
            for number in numbers
            for factor in (1 - 1e-6, 1 + 1e-6)
        ]

    def tensors(self, inputs: Sequence[Array], given: Mapping[int, Array] | None = None) -> dict[int, Array]:
        exact = super().tensors(inputs, given)
        found = dict(exact)
        for number, kernels in self._nudged if given else ():
            is_half = kernels.tensors(inputs, given)[number] != exact[number]
            found[number] = np.where(is_half, given[number], found[number])
        return found


def _with_scale(graph: Graph, number: int, factor: float) -> Graph:
    tensors = list(graph.tensors)
    before = tensors[number].quantization
    scales = tuple(scale * factor for scale in before.scales)
    tensors[number] = replace(tensors[number], quantization=replace(before, scales=scales))
    return replace(graph, tensors=tuple(tensors))


def compared(path: Path, runs: int = 3, halves: Sequence[str] = ()) -> tuple[OnnxComparison, Graph]:
    """Layers and outputs by dlasim's kernels, beside onnxruntime's of the same inputs; in layers `halves`
    exact halves may be on either side."""
    converted = convert(path)
    graph = prepare(ReadModel(converted.graph, frozenset()), str(path))
    rng = np.random.default_rng(0)
    samples = ([_sample(graph.tensors[number], rng) for number in graph.inputs] for _ in range(runs))
    numbers = [traced.number for traced in converted.traced if traced.name in halves]
    return compare(path, converted, graph, _EitherHalf(graph, numbers), samples), graph


def _sample(tensor: Any, rng: np.random.Generator) -> Array:
    if tensor.dtype in ("int32", "int64"):
        return rng.integers(0, 5, tensor.shape).astype(tensor.dtype)
    if tensor.dtype == "bool":
        return rng.integers(0, 2, tensor.shape).astype(bool)
    if tensor.dtype == "float32":
        return rng.normal(size=tensor.shape).astype(np.float32)
    return rng.integers(-128, 128, tensor.shape).astype(np.int8)
