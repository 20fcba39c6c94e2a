"""uint8 networks as int8 ones: every number is 128 lower, and so is its zero point.

Real values stay the same, and so does every result that depends on differences to zero points. Weights get a
zero point other than 0. An operator whose uint8 form rounds in its own way looks at `Tensor.is_unsigned`.
Inputs and outputs of the model stay uint8; a QUANTIZE converts them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dlasim.compiler_shim.graph import Graph, Operator, Quantization, Tensor

OFFSET = 128
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
    return replace(graph, tensors=tuple(tensors), operators=tuple(_with_conversions(graph, twins)))


def to_unsigned(graph: Graph) -> Graph:
    """The graph with uint8 again for what `to_signed` made int8."""
    return replace(graph, tensors=tuple(restored(tensor) for tensor in graph.tensors))


def restored(tensor: Tensor) -> Tensor:
    """The tensor with uint8 again."""
    if not tensor.is_unsigned:
        return tensor
    data = None if tensor.data is None else flipped(tensor.data)
    quantization = _moved(tensor.quantization, OFFSET)
    return replace(tensor, dtype="uint8", quantization=quantization, data=data, is_unsigned=False)


def flipped(values: NDArray[Any]) -> NDArray[Any]:
    """uint8 as int8 that are 128 lower, or the way back: of a byte the top bit changes."""
    target = np.int8 if values.dtype == np.uint8 else np.uint8
    return (np.ascontiguousarray(values).view(np.uint8) ^ np.uint8(OFFSET)).view(target)


def _is_quantized(tensor: Tensor) -> bool:
    return tensor.dtype == "uint8" and tensor.quantization is not None


def _lowered(tensor: Tensor) -> Tensor:
    data = None if tensor.data is None else flipped(tensor.data)
    quantization = _moved(tensor.quantization, -OFFSET)
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


def _renumbered(numbers: Sequence[int], twins: dict[int, int]) -> tuple[int, ...]:
    return tuple(twins.get(index, index) for index in numbers)


def _conversion(graph: Graph, source: int, target: int) -> Operator:
    name = graph.tensors[min(source, target)].name
    return Operator("QUANTIZE", (source,), (target,), {}, f"conversion of {name}")
