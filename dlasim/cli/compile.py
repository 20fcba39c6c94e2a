"""`dlasim compile`: compiles a model to a program for one machine, or writes its network for any machine."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from dlasim.cli.config_options import (
    compile_options,
    input_files,
    machine_options,
    take_compile,
    take_machine,
)
from dlasim.cli.help_sections import SectionedCommand, option, with_options
from dlasim.cli.terminal import say
from dlasim.errors import counted

if TYPE_CHECKING:
    from dlasim.compiler_shim.lowering.lower import Lowered

_MODELS = (".tflite", ".onnx", ".tosa")
_EPILOG = """\b
Examples:
  dlasim compile model.tflite -o program.bin
  dlasim compile model.tflite -o application.elf
  dlasim compile model.tflite -o program.bin --pes 128 --sram 64KiB
  dlasim compile model.tflite -o model.dlag
  dlasim run model.dlag --pes 128 --parallel 8x16
"""


@click.command("compile", cls=SectionedCommand, epilog=_EPILOG)
@click.argument("model", metavar="MODEL")
@with_options(
    option("-o --output",
        "The program to write. FILE.elf: with the board's firmware; FILE.h: as a C array; FILE.dlag: the "
        "network itself, for any machine.", "FILE", is_required=True),
    option("--json", "Print what was written, and its layers, as JSON.", kind=bool, name="as_json"),
)  # fmt: skip
@machine_options
@compile_options
def command(model: str, output: str, as_json: bool, **given: Any) -> None:
    """Compile MODEL, an int8 .tflite, .onnx, .tosa or .dlag file or a built-in network, for one machine.

    With -o FILE.dlag, the file is the network itself, for any machine; every command accepts it as a model.
    """
    from dlasim.system.fileio import atomic_write, keep_apart, refuse_ending

    keep_apart((model, *input_files(given)), (output,))
    refuse_ending(output, _MODELS, "a program")
    base, machine = take_machine(given)
    options = take_compile(given)
    if output.endswith(".dlag"):
        if base is not None or machine or options:
            raise click.UsageError(
                f"{output} does not depend on a machine; give machine options when you compile or run it"
            )
        return _write_graph(model, output, as_json)
    from dlasim import api
    from dlasim.cli.summary import left_out_lines

    lowered = api.compile(model, base, **machine, **options)
    data = _artifact(lowered.program, output)
    atomic_write(output, data)
    program = lowered.program
    if as_json:
        say(json.dumps(_as_data(lowered, output, len(data)), indent=2))
    layers, words = counted(len(program.layers), "layer"), counted(len(program.commands), "word")
    streams, calls = counted(len(program.streams), "stream"), counted(len(program.host_calls), "host call")
    for line in left_out_lines({"left_out": lowered.network.left_out}):
        say(line, err=True)
    say(f"wrote {output}: {layers}, {words} in {streams}, {calls}, {len(data):,} bytes", err=True)
    return None


def _write_graph(model: str, output: str, as_json: bool) -> None:
    """Write the network as a `.dlag` file."""
    from dlasim.compiler_shim import compile as shim
    from dlasim.loading import open_located
    from dlasim.system.fileio import atomic_write

    graph = shim.load_graph(open_located(model))
    data = shim.save_graph(graph)
    atomic_write(output, data)
    if as_json:
        found = {"output": output, "bytes": len(data), "operators": len(graph.operators)}
        say(json.dumps(found | {"tensors": len(graph.tensors)}, indent=2))
    operators = counted(len(graph.operators), "operator")
    say(
        f"wrote {output}: {operators}, {counted(len(graph.tensors), 'tensor')}, {len(data):,} bytes", err=True
    )


def _as_data(lowered: Lowered, output: str, size_bytes: int) -> dict[str, Any]:
    program = lowered.program
    return {
        "output": output,
        "bytes": size_bytes,
        "words": len(program.commands),
        "streams": len(program.streams),
        "host_calls": len(program.host_calls),
        "left_out": list(lowered.network.left_out),
        "layers": [
            {"name": layer.name, "operator": layer.operator, "unit": layer.target, "why": layer.reason,
             "macs": layer.macs}
            for layer in lowered.network.layers
        ],
    }  # fmt: skip


def _artifact(program: Any, output: str) -> bytes | str:
    """The file's content by its suffix: an application for the board, a C array, or the program itself."""
    if output.endswith(".elf"):
        from dlasim import on_board

        return on_board.application(program)
    if output.endswith(".h"):
        from dlasim import on_board

        return on_board.c_array(program)
    from dlasim.isa import container

    return container.write(program)
