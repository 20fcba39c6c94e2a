"""`dlasim sweep`: runs models on many machines and writes one table."""

from __future__ import annotations

import heapq
import json
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from dlasim.cli.config_options import assume_option
from dlasim.cli.help_sections import SectionedCommand
from dlasim.cli.study_options import (
    flags_of,
    folder_name,
    given_axes,
    goals_of,
    run_options,
    settings_of,
    space_options,
)
from dlasim.cli.terminal import say
from dlasim.errors import counted
from dlasim.rows.tables import size, table
from dlasim.sweeps.charts.measures import describe
from dlasim.sweeps.results.decision import Decision
from dlasim.system import interrupts

if TYPE_CHECKING:
    from dlasim.sweeps.definition.study import Study
    from dlasim.sweeps.evaluation.sweep import Outcome
    from dlasim.sweeps.results.sweep_result import SweepResult

_EPILOG = """\b
Examples:
  dlasim sweep mobilenet_v1 --pes 64,128 --sram 512KiB,1MiB --parallel input,output
  dlasim sweep model.tflite --sram 64KiB..256MiB --pes 16..256:16
  dlasim sweep a.tflite b.tflite --preset nvdla-small,ethos-u55-128 --set mac_fill=0,8 --layers
  dlasim sweep study.toml --jobs 8 --out results
  dlasim sweep mobilenet_v2@10 resnet8@20 --pes 64,128 --limit 'energy < 2mJ' --minimize area
  dlasim sweep paper
  dlasim sweep --list
\b
VALUES: 64,128 is a list, 16..256:16 counts in steps of 16, 64KiB..1MiB doubles, 1..81:*3 triples.
MODEL is a file or a built-in network (see `dlasim model --list`), optionally with arguments as in
mobilenet_v1:alpha=0.5, and with inferences per second as in resnet8@10. Finished points are stored in
DIR/cache; a repeated sweep continues from there.
"""
SHOWN_POINTS = 20
MIN_OF_A_MODEL = 3  # however many models
_IN_LABEL = frozenset(("pes", "parallel", "sram_bytes"))  # which the column `machine` has
_SHOWN_COLUMNS = (
    "case", "model", "label", "clock_mhz", "status", "cycles_total", "milliseconds", "cycles_dla",
    "cycles_stall", "utilization", "dma_read_bytes", "dma_write_bytes",
)  # fmt: skip


@click.command("sweep", cls=SectionedCommand, epilog=_EPILOG)
@click.argument("targets", metavar="MODEL…|STUDY", nargs=-1)
@click.option("--list", "as_list", is_flag=True, help="List the built-in studies.")
@click.option("--json", "as_json", is_flag=True, help="Print the rows, or the list, as JSON.")
@space_options
@click.option(
    "--layers", is_flag=True, help="Also write DIR/layers.csv with a row for each layer of each point."
)
@run_options("sweep")
@assume_option
def command(targets: tuple[str, ...], **given: Any) -> None:
    """Run MODELs, or a STUDY (a TOML file or a predefined one), on many machines; write DIR/results.csv.

    Every parameter takes several values. The table has a row for each combination; if one cannot run, its
    row says why.
    """
    if given["as_list"]:
        _list_studies(given["as_json"])
        return
    if not targets:
        raise click.UsageError("MODEL or STUDY is missing; `dlasim sweep --list` lists the built-in studies")
    axes = given_axes(given)
    from dlasim.cli.decision_text import print_decision
    from dlasim.cli.sweep import print_points
    from dlasim.errors import RunError
    from dlasim.sweeps.definition.study_builder import build_study, find_contradictions
    from dlasim.sweeps.evaluation.sweep import run_study
    from dlasim.sweeps.results.decision import Decision
    from dlasim.sweeps.results.study_outputs import write_outputs

    flags = flags_of(axes, given["config_file"])
    goals = goals_of(given)
    study = build_study(targets, axes, given["where"], given["layers"], flags, goals)
    if given["assume_int8"]:
        from dlasim.compiler_shim.options import ESTIMATE

        study = replace(study, models=tuple(model.assumed() for model in study.models))
        say(f"dlasim: warning: {ESTIMATE}", err=True)
    if note := find_contradictions(study, flags).note:
        say(f"dlasim: warning: {note}", err=True)
    settings = settings_of(given, f"{folder_name(study.name)}-sweep")
    with interrupts.terminations():
        outcome = run_study(study, settings)
    if given["as_json"]:
        say(json.dumps(list(outcome.result.rows()), indent=2))
    elif study.all_goals:
        print_decision(Decision(outcome.result))
    else:
        print_points(outcome.result, study)
    _print_outcome(study, outcome)
    if not outcome.statuses["ok"] and not outcome.first_failure:
        points = counted(outcome.points, "point")
        raise RunError(f"none of {points} can run; the first: {outcome.first_refusal}")
    missing: dict[str, str] = {}
    for path in write_outputs(study, outcome.result, missing):
        say(f"wrote {path}", err=True)
    for name, why in missing.items():
        say(f"left out {name}: {why}", err=True)
    if outcome.first_failure:
        raise RunError(f"{outcome.statuses['failed']} points failed; the first: {outcome.first_failure}")


def _list_studies(as_json: bool) -> None:
    from dlasim.rows.tables import table
    from dlasim.sweeps.definition.study_builder import shipped_names, shipped_study

    studies = [(name, shipped_study(name)) for name in shipped_names()]
    if as_json:
        summaries = [
            {"name": name, "models": [model.label for model in study.models], "title": study.title}
            for name, study in studies
        ]
        say(json.dumps(summaries, indent=2))
        return
    rows = [[name, ", ".join(model.label for model in study.models), study.title] for name, study in studies]
    say(table([["study", "models", "what it does"], *rows], "lll"))


def _print_outcome(study: Study, outcome: Outcome) -> None:
    from dlasim.cli.sweep import SHOWN_POINTS, shown_of_each

    refused = outcome.statuses["refused"]
    parts = [f"{counted(outcome.points, 'point')} in {outcome.seconds:.1f} s"]
    if outcome.reused:
        parts.append(f"{outcome.reused:,} of them from the cache")
    if refused:
        parts.append(f"{refused:,} cannot run (see column reason)")
    models = len(study.models)
    best = f"the {shown_of_each(models)} with the fewest cycles{' of each model' if models > 1 else ''} above"
    shown = f", {best}" if outcome.points > SHOWN_POINTS and not study.all_goals else ""
    say(f"{study.name}: {'; '.join(parts)}{shown}; wrote {outcome.result.path}", err=True)


def print_points(result: SweepResult, study: Study) -> None:
    """The points, or of many those with the fewest cycles of each model, with a column for everything that
    was swept, and the figures that the study names."""
    extra = [name for name in study.swept if name not in _IN_LABEL]
    few = _few(result.rows("point", *_SHOWN_COLUMNS, *extra, *study.columns))
    cases = ["case"] if any(row["case"] for row in few) else []
    clocks = len({row["clock_mhz"] for row in few}) > 1  # then cycles alone do not say which is faster
    start = {**{name: name for name in cases}, "model": "model", "label": "machine"}
    start |= {name: name for name in extra}
    figures = ["cycles", *(["ms"] if clocks else []), "DLA", "stall", "used", "moved"]
    measures = [describe(name) for name in study.columns]
    lines = [[*start.values(), *([one.text for one in measures] or figures)]]
    for row in few:
        cells = [Decision.value(one, row) for one in measures] or _figures(row, figures)
        lines.append([*(_text(row[name]) for name in start), *cells])
    say(table(lines, "l" * len(start) + "r" * len(measures or figures)))


def shown_of_each(models: int) -> int:
    """How many points of each model are shown where all would be too many."""
    return max(SHOWN_POINTS // models, MIN_OF_A_MODEL)


def _few(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """All points in their order, or of more than can be shown the best of each model: cycles of different
    models say nothing about machines."""
    first: list[dict[str, Any]] = []
    best: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        if len(first) <= SHOWN_POINTS:
            first.append(row)
        kept = best.setdefault(row["model"], [])
        kept.append(row)
        if len(kept) >= 10 * SHOWN_POINTS:  # so that many points need little memory
            kept[:] = heapq.nsmallest(SHOWN_POINTS, kept, key=_rank)
    if len(first) <= SHOWN_POINTS:
        return first
    count = shown_of_each(len(best))
    return [row for kept in best.values() for row in heapq.nsmallest(count, kept, key=_rank)]


def _text(value: Any) -> str:
    """A parameter's value as text."""
    if value is None:
        return ""
    return f"{value:g}" if isinstance(value, float) else str(value)


def _figures(row: dict[str, Any], shown: list[str]) -> list[str]:
    """A point's figures as text, or its status if it has no figures."""
    if row["cycles_total"] is None:
        return [row["status"], *[""] * (len(shown) - 1)]
    texts = {
        "cycles": f"{row['cycles_total']:,}",
        "ms": f"{row['milliseconds']:,.3f}",
        "DLA": f"{row['cycles_dla']:,}",
        "stall": f"{row['cycles_stall']:,}",
        "used": f"{100 * row['utilization']:.1f} %",
        "moved": size(row["dma_read_bytes"] + row["dma_write_bytes"]),
    }
    return [texts[name] for name in shown]


def _rank(row: dict[str, Any]) -> tuple[bool, int, int]:
    cycles = row["cycles_total"]
    return cycles is None, cycles or 0, row["point"]
