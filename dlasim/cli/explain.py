"""`dlasim explain`: shows what the compiler did with each operator, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import click

from dlasim.cli.config_options import (
    assume_option,
    compile_options,
    machine_options,
    take_compile,
    take_machine,
)
from dlasim.cli.help_sections import SectionedCommand
from dlasim.cli.terminal import say, say_table, say_wrapped
from dlasim.errors import printable

if TYPE_CHECKING:
    from dlasim.explanation import Explanation

_HEAD = [
    "layer", "operator", "runs on", "tile", "tiles", "moved", "cycles", "busy", "used", "lost", "limit",
    "why",
]  # fmt: skip
_MAX_SHOWN = 5
_REASONS = {
    "lost_cycles": ("loses", "to {limit}"),
    "compulsory_wait_cycles": ("waits", "for transfers that every plan makes"),
}
_EPILOG = """\b
Examples:
  dlasim explain model.tflite
  dlasim explain model.tflite --sram 64KiB --depthwise cpu
"""


@click.command("explain", cls=SectionedCommand, epilog=_EPILOG)
@click.argument("model", metavar="MODEL")
@machine_options
@compile_options
@assume_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of the table.")
def command(model: str, as_json: bool, assume_int8: bool, **given: Any) -> None:
    """Show for each operator of MODEL where it runs and why, its tiling, its DMA traffic and its cycles.

    `tile` is ROWSxCOLUMNSxOUTPUTS/INPUTS of one tile, in pixels and channels. With `channels outer` a group
    of weights stays loaded while the tiles cover the image; with `pixels outer` the pixels stay loaded.
    `double` means double-buffered: the next tile is loaded while this one is computed. `lost` is the number
    of cycles beyond the layer's lower bound, without waits for transfers that every plan makes; `limit` is
    what causes most of both.
    """
    import json

    base, machine = take_machine(given)
    from dlasim import api

    rows = api.explain(model, base, assume_int8=assume_int8, **machine, **take_compile(given))
    for warning in rows.report["warnings"]:
        say(f"dlasim: warning: {warning}", err=True)
    if as_json:
        say(json.dumps(rows, indent=2))
        return
    from dlasim.cli.summary import left_out_lines, operator_line
    from dlasim.rows.tables import short, size

    lines = [_HEAD]
    for row in rows:
        on_dla = row["unit"] == "dla"
        lines.append([
            short(row["name"]), row["operator"], row["unit"], row["tile"], str(row["tiles"] or ""),
            size(row["read_bytes"] + row["written_bytes"]) if on_dla else "",
            f"{row['cycles']:,}", f"{row['busy_cycles']:,}",
            f"{100 * row['utilization']:.1f} %" if row["macs"] and row["tiles"] else "",
            f"{row['lost_cycles']:,}" if on_dla else "", row["limit"], row["why"],
        ])  # fmt: skip
    say_table(lines, "llllrrrrrrll")
    say()
    totals = (operator_line(rows.report), *left_out_lines(rows.report), _bound(rows.report))
    for line in (*_worst(rows), *_on_cpu(rows), *totals):
        say_wrapped(line)


def _worst(rows: Explanation) -> Iterator[str]:
    """The layers that lose or wait most, and what would help."""
    limited = ((max((row[figure], figure) for figure in _REASONS), row) for row in rows if row["limit"])
    for (cycles, figure), row in sorted(limited, key=lambda each: -each[0][0])[:_MAX_SHOWN]:
        share, (verb, reason) = 100 * cycles / rows.report["cycles"]["total"], _REASONS[figure]
        yield (
            f"{row['name']} {verb} {cycles:,} cycles ({share:.1f} % of the total) "
            f"{reason.format(**row)}; remedy: {row['advice']}"
        )


def _on_cpu(rows: Explanation) -> Iterator[str]:
    """Each kind of operator on the CPU with its share of the cycles, most first."""
    cycles: Counter[str] = Counter()
    count = Counter(row["operator"] for row in rows if row["unit"] == "cpu")
    for row in rows:
        if row["unit"] == "cpu":
            cycles[row["operator"]] += row["cycles"]
    total = rows.report["cycles"]["total"]
    for operator, spent in cycles.most_common():
        share = 100 * spent / total
        what = f"{count[operator]} {printable(operator)}"
        yield f"on the CPU: {what}, {spent:,} cycles ({share:.1f} % of the total)"


def _bound(report: Mapping[str, Any]) -> str:
    total, least = report["cycles"]["total"], report["bound_cycles"]
    if not least:
        return f"{total:,} cycles"
    return (
        f"{total:,} cycles, {report['bound_ratio']:.3f} times the bound of {least:,} ({report['bound_unit']})"
    )
