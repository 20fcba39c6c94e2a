"""`dlasim sweep`: runs models on many machines and writes one table."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dlasim import interrupts
from dlasim.cli.config_options import COMPILE, MACHINE, assume_option, config_option, preset_option
from dlasim.cli.help_sections import SectionedCommand, SharedOption
from dlasim.cli.option_types import Number
from dlasim.cli.terminal import say
from dlasim.errors import counted, printable

if TYPE_CHECKING:
    from dlasim.sweeps.study import Study
    from dlasim.sweeps.sweep import Outcome

_MAX_NAME_LENGTH = 100  # of a folder, in characters
_EPILOG = """\b
Examples:
  dlasim sweep mobilenet_v1 --pes 64,128 --sram 512KiB,1MiB --parallel input,output
  dlasim sweep model.tflite --sram 64KiB..256MiB --pes 16..256:16
  dlasim sweep a.tflite b.tflite --preset nvdla-small,ethos-u55-128 --set mac_fill=0,8 --layers
  dlasim sweep study.toml --jobs 8 --out results
  dlasim sweep paper
  dlasim sweep --list
\b
VALUES: 64,128 is a list, 16..256:16 counts in steps of 16, 64KiB..1MiB doubles, 1..81:*3 triples.
MODEL is a file or a built-in network (see `dlasim model --list`), optionally with arguments as in
mobilenet_v1:alpha=0.5. Finished points are stored in DIR/cache; a repeated sweep continues from there.
"""


def _axes(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options of the machine and of the compiler, which take several values here."""
    for table in (COMPILE, MACHINE):
        for option, name, kind, text in reversed(table):
            values = ",".join(kind.choices) if isinstance(kind, click.Choice) else "VALUES"
            function = click.option(option, name, cls=SharedOption, default=None, metavar=values, help=text)(
                function
            )
    return function


@click.command("sweep", cls=SectionedCommand, epilog=_EPILOG)
@click.argument("targets", metavar="MODEL…|STUDY", nargs=-1)
@click.option("--list", "as_list", is_flag=True, help="List the built-in studies.")
@click.option("--json", "as_json", is_flag=True, help="Print the rows, or the list, as JSON.")
@preset_option("NAMES")
@config_option
@_axes
@click.option(
    "--dla-ops",
    cls=SharedOption,
    default=None,
    metavar="OP+OP…",
    help="TFLite operators that may run on the DLA, such as CONV_2D+ADD.",
)
@click.option("--set", "more", multiple=True, metavar="NAME=VALUES", help="Set any other parameter.")
@click.option(
    "--where",
    multiple=True,
    metavar="CONDITION",
    help="Keep only points for which this holds, such as 'pes * 8192 <= sram'.",
)
@click.option(
    "-o",
    "--out",
    "--output",
    "out",
    default=None,
    metavar="DIR",
    help="The folder for the tables.  [default: NAME-sweep]",
)
@click.option(
    "--layers", is_flag=True, help="Also write DIR/layers.csv with a row for each layer of each point."
)
@click.option(
    "--jobs",
    default=None,
    type=Number(int, 1, 4096),
    metavar="N",
    help="Number of processes.  [default: number of cores]",
)
@click.option(
    "--scheduler",
    default=None,
    metavar="ADDRESS",
    help="Run on the dask.distributed cluster at this address.",
)
@click.option(
    "--cache",
    default=None,
    metavar="DIR",
    help="Folder of finished points; several sweeps can share it.  [default: DIR/cache]",
)
@assume_option
@click.option("--resume/--no-resume", default=True, help="Reuse finished points from the cache.")
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
    axes = _given_axes(given)
    from dlasim.cli.invocation import invocation
    from dlasim.cli.points import print_points
    from dlasim.errors import RunError
    from dlasim.sweeps.contradictions import find_contradictions
    from dlasim.sweeps.study_builder import build_study
    from dlasim.sweeps.study_outputs import write_outputs
    from dlasim.sweeps.sweep import Settings, run_study

    flags = _flags(axes, given["config_file"])
    study = build_study(targets, axes, given["where"], given["layers"], flags)
    if given["assume_int8"]:
        from dlasim.compiler_shim.assumed_scales import ESTIMATE

        study = replace(study, models=tuple(model.assumed() for model in study.models))
        say(f"dlasim: warning: {ESTIMATE}", err=True)
    if note := find_contradictions(study, flags).note:
        say(f"dlasim: warning: {note}", err=True)
    settings = Settings(
        out=Path(given["out"] or f"{_folder_name(study.name)}-sweep"),
        jobs=given["jobs"],
        scheduler=given["scheduler"],
        resume=given["resume"],
        cache=Path(given["cache"]) if given["cache"] else None,
        command=invocation(),
    )
    with interrupts.terminations():
        outcome = run_study(study, settings)
    if given["as_json"]:
        say(json.dumps(list(outcome.result.rows()), indent=2))
    else:
        print_points(outcome.result, study.swept)
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
    from dlasim.sweeps.studyfile import shipped_names, shipped_study
    from dlasim.tables import table

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


def _folder_name(name: str) -> str:
    """The study's name as a folder name; a study from elsewhere must not choose another location."""
    return printable(name).replace("/", "_")[:_MAX_NAME_LENGTH]


def _given_axes(given: dict[str, Any]) -> dict[str, Any]:
    """The parameters that were given, with their values as text."""
    axes = {name: given[name] for _, name, _, _ in (*MACHINE, *COMPILE)}
    axes |= {"dla_ops": given["dla_ops"], "preset": given["preset"]}
    if given["config_file"]:
        if given["preset"]:
            raise click.UsageError("--config and --preset exclude each other; give only one of them")
        axes["preset"] = given["config_file"]
    for item in given["more"]:
        name, sign, text = item.partition("=")
        if not sign:
            raise click.UsageError(f"--set must be NAME=VALUES (got {item!r})")
        if axes.get(name.strip()) is not None:
            raise click.UsageError(f"--set {item}: {name.strip()} is given twice")
        axes[name.strip()] = text
    return {name: text for name, text in axes.items() if text is not None}


def _flags(axes: dict[str, Any], config_file: str | None) -> dict[str, str]:
    """The flag with which each parameter was given."""
    options = {name: option for option, name, _, _ in (*MACHINE, *COMPILE)}
    options |= {"preset": "--config" if config_file else "--preset", "dla_ops": "--dla-ops"}
    return {name: options.get(name, "--set") for name in axes}


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
    shown = f", {best}" if outcome.points > SHOWN_POINTS else ""
    say(f"{study.name}: {'; '.join(parts)}{shown}; wrote {outcome.result.path}", err=True)
