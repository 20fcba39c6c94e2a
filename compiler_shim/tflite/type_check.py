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


_CONVERSIONS = ("QUANTIZE", "DEQUANTIZE")
_CONVERTED = ("float32", "uint8")
_RESHAPES = ("SHAPE", "RESHAPE", "EXPAND_DIMS", "SQUEEZE", "TRANSPOSE")


class TypeCheck:
    """Checks one model; with `allow_conversions`, its inputs and outputs may be float32 or uint8."""

    def __init__(self, name: str, allow_conversions: bool) -> None:
        self._name = name
        self._allow_conversions = allow_conversions

    def inputs(self, graph: Graph) -> None:
        """Refuses a model whose inputs are of a wrong type, naming the first operator that computes so."""
        for dtype in sorted({graph.tensors[index].dtype for index in graph.inputs}):
            users = [operator for operator in graph.operators if _uses(graph, operator, dtype)]
            users.sort(key=lambda operator: _is_accessory(graph, operator))
            if users and not self._is_allowed_conversion(graph, users[0]):
                tensor = next(tensor for tensor in _tensors(graph, users[0]) if tensor.dtype == dtype)
                _check_width(graph, users[0], tensor, self._where(users[0]))

    def operators(self, graph: Graph) -> None:
        """Refuses the model at the first operator whose tensors are not of an int8 network."""
        for operator in graph.operators:
            where = self._where(operator)
            if not self._is_allowed_conversion(graph, operator):
                for tensor in _tensors(graph, operator):
                    _check_width(graph, operator, tensor, where)
            if operator.kind in OPERATORS:
                _check_classes(graph, operator, where)
                for tensor in _tensors(graph, operator):
                    _check_quantization(tensor, where)

    def _where(self, operator: Operator) -> str:
        return f"{self._name}: {operator.location} ({operator.kind})"

    def _is_allowed_conversion(self, graph: Graph, operator: Operator) -> bool:
        """Whether it only converts between int8 and a type of the outside, on the outside."""
        if not self._allow_conversions or operator.kind not in _CONVERSIONS:
            return False
        used = (*operator.inputs, *operator.outputs)
        outside = [index for index in used if graph.tensors[index].dtype in _CONVERTED]
        inside = [index for index in used if graph.tensors[index].dtype == "int8"]
        return len(outside) == len(inside) == 1 and outside[0] in (*graph.inputs, *graph.outputs)


def _tensors(graph: Graph, operator: Operator) -> Iterator[Tensor]:
    return (graph.tensors[index] for index in (*operator.inputs, *operator.outputs) if index >= 0)


def _uses(graph: Graph, operator: Operator, dtype: str) -> bool:
    return any(tensor.dtype == dtype for tensor in _tensors(graph, operator))


def _is_accessory(graph: Graph, operator: Operator) -> bool:
    """Whether a user would not say that this operator computes: it reshapes, or unpacks weights."""
    inputs = [graph.tensors[index] for index in operator.inputs if index >= 0]
    return operator.kind in _RESHAPES or all(tensor.is_constant for tensor in inputs)


def _check_width(graph: Graph, operator: Operator, tensor: Tensor, where: str) -> None:
    """Refuses float, uint8 and 16 bits, each with its reason and the way out."""
    if tensor.dtype in _FLOATS:
        raise InputError(f"{where}: {_float_cause(graph, operator, tensor.dtype)}")
    if tensor.dtype == "uint8":
        interface = operator.kind in _CONVERSIONS
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


def _float_cause(graph: Graph, operator: Operator, dtype: str) -> str:
    tensors = list(_tensors(graph, operator))
    if operator.kind in _CONVERSIONS and any(tensor.dtype == "int8" for tensor in tensors):
        return f"converts between {dtype} and int8, which dlasim leaves out: {_INTERFACE_ADVICE}"
    weights_only = any(tensor.is_constant and tensor.dtype == "int8" for tensor in tensors)
    cause = f"computes in {dtype}" + (", only its weights are quantized" if weights_only else "")
    return f"{cause}; dlasim runs int8 networks: {_ADVICE}"


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
