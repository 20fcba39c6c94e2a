"""`dlasim run firmware.elf`: runs the user's own firmware on the board."""

from __future__ import annotations

import json
from collections.abc import Set
from typing import TYPE_CHECKING, Any

import click

from dlasim.cli.terminal import say, say_table

if TYPE_CHECKING:
    from dlasim.compiler_shim.files.input_file import InputFile

_FOR_ELF = frozenset(("engine", "report", "trace", "as_json"))  # besides those of machine and board
_NOT_FOR_ELF = frozenset(("completion", "submission"))  # of those


def run(
    file: InputFile,
    base: Any,
    machine: dict[str, Any],
    options: dict[str, Any],
    chosen: dict[str, Any],
    given: dict[str, Any],
) -> None:
    """Run it, write the requested files, print where the cycles went; fails if the guest fails."""
    from dlasim import on_board
    from dlasim.sim.execution.executor import make_executor
    from dlasim.system.fileio import atomic_write

    _refuse_others(str(file), _NOT_FOR_ELF | options.keys() | given.keys() - _FOR_ELF)
    if (given["report"] or "").endswith(".csv"):
        raise click.UsageError(
            f"--report FILE.csv is a table of layers; {file} is an ELF file: use FILE.json"
        )
    done = on_board.run_elf(file, base, machine, make_executor(given["engine"]), **chosen)
    report = done.report()
    if given["report"]:
        atomic_write(given["report"], json.dumps(report, indent=2) + "\n")
    if given["trace"]:
        from dlasim.vp.system.host_report import bare_metal_trace

        atomic_write(given["trace"], json.dumps(bare_metal_trace(done)) + "\n")
    for warning in report["warnings"]:
        say(f"dlasim: warning: {warning}", err=True)
    done.check()
    if given["as_json"]:
        say(json.dumps(report, indent=2))
    else:
        _print(report)


def _refuse_others(file: str, names: Set[str]) -> None:
    """Refuse the options of these parameters that were given."""
    context = click.get_current_context()
    flags = [
        "/".join((option.opts[-1], *option.secondary_opts))
        for option in context.command.params
        if option.name in names
        and context.get_parameter_source(option.name) is click.core.ParameterSource.COMMANDLINE
    ]
    if flags:
        raise click.UsageError(
            f"{', '.join(flags)}: only for programs and models; {file} is an ELF file, which takes --engine, "
            "--report, --trace, --json, and what describes the machine and the board"
        )


def _print(report: dict[str, Any]) -> None:
    from dlasim.cli.summary import function_rows

    cycles, cpu = report["cycles"], report["cpu"]
    say()
    say_table(function_rows(report), "lrrrr")
    say()
    say(f"total      {cycles['total']:,} cycles on {cpu['model']}, exit code {report['exit_code']}")
    say(
        f"           CPU {cycles['cpu']:,} ({cpu['instructions']:,} instructions), asleep "
        f"{cpu['idle_cycles']:,}, DLA {cycles['dla']:,} in {len(report['streams'])} streams, overlap "
        f"{cycles['overlap']:,}"
    )
