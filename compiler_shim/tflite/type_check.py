"""Whether a network is one of int8, full-integer quantization; if not, what to do about it."""

from __future__ import annotations

from collections.abc import Iterator

from dlasim.compiler_shim.graph import Graph, Operator, Tensor
from dlasim.compiler_shim.tflite.schema import OPERATORS
from dlasim.compiler_shim.tflite.tensors import label
from dlasim.errors import InputError

_FLOATS = ("float16", "float32", "float64", "complex64", "complex128")
_INTERFACE_ADVICE = "convert with inference_input_type = inference_output_type = tf.int8"
_ADVICE = (
    "use full-integer post-training quantization (a representative_dataset, supported_ops = "
    f"[tf.lite.OpsSet.TFLITE_BUILTINS_INT8]) and {_INTERFACE_ADVICE}"
)
# Type classes of the operator table that stand for certain types; the others are compared among themselves.
_CLASSES = {"q": ("int8",), "b": ("int32",), "i": ("int32", "int64"), "x": ("int8", "int32", "int64", "bool")}


def check_input_types(graph: Graph, name: str) -> None:
    """Refuses a model whose inputs are not integers, naming an operator that reads one."""
    for index in graph.inputs:
        if graph.tensors[index].dtype in _FLOATS:
            reader = next((operator for operator in graph.operators if index in operator.inputs), None)
            if reader is None:
                raise InputError(f"{name}: input {label(graph.tensors[index].name)} is float: {_ADVICE}")
            _refuse_float(graph, reader, name)


def check_types(graph: Graph, name: str) -> None:
    """Refuses the model at the first operator whose tensors are not of an int8 network."""
    for operator in graph.operators:
        where = f"{name}: {operator.location} ({operator.kind})"
        for tensor in _tensors(graph, operator):
            if tensor.dtype in _FLOATS:
                _refuse_float(graph, operator, name)
            _check_width(operator, tensor, where)
        if operator.kind in OPERATORS:
            _check_classes(graph, operator, where)
            for tensor in _tensors(graph, operator):
                _check_quantization(tensor, where)


def _tensors(graph: Graph, operator: Operator) -> Iterator[Tensor]:
    return (graph.tensors[index] for index in (*operator.inputs, *operator.outputs) if index >= 0)


def _refuse_float(graph: Graph, operator: Operator, name: str) -> None:
    where = f"{name}: {operator.location} ({operator.kind})"
    tensors = list(_tensors(graph, operator))
    dtype = next(tensor.dtype for tensor in tensors if tensor.dtype in _FLOATS)
    if operator.kind in ("QUANTIZE", "DEQUANTIZE") and any(tensor.dtype == "int8" for tensor in tensors):
        raise InputError(
            f"{where}: converts between {dtype} and int8, which dlasim leaves out: {_INTERFACE_ADVICE}"
        )
    weights_only = any(tensor.is_constant and tensor.dtype == "int8" for tensor in tensors)
    cause = f"computes in {dtype}" + (", only its weights are quantized" if weights_only else "")
    raise InputError(f"{where}: {cause}; dlasim runs int8 networks: {_ADVICE}")


def _check_width(operator: Operator, tensor: Tensor, where: str) -> None:
    if tensor.dtype == "uint8":
        interface = operator.kind in ("QUANTIZE", "DEQUANTIZE")
        cause = "inputs or outputs" if interface else "legacy quantization-aware training"
        advice = _INTERFACE_ADVICE if interface else f"quantize it again as int8: {_ADVICE}"
        raise InputError(
            f"{where}: {label(tensor.name)} is uint8 ({cause}), which is not supported: {advice}"
        )
    # SVDF keeps its state, and the weights over time, in 16 bits: its activations are int8 all the same.
    if tensor.dtype in ("int16", "uint16") and operator.kind != "SVDF":
        raise InputError(
            f"{where}: {label(tensor.name)} is {tensor.dtype}; 16-bit activations are not supported, "
            f"quantize to int8: {_ADVICE}"
        )


def _check_classes(graph: Graph, operator: Operator, where: str) -> None:
    """Holds each operand to its class; all operands of class x have one type."""
    signature = OPERATORS[operator.kind].signature
    shared: set[str] = set()
    operands = [(signature.class_of_input(position), index) for position, index in enumerate(operator.inputs)]
    operands += [(signature.outputs[0][0], index) for index in operator.outputs]
    for class_, index in operands:
        if index < 0 or class_ == "*":
            continue
        tensor = graph.tensors[index]
        if tensor.dtype not in _CLASSES[class_]:
            allowed = " or ".join(_CLASSES[class_])
            raise InputError(f"{where}: {label(tensor.name)} is {tensor.dtype}, {allowed} expected")
        if class_ == "x":
            shared.add(tensor.dtype)
    if len(shared) > 1:
        raise InputError(f"{where}: its operands have different types: {', '.join(sorted(shared))}")


def _check_quantization(tensor: Tensor, where: str) -> None:
    if tensor.dtype != "int8":
        return
    if tensor.quantization is None:
        raise InputError(f"{where}: {label(tensor.name)} is int8 without a scale")
    if not tensor.is_constant and (tensor.quantization.per_channel or tensor.quantization.scale == 0):
        raise InputError(f"{where}: {label(tensor.name)} is computed, and must have one scale above 0")
