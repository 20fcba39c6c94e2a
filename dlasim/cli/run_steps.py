"""`dlasim run --steps`: inferences one after another, with the state that lasts between them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import click
import numpy as np

from dlasim.cli.terminal import say
from dlasim.rows.tables import energy

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dlasim.compiler_shim.files.input_file import InputFile
    from dlasim.pace import Pace
    from dlasim.result import RunResult
    from dlasim.sim.reports.report_types import Report

_NOT_WITH_STEPS = ("inputs", "timing_only", "top")


def run(
    file: InputFile,
    base: Any,
    machine: dict[str, Any],
    sources: Iterable[str | None],
    given: dict[str, Any],
    host: str,
    host_options: dict[str, Any],
) -> None:
    """Run the steps, write the files asked for, and print the last step and the pace of all."""
    from dlasim.cli import run_outputs
    from dlasim.cli.summary import print_summary
    from dlasim.cli.terminal import invocation

    _check(given)
    result, pace = (
        _on_simulator(file, base, machine, given)
        if host == "none"
        else _on_board(file, base, machine, given, host_options)
    )
    result.report["command"] = invocation()
    for warning in result.report["warnings"]:
        say(f"dlasim: warning: {warning}", err=True)
    run_outputs.write(result, sources, given, host_options.get("vcd"))
    if given["as_json"]:
        return say(json.dumps(result.report | {"steps": pace.as_dict()}, indent=2))
    if result.prototyped is not None:
        say()
    print_summary(result.report)
    return say(
        f"steps      {pace.count:,}, {pace.cycles:,} cycles: {pace.per_second:,.1f} per second, "
        f"{energy(pace.energy_nj)}"
    )


def _on_simulator(
    file: InputFile, base: Any, machine: dict[str, Any], given: dict[str, Any]
) -> tuple[RunResult, Pace]:
    from dlasim.session import Session

    session = Session(
        file, base, carry=dict(map(_pair, given["carry"])), engine=given["engine"],
        check_races=given["races"], **machine,
    )  # fmt: skip
    outputs = session.run(_arrays(given["steps"], lambda: session.only_input))
    return replace(session.result, outputs=outputs), session.pace


def _on_board(
    file: InputFile, base: Any, machine: dict[str, Any], given: dict[str, Any], host_options: dict[str, Any]
) -> tuple[RunResult, Pace]:
    """All steps with one start of the firmware."""
    from dlasim import on_board
    from dlasim.api import refuse_races
    from dlasim.loading import load
    from dlasim.pace import pace
    from dlasim.result import RunResult, complete
    from dlasim.sim.execution.executor import make_executor
    from dlasim.step_inputs import StepInputs, step_rows

    loaded = load(file, base, machine)
    warnings = refuse_races(loaded.program) if given["races"] else []
    inputs = StepInputs(loaded.program, dict(map(_pair, given["carry"])))
    arrays = _arrays(given["steps"], lambda: inputs.only_input)
    rows = [inputs.arrays(row, number) for number, row in enumerate(step_rows(arrays))]
    carried = [(number, name) for number, name in inputs.carried if name not in arrays]
    options = on_board.host_options(inferences=len(rows), **host_options)
    done, figures = on_board.run_steps(loaded, make_executor(given["engine"]), rows, carried, options)
    steps = done.steps or (done.inference,)
    outputs = [np.stack(each) for each in zip(*(step.outputs for step in steps), strict=True)]
    result = RunResult(outputs, cast("Report", figures), done.inference, loaded, done)
    cycles = sum(step.total_cycles for step in steps)
    made = pace(loaded.program, loaded.config, (steps[0], steps[-1]), len(steps), cycles)
    return complete(result, warnings + on_board.rtl_warnings(done.rtl)), made


def _arrays(path: str, only_input: Callable[[], str]) -> dict[str, NDArray[Any]]:
    from dlasim.inputs import load_arrays

    arrays = load_arrays(path)
    return {only_input(): arrays[""]} if list(arrays) == [""] else arrays


def _check(given: dict[str, Any]) -> None:
    for name in _NOT_WITH_STEPS:
        if given[name]:
            flag = name.replace("_", "-").removesuffix("s")
            raise click.UsageError(f"--steps cannot be combined with --{flag}")
    if given["repeat"] > 1:
        raise click.UsageError("--steps cannot be combined with --repeat")


def _pair(text: str) -> tuple[str, str]:
    output, equals, target = text.partition("=")
    if not (output and equals and target):
        raise click.UsageError(f"--carry must be OUTPUT=INPUT (got {text!r})")
    return output, target
