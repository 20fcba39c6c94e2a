"""Tables fit the terminal, and what does not fit in a line follows below it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import pytest

from dlasim.rows.tables import fitted_table, table
from tests.terminal_output import run_in_terminal

ROWS = [
    ["layer", "cycles", "why"],
    ["conv_0", "12", "the DLA is estimated to be faster than the CPU"],
    ["softmax", "3", ""],
]


def test_a_wide_table_folds_its_last_columns() -> None:
    assert fitted_table(ROWS, "lrl", None) == fitted_table(ROWS, "lrl", 200) == table(ROWS, "lrl")
    assert fitted_table(ROWS, "lrl", 30).splitlines() == [
        "layer    cycles",
        "───────  ──────",
        "conv_0       12",
        "    why the DLA is estimated",
        "    to be faster than the CPU",
        "softmax       3",
    ]


def lines_on_a_terminal(arguments: str, columns: int) -> list[str]:
    environment = {key: value for key, value in os.environ.items() if key != "COLUMNS"}
    command = [sys.executable, "-P", "-m", "dlasim", *arguments.split()]
    shown = run_in_terminal(command, ("stdin", "stdout"), environment, columns)
    lines = re.sub(r"\x1b\[\d*m|\r", "", shown.decode()).splitlines()  # without colours
    assert max(map(len, lines)) <= columns
    return lines


@pytest.mark.parametrize(
    ("arguments", "last"),
    [
        ("run resnet8 --timing-only", "this run"),
        ("run x --preset list", "VTA in its default"),
        ("model --list", "--tokens"),
        ("sweep --list", "virtual prototype"),
        ("doctor", "with it)"),
    ],
)
def test_tables_fit_a_terminal_of_80_columns(arguments: str, last: str) -> None:
    assert last in " ".join(lines_on_a_terminal(arguments, 80)[-3:])


def test_explain_fits_the_terminal() -> None:
    for columns in (60, 100):
        lines = lines_on_a_terminal("explain mnist", columns)
        rows = lines[: lines.index("")]
        assert "on the CPU" in " ".join(" ".join(rows).split())


def test_explain_in_a_pipe_has_a_line_for_each_layer() -> None:
    command = [sys.executable, "-P", "-m", "dlasim", "explain", "mnist"]
    plain = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    printed = subprocess.run([*command, "--json"], capture_output=True, text=True, check=True).stdout
    assert plain.split("\n\n")[0].count("\n") == len(json.loads(printed)) + 1
