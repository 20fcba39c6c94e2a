"""`dlasim verify`: compares a compiled model with TensorFlow, tensor by tensor."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from dlasim.arguments import COUNTS
from dlasim.cli.config_options import compile_options, machine_options, take_compile, take_machine
from dlasim.cli.help_sections import SectionedCommand, option, with_options
from dlasim.cli.host_options import ENGINE, host_options, take_host
from dlasim.cli.option_types import Number
from dlasim.cli.terminal import say
from dlasim.errors import RunError, counted

if TYPE_CHECKING:
    from dlasim.checking.onnx_comparison import OnnxComparison

_EPILOG = """\b
Examples:
  dlasim verify model.tflite
  dlasim verify model.tflite --sram 64KiB --fusion none --runs 10
  dlasim verify model.tflite --host riscv --place cpu
"""


@click.command("verify", cls=SectionedCommand, epilog=_EPILOG)
@click.argument("model", metavar="MODEL")
@machine_options
@compile_options
@host_options
@with_options(
    option("--runs", "Number of random inputs, in addition to the edge cases.", "N",
        kind=Number(int, *COUNTS["runs"]), default=1),
    option("--seed", "Seed of the first random input.", "N", kind=Number(int, 0), default=0),
    ENGINE,
    option("--json", "Print the result, including a mismatch, as JSON.", kind=bool, name="as_json"),
)  # fmt: skip
def command(model: str, runs: int, seed: int, engine: str, as_json: bool, **given: Any) -> None:
    """Compare every tensor of MODEL, bit for bit, with TensorFlow's reference.

    The model is run on inputs that are entirely the lowest value, the highest value or the zero point, and on
    random inputs. The program is also checked for data races. The exit code is 0 only if everything is equal;
    otherwise it is 1, and the error names the first layer and element that differ, with both values.

    An ONNX model is compared with onnxruntime, which rescales in float32: the result says how many elements
    of each layer and of the outputs differ, and by how many steps. The exit code is 0 if no layer differs by
    more than one step, at most 0.5 % of all elements differ, averages and SOFTMAX aside, and the largest
    output is the same.

    A TOSA model is compared with dlasim's kernels for the CPU, and its outputs with Arm's reference model, if
    the program tosa_reference_model of the PyPI package tosa-tools is in PATH.

    The reference is TFLite Micro, with --numerics litert LiteRT's kernels. The other one replaces it
    for operators that it lacks or is known to compute wrongly. The result lists these operators and where the
    two references disagree.
    """
    import json

    base, machine = take_machine(given)
    host, chosen = take_host(given)
    from dlasim import api
    from dlasim.checking.verification import Verification
    from dlasim.cli.verify import print_comparison
    from dlasim.errors import RunError, counted

    choices = {**machine, **take_compile(given), "host": host, "host_options": chosen}
    result = api.verify(model, base, runs=runs, seed=seed, engine=engine, **choices)
    if not isinstance(result, Verification):
        return print_comparison(model, result, as_json)
    for disagreement in result.disagreements:
        say(f"note: {disagreement}", err=True)
    if as_json:
        say(json.dumps({"model": model, **result.as_dict()}, indent=2))
    if result.mismatch is not None:
        raise RunError(f"{model} differs from {result.reference}: {result.mismatch}")
    if result.uncompared:
        raise RunError(
            f"{model}: {result.reference} did not compute {', '.join(result.uncompared)}; the rest is equal"
        )
    if as_json:
        return None
    say(
        f"{model}: bit-exact against {result.reference}: {counted(result.tensors, 'tensor')}, "
        f"{counted(result.elements, 'element')} over {counted(result.runs, 'input')}"
    )
    return None


def print_comparison(model: str, result: OnnxComparison, as_json: bool) -> None:
    """The result as lines or as JSON; a RunError if it did not pass."""
    if as_json:
        say(json.dumps({"model": model, **result.as_dict()}, indent=2))
    if result.program.mismatch is not None:
        raise RunError(f"{model} differs from dlasim's own kernels: {result.program.mismatch}")
    share = 100 * result.differing / max(result.elements, 1)
    outputs = sum(output.elements for output in result.outputs)
    differing = sum(output.differing for output in result.outputs)
    steps = max((output.steps for output in result.outputs), default=0)
    layers = counted(result.elements, "element")
    text = (
        f"layer by layer {share:.2f} % of {layers} differ from {result.reference}, by "
        f"{counted(result.steps, 'step')} at most; outputs: {differing:,} of {outputs:,}, by "
        f"{counted(steps, 'step')} at most; the largest output is the same for {result.same_top} of "
        f"{counted(result.runs, 'input')}"
    )
    if not result.passed:
        worst = max(result.layers, key=lambda layer: (layer.steps, layer.differing))
        raise RunError(f"{model}: {text}; most in {worst.name}")
    if not as_json:
        say(f"{model}: {text}")
