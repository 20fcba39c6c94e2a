"""Gives a language model that takes several tokens at once the weights and scales of one that takes one."""

from __future__ import annotations

from dataclasses import replace

from dlasim.compiler_shim.network.graph import Graph, Tensor

_MOVES = "RESHAPE", "TRANSPOSE", "SLICE"  # which keep the scale of what they move


def with_numbers_of(model: Graph, other: Graph) -> Graph:
    """The model with the data and scales of the tensors that have the same names in another one; what it
    moves besides these keeps its scale."""
    known = {tensor.name: tensor for tensor in other.tensors if tensor.quantization is not None}
    tensors = [_like(tensor, known.get(tensor.name)) for tensor in model.tensors]
    for operator in model.operators:
        (output,) = operator.outputs
        if operator.kind in _MOVES and tensors[output].name not in known:
            scale = tensors[operator.inputs[0]].quantization
            tensors[output] = replace(tensors[output], quantization=scale)
    return replace(model, tensors=tuple(tensors))


def _like(tensor: Tensor, known: Tensor | None) -> Tensor:
    if known is None:
        return tensor
    return replace(tensor, quantization=known.quantization, data=known.data)
