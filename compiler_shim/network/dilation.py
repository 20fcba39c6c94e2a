"""Dilated convolutions as TensorFlow's converter spells them, put back together.

Where shapes are dynamic, SPACE_TO_BATCH_ND sorts the pixels into a batch of images, a convolution without
dilation runs over these, and BATCH_TO_SPACE_ND sorts its results back. That is PAD, then one convolution with
dilation: the same sums of the same products.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dlasim.compiler_shim.network.graph import Graph, Operator, Tensor
from dlasim.compiler_shim.operators.definition import Trait
from dlasim.compiler_shim.operators.table import has_trait


def fold_dilation(graph: Graph) -> Graph:
    """The graph with every such triple as PAD and convolution; new tensors come after those of the file."""
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
