"""`dlasim tokens`: how fast language models read a prompt and answer."""

from __future__ import annotations

from typing import Any

import click

from dlasim.arguments import COUNTS
from dlasim.cli.config_options import compile_options, machine_options, take_compile, take_machine
from dlasim.cli.help_sections import SectionedCommand, option, with_options
from dlasim.cli.option_types import Number
from dlasim.cli.terminal import say, say_table

_HEAD = [
    "model", "caches", "prompt", "first token", "tokens/s", "per token", "answer tokens/s", "per token",
]  # fmt: skip
_EPILOG = """\b
Examples:
  dlasim tokens decoder.tflite --prefill prompt.tflite --prompt 100
  dlasim tokens smollm2:context=256 smollm2:context=1024 --sram 64KiB
"""


@click.command("tokens", cls=SectionedCommand, epilog=_EPILOG)
@click.argument("models", metavar="MODEL...", nargs=-1, required=True)
@machine_options
@compile_options
@with_options(
    option("--prefill", "The model that takes several tokens of the prompt at once: one for each MODEL, in "
        "the same order. Without it, prompts are taken step by step.", "FILE", is_repeatable=True),
    option("--prompt", "Tokens of the prompt.", "N", kind=Number(int, *COUNTS["prompt"]), default=64),
    option("--json", "Print JSON instead of the table.", kind=bool, name="as_json"),
)  # fmt: skip
def command(
    models: tuple[str, ...], prefill: tuple[str, ...], prompt: int, as_json: bool, **given: Any
) -> None:
    """Show how fast each MODEL, which makes a token a step, reads a prompt and answers.

    The time to the first token of the answer is that of the prompt. Nothing is computed; cycles of the CPU
    are estimated. A step takes as long at any position of the context: attention reads all of the caches. To
    see what a longer context costs, give models with other ones.
    """
    import json

    from dlasim.generation import token_rates
    from dlasim.rows.tables import duration, energy, size

    if prefill and len(prefill) != len(models):
        raise click.UsageError(f"--prefill must be given once for each MODEL (got {len(prefill)})")
    base, machine = take_machine(given)
    choices = machine | take_compile(given)
    found = [
        token_rates(model, base, prefill=reader, prompt=prompt, **choices)
        for model, reader in zip(models, prefill or [None] * len(models), strict=True)
    ]
    if as_json:
        rows = [{"model": model, **rates.as_dict()} for model, rates in zip(models, found, strict=True)]
        return say(json.dumps(rows, indent=2))
    lines = [_HEAD]
    for model, rates in zip(models, found, strict=True):
        how = "step by step" if rates.is_step_by_step else f"{rates.at_once} at once"
        lines.append([
            model, size(rates.cache_bytes), f"{prompt}, {how}",
            duration(1000 * rates.first_token_milliseconds), f"{rates.prefill_tokens_per_second:,.1f}",
            energy(rates.prefill_token_nj), f"{rates.decode_tokens_per_second:,.1f}",
            energy(rates.decode_token_nj),
        ])  # fmt: skip
    for model, rates in zip(models, found, strict=True):
        if not rates.cache_bytes:
            missing = "its inputs must bring that, or it is no language model"
            say(f"{model} keeps nothing of earlier tokens: {missing}", err=True)
    return say_table(lines, "lrlrrrrr")
