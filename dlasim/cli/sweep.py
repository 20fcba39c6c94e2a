"""`dlasim sweep`: runs models on many machines and writes one table."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from dlasim.cli.config_options import assume_option
from dlasim.cli.help_sections import SectionedCommand
from dlasim.cli.study_options import (
    flags_of,
    given_axes,
    goals_of,
    run_options,
    settings_of,
    space_options,
)
from dlasim.cli.terminal import say, say_table
from dlasim.errors import counted
from dlasim.system import interrupts

if TYPE_CHECKING:
    from dlasim.sweeps.definition.study import Study
    from dlasim.sweeps.evaluation.sweep import Outcome

_EPILOG = """\b
Examples:
  dlasim sweep mobilenet_v1 --pes 64,128 --parallel input,output
  dlasim sweep model.tflite --sram 64KiB..256MiB --pes 16..256:16
  dlasim sweep a.tflite b.tflite --preset nvdla-small,ethos-u55-128 --layers
  dlasim sweep study.toml --jobs 8 --out results
  dlasim sweep mobilenet_v2@10 resnet8@20 --pes 64,128 --limit 'energy < 2mJ'
  dlasim sweep paper
  dlasim sweep --list

VALUES: 64,128 is a list, 16..256:16 counts in steps of 16, 64KiB..1MiB doubles, 1..81:*3 triples.
MODEL is a file or a built-in network (see `dlasim model --list`), optionally with arguments as in
mobilenet_v1:alpha=0.5, and with inferences per second as in resnet8@10. Finished points are stored in
DIR/cache; a repeated sweep continues from there.
"""


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
    from dlasim.cli.points import print_points
    from dlasim.errors import RunError
    from dlasim.sweeps.definition.contradictions import find_contradictions
    from dlasim.sweeps.definition.study_builder import build_study
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
    settings = settings_of(given, study, "sweep")
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
    from dlasim.sweeps.definition.studyfile import shipped_names, shipped_study

    studies = [(name, shipped_study(name)) for name in shipped_names()]
    if as_json:
        summaries = [
            {"name": name, "models": [model.label for model in study.models], "title": study.title}
            for name, study in studies
        ]
        say(json.dumps(summaries, indent=2))
        return
    rows = [[name, ", ".join(model.label for model in study.models), study.title] for name, study in studies]
    say_table([["study", "models", "what it does"], *rows], "lll")


def _print_outcome(study: Study, outcome: Outcome) -> None:
    from dlasim.cli.points import SHOWN_POINTS, shown_of_each

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
