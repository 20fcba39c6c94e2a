"""uint8 networks as int8 ones: every number is 128 lower, and so is its zero point.

Real values stay the same, and so does every result that depends on differences to zero points. Weights get a
zero point other than 0. An operator whose uint8 form rounds in its own way looks at `Tensor.is_unsigned`.
Inputs and outputs of the model stay uint8; a QUANTIZE converts them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dlasim.compiler_shim.network.graph import UNSIGNED_OFFSET, Graph, Operator, Quantization, Tensor
from dlasim.compiler_shim.operators.lookup_rows import OWN_TABLE

MAX_REAL = 1 << 30  # so that a number in units of the output and its zero point fit 32 bits
_CONVERTERS = ("QUANTIZE", "DEQUANTIZE")  # these take uint8 as well as int8
_CAST = "CAST"  # takes the numbers as they are, not what they stand for


def to_signed(graph: Graph) -> Graph:
    """The graph with int8 for uint8 wherever an operator computes; new tensors come after the file's."""
    computed = _touched(graph, lambda kind: kind not in (*_CONVERTERS, _CAST))
    chosen = [index for index in computed if _is_quantized(graph.tensors[index])]
    if not chosen:
        return graph
    fixed = {*graph.inputs, *graph.outputs, *_touched(graph, lambda kind: kind == _CAST)}
    tensors = list(graph.tensors)
    twins: dict[int, int] = {}
    for index in chosen:
        lowered = _lowered(graph.tensors[index])
        if index in fixed:
            twins[index] = len(tensors)
            tensors.append(replace(lowered, name=f"{lowered.name}/int8"))
        else:
            tensors[index] = lowered
    operators = _rescaled(_with_conversions(graph, twins), tensors)
    return replace(graph, tensors=tuple(tensors), operators=tuple(operators))


def to_unsigned(graph: Graph) -> Graph:
    """The graph with uint8 again for what `to_signed` made int8."""
    graph = without_rescaling(graph)
    return replace(graph, tensors=tuple(restored(tensor) for tensor in graph.tensors))


def without_rescaling(graph: Graph) -> Graph:
    """The graph with CONCATENATION as TensorFlow has it, which rescales inputs of uint8 itself."""
    tables = {operator.outputs[0]: operator for operator in graph.operators if _is_rescaling(graph, operator)}
    readers = [
        operator
        for operator in graph.operators
        if operator.kind != "CONCATENATION" and not tables.keys().isdisjoint(operator.inputs)
    ]
    for index in {index for operator in readers for index in operator.inputs}.union(graph.outputs):
        tables.pop(index, None)
    if not tables:
        return graph
    operators = (
        replace(operator, inputs=tuple(_source(tables, index) for index in operator.inputs))
        for operator in graph.operators
        if tables.keys().isdisjoint(operator.outputs)
    )
    return replace(graph, tensors=_without_last(graph, tables), operators=tuple(operators))


def _source(tables: Mapping[int, Operator], index: int) -> int:
    return tables[index].inputs[0] if index in tables else index


def _without_last(graph: Graph, tables: Mapping[int, Operator]) -> tuple[Tensor, ...]:
    """The tensors up to the last that these operators, which are no longer there, do not own."""
    unused = {*tables, *(operator.inputs[1] for operator in tables.values())}
    count = len(graph.tensors)
    while count - 1 in unused:
        count -= 1
    return graph.tensors[:count]


def _is_rescaling(graph: Graph, operator: Operator) -> bool:
    """Whether `to_signed` might have added it: what it computes is what CONCATENATION would."""
    numbers = (*operator.inputs, *operator.outputs)
    if operator.kind != OWN_TABLE or len(numbers) != 3 or min(numbers) < 0:
        return False
    source, table, target = (graph.tensors[index] for index in numbers)
    expected = rescaling_table(source.quantization, target.quantization)
    if expected is None or table.data is None or not source.is_unsigned:
        return False
    return np.array_equal(expected, table.data.ravel())


def restored(tensor: Tensor) -> Tensor:
    """The tensor with uint8 again."""
    if not tensor.is_unsigned:
        return tensor
    data = None if tensor.data is None else flipped(tensor.data)
    quantization = _moved(tensor.quantization, UNSIGNED_OFFSET)
    return replace(tensor, dtype="uint8", quantization=quantization, data=data, is_unsigned=False)


def flipped(values: NDArray[Any]) -> NDArray[Any]:
    """uint8 as int8 that are 128 lower, or the way back: of a byte the top bit changes."""
    target = np.int8 if values.dtype == np.uint8 else np.uint8
    return (np.ascontiguousarray(values).view(np.uint8) ^ np.uint8(UNSIGNED_OFFSET)).view(target)


def _is_quantized(tensor: Tensor) -> bool:
    return tensor.dtype == "uint8" and tensor.quantization is not None


def _lowered(tensor: Tensor) -> Tensor:
    data = None if tensor.data is None else flipped(tensor.data)
    quantization = _moved(tensor.quantization, -UNSIGNED_OFFSET)
    return replace(tensor, dtype="int8", quantization=quantization, data=data, is_unsigned=True)


def _moved(quantization: Quantization | None, offset: int) -> Quantization | None:
    if quantization is None:
        return None
    return replace(quantization, zero_points=tuple(point + offset for point in quantization.zero_points))


def _touched(graph: Graph, is_chosen: Callable[[str], bool]) -> list[int]:
    """Tensors that operators of the chosen kinds read or write, by number."""
    operators = [operator for operator in graph.operators if is_chosen(operator.kind)]
    used = {index for operator in operators for index in (*operator.inputs, *operator.outputs)}
    return sorted(used - {-1})


def _with_conversions(graph: Graph, twins: dict[int, int]) -> list[Operator]:
    """The operators on int8 twins of tensors that stay uint8, and what converts one into the other."""
    made = {index for operator in graph.operators for index in operator.outputs}
    operators = [_conversion(graph, index, twins[index]) for index in twins if index not in made]
    for operator in graph.operators:
        if operator.kind == _CAST:
            operators.append(operator)
            operators += [
                _conversion(graph, index, twins[index]) for index in operator.outputs if index in twins
            ]
        else:
            inputs, outputs = _renumbered(operator.inputs, twins), _renumbered(operator.outputs, twins)
            operators.append(replace(operator, inputs=inputs, outputs=outputs))
            operators += [
                _conversion(graph, twins[index], index) for index in operator.outputs if index in twins
            ]
    return operators


def _rescaled(operators: list[Operator], tensors: list[Tensor]) -> list[Operator]:
    """The operators, with a TABLE for each input of a CONCATENATION that is not on its output's scale.

    Adds their tensors. TensorFlow has this form of CONCATENATION in uint8 only.
    """
    found: list[Operator] = []
    for operator in operators:
        if operator.kind == "CONCATENATION" and all(tensors[index].is_unsigned for index in operator.outputs):
            inputs = tuple(_on_scale_of_output(operator, index, tensors, found) for index in operator.inputs)
            found.append(replace(operator, inputs=inputs))
        else:
            found.append(operator)
    return found


def _on_scale_of_output(
    operator: Operator, index: int, tensors: list[Tensor], operators: list[Operator]
) -> int:
    """The number of an input on the scale of the output; adds what computes it if it is another tensor."""
    if index < 0 or len(operator.outputs) != 1:
        return index
    tensor, target = tensors[index], tensors[operator.outputs[0]].quantization
    table = rescaling_table(tensor.quantization, target)
    if table is None or tensor.quantization == target or not tensor.is_unsigned:
        return index
    name = f"{tensor.name}/for {operator.location}"
    entries, number = len(tensors), len(tensors) + 1
    tensors.append(Tensor(f"{name}/table", table.shape, "int8", target, table, is_unsigned=True))
    tensors.append(replace(tensor, name=name, quantization=target, data=None))
    operators.append(Operator(OWN_TABLE, (index, entries), (number,), {}, name))
    return number


def rescaling_table(source: Quantization | None, target: Quantization | None) -> NDArray[np.int8] | None:
    """What CONCATENATION of uint8 makes of -128 to 127, in float32 as TensorFlow's kernel; None where that is
    not defined. Both zero points are 128 lower than the model's."""
    if source is None or target is None or source.per_channel or target.per_channel:
        return None
    with np.errstate(all="ignore"):
        scale = np.float32(source.scale) * (np.float32(1) / np.float32(target.scale))
        bias = np.float32(-(source.zero_point + UNSIGNED_OFFSET)) * scale
        reals = (np.arange(256, dtype=np.float32) * scale + bias).astype(np.float64)
    if not (np.abs(reals) < MAX_REAL).all():
        return None
    rounded = np.trunc(reals + np.copysign(0.5, reals)) + target.zero_point
    return np.asarray(np.clip(rounded, -128, 127), np.int8)


def _renumbered(numbers: Sequence[int], twins: dict[int, int]) -> tuple[int, ...]:
    return tuple(twins.get(index, index) for index in numbers)


def _conversion(graph: Graph, source: int, target: int) -> Operator:
    name = graph.tensors[min(source, target)].name
    return Operator("QUANTIZE", (source,), (target,), {}, f"conversion of {name}")
