"""Tries seeds in several processes; a journal keeps each result, so that a long run can be stopped and go on.

A result is a line of the journal, and what stands there is not tried again.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

Row = dict[str, str | int]
Rows = Callable[[list[int]], list[Row]]
_OUT = Path(__file__).resolve().parent.parent / "out"


def seed_arguments(
    description: str | None, what: str, count: int, first: int, name: str
) -> argparse.Namespace:
    """The options of a tool that tries so many of `what`; its journal is called by its name."""
    parser = argparse.ArgumentParser(description=(description or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=count, help=f"how many {what}")
    parser.add_argument("--first", type=int, default=first, help="the first seed")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes")
    parser.add_argument("--journal", type=Path, default=_OUT / f"{name}.jsonl")
    parser.add_argument("--minutes", type=float, default=0, help="stop after this long; go on the next time")
    return parser.parse_args()


def try_seeds(
    arguments: argparse.Namespace,
    try_batch: Rows,
    batch: int,
    problem: Callable[[Row], str],
    is_current: Callable[[Row], bool] = lambda row: True,
) -> list[Row]:
    """The results that the journal has in the end; `try_batch` gives those of so many seeds in a process.

    `problem` says what is wrong with a result, if anything; what is not current is tried again.
    """
    arguments.journal.parent.mkdir(parents=True, exist_ok=True)
    done = {int(row["seed"]): row for row in _read(arguments.journal) if is_current(row)}
    seeds = range(arguments.first, arguments.first + arguments.count)
    left = [seed for seed in seeds if seed not in done]
    deadline = time.monotonic() + 60 * arguments.minutes if arguments.minutes else float("inf")
    with arguments.journal.open("a", encoding="utf-8") as file:
        if _is_cut(arguments.journal):
            print(file=file)  # the next result gets a line of its own
        for row in _tried(left, try_batch, batch, arguments.jobs, deadline):
            done[int(row["seed"])] = row
            print(json.dumps(row), file=file, flush=True)
            if problem(row):
                print(problem(row), file=sys.stderr)
    return [done[seed] for seed in seeds if seed in done]


def failure_of(row: Row) -> str:
    """What is wrong with a result that says its failure."""
    return f"seed {row['seed']}: {row['failure']}" if row["failure"] else ""


def list_problems(rows: Sequence[Row], problem: Callable[[Row], str]) -> int:
    """Print what is wrong; the exit code."""
    found = [problem(row) for row in rows if problem(row)]
    for line in found:
        print(line)
    return 1 if found else 0


def _read(journal: Path) -> Iterator[Row]:
    """The lines of a journal; one that was cut off is left out."""
    for line in journal.read_text(encoding="utf-8").splitlines() if journal.exists() else ():
        try:
            yield json.loads(line)
        except json.JSONDecodeError:
            continue


def _is_cut(journal: Path) -> bool:
    """Whether the last line lacks its end: the run that wrote it was killed."""
    return not journal.read_bytes().endswith(b"\n") and journal.stat().st_size > 0


def _tried(seeds: list[int], try_batch: Rows, batch: int, jobs: int, deadline: float) -> Iterator[Row]:
    batches = [seeds[at : at + batch] for at in range(0, len(seeds), batch)]
    with ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn")) as pool:
        for first in range(0, len(batches), jobs):
            if time.monotonic() > deadline:
                return
            for rows in pool.map(try_batch, batches[first : first + jobs]):
                yield from rows
