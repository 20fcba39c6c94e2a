"""The table of TFLite operators: all that dlasim knows of one stands in its row.

The rows are in four files, by what an operator does. The two functions that a row names are side by side in
the module of its family: the shapes of its outputs, and its calls of host operators. `isa/host_ops.py` says
what these compute, `dla_forms.py` which of them the DLA runs. Loading the table checks that a row names
nothing that does not exist.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from dlasim.compiler_shim.forms.dla_forms import DLA_FORMS
from dlasim.compiler_shim.operators import elementwise_rows, lookup_rows, movement_rows, reducing_rows
from dlasim.compiler_shim.operators.definition import CLASSES, OperatorDefinition, Trait
from dlasim.isa import host_ops

CUSTOM_NAMES = {
    lookup_rows.OWN_TABLE: "dlasim.TABLE",
    reducing_rows.OWN_NORMALIZATION: "dlasim.NORMALIZATION",
    "DETECTION_POSTPROCESS": "TFLite_Detection_PostProcess",
}
_FAMILIES = (elementwise_rows, lookup_rows, movement_rows, reducing_rows)


def by_name(rows: Sequence[OperatorDefinition]) -> Mapping[str, OperatorDefinition]:
    """The rows by name, once each is known to agree with itself and with the tables that it refers to."""
    named = {row.name: row for row in rows}
    assert len(named) == len(rows), "two operators share a name"
    tables = {row.options.table: row.options for row in rows}
    for row in rows:
        assert row.options == tables[row.options.table], f"{row.options.table} has two descriptions"
        _check_forms(row)
        classes = set(re.sub(r"[ ?+>*-]", "", row.operands))
        assert classes <= CLASSES.keys(), f"{row.name}: {classes} are not all classes of operands"
    return named


def _check_forms(row: OperatorDefinition) -> None:
    """A row names host operators if and only if it can be lowered, and instructions that these can become."""
    assert bool(row.host) == (row.lower is not None), f"{row.name}: host operators, or no lowering"
    unknown = set(row.host) - host_ops.BY_NAME.keys()
    assert not unknown, f"{row.name}: no host operator is called {unknown}"
    possible = {name for host in row.host if host in DLA_FORMS for name in DLA_FORMS[host].mnemonics}
    assert set(row.dla) <= possible, f"{row.name}: its host operators do not become {row.dla}"


ROWS = sorted((row for family in _FAMILIES for row in family.ROWS), key=lambda row: row.name)
OPERATORS = by_name(ROWS)


def has_trait(kind: str, traits: Trait) -> bool:
    """Whether an operator is known, and has one of these traits at least."""
    return kind in OPERATORS and bool(OPERATORS[kind].traits & traits)
