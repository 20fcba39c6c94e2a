"""`dlasim model`: writes a built-in network as an int8 .tflite file."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from dlasim.cli.help_sections import option, with_options
from dlasim.cli.option_types import Number
from dlasim.cli.terminal import say, say_table
from dlasim.system.status_line import StatusLine

if TYPE_CHECKING:
    from dlasim.compiler_shim.topologies.networks import Topology

_EPILOG = """\b
Examples:
  dlasim model --list
  dlasim model mobilenet_v1 -o mobilenet_v1.tflite
  dlasim model mobilenet_v2 --alpha 0.35 --resolution 96 -o small.tflite
  dlasim model resnet8 --seed 7 -o resnet8.tflite
"""


@click.command("model", epilog=_EPILOG)
@click.argument("name", required=False)
@with_options(
    option("-o --output", "The file to write.  [default: NAME.tflite]", "FILE"),
    option("--alpha", "Width multiplier of a MobileNet.  [default: 1.0]", "X", kind=Number(float)),
    option("--resolution", "Image height and width of a MobileNet.  [default: 224]", "N", kind=Number(int)),
    option("--classes", "Classes of a classifier, or a vocabulary.", "N", kind=Number(int)),
    option("--layers", "Layers of a language model.  [default: 2]", "N", kind=Number(int)),
    option("--context", "Tokens that a language model remembers.  [default: 256]", "N", kind=Number(int)),
    option("--tokens", "Tokens that a step of a language model takes.  [default: 1]", "N", kind=Number(int)),
    option("--weight-bits", "Bits that weights use, from 2 to 8.  [default: 8]", "N", kind=Number(int)),
    option("--seed", "Seed of the weights.", "N", kind=Number(int), default=0),
    option("--list", "List the built-in networks.", kind=bool, name="list_only"),
    option("--json", "Print the list, or what was written, as JSON.", kind=bool, name="as_json"),
)  # fmt: skip
def command(name: str | None, output: str | None, list_only: bool, as_json: bool, **chosen: Any) -> None:
    """Write the built-in network NAME as an int8 .tflite file.

    The weights are random, so the network does not classify anything; its shapes, quantization and value
    ranges are realistic. The same arguments give the same file on every machine.
    """
    if list_only:
        if name is not None:
            raise click.UsageError(f"--list takes no NAME (got {name!r})")
        _show_list(as_json)
        return
    if name is None:
        raise click.UsageError("NAME is missing; `dlasim model --list` shows the built-in networks")
    from dlasim import api
    from dlasim.system.fileio import refuse_ending

    refuse_ending(output or "", (".onnx", ".tosa", ".dlag", ".bin", ".elf"), "a .tflite file")
    line = StatusLine()
    click.get_current_context().call_on_close(line.clear)
    path = api.model(
        name, output,
        on_operator=lambda operator: line.show(f"{name}: measuring the range of {operator}"), **chosen,
    )  # fmt: skip
    line.clear()
    if as_json:
        say(json.dumps({"output": str(path), "bytes": path.stat().st_size}, indent=2))
    say(f"wrote {path}: {path.stat().st_size:,} bytes", err=True)


def _show_list(as_json: bool) -> None:
    from dlasim.compiler_shim.topologies.networks import TOPOLOGIES

    if as_json:
        rows = [
            {"name": name, "input_shape": list(topology.input_shape), "summary": topology.summary,
             "options": _options(topology)}
            for name, topology in sorted(TOPOLOGIES.items())
        ]  # fmt: skip
        say(json.dumps(rows, indent=2))
        return
    lines = [["network", "input", "what it is", "options"]]
    for name, topology in sorted(TOPOLOGIES.items()):
        shape = "x".join(map(str, topology.input_shape))
        lines.append([name, shape, topology.summary, " ".join(_options(topology))])
    say_table(lines, "llll")


def _options(topology: Topology) -> list[str]:
    """The options that apply to a network, apart from --classes and --seed."""
    flags = [("--alpha", topology.scalable), ("--resolution", topology.resizable)]
    flags += [(flag, topology.speaks) for flag in ("--layers", "--context", "--tokens")]
    return [flag for flag, there in flags if there]
