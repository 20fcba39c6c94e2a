"""Operators that TFLite Micro computes wrongly, where LiteRT's reference kernels are right."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dlasim.compiler_shim.graph import Graph, Operator


@dataclass(frozen=True, slots=True)
class Case:
    """A kind of operator, when it is wrong, and in which way."""

    kind: str
    applies: Callable[[Graph, Operator], bool]
    reason: str


def _rescales(graph: Graph, operator: Operator) -> bool:
    source, target = graph.tensors[operator.inputs[0]], graph.tensors[operator.outputs[0]]
    return source.dtype == "int8" and source.quantization != target.quantization


def _limits_int32(graph: Graph, operator: Operator) -> bool:
    activation = operator.options.get("fused_activation_function", "NONE")
    return graph.tensors[operator.outputs[0]].dtype == "int32" and activation != "NONE"


CASES = (
    Case("RELU6", _rescales, "TFLite Micro limits the input's integers and does not rescale them"),
    Case("ADD", _limits_int32, "TFLite Micro forgets the activation fused into an ADD of int32"),
)


def micro_fault(graph: Graph, operator: Operator) -> str | None:
    """Why TFLite Micro is no reference for this operator; None where it is one."""
    reasons = (case.reason for case in CASES if case.kind == operator.kind and case.applies(graph, operator))
    return next(reasons, None)
