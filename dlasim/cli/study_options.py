"""The options that commands over many machines share: the space, the goals, and how to run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dlasim.arguments import COUNTS
from dlasim.cli.config_options import COMPILE, MACHINE, config_option, preset_option
from dlasim.cli.help_sections import Function, add_options, option, with_options
from dlasim.cli.option_types import Number
from dlasim.errors import printable

if TYPE_CHECKING:
    from dlasim.sweeps.definition.goals import Goals
    from dlasim.sweeps.definition.study import Study
    from dlasim.sweeps.evaluation.sweep import Settings

_MAX_NAME_LENGTH = 100  # of a folder, in characters


LIMIT = option("--limit", "What machines must keep to, such as 'milliseconds < 10' or 'energy < 2mJ'.",
    "CONDITION", name="limits", is_repeatable=True)  # fmt: skip
MINIMIZE = option("--minimize", "What to have little of, such as energy,area; the first decides the winner.",
    "FIGURES", is_repeatable=True)  # fmt: skip
_SPACE = (
    option("--dla-ops", "TFLite operators that may run on the DLA, such as CONV_2D+ADD.", "OP+OP…"),
    option("--set", "Set any other parameter.", "NAME=VALUES", name="more", is_repeatable=True),
    option("--where", "Keep only points for which this holds, such as 'pes * 8192 <= sram'.", "CONDITION",
        is_repeatable=True),
    LIMIT,
    MINIMIZE,
)  # fmt: skip


def space_options(function: Function) -> Function:
    """Parameters with several values, conditions on points, and goals."""
    return preset_option("NAMES")(config_option(_axes(add_options(function, _SPACE))))


def run_options(what: str) -> Callable[[Function], Function]:
    """Where to write and who evaluates."""
    return with_options(
        option("-o --out --output", f"The folder for the tables.  [default: NAME-{what}]", "DIR", name="out"),
        option("--jobs", "Number of processes.  [default: number of cores]", "N",
            kind=Number(int, *COUNTS["jobs"])),
        option("--scheduler", "Run on the dask.distributed cluster at this address.", "ADDRESS"),
        option("--cache", "Folder of finished points; several sweeps can share it.  [default: DIR/cache]",
            "DIR"),
        option("--resume/--no-resume", "Reuse finished points from the cache.", kind=bool, default=True),
    )  # fmt: skip


def _axes(function: Function) -> Function:
    """The options of the machine and of the compiler, which take several values here."""
    rows = []
    for row in (*MACHINE, *COMPILE):
        values = ",".join(row.kind.choices) if isinstance(row.kind, click.Choice) else "VALUES"
        rows.append(row._replace(kind=str, metavar=values))
    return add_options(function, rows)


def folder_name(name: str) -> str:
    """The study's name as a folder name; a study from elsewhere must not choose another location."""
    return printable(name).replace("/", "_")[:_MAX_NAME_LENGTH]


def given_axes(given: dict[str, Any]) -> dict[str, Any]:
    """The parameters that were given, with their values as text."""
    axes = {name: given[name] for _, name, *_ in (*MACHINE, *COMPILE)}
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


def flags_of(axes: dict[str, Any], config_file: str | None) -> dict[str, str]:
    """The flag with which each parameter was given."""
    options = {name: option for option, name, *_ in (*MACHINE, *COMPILE)}
    options |= {"preset": "--config" if config_file else "--preset", "dla_ops": "--dla-ops"}
    return {name: options.get(name, "--set") for name in axes}


def goals_of(given: dict[str, Any]) -> Goals:
    """The goals that --limit and --minimize give."""
    from dlasim.sweeps.definition.goals import read_goals

    return read_goals(
        given["limits"], given.get("minimize", ()), "--limit" if given["limits"] else "--minimize"
    )


def settings_of(given: dict[str, Any], study: Study, what: str) -> Settings:
    """How to run, in a folder that is called after the study if none is given."""
    from dlasim.cli.terminal import invocation, say
    from dlasim.sweeps.evaluation.sweep import Settings
    from dlasim.sweeps.results.result_files import RESULTS, is_of, read_about

    folder = Path(given["out"] or f"{folder_name(study.name)}-{what}")
    about, command = read_about(folder), invocation()
    is_own = is_of(about, study.name, [model.label for model in study.models], what == "search")
    if is_own and (before := about.get("command", command)) != command:
        say(f"note: this replaces {folder / RESULTS}, the table of `{before}`", err=True)
    return Settings(
        out=folder,
        jobs=given["jobs"],
        scheduler=given["scheduler"],
        resume=given["resume"],
        cache=Path(given["cache"]) if given["cache"] else None,
        command=command,
    )
