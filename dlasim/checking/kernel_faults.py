"""Known faults of one interpreter's kernels: operators for which the other is right and it is wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numpy.typing import NDArray

from dlasim.checking.interpreters import LITERT, MICRO
from dlasim.compiler_shim.network.graph import Graph, Operator
from dlasim.dataclass import dataclass

_LEAST_SCALE = 2.0**-28  # of the input of TFLite Micro's LOGISTIC and TANH


@dataclass(frozen=True, slots=True)
class KnownFault:
    """The operator concerned, a test of whether the fault applies, and a description of what goes wrong."""

    kind: str
    applies: Callable[[Graph, Operator], bool]
    reason: str
    interpreter: str = MICRO


def _rescales(graph: Graph, operator: Operator) -> bool:
    source, target = graph.tensors[operator.inputs[0]], graph.tensors[operator.outputs[0]]
    return source.dtype in ("int8", "int16") and source.quantization != target.quantization


def _limits_int32(graph: Graph, operator: Operator) -> bool:
    activation = operator.options.get("fused_activation_function", "NONE")
    return graph.tensors[operator.outputs[0]].dtype == "int32" and activation != "NONE"


def _pads_with_a_zero_point(graph: Graph, operator: Operator) -> bool:
    quantization = graph.tensors[operator.outputs[0]].quantization
    paddings = graph.tensors[operator.inputs[2]]
    has_zero_point = quantization is not None and any(quantization.zero_points)
    return has_zero_point and paddings.data is not None and bool(paddings.data.any())


def _reads_int16(graph: Graph, operator: Operator) -> bool:
    return graph.tensors[operator.inputs[0]].dtype == "int16"


def _reads_int8(graph: Graph, operator: Operator) -> bool:
    source = graph.tensors[operator.inputs[0]]
    return source.dtype == "int8" and not source.is_unsigned


def _overflows_radius(graph: Graph, operator: Operator) -> bool:
    source = graph.tensors[operator.inputs[0]]
    quantization = source.quantization
    return source.dtype == "int8" and quantization is not None and quantization.scale < _LEAST_SCALE


def _has_several_classes(_: Graph, operator: Operator) -> bool:
    return not operator.options["use_regular_nms"] and operator.options["max_classes_per_detection"] != 1


KNOWN_FAULTS = (
    KnownFault(
        "DETECTION_POSTPROCESS",
        _has_several_classes,
        "TFLite Micro spreads the classes of a detection over those of others",
    ),
    KnownFault(
        "SPACE_TO_BATCH_ND", _pads_with_a_zero_point, "TFLite Micro pads with 0 and not with the zero point"
    ),
    KnownFault("RELU6", _rescales, "TFLite Micro limits the input's integers and does not rescale them"),
    KnownFault("GREATER", _reads_int16, "TFLite Micro compares int16 with scales that it has not set"),
    KnownFault("RSQRT", _reads_int16, "TFLite Micro has RSQRT of int16 in fixed point, LiteRT from a table"),
    *(
        KnownFault(kind, _overflows_radius, "TFLite Micro shifts by a negative number where a scale is tiny")
        for kind in ("LOGISTIC", "TANH")
    ),
    KnownFault("ADD", _limits_int32, "TFLite Micro forgets the activation fused into an ADD of int32"),
    KnownFault("SUM", _reads_int8, "LiteRT writes sums of int8 beyond their memory", LITERT),
    KnownFault("SVDF", _reads_int8, "LiteRT's SVDF of int8 is faulty", LITERT),
)


def known_fault(interpreter: str, graph: Graph, operator: Operator) -> str | None:
    """Why an interpreter's result for this operator is wrong; None if no fault is known."""
    reasons = (
        fault.reason
        for fault in KNOWN_FAULTS
        if fault.interpreter == interpreter and fault.kind == operator.kind and fault.applies(graph, operator)
    )
    return next(reasons, None)


def clear_unwritten(graph: Graph, tensors: dict[int, NDArray[Any]]) -> None:
    """Zeros for what both interpreters leave as it was in memory, behind the detections found."""
    for operator in graph.operators:
        if operator.kind != "DETECTION_POSTPROCESS" or operator.outputs[3] not in tensors:
            continue
        options = operator.options
        found = int(tensors[operator.outputs[3]].ravel()[0])
        most, classes = options["max_classes_per_detection"], options["num_classes"]
        assert isinstance(most, int)
        assert isinstance(classes, int)
        is_regular = bool(options["use_regular_nms"])
        for index in operator.outputs[:3]:
            values = tensors[index] = tensors[index].copy()
            if is_regular:
                values[0, found:] = 0
                continue
            rows = values.reshape(-1, most, *values.shape[2:])
            rows[found:] = 0
            rows[:, classes:] = 0
