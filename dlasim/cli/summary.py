"""Prints the report of a run as tables: layers, kinds of operation, stalls, totals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dlasim.cli.terminal import say
from dlasim.errors import printable
from dlasim.sim.figures import LAYER_FIGURES, UNIT_FIGURES, Figure

_FUNCTIONS_SHOWN = 12
_MAC_FIGURES = ("macs", "utilization")  # of a layer; without MACs they say nothing
_CPU_FIGURES = ("name", "operator", "unit", "cycles", "macs")  # the others say nothing of a layer on the CPU


def print_summary(report: dict[str, Any]) -> None:
    """Print the tables on standard output."""
    say(_title(report))
    say()
    say(table(_layer_rows(report), "lllrrrrrr"))
    say()
    say(table(_kind_rows(report), "lrrrr"))
    say()
    say(table(_unit_rows(report), "lrrrr"))
    say()
    if "functions" in report:
        say(table(function_rows(report), "lrrrr"))
        say()
    say(_totals(report))


def table(rows: list[list[str]], alignment: str) -> str:
    """Format rows as a table whose first row is the head; `alignment` has l or r for each column."""
    rows = [[printable(cell) for cell in row] for row in rows]
    widths = [max(len(row[column]) for row in rows) for column in range(len(alignment))]
    lines = []
    for number, row in enumerate(rows):
        cells = [
            cell.ljust(width) if side == "l" else cell.rjust(width)
            for cell, width, side in zip(row, widths, alignment, strict=True)
        ]
        lines.append("  ".join(cells).rstrip())
        if number == 0:
            lines.append("  ".join("─" * width for width in widths))
    return "\n".join(lines)


def size(count: int) -> str:
    """A number of bytes with a unit."""
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if count >= unit:
            return f"{count / unit:,.1f} {name}"
    return f"{count} B"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _short(name: str, width: int = 32) -> str:
    """The end of a long name: that is where layers differ."""
    return name if len(name) <= width else "…" + name[1 - width :]


_FORMATS: dict[str, Callable[[Any], str]] = {
    "text": _short,
    "cycles": "{:,}".format,
    "MACs": "{:,}".format,
    "count": "{:,}".format,
    "share": _percent,
    "bytes": size,
}


def duration(microseconds: float) -> str:
    """A time with a unit."""
    if microseconds < 1000:
        return f"{microseconds:.3f} µs"
    return f"{microseconds / 1000:,.3f} ms"


def _title(report: dict[str, Any]) -> str:
    config = report["config"]
    return (
        f"{_short(printable(report['program']), 64)} on {config['pes']} PEs ({config['parallel']}), "
        f"{size(config['sram_bytes'])} SRAM, DMA {config['dma_bandwidth'] or 'unlimited'} B/cycle"
    )


def _layer_rows(report: dict[str, Any]) -> list[list[str]]:
    shown = [figure for figure in LAYER_FIGURES if figure.label]
    rows = [[figure.label for figure in shown]]
    rows.extend([_layer_cell(figure, layer) for figure in shown] for layer in report["layers"])
    return rows


def _layer_cell(figure: Figure, layer: dict[str, Any]) -> str:
    """A figure as text; empty where it says nothing."""
    if figure.name in _MAC_FIGURES and not layer["macs"]:
        return ""
    if figure.name not in _CPU_FIGURES and layer["unit"] != "dla":
        return ""
    return _FORMATS[figure.unit](figure.cell(layer))


def _kind_rows(report: dict[str, Any]) -> list[list[str]]:
    cycles = report["cycles"]
    rows = [["kind", "cycles", "share", "MACs", "used"]]
    macs: dict[str, int] = {}
    for layer in report["layers"]:
        if layer["unit"] == "dla":
            macs[layer["kind"]] = macs.get(layer["kind"], 0) + layer["macs"]
    for kind, count in (*cycles["by_kind"].items(), ("stall", cycles["stall"])):
        if count:
            done = macs.get(kind, 0)
            used = _percent(done / (count * report["config"]["pes"])) if done else ""
            share = _percent(count / cycles["dla"])
            rows.append([kind, f"{count:,}", share, f"{done:,}" if done else "", used])
    rows.append(
        ["DLA", f"{cycles['dla']:,}", _percent(1.0), f"{report['macs']:,}", _percent(report["utilization"])]
    )
    return rows


def _unit_rows(report: dict[str, Any]) -> list[list[str]]:
    units = report["units"]
    rows = [["unit cycles", *units]]
    for figure in UNIT_FIGURES:
        if figure.name == "work" or any(unit[figure.name] for unit in units.values()):
            rows.append([figure.label, *(f"{unit[figure.name]:,}" for unit in units.values())])
    return rows if units else [["unit cycles", "", "", "", ""]]


def _source(report: dict[str, Any]) -> str:
    return " (estimate)" if report["cpu"]["estimated"] else ""


def _cpu_lines(report: dict[str, Any]) -> list[str]:
    cpu, memory = report["cpu"], report["memory"]
    if cpu["estimated"]:
        return []
    return [
        f"CPU        {cpu['instructions']:,} instructions ({cpu['model']}), {cpu['setup_instructions']:,} "
        f"more for set-up; asleep {cpu['idle_cycles']:,} cycles",
        f"           stack {size(memory['stack_peak_bytes'])}, RAM {size(memory['ram_peak_bytes'])} in total",
    ]


def function_rows(report: dict[str, Any]) -> list[list[str]]:
    """The firmware's functions with the most cycles, from reset to exit."""
    functions = report["functions"]
    cycles = sum(function["cycles"] for function in functions)
    rows = [["firmware function", "entries", "instructions", "cycles", "share"]]
    for function in functions[:_FUNCTIONS_SHOWN]:
        numbers = (f"{function[key]:,}" for key in ("entries", "instructions", "cycles"))
        rows.append([_short(function["name"], 32), *numbers, _percent(function["cycles"] / cycles)])
    return rows


def _totals(report: dict[str, Any]) -> str:
    cycles, moved, memory = report["cycles"], report["dma_bytes"], report["memory"]
    clock = report["config"]["clock_mhz"]
    sram, arena, constants = (
        size(amount)
        for amount in (report["sram_peak_bytes"], memory["arena_peak_bytes"], memory["constants_bytes"])
    )
    lines = [
        f"total      {cycles['total']:,} cycles = {duration(cycles['total'] / clock)} at {clock:g} MHz",
        f"           DLA {cycles['dla']:,}, CPU {cycles['cpu']:,}{_source(report)}, "
        f"overlap {cycles['overlap']:,}",
        *_cpu_lines(report),
        f"DMA        read {size(moved['read'])}, written {size(moved['write'])}",
        f"memory     SRAM {sram}, arena {arena}, constants {constants}",
    ]
    wall = report["wall_seconds"]
    if wall:
        parts = ", ".join(f"{name} {seconds:.3f} s" for name, seconds in wall.items())
        lines.append(f"this run   {parts}")
    return "\n".join(lines)
