"""float32 between two conversions that depends on one 8-bit element only: a table of 256 elements.

TensorFlow's converter leaves operators that it has no int8 form of in float32, NEG in LayerNormalization for
one: DEQUANTIZE, NEG, QUANTIZE. A network of images as bytes begins with CAST, QUANTIZE. What that makes of
each 8-bit value is known beforehand.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dlasim.compiler_shim.network.folding import evaluate
from dlasim.compiler_shim.network.graph import Graph, Operator
from dlasim.compiler_shim.operators.host_calls import bind_known
from dlasim.dataclass import dataclass
from dlasim.errors import DlasimError

_BEGINNINGS = ("DEQUANTIZE", "CAST")
_BYTES = ("int8", "uint8")
_PARTS = frozenset(
    {
        "ABS",
        "CAST",
        "COS",
        "DEQUANTIZE",
        "EXP",
        "FLOOR",
        "LOG",
        "NEG",
        "ROUND",
        "RSQRT",
        "SIN",
        "SQRT",
        "SQUARE",
    }
)


@dataclass(frozen=True, slots=True)
class FloatTable:
    """A chain of operators: the 8-bit tensor that it begins with, what it makes of each value from the least
    on, and the operators before its last."""

    source: int
    table: NDArray[np.int8]
    before: tuple[Operator, ...]


def find_float_tables(graph: Graph) -> dict[str, FloatTable]:
    """Every such chain, by the location of its last operator."""
    uses = Counter(index for operator in graph.operators for index in operator.inputs) + Counter(
        graph.outputs
    )
    writers = {operator.outputs[0]: operator for operator in graph.operators}
    found: dict[str, FloatTable] = {}
    for operator in graph.operators:
        if operator.kind == "QUANTIZE" and graph.tensors[operator.outputs[0]].dtype == "int8":
            chain = [operator]
            while chain[0].kind not in _BEGINNINGS:
                writer = writers.get(chain[0].inputs[0])
                if writer is None or uses[writer.outputs[0]] != 1 or writer.kind not in _PARTS:
                    break
                chain.insert(0, writer)
            begins = chain[0].kind in _BEGINNINGS and chain[0] is not operator
            if begins and graph.tensors[chain[0].inputs[0]].dtype in _BYTES:
                table = _table(graph, chain)
                if table is not None:
                    found[operator.location] = FloatTable(chain[0].inputs[0], table, tuple(chain[:-1]))
    return found


def _table(graph: Graph, chain: list[Operator]) -> NDArray[np.int8] | None:
    """What the chain computes of each 8-bit value; None where the host lacks one of its operators."""
    limits = np.iinfo(graph.tensors[chain[0].inputs[0]].dtype)
    values: NDArray[Any] = np.arange(limits.min, limits.max + 1).astype(limits.dtype)
    for operator in chain:
        op = bind_known(operator, graph)
        source = replace(op.input(), shape=(256,), data=values)
        try:
            (values,) = evaluate(replace(op, inputs=(source,), outputs=(replace(op.output(), shape=(256,)),)))
        except DlasimError:
            return None
    return values.astype(np.int8)
