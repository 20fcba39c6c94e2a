"""Einsum of one or two tensors as the operators that it stands for: ReduceSum, Transpose, Reshape, MatMul."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import count
from typing import Any, NoReturn

import numpy as np

from dlasim.compiler_shim.network.graph import label
from dlasim.compiler_shim.onnx.onnx_reader import OnnxNode
from dlasim.compiler_shim.onnx.onnx_values import RefusedError

_EQUATION = re.compile(r"([A-Za-z]+)(?:,([A-Za-z]+))?(?:->([A-Za-z]*))?")


def without_einsum(nodes: Sequence[OnnxNode]) -> tuple[OnnxNode, ...]:
    """The nodes with each Einsum replaced that can be."""
    return tuple(part for node in nodes for part in _expanded(node))


def _expanded(node: OnnxNode) -> Sequence[OnnxNode]:
    found = _EQUATION.fullmatch(str(node.attributes.get("equation", "")).replace(" ", ""))
    if node.kind != "Einsum" or found is None or len(node.outputs) != 1:
        return [node]
    terms = [term for term in found.groups()[:2] if term is not None]
    result = found[3]
    if result is None:  # the letters that stand once, in their order
        whole = "".join(terms)
        result = "".join(letter for letter in sorted(set(whole)) if whole.count(letter) == 1)
    is_plain = all(len(set(term)) == len(term) for term in (*terms, result))
    if not is_plain or len(terms) != len(node.inputs) or not set(result) <= set("".join(terms)):
        return [node]
    return _Expansion(node).of(terms, result)


def refuse_einsum(_converter: object, node: OnnxNode) -> NoReturn:
    """One that could not be replaced."""
    raise RefusedError(
        "its equation must be of one or two tensors, with each letter once in each "
        f"(got {label(str(node.attributes.get('equation', '')))})"
    )


class _Expansion:
    """The nodes that replace one; sizes are computed from the shapes, which the importer knows."""

    def __init__(self, node: OnnxNode) -> None:
        self._node, self._nodes, self._numbers = node, list[OnnxNode](), count()

    def of(self, terms: Sequence[str], result: str) -> list[OnnxNode]:
        """All of them; the last writes the result."""
        names = list(self._node.inputs)
        kept = [set(result).union(*(term for other, term in enumerate(terms) if other != place))
                for place in range(len(terms))]  # fmt: skip
        pairs = [self._summed(*each) for each in zip(names, terms, kept, strict=True)]
        name, letters = pairs[0] if len(pairs) == 1 else self._product(pairs[0], pairs[-1], result)
        self._add("Identity", [self._moved(name, letters, result)], self._node.outputs[0])
        return self._nodes

    def _product(self, one: tuple[str, str], other: tuple[str, str], result: str) -> tuple[str, str]:
        shared = [letter for letter in one[1] if letter in other[1]]
        batch = "".join(letter for letter in shared if letter in result)
        inner = "".join(letter for letter in shared if letter not in result)
        left, right = ("".join(letter for letter in each[1] if letter not in shared) for each in (one, other))
        product = self._add("MatMul", [
            self._grouped(*one, (*batch, left, inner)), self._grouped(*other, (*batch, inner, right)),
        ])  # fmt: skip
        if len(left) != 1 or len(right) != 1:
            pairs = ((one, batch + left), (other, right))
            product = self._reshaped(product, [self._sizes(*each, some) for each, some in pairs if some])
        return product, batch + left + right

    def _grouped(self, name: str, letters: str, groups: Sequence[str]) -> str:
        """A tensor with a dimension for each group of letters, which may have none."""
        found = self._moved(name, letters, "".join(groups))
        if all(len(group) == 1 for group in groups):
            return found
        sizes = [self._sizes(name, letters, group) for group in groups]
        return self._reshaped(found, [self._add("ReduceProd", [size], keepdims=1) for size in sizes])

    def _sizes(self, name: str, letters: str, chosen: str) -> str:
        """The sizes of these letters; one of 1 where there are none, so that they have a product."""
        if not chosen:
            return self._constant([1])
        places = self._constant([letters.index(letter) for letter in chosen])
        return self._add("Gather", [self._add("Shape", [name]), places], axis=0)

    def _reshaped(self, name: str, sizes: Sequence[str]) -> str:
        shape = self._add("Concat", sizes, axis=0) if sizes else self._constant([])
        return self._add("Reshape", [name, shape])

    def _summed(self, name: str, letters: str, kept: set[str]) -> tuple[str, str]:
        axes = [place for place, letter in enumerate(letters) if letter not in kept]
        if not axes:
            return name, letters
        left = "".join(letter for letter in letters if letter in kept)
        return self._add("ReduceSum", [name, self._constant(axes)], keepdims=0), left

    def _moved(self, name: str, letters: str, order: str) -> str:
        if letters == order:
            return name
        return self._add("Transpose", [name], perm=[letters.index(letter) for letter in order])

    def _constant(self, numbers: Sequence[int]) -> str:
        return self._add("Constant", [], value=np.array(numbers, np.int64))

    def _add(self, kind: str, inputs: Sequence[str], name: str = "", **attributes: Any) -> str:
        found = name or f"{self._node.outputs[0]}/{next(self._numbers)}"
        self._nodes.append(OnnxNode(kind, tuple(inputs), (found,), attributes, self._node.name))
        return found
