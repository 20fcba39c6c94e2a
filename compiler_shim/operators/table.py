"""The table of TFLite operators: all that dlasim knows of one stands in its row.

The rows are in four files, by what an operator does. The two functions that a row names are side by side in
the module of its family: the shapes of its outputs, and its calls of host operators. `isa/host_ops.py` says
what these compute, `dla_forms.py` which of them the DLA runs. Tests check that a row names nothing
that does not exist.
"""

from __future__ import annotations

from collections.abc import Mapping

from dlasim.compiler_shim.operators import elementwise_rows, lookup_rows, movement_rows, reducing_rows
from dlasim.compiler_shim.operators.definition import OperatorDefinition, Trait

CUSTOM_NAMES = {
    lookup_rows.OWN_TABLE: "dlasim.TABLE",
    reducing_rows.OWN_NORMALIZATION: "dlasim.NORMALIZATION",
    "DETECTION_POSTPROCESS": "TFLite_Detection_PostProcess",
}
_FAMILIES = (elementwise_rows, lookup_rows, movement_rows, reducing_rows)

ROWS = sorted((row for family in _FAMILIES for row in family.ROWS), key=lambda row: row.name)
OPERATORS: Mapping[str, OperatorDefinition] = {row.name: row for row in ROWS}


def has_trait(kind: str, traits: Trait) -> bool:
    """Whether an operator is known, and has one of these traits at least."""
    return kind in OPERATORS and bool(OPERATORS[kind].traits & traits)
