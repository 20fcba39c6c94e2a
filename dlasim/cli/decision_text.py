"""Prints what the machines of a sweep or a search come to: the front, the winner, and the limits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dlasim.cli.terminal import say, say_table
from dlasim.sweeps.results.decision import broken_limits

if TYPE_CHECKING:
    from dlasim.sweeps.charts.data import Row
    from dlasim.sweeps.results.decision import Decision

SHOWN_MACHINES = 20


def print_decision(decision: Decision) -> None:
    """The machines of the front with what the goals are about, and the answer in words."""
    shown = decision.front[:SHOWN_MACHINES]
    if shown:
        measures = decision.shown
        lines = [["point", "machine", *(one.text for one in measures)]]
        lines += [
            [str(row["point"]), decision.name(row), *(decision.value(one, row) for one in measures)]
            for row in shown
        ]
        say_table(lines, "rl" + "r" * len(measures))
    more = len(decision.front) - len(shown)
    if more:
        say(f"and {more:,} more machines that no other beats")
    for sentence in decision.sentences():
        say(sentence)


def print_sensitivity(decision: Decision) -> None:
    """What one other value of a parameter makes of the winner."""
    winner, measures = decision.winner, decision.shown
    rows = []
    for name, row in decision.sensitivity():
        change = f"{name} {decision.parameter(name, winner)} → {decision.parameter(name, row)}"
        outside = "; ".join(sorted(broken_limits(row)))
        rows.append([change, *(_change(winner, row, one.name) for one in measures), outside])
    if rows:
        say_table(
            [["from the winner", *(one.text for one in measures), "outside"], *rows],
            "l" + "r" * len(measures) + "l",
        )


def _change(winner: Row | None, row: Row, name: str) -> str:
    if winner is None or not winner.get(name) or row.get(name) is None:
        return ""
    return f"{100 * (row[name] / winner[name] - 1):+.1f} %"


def print_explanation(decision: Decision) -> None:
    """What the machines of the front have in common, and what changes along it."""
    rows = [[name, text] for name, text in decision.explanation()]
    if rows:
        say_table([["parameter", "along the front"], *rows], "ll")
