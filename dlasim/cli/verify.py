"""`dlasim verify`: a lowered model against TensorFlow, tensor by tensor."""

from __future__ import annotations

from typing import Any

import click

from dlasim.cli.config_options import compile_options, machine_options, take_compile, take_machine
from dlasim.cli.host_options import host_options, take_host
from dlasim.cli.sections import SectionedCommand
from dlasim.cli.terminal import say

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
@click.option(
    "--runs",
    default=1,
    type=click.IntRange(0, 100_000),
    metavar="N",
    help="Noise inputs, besides the edge cases.",
)
@click.option("--seed", default=0, type=int, metavar="N", help="Seed of the first noise input.")
@click.option(
    "--engine",
    default="auto",
    type=click.Choice(["auto", "fast", "reference"]),
    help="Kernels: compiled (fast) or readable.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of the line, of a mismatch too.")
def command(model: str, runs: int, seed: int, engine: str, as_json: bool, **given: Any) -> None:
    """Compare every tensor of MODEL, bit for bit, with TensorFlow's reference.

    Inputs are all -128, all 127, the zero point, and noise. The program is checked for races too. Leaves
    with 0 only if everything is equal; else with 1 and the first layer, element and both values.

    The reference is TFLite Micro; what it lacks, or is known to compute wrongly, comes from LiteRT's
    reference kernels. The result says which operators these are and where the two disagree.
    """
    import json

    base, machine = take_machine(given)
    host, chosen = take_host(given)
    from dlasim import api
    from dlasim.errors import RunError

    choices = {**machine, **take_compile(given), "host": host, "host_options": chosen}
    result = api.verify(model, base, runs=runs, seed=seed, engine=engine, **choices)
    for disagreement in result.disagreements:
        say(f"note: {disagreement}", err=True)
    if as_json:
        say(json.dumps({"model": model, **result.as_dict()}, indent=2))
    if result.mismatch is not None:
        raise RunError(f"{model} differs from {result.reference}: {result.mismatch}")
    if result.uncompared:
        raise RunError(f"{model}: {result.reference} lacks {', '.join(result.uncompared)}; all else is equal")
    if as_json:
        return
    say(
        f"{model}: bit-exact against {result.reference}: {result.tensors} tensors, "
        f"{result.elements:,} elements over {result.runs} inputs"
    )
