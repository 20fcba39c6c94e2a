"""`dlasim run firmware.elf`: runs the user's own firmware on the board."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from dlasim.cli.terminal import say

if TYPE_CHECKING:
    from dlasim.compiler_shim.files.input_file import InputFile

_NOT_FOR_ELF = (
    ("inputs", "--input"),
    ("output", "--output"),
    ("top", "--top"),
    ("html", "--html"),
    ("overlay", "--overlay"),
    ("timing_only", "--timing-only"),
    ("completion", "--completion"),
    ("submission", "--submission"),
)


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

    if options:
        raise click.UsageError(
            f"{', '.join(map(_flag, sorted(options)))} applies to models; {file} is an ELF file"
        )
    if (given["report"] or "").endswith(".csv"):
        raise click.UsageError(
            f"--report FILE.csv is a table of layers; {file} is an ELF file: use FILE.json"
        )
    for name, option in _NOT_FOR_ELF:
        if given.get(name) or name in chosen:
            raise click.UsageError(f"{option} applies to programs and models; {file} is an ELF file")
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


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _print(report: dict[str, Any]) -> None:
    from dlasim.cli.summary import function_rows
    from dlasim.rows.tables import table

    cycles, cpu = report["cycles"], report["cpu"]
    say()
    say(table(function_rows(report), "lrrrr"))
    say()
    say(f"total      {cycles['total']:,} cycles on {cpu['model']}, exit code {report['exit_code']}")
    say(
        f"           CPU {cycles['cpu']:,} ({cpu['instructions']:,} instructions), asleep "
        f"{cpu['idle_cycles']:,}, DLA {cycles['dla']:,} in {len(report['streams'])} streams, overlap "
        f"{cycles['overlap']:,}"
    )
