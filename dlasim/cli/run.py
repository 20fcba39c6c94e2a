"""`dlasim run`: runs a program, a model or an ELF file on the simulator."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import click

from dlasim.cli.board_console import BoardConsole
from dlasim.cli.config_options import compile_options, machine_options, take_compile, take_machine
from dlasim.cli.host_options import debug_options, host_options, take_host
from dlasim.cli.options import Choice, Number
from dlasim.cli.sections import SectionedCommand
from dlasim.cli.terminal import say

_EPILOG = """\b
Examples:
  dlasim run program.bin
  dlasim run model.tflite --pes 128 --sram 1MiB --parallel 8x16
  dlasim run model.tflite --input image.npy --output results
  dlasim run model.tflite --preset paper --fusion none --tiling output-channel --timing-only
  dlasim run program.bin --report report.json --trace trace.json
  dlasim run model.tflite --host riscv --cpu five_stage
  dlasim run application.elf --gdb 1234
"""


@click.command("run", cls=SectionedCommand, epilog=_EPILOG)
@click.argument("file", metavar="FILE")
@machine_options
@compile_options
@host_options
@click.option(
    "--input",
    "inputs",
    multiple=True,
    metavar="X.npy",
    help="An input. Repeat the option for further inputs, in the model's order.",
)
@click.option("-o", "--output", metavar="DIR", help="Write the outputs to DIR/output_0.npy and so on.")
@click.option("--timing-only", is_flag=True, help="Count cycles without computing tensors.")
@click.option("--report", metavar="R.json", help="Write the report as JSON.")
@click.option("--trace", metavar="T.json", help="Write a timeline for Perfetto (ui.perfetto.dev).")
@click.option(
    "--repeat", default=1, type=Number(int, 1, 1_000_000), metavar="N", help="Number of inferences to run."
)
@click.option(
    "--engine",
    default="auto",
    type=Choice(["auto", "fast", "reference"]),
    help="Kernels: compiled (fast) or the readable reference.",
)
@click.option("--races/--no-races", default=True, help="Check the program for data races first.")
@debug_options
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON instead of the tables.")
def command(file: str, **given: Any) -> None:
    """Run FILE: a program.bin, a model (.tflite or .dlag), or an ELF file for the board.

    A model is compiled first. Prints where the cycles went. Inputs that are not given are random; floats are
    quantized.
    """
    from dlasim.fileio import keep_apart

    core = given["cpu"] if (given["cpu"] or "").endswith(".toml") else None
    sources = (file, *given["inputs"], given["config_file"], core)
    keep_apart(sources, (given["report"], given["trace"], given["output"]))
    base, machine = take_machine(given)
    from dlasim import api, loading

    is_elf = loading.is_elf(file)
    options = take_compile(given)
    host, chosen = take_host(given, is_elf=is_elf)
    is_own = is_elf and not loading.is_application(file)
    if host != "none" or is_elf:
        console = BoardConsole(given["as_json"], is_raw=is_own)
        click.get_current_context().call_on_close(console.clear)
        chosen["console"] = console.put
        if not chosen.keys() & {"trace_instructions", "trace_mmio"}:
            chosen["on_progress"] = console.progress
        chosen["log_functions"] = bool(given["trace"])
    if is_own:
        from dlasim.cli import run_elf

        return run_elf.run(file, base, machine, options, chosen, given)
    machine |= options
    if given["timing_only"] and (given["inputs"] or given["output"]):
        raise click.UsageError(
            "--timing-only computes no tensors and cannot be combined with --input or --output"
        )
    result = api.run(
        file,
        base,
        inputs=given["inputs"],
        timing_only=given["timing_only"],
        engine=given["engine"],
        repeat=given["repeat"],
        check_races=given["races"],
        host=host,
        host_options=chosen,
        **machine,
    )
    for warning in result.report["warnings"]:
        say(f"dlasim: warning: {warning}", err=True)
    _write(result, sources, given)
    return _print(result, given["as_json"])


def _write(result: Any, sources: Iterable[str | None], given: dict[str, Any]) -> None:
    """Write the files that the options name, if all of them are different."""
    import json
    from pathlib import Path

    from dlasim.fileio import atomic_write, keep_apart

    folder = Path(given["output"] or "")
    names = range(len(result.outputs)) if given["output"] else ()
    arrays = [folder / f"output_{number}.npy" for number in names]
    keep_apart(sources, (*arrays, given["report"], given["trace"]))
    if arrays:
        from dlasim.inputs import save_npy

        folder.mkdir(parents=True, exist_ok=True)
        for path, array in zip(arrays, result.outputs, strict=True):
            atomic_write(path, save_npy(array))
    if given["report"]:
        atomic_write(given["report"], json.dumps(result.report, indent=2) + "\n")
    if given["trace"]:
        atomic_write(given["trace"], json.dumps(_trace(result)) + "\n")


def _trace(result: Any) -> dict[str, Any]:
    loaded = result.loaded
    if result.prototyped is not None:
        from dlasim.vp.host_report import trace

        return trace(loaded.program, loaded.config, result.prototyped)
    from dlasim.sim.trace import trace_events

    return trace_events(loaded.program, loaded.config, result.inference)


def _print(result: Any, as_json: bool) -> None:
    import json

    if as_json:
        say(json.dumps(result.report, indent=2))
        return
    from dlasim.cli.summary import print_summary

    if result.prototyped is not None:
        say()
    print_summary(result.report)
