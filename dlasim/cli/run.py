"""`dlasim run`: runs a program, a model or an ELF file on the simulator."""

from __future__ import annotations

import sys
from codecs import getincrementaldecoder
from typing import TYPE_CHECKING, Any, cast

import click

from dlasim.arguments import COUNTS
from dlasim.cli.config_options import (
    assume_option,
    compile_options,
    input_files,
    machine_options,
    take_compile,
    take_machine,
)
from dlasim.cli.help_sections import SectionedCommand, option, with_options
from dlasim.cli.host_options import ENGINE, debug_options, host_options, take_host
from dlasim.cli.option_types import Number
from dlasim.cli.terminal import say
from dlasim.errors import printable
from dlasim.system.status_line import StatusLine

if TYPE_CHECKING:
    from dlasim.choices import HostChoices
    from dlasim.result import RunResult

_EPILOG = """\b
Examples:
  dlasim run program.bin
  dlasim run model.tflite --pes 128 --sram 1MiB --parallel 8x16
  dlasim run model.tflite --input image.png --normalize=-1,1 --top 3
  dlasim run model.tflite --input image.npy --output results --dequantize
  dlasim run examples/relu.s
  dlasim run model.tflite --preset paper --fusion none --timing-only
  dlasim run program.bin --report report.json --trace trace.json
  dlasim run model.tflite --timing-only --html page.html
  dlasim run decoder.tflite --steps prompt.npz --carry new_cache=cache
  dlasim run model.tflite --host riscv --cpu five_stage
  dlasim run application.elf --gdb 1234
"""


@click.command("run", cls=SectionedCommand, epilog=_EPILOG)
@click.argument("file", metavar="FILE")
@machine_options
@compile_options
@host_options
@with_options(
    option("--input",
        "An input: .npy, .png, .jpg or .wav. Repeat the option for further inputs, in the model's order.",
        "FILE", name="inputs", is_repeatable=True),
    option("--normalize",
        "Map the lowest and highest value of a picture or sound to LOW and HIGH; imagenet: use ImageNet's "
        "means and deviations; auto: the range of the input's type.  [default: auto]", "LOW,HIGH"),
    option("--steps",
        "Run step by step with what FILE holds along its first dimension: .npz, an array for each input by "
        "name, or .npy for a model with one input. The model's variables last from step to step. With "
        "--host the firmware makes all steps with one start.", "FILE"),
    option("--carry",
        "With --steps: let an output be this input of the next step, such as a cache. Repeatable.",
        "OUTPUT=INPUT", is_repeatable=True),
    option("-o --output", "Write the outputs to DIR/output_0.npy and so on.", "DIR"),
    option("--dequantize", "Write outputs as real numbers (float32).", kind=bool),
    option("--top", "Print the N highest values of the first output.", "N", kind=Number(int, *COUNTS["top"])),
    option("--labels", "File with the class names for --top, one per line.", "FILE"),
)  # fmt: skip
@assume_option
@with_options(
    option("--timing-only", "Count cycles without computing tensors.", kind=bool),
    option("--report", "Write the report as JSON; FILE.csv: the table of layers.", "FILE"),
    option("--html", "Write an interactive page: one self-contained HTML file that works offline.",
        "PAGE.html"),
    option("--overlay", "Write what layers cost as node data for Model Explorer: DIR/cycles.json and so on.",
        "DIR"),
    option("--trace", "Write a timeline for Perfetto (ui.perfetto.dev).", "T.json"),
    option("--repeat", "Number of inferences to run.", "N", kind=Number(int, *COUNTS["repeat"]), default=1),
    ENGINE,
    option("--races/--no-races", "Check the program for data races first.", kind=bool, default=True),
)  # fmt: skip
@debug_options
@with_options(
    option("--json", "Print the report as JSON instead of the tables.", kind=bool, name="as_json"),
)  # fmt: skip
def command(file: str, **given: Any) -> None:
    """Run FILE: a model (.tflite, .onnx, .tosa, .dlag or built in), a program.bin, assembly (.s), or an ELF.

    A model is compiled first, assembly is assembled; an ELF file runs on the board. Prints where the cycles
    went. Inputs that are not given are random; floats are quantized, pictures are scaled to the model's size.
    """
    from dlasim.system.fileio import keep_apart

    sources = (file, *input_files(given))
    keep_apart(sources, (given["report"], given["html"], given["trace"], given["output"], given["vcd"],
                          given["overlay"]))  # fmt: skip
    base, machine = take_machine(given)
    from dlasim import api, loading, outputs
    from dlasim.cli import run_outputs
    from dlasim.compiler_shim.files.input_file import InputKind

    opened = loading.open_located(file)
    is_elf = opened.kind is InputKind.ELF
    options = take_compile(given)
    host, chosen = take_host(given, is_elf=is_elf)
    is_own = is_elf and not loading.is_application(opened)
    if host != "none" or is_elf:
        console = BoardConsole(given["as_json"], is_raw=is_own)
        click.get_current_context().call_on_close(console.clear)
        chosen["console"] = console.put
        if not chosen.keys() & {"trace_instructions", "trace_mmio"}:
            chosen["on_progress"] = console.progress
        chosen["log_functions"] = bool(given["trace"])
    if is_own:
        from dlasim.cli import run_elf

        return run_elf.run(opened, base, machine, options, chosen, given)
    machine |= options
    _check_combinations(given)
    labels = outputs.read_labels(given["labels"]) if given["labels"] else []
    if given["steps"]:
        from dlasim.cli import run_steps

        return run_steps.run(opened, base, machine, sources, given, host, chosen)
    result = api.run(
        opened,
        base,
        inputs=given["inputs"],
        normalize=given["normalize"] or "auto",
        timing_only=given["timing_only"],
        assume_int8=given["assume_int8"],
        engine=given["engine"],
        repeat=given["repeat"],
        check_races=given["races"],
        host=host,
        host_options=cast("HostChoices", chosen),
        **machine,
    )
    from dlasim.cli.terminal import invocation

    result.report["command"] = invocation()
    for warning in result.report["warnings"]:
        say(f"dlasim: warning: {warning}", err=True)
    run_outputs.write(result, sources, given, chosen.get("vcd"))
    classes = run_outputs.highest(result, given["top"], labels) if given["top"] else []
    return _print(result, classes, given["as_json"])


def _check_combinations(given: dict[str, Any]) -> None:
    """Reject options that have no effect together."""
    if given["timing_only"] and any(given[name] for name in ("inputs", "output", "top")):
        raise click.UsageError(
            "--timing-only computes no tensors and cannot be combined with --input, --output or --top"
        )
    if given["carry"] and not given["steps"]:
        raise click.UsageError("--carry needs --steps")
    if given["assume_int8"] and not given["timing_only"]:
        raise click.UsageError("--assume-int8 needs --timing-only: the outputs would mean nothing")
    for name, needed in (("dequantize", "output"), ("labels", "top"), ("normalize", "inputs")):
        if given[name] and not given[needed]:
            raise click.UsageError(f"--{name} needs --{needed.removesuffix('s')}")


def _print(result: RunResult, classes: list[dict[str, Any]], as_json: bool) -> None:
    import json

    if as_json:
        say(json.dumps(result.report | ({"classes": classes} if classes else {}), indent=2))
        return
    from dlasim.cli.summary import print_summary

    if result.prototyped is not None:
        say()
    print_summary(result.report)
    if classes:
        from dlasim.rows.row_table import RowTable

        say()
        say(str(RowTable(classes)))


class BoardConsole:
    """Writes the board's UART output to stdout, or to stderr if stdout is for JSON.

    With `is_raw` it is written unchanged: the user's own firmware may control the terminal. The shipped
    firmware prints names from files, so its control characters are replaced.
    On a terminal, the last line of stderr shows the instruction count and the current function once a run
    takes longer than a second; any other output erases it first.
    """

    def __init__(self, as_json: bool, is_raw: bool) -> None:
        self._is_raw = is_raw
        self._decoder = getincrementaldecoder("utf-8")("replace")
        self._stream = (sys.stderr if as_json else sys.stdout).buffer
        self._line = StatusLine()
        self._in_line = False

    def put(self, byte: int) -> None:
        """Write one byte from the UART."""
        self.clear()
        self._in_line = byte != ord("\n")
        raw = bytes((byte,))
        text = raw if self._is_raw else printable(self._decoder.decode(raw), also="\n\r\t").encode()
        self._stream.write(text)
        if not self._in_line:
            self._stream.flush()

    def progress(self, instructions: int, function: str) -> None:
        """Show the progress, unless the guest is in the middle of a line."""
        if not self._in_line:
            self._line.show(f"{instructions:,} instructions in {self._line.seconds:.0f} s, in {function}")

    def clear(self) -> None:
        """Erase the line of progress."""
        self._line.clear()
