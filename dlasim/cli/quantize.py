"""`dlasim quantize`: makes an int8 network of a float one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from dlasim.cli.help_sections import option, with_options
from dlasim.cli.terminal import say, say_table

if TYPE_CHECKING:
    from dlasim.quantization.quantizing import Quantized

_EPILOG = """\b
Examples:
  dlasim quantize model.onnx --calibrate samples.npz -o model.int8.onnx
  dlasim quantize model.keras --calibrate images.npy --labels classes.npy
"""
_MAX_LAYERS = 10


@click.command("quantize", epilog=_EPILOG)
@click.argument("model", metavar="MODEL")
@with_options(
    option("--calibrate", "Samples: a .npz file with an array for each input, or a .npy file for one input.",
        "DATA", is_required=True),
    option("-o --output", "Write the int8 network to FILE.", "FILE", is_required=True),
    option("--labels", "The class of each sample: show how many the networks name first.", "FILE.npy"),
    option("--json", "Print the result as JSON.", kind=bool, name="as_json"),
)  # fmt: skip
def command(model: str, calibrate: str, output: str, labels: str | None, as_json: bool) -> None:
    """Quantize MODEL, a float .onnx, .keras or .pt2 network, to int8.

    onnxruntime or TensorFlow does it. Samples lie one after another along the first dimension, as the network
    will meet them. The result says how far each layer is from the float network, and what stayed in float32.
    """
    import json

    from dlasim.quantization.quantizing import quantize
    from dlasim.system.fileio import keep_apart

    keep_apart((model, calibrate, *([labels] if labels else [])), (output,))
    found = quantize(model, calibrate, output, labels)
    if as_json:
        say(json.dumps(found.as_dict(), indent=2))
        return
    _print(found)


def _print(found: Quantized) -> None:
    from dlasim.errors import printable

    worst = sorted(found.layers, key=lambda layer: -layer.noise)[:_MAX_LAYERS]
    rows = [[printable(layer.name), f"{100 * layer.noise:.2f} %"] for layer in (*worst, *found.outputs)]
    say_table([["farthest layers, then outputs", "noise"], *rows], "lr")
    say()
    if found.float_accuracy is not None and found.int8_accuracy is not None:
        shares = (f"{100 * share:.2f} %" for share in (found.float_accuracy, found.int8_accuracy))
        say(f"labels     {' in float, '.join(shares)} in int8")
    if found.in_float32:
        names, more = found.in_float32[:_MAX_LAYERS], len(found.in_float32) - _MAX_LAYERS
        end = f" and {more} more" if more > 0 else ""
        say(f"float32    {', '.join(map(printable, names))}{end}")
    say(f"{found.path}: int8, calibrated with {found.samples} samples")
