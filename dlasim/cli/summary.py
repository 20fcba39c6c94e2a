"""Prints the report of a run as tables: layers, kinds of operation, stalls, totals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from dlasim.cli.terminal import say, say_table, say_wrapped
from dlasim.errors import printable
from dlasim.rows.tables import duration, energy, percent, short, size
from dlasim.sim.reports.figures import LAYER_FIGURES, UNIT_FIGURES, Figure

_FUNCTIONS_SHOWN = 12
_ENERGY_PARTS_SHOWN = 4


def print_summary(report: Mapping[str, Any]) -> None:
    """Print the tables on standard output."""
    say(_title(report))
    say()
    say_table(_layer_rows(report), "lllrrrrrrrr")
    say()
    say_table(_kind_rows(report), "lrrrrr")
    say()
    say_table(_unit_rows(report), "lrrrr")
    say()
    if "functions" in report:
        say_table(function_rows(report), "lrrrr")
        say()
    say_wrapped(_totals(report), _INDENT)


_INDENT = 11  # of what is said behind a word in the totals
_FORMATS: dict[str, Callable[[Any], str]] = {
    "text": short,
    "cycles": "{:,}".format,
    "MACs": "{:,}".format,
    "count": "{:,}".format,
    "share": percent,
    "bytes": size,
    "nJ": energy,
}


def _title(report: Mapping[str, Any]) -> str:
    config = report["config"]
    return (
        f"{short(printable(report['program']), 64)} on {config['pes']} PEs ({config['parallel']}), "
        f"{size(config['sram_bytes'])} SRAM, DMA {config['dma_bandwidth'] or 'unlimited'} B/cycle"
    )


def _layer_rows(report: Mapping[str, Any]) -> list[list[str]]:
    shown = [figure for figure in LAYER_FIGURES if figure.label]
    rows = [[figure.label for figure in shown]]
    rows.extend([_layer_cell(figure, layer) for figure in shown] for layer in report["layers"])
    return rows


def _layer_cell(figure: Figure, layer: Mapping[str, Any]) -> str:
    """A figure as text; empty where it says nothing."""
    if (figure.macs_only and not layer["macs"]) or (figure.dla_only and layer["unit"] != "dla"):
        return ""
    return _FORMATS[figure.unit](figure.cell(layer))


def _kind_rows(report: Mapping[str, Any]) -> list[list[str]]:
    """The attributed cycles of each kind, which add up, and its busy ones, in which it uses the PEs."""
    cycles = report["cycles"]
    rows = [["kind", "cycles", "share", "busy", "MACs", "used"]]
    macs: Counter[str] = Counter()
    busy: Counter[str] = Counter()
    for layer in report["layers"]:
        if layer["unit"] == "dla":
            macs[layer["kind"]] += layer["macs"]
            busy[layer["kind"]] += layer["busy_cycles"]
    for kind, count in (*cycles["by_kind"].items(), ("stall", cycles["stall"])):
        if count or busy[kind]:
            done = macs[kind]
            used = percent(done / (busy[kind] * report["config"]["pes"])) if done and busy[kind] else ""
            numbers = (f"{number:,}" if number else "" for number in (busy[kind], done))
            rows.append([kind, f"{count:,}", percent(count / (cycles["dla"] or 1)), *numbers, used])
    whole = f"{cycles['dla']:,}"
    rows.append(["DLA", whole, percent(1.0), whole, f"{report['macs']:,}", percent(report["utilization"])])
    return rows


def _unit_rows(report: Mapping[str, Any]) -> list[list[str]]:
    units = report["units"]
    rows = [["unit cycles", *units]]
    for figure in UNIT_FIGURES:
        if figure.name == "work" or any(unit[figure.name] for unit in units.values()):
            rows.append([figure.label, *(f"{unit[figure.name]:,}" for unit in units.values())])
    return rows if units else [["unit cycles", "", "", "", ""]]


def _source(report: Mapping[str, Any]) -> str:
    return " (estimate)" if report["cpu"]["estimated"] else ""


def _cpu_lines(report: Mapping[str, Any]) -> list[str]:
    cpu, memory = report["cpu"], report["memory"]
    if cpu["estimated"]:
        return []
    return [
        f"CPU        {cpu['instructions']:,} instructions ({cpu['model']}), {cpu['setup_instructions']:,} "
        f"more for set-up; asleep {cpu['idle_cycles']:,} cycles",
        f"           stack {size(memory['stack_peak_bytes'])}, RAM {size(memory['ram_peak_bytes'])} in total",
    ]


def function_rows(report: Mapping[str, Any]) -> list[list[str]]:
    """The firmware's functions with the most cycles, from reset to exit."""
    functions = report["functions"]
    cycles = sum(function["cycles"] for function in functions)
    rows = [["firmware function", "entries", "instructions", "cycles", "share"]]
    for function in functions[:_FUNCTIONS_SHOWN]:
        numbers = (f"{function[key]:,}" for key in ("entries", "instructions", "cycles"))
        rows.append([short(function["name"], 32), *numbers, percent(function["cycles"] / cycles)])
    return rows


def _clock_line(report: Mapping[str, Any]) -> str:
    """The clock, and the one that the RTL reaches."""
    config = report["config"]
    reached = (
        f"the RTL reaches {report['max_clock_hz'] / 1e6:.0f} MHz in {config['technology']}, without wires"
    )
    return f"clock      {config['clock_mhz']:g} MHz; {reached}"


def _energy_line(report: Mapping[str, Any]) -> str:
    """The energy and its largest parts."""
    parts = dict(report["energy_nj"])
    total, uncertainty = parts.pop("total"), parts.pop("uncertainty")
    shown = sorted(parts.items(), key=lambda part: -part[1])[:_ENERGY_PARTS_SHOWN]
    shares = ", ".join(f"{name} {percent(part / total)}" for name, part in shown if part)
    line = f"energy     {energy(total)} ± {energy(uncertainty)} ({report['config']['technology']})"
    return f"{line}: {shares}" if shares else line


def _area_line(report: Mapping[str, Any]) -> str:
    """The area and its largest parts, the logic in gates, and the memories."""
    parts, gates, memory = dict(report["area_mm2"]), report["area_kge"]["total"], report["sram_kib"]["total"]
    total, uncertainty = parts.pop("total"), parts.pop("uncertainty")
    shown = sorted(parts.items(), key=lambda part: -part[1])[:_ENERGY_PARTS_SHOWN]
    shares = ", ".join(f"{name} {percent(part / total)}" for name, part in shown)
    line = f"area       {total:.2f} mm² ± {uncertainty:.2f} mm² ({report['config']['technology']}): {shares}"
    return f"{line}\n{'':11}{gates:,.0f} kGE of logic, {memory:g} KiB of memory"


def operator_line(report: Mapping[str, Any]) -> str:
    """How many layers the DLA runs, and the CPU's share of the cycles."""
    layers, cycles = report["layers"], report["cycles"]
    on_dla = sum(layer["unit"] == "dla" for layer in layers)
    share = cycles["cpu"] / cycles["total"] if cycles["total"] else 0.0
    return f"{on_dla} of {len(layers)} operators on the DLA; CPU {percent(share)} of cycles"


def left_out_lines(report: Mapping[str, Any]) -> list[str]:
    """The conversions at the edges that are not part of the program."""
    left_out = report.get("left_out", ())
    return [f"--io int8 leaves out {', '.join(map(printable, left_out))}"] if left_out else []


def _first_lines(report: Mapping[str, Any]) -> list[str]:
    """The inference that loads the weights, where later ones keep them."""
    first = report.get("first_inference")
    if first is None:
        return []
    read = size(first["dma_bytes"]["read"])
    return [
        f"first      {first['cycles']:,} cycles, {energy(first['energy_nj'])}, read {read}: it loads the "
        "weights, all others keep them"
    ]


def _bound(report: Mapping[str, Any]) -> list[str]:
    if not report["bound_cycles"]:
        return []
    return [
        f"bound      {report['bound_cycles']:,} cycles ({report['bound_unit']}): the total is "
        f"{report['bound_ratio']:.3f} times the bound"
    ]


def _memory_lines(report: Mapping[str, Any]) -> list[str]:
    """The bytes of each memory, where there are several."""
    memories = report["memories"]
    if len(memories) < 2:
        return []
    return [
        f"           {name}: read {size(moved['read'])}, written {size(moved['write'])}"
        for name, moved in memories.items()
    ]


def _totals(report: Mapping[str, Any]) -> str:
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
        *([f"           {operator_line(report)}"] if report["layers"] else []),
        *(f"           {line}" for line in left_out_lines(report)),
        *_bound(report),
        *_first_lines(report),
        f"DMA        read {size(moved['read'])}, written {size(moved['write'])}",
        *_memory_lines(report),
        f"memory     SRAM {sram}, arena {arena}, constants {constants}",
        _clock_line(report),
        _energy_line(report),
        _area_line(report),
    ]
    wall = report["wall_seconds"]
    if wall:
        parts = ", ".join(f"{name} {seconds:.3f} s" for name, seconds in wall.items())
        lines.append(f"this run   {parts}")
    return "\n".join(lines)
