"""tools/seed_journal.py: what the journal has is not tried again; what was cut off, or is out of date, is."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import pytest

from tests.tool_module import tool_module

journal_module = tool_module("seed_journal")


def squares(seeds: list[int]) -> list[dict[str, str | int]]:
    return [{"seed": seed, "square": seed * seed, "failure": "odd" if seed % 2 else ""} for seed in seeds]


def problem(row: dict[str, str | int]) -> str:
    return f"seed {row['seed']}: {row['failure']}" if row["failure"] else ""


def test_a_run_goes_on_where_it_stopped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    journal = tmp_path / "new" / "journal.jsonl"
    journal.parent.mkdir()
    kept = {"seed": 4, "square": -1, "failure": ""}
    old = {"seed": 5, "square": -2, "failure": ""}
    journal.write_text(f"{json.dumps(kept)}\n{json.dumps(old)}\n" + '{"seed": 6, "squ\n')
    arguments = argparse.Namespace(first=3, count=5, jobs=1, journal=journal, minutes=0)
    rows = journal_module.try_seeds(arguments, squares, 2, problem, lambda row: row["square"] != -2)
    assert [row["square"] for row in rows] == [9, -1, 25, 36, 49]
    assert capsys.readouterr().err.splitlines() == ["seed 3: odd", "seed 5: odd", "seed 7: odd"]
    again = journal_module.try_seeds(arguments, None, 2, problem)
    assert again == rows
    assert journal_module.list_problems(rows, problem) == 1
    assert journal_module.list_problems(rows[1:2], problem) == 0


@pytest.mark.parametrize("end", ['{"seed": 5, "squ', '{"seed": 5, "square": 25, "failure": ""}', ""])
def test_a_cut_line_costs_only_itself(tmp_path: Path, end: str) -> None:
    """A run was killed while it wrote seed 5; of what the next run writes nothing is tried again."""
    journal = tmp_path / "journal.jsonl"
    journal.write_text(json.dumps({"seed": 4, "square": 16, "failure": ""}) + "\n" + end)
    arguments = argparse.Namespace(first=4, count=4, jobs=1, journal=journal, minutes=0)
    rows = journal_module.try_seeds(arguments, squares, 2, problem)
    assert [row["square"] for row in rows] == [16, 25, 36, 49]
    assert journal_module.try_seeds(arguments, None, 2, problem) == rows


def test_time_is_limited(tmp_path: Path) -> None:
    arguments = argparse.Namespace(first=0, count=5, jobs=1, journal=tmp_path / "j.jsonl", minutes=1e-9)
    assert journal_module.try_seeds(arguments, squares, 1, problem) == []
