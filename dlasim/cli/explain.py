"""`dlasim explain`: shows what the compiler did with each operator, and why."""

from __future__ import annotations

from typing import Any

import click

from dlasim.cli.config_options import compile_options, machine_options, take_compile, take_machine
from dlasim.cli.sections import SectionedCommand
from dlasim.cli.terminal import say

_EPILOG = """\b
Examples:
  dlasim explain model.tflite
  dlasim explain model.tflite --sram 64KiB --depthwise cpu
"""


@click.command("explain", cls=SectionedCommand, epilog=_EPILOG)
@click.argument("model", metavar="MODEL")
@machine_options
@compile_options
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of the table.")
def command(model: str, as_json: bool, **given: Any) -> None:
    """Show for each operator of MODEL where it runs and why, its tiling, its DMA traffic and its cycles."""
    import json

    base, machine = take_machine(given)
    from dlasim import api

    rows = api.explain(model, base, **machine, **take_compile(given))
    if as_json:
        say(json.dumps(rows, indent=2))
        return
    from dlasim.cli.summary import size, table

    head = ["operator", "kind", "runs on", "tile", "tiles", "moved", "cycles", "used", "why"]
    lines = [head]
    for row in rows:
        lines.append([
            row["name"], row["operator"], row["unit"], row["tile"], str(row["tiles"] or ""),
            size(row["read_bytes"] + row["written_bytes"]) if row["unit"] == "dla" else "",
            f"{row['cycles']:,}", f"{100 * row['utilization']:.1f} %" if row["macs"] and row["tiles"] else "",
            row["why"],
        ])  # fmt: skip
    say(table(lines, "llllrrrrl"))
