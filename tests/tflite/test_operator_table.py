"""No row of the table of operators disagrees with itself or with another table."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from dlasim.compiler_shim.forms.dla_forms import DLA_FORMS
from dlasim.compiler_shim.operators.definition import CLASSES, NO_OPTIONS, OperatorDefinition, Options
from dlasim.compiler_shim.operators.fields import flag
from dlasim.compiler_shim.operators.table import OPERATORS, ROWS
from dlasim.isa import host_ops


def _check_rows(rows: Sequence[OperatorDefinition]) -> None:
    """Each row agrees with itself and with the tables that it refers to."""
    assert len({row.name for row in rows}) == len(rows), "two operators share a name"
    tables = {row.options.table: row.options for row in rows}
    for row in rows:
        assert row.options == tables[row.options.table], f"{row.options.table} has two descriptions"
        _check_forms(row)
        classes = set(re.sub(r"[ ?+>*-]", "", row.operands))
        assert classes <= CLASSES.keys(), f"{row.name}: {classes} are not all classes of operands"


def _check_forms(row: OperatorDefinition) -> None:
    """A row names host operators if and only if it can be lowered, and instructions that these can become."""
    assert bool(row.host) == (row.lower is not None), f"{row.name}: host operators, or no lowering"
    unknown = set(row.host) - host_ops.BY_NAME.keys()
    assert not unknown, f"{row.name}: no host operator is called {unknown}"
    possible = {name for host in row.host if host in DLA_FORMS for name in DLA_FORMS[host].mnemonics}
    assert set(row.dla) <= possible, f"{row.name}: its host operators do not become {row.dla}"


def test_the_rows_agree() -> None:
    _check_rows(ROWS)


@pytest.mark.parametrize(
    ("kind", "changes", "message"),
    [
        ("ADD", {"name": "SUB"}, "two operators share a name"),
        ("ADD", {"host": ("ADDITION",)}, "no host operator is called {'ADDITION'}"),
        ("ADD", {"lower": None}, "ADD: host operators, or no lowering"),
        ("SHAPE", {"host": ("LUT",)}, "SHAPE: host operators, or no lowering"),
        ("FLOOR", {"dla": ("OP_POOL",)}, "FLOOR: its host operators do not become"),
        ("ADD", {"dla": ("OP_SOFTMAX",)}, "ADD: its host operators do not become"),
        ("MEAN", {"operands": "q k -> q"}, "MEAN: .* are not all classes of operands"),
        ("MAX_POOL_2D", {"options": Options("Pool2DOptions", (flag("wrong"),))}, "has two descriptions"),
    ],
)
def test_a_row_that_disagrees_is_named(kind: str, changes: dict[str, Any], message: str) -> None:
    rows = [replace(row, **changes) if row.name == kind else row for row in ROWS]
    with pytest.raises(AssertionError, match=message):
        _check_rows(rows)


def test_options_left_out_mean_what_tensorflow_means() -> None:
    assert OPERATORS["CONV_2D"].option_defaults["padding"] == "SAME"
    assert OPERATORS["CONV_2D"].option_defaults["fused_activation_function"] == "NONE"
    assert OPERATORS["SOFTMAX"].option_defaults["beta"] == 1.0
    assert OPERATORS["RESHAPE"].option_defaults["new_shape"] == ()
    assert OPERATORS["RELU"].options == NO_OPTIONS
    assert OPERATORS["RELU"].option_defaults == {}


def test_classes_of_operands_are_given_for_each() -> None:
    assert OPERATORS["CONCATENATION"].signature.classes(3, 1) == ["x"] * 4
    assert OPERATORS["SPLIT"].signature.classes(2, 3) == ["i", "x", "x", "x", "x"]
    assert CLASSES["q"] == ("int8",)
