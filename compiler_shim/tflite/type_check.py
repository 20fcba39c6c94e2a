"""Whether a network is one of full-integer quantization; if not, what to do about it.

uint8 has become int8 before this (`unsigned.py`) wherever an operator computes. Inputs and outputs may be
float32 where the model itself converts them, and what it makes of int8 results may be float32: the tails of
detection and pose models.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from dlasim.compiler_shim.files.recipes import KERAS, PYTORCH, as_page_shows
from dlasim.compiler_shim.network.graph import Graph, Operator, Tensor, label
from dlasim.compiler_shim.operators.definition import CLASSES, Trait
from dlasim.compiler_shim.operators.table import OPERATORS, has_trait
from dlasim.errors import InputError
from dlasim.isa.file_records import DataType

_FLOATS = ("float16", "float32", "float64", "complex64", "complex128")
_ADVICE = (
    "use full-integer post-training quantization (a representative_dataset, supported_ops = "
    f"[tf.lite.OpsSet.TFLITE_BUILTINS_INT8]), {as_page_shows(KERAS, PYTORCH)}"
)
_MAX_NAMED = 4


class TypeCheck:
    """Checks one model."""

    def __init__(self, name: str) -> None:
        self._name = name

    def inputs(self, graph: Graph) -> None:
        """Rejects a model whose inputs are of a wrong type, naming the first operator that computes so.

        What an importer of real numbers leaves in float32 it has put there on purpose.
        """
        if graph.rounds_once:
            return
        for dtype in sorted({graph.tensors[index].dtype for index in graph.inputs}):
            given = {index for index in graph.inputs if graph.tensors[index].dtype == dtype}
            readers = [operator for operator in graph.operators if given & set(operator.inputs)]
            if dtype == "uint8" or all(has_trait(operator.kind, Trait.CONVERTS) for operator in readers):
                continue
            users = [operator for operator in graph.operators if _uses(graph, operator, dtype)]
            user = min(users, key=lambda operator: _is_accessory(graph, operator))
            if dtype in _FLOATS:
                self._refuse_float(graph, user, dtype)
            _check_width(graph, user, self._where(user), dtype)

    def operators(self, graph: Graph) -> None:
        """Rejects operators whose tensors are not of an int8 network: why the first, and which others."""
        reason, refused = "", []
        for operator in graph.operators:
            try:
                self._operator(graph, operator)
            except InputError as error:
                reason = reason or str(error)
                refused.append(operator)
        if refused:
            reported = {id(operator) for operator in refused}
            unknown = [operator for operator in graph.operators if operator.kind not in OPERATORS]
            others = [operator for operator in unknown if id(operator) not in reported]
            raise InputError(reason + _named_too([*refused[1:], *others]))

    def _operator(self, graph: Graph, operator: Operator) -> None:
        where = self._where(operator)
        self._check_floats(graph, operator)
        _check_width(graph, operator, where)
        if operator.kind in OPERATORS:
            _check_classes(graph, operator, where)
            for tensor in _tensors(graph, operator):
                _check_quantization(tensor, where)

    def interface(self, graph: Graph) -> None:
        """Rejects inputs and outputs of a type that no program can hold, which no operator need have met."""
        for what, indices in (("input", graph.inputs), ("output", graph.outputs)):
            for tensor in (graph.tensors[index] for index in indices):
                if tensor.dtype not in DataType.__members__:
                    where = f"{self._name}: {what} {label(tensor.name)}"
                    raise InputError(
                        f"{where} is {tensor.dtype}, which is not supported: convert the model without it, "
                        f"or as {', '.join(DataType.__members__)}"
                    )

    def _where(self, operator: Operator) -> str:
        return f"{self._name}: {operator.location} ({operator.kind})"

    def _check_floats(self, graph: Graph, operator: Operator) -> None:
        """Rejects floats that int8 tensors do not lead to, and operators that dlasim has no float form of."""
        dtypes = [tensor.dtype for tensor in _tensors(graph, operator) if tensor.dtype in _FLOATS]
        if not dtypes or operator.kind == "QUANTIZE":
            return
        is_float_model = not graph.rounds_once and _reads_float_input(graph, operator)
        if set(dtypes) != {"float32"} or is_float_model:
            self._refuse_float(graph, operator, dtypes[0])
        if not _takes_floats(graph, operator):
            sources = [graph.tensors[index] for index in operator.inputs if index >= 0]
            names = [label(tensor.name) for tensor in sources if not tensor.is_constant]
            cut = " and ".join(names if len(names) <= _MAX_NAMED else [*names[:_MAX_NAMED], "others"])
            quantize = "quantize it too, or " if operator.kind in OPERATORS else ""
            raise InputError(
                f"{self._where(operator)}: computes in float32, in which dlasim has no exact form of "
                f"{operator.kind}: {quantize}cut the model before it, with {cut or 'its inputs'} as output"
            )

    def _refuse_float(self, graph: Graph, operator: Operator, dtype: str) -> None:
        tensors = list(_tensors(graph, operator))
        weights_only = any(tensor.is_constant and tensor.dtype == "int8" for tensor in tensors)
        cause = f"computes in {dtype}" + (", only its weights are quantized" if weights_only else "")
        raise InputError(f"{self._where(operator)}: {cause}; dlasim runs int8 networks: {_ADVICE}")


def _named_too(operators: list[Operator]) -> str:
    """The end of a message: a list of further operators, by kind."""
    first = {operator.kind: operator for operator in reversed(operators)}
    count = Counter(operator.kind for operator in operators)
    named = [
        f"{first[kind].location} ({kind})" + (f" and {number - 1} more of its kind" if number > 1 else "")
        for kind, number in count.items()
    ]
    return f"; it cannot run these either: {', '.join(named)}" if named else ""


def _reads_float_input(graph: Graph, operator: Operator) -> bool:
    return any(graph.tensors[index].dtype in _FLOATS for index in operator.inputs if index in graph.inputs)


def _takes_floats(graph: Graph, operator: Operator) -> bool:
    """Whether each of its float operands is one that may be."""
    return operator.kind in OPERATORS and all(
        class_ == "*" or tensor.dtype in CLASSES[class_]
        for class_, tensor in _operands(graph, operator)
        if tensor.dtype in _FLOATS
    )


def _operands(graph: Graph, operator: Operator) -> Iterator[tuple[str, Tensor]]:
    """The tensors of an operator, each with its class; * where the operator is not known."""
    numbers = (*operator.inputs, *operator.outputs)
    classes = ["*"] * len(numbers)
    if operator.kind in OPERATORS:
        classes = OPERATORS[operator.kind].signature.classes(len(operator.inputs), len(operator.outputs))
    return (
        (class_, graph.tensors[index]) for class_, index in zip(classes, numbers, strict=True) if index >= 0
    )


def _tensors(graph: Graph, operator: Operator) -> Iterator[Tensor]:
    return (graph.tensors[index] for index in (*operator.inputs, *operator.outputs) if index >= 0)


def _uses(graph: Graph, operator: Operator, dtype: str) -> bool:
    return any(tensor.dtype == dtype for tensor in _tensors(graph, operator))


def _is_accessory(graph: Graph, operator: Operator) -> bool:
    """Whether a user would not say that this operator computes: it reshapes, converts, or unpacks weights."""
    inputs = [graph.tensors[index] for index in operator.inputs if index >= 0]
    return has_trait(operator.kind, Trait.REARRANGES | Trait.CONVERTS) or all(
        tensor.is_constant for tensor in inputs
    )


def _check_width(graph: Graph, operator: Operator, where: str, only: str = "") -> None:
    """Rejects uint8 without a scale, and 16 bits where the operator has none: the reason and the way out.

    Before uint8 has become int8, it is asked of the tensors of one type only.
    """
    for class_, tensor in _operands(graph, operator):
        if only and tensor.dtype != only:
            continue
        if tensor.dtype == "uint8" and not has_trait(operator.kind, Trait.CONVERTS):
            raise InputError(
                f"{where}: {label(tensor.name)} is uint8 without a scale, which is not supported: "
                f"quantize it as int8: {_ADVICE}"
            )
        fits = class_ == "*" or tensor.dtype in CLASSES[class_]
        if tensor.dtype == "uint16" or (tensor.dtype == "int16" and not fits):
            raise InputError(
                f"{where}: {label(tensor.name)} is {tensor.dtype}, which {operator.kind} does not support: "
                f"quantize it as int8: {_ADVICE}"
            )


def _check_classes(graph: Graph, operator: Operator, where: str) -> None:
    """Checks each operand against its class; all operands of class x have one type, and so have those of
    a."""
    shared: set[str] = set()
    for class_, tensor in _operands(graph, operator):
        if class_ == "*":
            continue
        if tensor.dtype not in CLASSES[class_]:
            allowed = " or ".join(CLASSES[class_])
            raise InputError(f"{where}: {label(tensor.name)} must be {allowed} (got {tensor.dtype})")
        if class_ in "ax":
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
