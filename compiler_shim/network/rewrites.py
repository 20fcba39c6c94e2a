"""Rewrites of a network that was read, which leave what it computes as it is."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dlasim.compiler_shim.network.graph import Graph, Operator, Tensor
from dlasim.compiler_shim.operators.definition import Trait
from dlasim.compiler_shim.operators.table import has_trait
from dlasim.compiler_shim.tflite.writer import variable_tensors

_FLAGS = ("adj_x", "adj_y")
_PICKS = frozenset(
    {"EXPAND_DIMS", "RESHAPE", "SLICE", "SPLIT", "SPLIT_V", "SQUEEZE", "STRIDED_SLICE", "TRANSPOSE", "UNPACK"}
)


def fold_transposes(graph: Graph) -> Graph:
    """The graph with the other form of such products; new tensors come after those of the file.

    A TRANSPOSE that only makes an operand a transposed one goes: BATCH_MATMUL takes either form. On the DLA
    the depth of an operand must be its last dimension; where that is so before a TRANSPOSE but not after it,
    the TRANSPOSE leaves the last two dimensions as they are instead.
    """
    uses = Counter(index for operator in graph.operators for index in operator.inputs) + Counter(
        graph.outputs
    )
    writers = {operator.outputs[0]: operator for operator in graph.operators if operator.kind == "TRANSPOSE"}
    tensors = list(graph.tensors)
    replaced: dict[int, Operator] = {}
    for operator in graph.operators:
        if operator.kind != "BATCH_MATMUL":
            continue
        inputs, options = list(operator.inputs), dict(operator.options)
        for position, flag in enumerate(_FLAGS):
            writer = writers.get(inputs[position])
            is_deep_last = bool(options.get(flag, False)) == bool(position)
            if writer is None or is_deep_last or uses[inputs[position]] != 1:
                continue
            found = _kept(tensors, writer)
            if found is not None:
                replaced[id(writer)] = found
                inputs[position], options[flag] = found.outputs[0], not options.get(flag, False)
        if tuple(inputs) != operator.inputs:
            replaced[id(operator)] = replace(operator, inputs=tuple(inputs), options=options)
    if not replaced:
        return graph
    operators = tuple(replaced.get(id(operator), operator) for operator in graph.operators)
    return replace(graph, tensors=tuple(tensors), operators=operators)


def _kept(tensors: list[Tensor], writer: Operator) -> Operator | None:
    """The TRANSPOSE without its change of the last two dimensions, if that leaves the last where it is."""
    order, result = tensors[writer.inputs[1]].data, tensors[writer.outputs[0]]
    rank = len(result.shape)
    if order is None or rank < 2:
        return None
    axes = [int(axis) % rank for axis in order.ravel()]
    if axes[-2] != rank - 1:
        return None
    axes[-2:] = axes[:-3:-1]
    shape = (*result.shape[:-2], result.shape[-1], result.shape[-2])
    tensors.append(Tensor(f"{result.name}/order", (rank,), "int32", None, np.array(axes, np.int32)))
    tensors.append(replace(result, name=f"{result.name}/kept", shape=shape))
    return replace(writer, inputs=(writer.inputs[0], len(tensors) - 2), outputs=(len(tensors) - 1,))


def separate_states(graph: Graph) -> Graph:
    """The graph with a tensor of its own for the new value of each variable, behind those of the file.

    In the file, a variable is one buffer: an operator may read what the inference before left in it, and a
    later one overwrite it. No pass after this needs to know of that order: within an inference a variable
    keeps its old value, and the last operators copy the new one. SVDF alone updates in place.
    """
    written = {index for operator in graph.operators for index in operator.outputs}
    states = sorted(variable_tensors(graph) & written)
    if not states:
        return graph
    new = {state: len(graph.tensors) + position for position, state in enumerate(states)}
    tensors = [replace(graph.tensors[state], name=f"{graph.tensors[state].name}/next") for state in states]
    operators, current = [], dict[int, int]()
    for operator in graph.operators:
        inputs = tuple(current.get(index, index) for index in operator.inputs)
        current |= {index: new[index] for index in operator.outputs if index in new}
        outputs = tuple(new.get(index, index) for index in operator.outputs)
        operators.append(replace(operator, inputs=inputs, outputs=outputs))
    operators += [_copy(graph, state, new[state]) for state in states]
    outputs = tuple(new.get(index, index) for index in graph.outputs)
    return replace(graph, tensors=(*graph.tensors, *tensors), operators=tuple(operators), outputs=outputs)


def _copy(graph: Graph, state: int, source: int) -> Operator:
    shape = graph.tensors[state].shape
    return Operator("RESHAPE", (source,), (state,), {"new_shape": shape}, f"update of variable {state}")


def fold_dilation(graph: Graph) -> Graph:
    """The graph with every such triple as PAD and convolution; new tensors come after those of the file.

    Where shapes are dynamic, TensorFlow's converter has SPACE_TO_BATCH_ND sort the pixels into a batch of
    images, runs a convolution without dilation over these, and has BATCH_TO_SPACE_ND sort its results back.
    That is PAD, then one convolution with dilation: the same sums of the same products.
    """
    tensors = list(graph.tensors)
    uses = Counter(index for operator in graph.operators for index in operator.inputs)
    uses.update(graph.outputs)
    readers = {
        index: operator for operator in graph.operators for index in operator.inputs if uses[index] == 1
    }
    replaced: dict[str, Operator | None] = {}
    for operator in graph.operators:
        if operator.kind != "SPACE_TO_BATCH_ND":
            continue
        convolution = readers.get(operator.outputs[0])
        back = readers.get(convolution.outputs[0]) if convolution is not None else None
        if convolution is None or back is None:
            continue
        amounts = _padding(tensors, operator, convolution, back)
        if amounts is not None:
            pad = _pad(tensors, operator, amounts)
            block = _constant(tensors, operator, 1)
            assert block is not None
            replaced[operator.location] = pad
            replaced[convolution.location] = replace(
                convolution,
                inputs=(pad.outputs[0], *convolution.inputs[1:]),
                outputs=back.outputs,
                options=dict(convolution.options)
                | {"dilation_h_factor": int(block[0]), "dilation_w_factor": int(block[1])},
            )
            replaced[back.location] = None
    operators = (replaced.get(operator.location, operator) for operator in graph.operators)
    return replace(
        graph, tensors=tuple(tensors), operators=tuple(operator for operator in operators if operator)
    )


def _padding(
    tensors: list[Tensor], there: Operator, convolution: Operator, back: Operator
) -> NDArray[np.int32] | None:
    """What PAD has to add, [height, width] by [before, after]; None where the three are something else."""
    block, paddings = _constant(tensors, there, 1), _constant(tensors, there, 2)
    again, crops = _constant(tensors, back, 1), _constant(tensors, back, 2)
    source, result = tensors[there.inputs[0]], tensors[back.outputs[0]]
    options = convolution.options
    if (
        not has_trait(convolution.kind, Trait.CONVOLVES)
        or back.kind != "BATCH_TO_SPACE_ND"
        or convolution.inputs[0] != there.outputs[0]
        or back.inputs[0] != convolution.outputs[0]
        or options.get("padding") != "VALID"
        or any(options.get(name, 1) != 1 for name in ("stride_h", "stride_w"))
        or any(options.get(f"dilation_{side}_factor", 1) != 1 for side in "hw")
        or block is None or paddings is None or again is None or crops is None
        or block.shape != (2,) or paddings.shape != (2, 2) or crops.shape != (2, 2)
        or not np.array_equal(block, again) or (block < 1).any() or (paddings < 0).any()
        or crops[:, 0].any() or len(source.shape) != 4 or len(result.shape) != 4
        or source.quantization != tensors[there.outputs[0]].quantization
    ):  # fmt: skip
        return None
    kernel = tensors[convolution.inputs[1]].shape[1:3]
    reach = (np.array(kernel) - 1) * block
    before = paddings[:, 0]
    # Of the rows added at the end those that only fill up the last block are cropped again.
    after = np.array(result.shape[1:3]) + reach - np.array(source.shape[1:3]) - before
    if (after < 0).any() or (after != paddings[:, 1] - crops[:, 1]).any():
        return None
    return np.stack([before, after], axis=1).astype(np.int32)


def _constant(tensors: list[Tensor], operator: Operator, position: int) -> NDArray[Any] | None:
    if position >= len(operator.inputs) or operator.inputs[position] < 0:
        return None
    return tensors[operator.inputs[position]].data


def _pad(tensors: list[Tensor], operator: Operator, amounts: NDArray[np.int32]) -> Operator:
    source = tensors[operator.inputs[0]]
    paddings = np.zeros((4, 2), np.int32)
    paddings[1:3] = amounts
    shape = tuple(int(size + sum(pair)) for size, pair in zip(source.shape, paddings, strict=True))
    name = tensors[operator.outputs[0]].name
    tensors.append(Tensor(f"{name}/paddings", (4, 2), "int32", None, paddings))
    tensors.append(Tensor(f"{name}/padded", shape, source.dtype, source.quantization))
    inputs = (operator.inputs[0], len(tensors) - 2)
    return Operator("PAD", inputs, (len(tensors) - 1,), {}, operator.location)


def sink_conversions(graph: Graph) -> Graph:
    """The graph with such a DEQUANTIZE at each QUANTIZE of its result; new tensors come last.

    TensorFlow's converter leaves the SPLIT of an unrolled GRU in float32, between DEQUANTIZE and QUANTIZE.
    Behind the SPLIT the same DEQUANTIZE and a QUANTIZE are a table of 256 elements: see `float_tables`.
    """
    return _Sinking(graph).run()


class _Sinking:
    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._tensors = list(graph.tensors)
        self._readers = graph.readers()
        self._converted: dict[int, int] = {}  # the int8 tensor that a float32 one comes from

    def run(self) -> Graph:
        """Operators keep their order; each QUANTIZE gets the DEQUANTIZE that it needs."""
        operators: list[Operator] = []
        for operator in self._graph.operators:
            sources = [number for number in operator.inputs if number in self._converted]
            if operator.kind == "DEQUANTIZE" and self._can_sink(operator):
                self._converted[operator.outputs[0]] = operator.inputs[0]
            elif not sources:
                operators.append(operator)
            elif operator.kind == "QUANTIZE":
                operators += self._converting(operator, sources[0])
            else:
                operators.append(self._in_int8(operator, sources[0]))
        if not self._converted:
            return self._graph
        return replace(self._graph, tensors=tuple(self._tensors), operators=tuple(operators))

    def _can_sink(self, operator: Operator) -> bool:
        """Whether all that reads the result picks elements, at least once, for a QUANTIZE to int8."""
        source, result = operator.inputs[0], operator.outputs[0]
        if self._tensors[source].dtype != "int8" or self._tensors[source].is_constant:
            return False
        readers = self._readers[result]
        return any(reader.kind != "QUANTIZE" for reader in readers) and self._is_only_picked(result)

    def _is_only_picked(self, number: int) -> bool:
        if number in self._graph.outputs:
            return False
        return all(
            self._tensors[reader.outputs[0]].dtype == "int8"
            if reader.kind == "QUANTIZE"
            else reader.kind in _PICKS and all(self._is_only_picked(result) for result in reader.outputs)
            for reader in self._readers[number]
        )

    def _in_int8(self, operator: Operator, source: int) -> Operator:
        """The same operator on the int8 tensor."""
        picked = self._tensors[self._converted[source]]
        outputs = tuple(
            self._add(replace(picked, name=f"{result.name}/int8", shape=result.shape))
            for result in (self._tensors[number] for number in operator.outputs)
        )
        self._converted |= zip(operator.outputs, outputs, strict=True)
        inputs = tuple(self._converted[source] if number == source else number for number in operator.inputs)
        return replace(operator, inputs=inputs, outputs=outputs)

    def _converting(self, quantize: Operator, source: int) -> tuple[Operator, Operator]:
        number = self._add(replace(self._tensors[source], name=f"{self._tensors[source].name}/float"))
        dequantize = Operator(
            "DEQUANTIZE", (self._converted[source],), (number,), location=f"before {quantize.location}"
        )
        return dequantize, replace(quantize, inputs=(number,))

    def _add(self, tensor: Tensor) -> int:
        self._tensors.append(tensor)
        return len(self._tensors) - 1
