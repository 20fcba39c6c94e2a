"""`dlasim run --steps`: inferences one after another, with the state that lasts between them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from dlasim.cli.terminal import say
from dlasim.rows.tables import energy

if TYPE_CHECKING:
    from dlasim.compiler_shim.files.input_file import InputFile
    from dlasim.session import Session

_NOT_WITH_STEPS = ("inputs", "timing_only", "top")


def run(
    file: InputFile,
    base: Any,
    machine: dict[str, Any],
    sources: Iterable[str | None],
    given: dict[str, Any],
    host: str,
) -> None:
    """Run the steps, write the files asked for, and print the last step and the pace of all."""
    from dlasim.cli import run_outputs
    from dlasim.cli.invocation import invocation
    from dlasim.cli.summary import print_summary
    from dlasim.inputs import load_arrays
    from dlasim.session import Session

    _check(given, host)
    session = Session(
        file, base, carry=dict(map(_pair, given["carry"])), engine=given["engine"],
        check_races=given["races"], **machine,
    )  # fmt: skip
    arrays = load_arrays(given["steps"])
    if list(arrays) == [""]:
        arrays = {session.only_input: arrays[""]}
    outputs = session.run(arrays)
    result = replace(session.result, outputs=outputs)
    result.report["command"] = invocation()
    for warning in result.report["warnings"]:
        say(f"dlasim: warning: {warning}", err=True)
    run_outputs.write(result, sources, given)
    pace = _pace(session)
    if given["as_json"]:
        return say(json.dumps(result.report | {"steps": pace}, indent=2))
    print_summary(result.report)
    return say(
        f"steps      {pace['count']:,}, {pace['cycles']:,} cycles: {pace['per_second']:,.1f} per second, "
        f"{energy(pace['energy_nj'])}"
    )


def _check(given: dict[str, Any], host: str) -> None:
    for name in _NOT_WITH_STEPS:
        if given[name]:
            flag = name.replace("_", "-").removesuffix("s")
            raise click.UsageError(f"--steps cannot be combined with --{flag}")
    if host != "none" or given["repeat"] > 1:
        raise click.UsageError("--steps cannot be combined with --host or --repeat")


def _pair(text: str) -> tuple[str, str]:
    output, equals, target = text.partition("=")
    if not (output and equals and target):
        raise click.UsageError(f"--carry must be OUTPUT=INPUT (got {text!r})")
    return output, target


def _pace(session: Session) -> dict[str, Any]:
    """The steps in numbers."""
    return {
        "count": session.steps,
        "cycles": session.cycles,
        "milliseconds": session.milliseconds,
        "per_second": session.steps_per_second,
        "energy_nj": session.energy_nj,
    }
