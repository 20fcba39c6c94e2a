"""Known faults of TFLite Micro: operators for which LiteRT's reference kernels are right and it is wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dlasim.compiler_shim.graph import Graph, Operator


@dataclass(frozen=True, slots=True)
class KnownFault:
    """The operator concerned, a test of whether the fault applies, and a description of what goes wrong."""

    kind: str
    applies: Callable[[Graph, Operator], bool]
    reason: str


def _rescales(graph: Graph, operator: Operator) -> bool:
    source, target = graph.tensors[operator.inputs[0]], graph.tensors[operator.outputs[0]]
    return source.dtype == "int8" and source.quantization != target.quantization


def _limits_int32(graph: Graph, operator: Operator) -> bool:
    activation = operator.options.get("fused_activation_function", "NONE")
    return graph.tensors[operator.outputs[0]].dtype == "int32" and activation != "NONE"


KNOWN_FAULTS = (
    KnownFault("RELU6", _rescales, "TFLite Micro limits the input's integers and does not rescale them"),
    KnownFault("ADD", _limits_int32, "TFLite Micro forgets the activation fused into an ADD of int32"),
)


def micro_fault(graph: Graph, operator: Operator) -> str | None:
    """Why TFLite Micro's result for this operator is wrong; None if no fault is known."""
    reasons = (
        fault.reason
        for fault in KNOWN_FAULTS
        if fault.kind == operator.kind and fault.applies(graph, operator)
    )
    return next(reasons, None)
