"""The table of operators refuses to load where a row disagrees with itself or with another table."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from dlasim.compiler_shim.operators.definition import CLASSES, NO_OPTIONS, Options
from dlasim.compiler_shim.operators.fields import flag
from dlasim.compiler_shim.operators.table import OPERATORS, ROWS, by_name


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
        by_name(rows)


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
