"""Times the blocks of the RTL at a clock, and keeps the points in sim/physical/timing_points.csv: for each
block of the default machine the longest path between two edges, the area that it takes to be that fast, and a
digest of the sources that it was measured with.

`yosys` maps a block to the cells of a library with 1.4 ns as goal, and `sta` (OpenSTA) finds the longest
path. The library is a Liberty file, as Nangate's 45 nm Open Cell Library, named by --liberty or
DLASIM_LIBERTY; it is not part of this package. Wires take no time, so a chip needs a margin.
"""

import argparse
import gzip
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, replace
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import synthesis
from synthesis import Parameters, PointFile, RtlBlock, SynthesisError, parameters_text

POINTS = synthesis.POINTS.with_name("timing_points.csv")
COLUMNS = ("block", "parameters", "ns", "kge", "flip_flops", "sources", "tools")
GOAL_PS = 1400  # 2 ns less a margin for wires, and what the trees of buffers take that follow the mapping
NAND2_UM2 = 0.798
MAPPING = (
    "+strash;ifraig;dch,-f;map,-B,0.9;topo;buffer,-c;"
    f"upsize,-D,{GOAL_PS};dnsize,-D,{GOAL_PS}"
)  # fmt: skip
MOST_LOADS = 16  # of a net that a flip-flop or an input drives; ABC buffers only those between gates
BUFFER = "BUF_X4"
Json = dict[str, Any]

# As on the default machine
_PORTS: Parameters = {"PORTS": 4, "BANKS": 8, "BANK_BYTES": 16}
_UNIT: Parameters = {"PORTS": 4, "BANK_BYTES": 16}
_TRANSFER: Parameters = {"DMA_PORTS": 4, "BANK_BYTES": 16, "BEAT_BYTES": 8}
_ARRAY: Parameters = {"INPUT_LANES": 1, "OUTPUT_LANES": 64, "RESULT_CYCLES": 16384}
_STAGE: Parameters = {"REQUANTIZATION_CYCLES": 16384, "DIVISION_CYCLES": 65536}
_VECTOR_RESULTS: Parameters = {
    "BANK_BYTES": 16,
    "WORDS": 2,
    "CHUNK": 32,
    "DEPTH": 16,
    "DELAY": 10,
}  # of 16 lanes
_MAC_PARTS = (
    "dla_mac_lane", "dla_mac_result", "dla_mac_sum", "dla_mac_pe", "dla_accumulators", "dla_mac_traffic",
    "dla_mac_results",
)  # fmt: skip
_VECTOR_PARTS = ("dla_vector_lane", "dla_vector_choices", "dla_softmax", "dla_vector_traffic")
_ALIKE = (
    "pe", "mac_lane", "mac_result", "mac_sum", "vector_choices", "requantizer", "square", "divider", "host",
    "issue", "checks", "mac_results", "dma_bus",
)  # fmt: skip
_INT16: dict[str, list[Parameters]] = {  # of a machine with elements of int16
    "mac_lane": [{"BITS": 48}],
    "mac_result": [{"BITS": 48}],
    "vector_choices": [{"ELEMENT_BITS": 16}],
    "vector_lane": [{"ELEMENT_BITS": 16}],
    "divider": [{"QUOTIENT_BITS": 16}],
    **{name: [{"INT16": 1}] for name in ("mac", "mac_words", "vector")},
}
_PIXELS: Parameters = {"PIXEL_ROWS": 2, "PIXEL_COLUMNS": 2}  # of a machine that computes four at once
_WITH_PIXELS = ("mac", "mac_words", "mac_results", "checks")


def _variants(block: str) -> list[Parameters]:
    """What its further points have besides."""
    return _INT16.get(block, []) + ([_PIXELS] if block in _WITH_PIXELS else [])


_SMALL_TOP: Parameters = {"DMA_BANDWIDTH": 8, "SRAM_BYTES": 256, "OUTPUT_LANES": 1, "VECTOR_LANES": 1}
_ALL = {
    **{
        name: replace(block, points=block.points[:1])
        for name, block in synthesis.BLOCKS.items()
        if name in _ALIKE
    },
    "accumulators": RtlBlock("dla_accumulators", [{"LANES": 1, "PLACES": 64, "PLACE_BITS": 6}]),
    "queue": RtlBlock("dla_queue", [{"WIDTH": 64, "DEPTH": 4}]),
    "softmax": RtlBlock("dla_softmax", [{"LANES": 16}]),
    "dma": RtlBlock("dla_dma", [{"BEAT_BYTES": 8}]),
    "arrivals": RtlBlock("dla_dma_arrivals", [_TRANSFER], watched=("crossed_bytes",)),
    "departures": RtlBlock("dla_dma_departures", [_TRANSFER | {"PORTS": 4}], watched=("crossed_bytes",)),
    "ports": RtlBlock("dla_ports", [_PORTS]),
    "crossbar": RtlBlock("dla_crossbar", [_PORTS]),
    "writers": RtlBlock("dla_writers", [_VECTOR_RESULTS], watched=("crossed_bytes", "crossed_words")),
    "mac": RtlBlock("dla_mac", [_UNIT | _ARRAY], _MAC_PARTS, ("crossed_bytes",)),
    "mac_words": RtlBlock("dla_mac_traffic", [_UNIT], ("dla_writers",), ("crossed_bytes",)),
    "vector_lane": RtlBlock("dla_vector_lane"),  # with what it leads through: some of its paths cross that
    "vector": RtlBlock("dla_vector", [_UNIT | _STAGE | {"LANES": 16}], _VECTOR_PARTS, ("crossed_bytes",)),
    "vector_words": RtlBlock("dla_vector_traffic", [_UNIT], ("dla_writers",), ("crossed_bytes",)),
    "top": RtlBlock("dla", [_SMALL_TOP], synthesis.UNITS),
}
BLOCKS = {
    name: replace(block, points=[*block.points, *(block.points[0] | more for more in _variants(name))])
    for name, block in _ALL.items()
}
_INSTANCE = re.compile(r"^\s*(dla_\w+|requantizer)\s*(?:#\(|\w+ \()", re.MULTILINE)
_IMPORT = re.compile(r"import (dla_\w+)::")
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


@cache
def sources(name: str) -> str:
    """A digest of how a block is mapped, and of the text of its modules, without comments and blanks."""
    texts = [MAPPING, *("".join(_text(module).split()) for module in sorted(parts(BLOCKS[name])))]
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:12]


def parts(block: RtlBlock) -> set[str]:
    """The modules and packages that a block is made of, without those apart."""
    found, waiting = set(block.apart), [block.top]
    while waiting:
        module = waiting.pop()
        if module not in found:
            found.add(module)
            waiting += [*_INSTANCE.findall(_text(module)), *_IMPORT.findall(_text(module))]
    return found - set(block.apart)


@cache
def _text(module: str) -> str:
    folders = synthesis.RTL, synthesis.GATES.parent
    path = next(path for folder in folders if (path := folder / f"{module}.sv").exists())
    return without_comments(path.read_text())


def without_comments(text: str) -> str:
    """A module's text as tools read it."""
    return _COMMENT.sub("", text)


@dataclass(frozen=True)
class Timed:
    """The longest path, where it begins and ends, and what the block then takes."""

    ns: float
    path: tuple[str, ...]
    kge: float
    flip_flops: int


def measure(block: RtlBlock, parameters: Parameters, liberty: Path) -> Timed:
    """A block at a clock; other blocks in it are outside, and their pins are ends of paths."""
    with tempfile.TemporaryDirectory() as work:
        folder = Path(work)
        copy_library(liberty, folder / "cells.lib")
        synthesis.run("yosys", [
            *synthesis.read_block(block, parameters, folder),
            f"expose -evert {' '.join(f't:{name}$*' for name in block.apart)}" if block.apart else "",
            f"synth -flatten -noabc -top {block.top}",
            "opt -purge",
            "dfflibmap -liberty cells.lib",
            f"abc -liberty cells.lib -script {MAPPING}",
            "opt_clean -purge",
            "read_liberty -lib -ignore_miss_func cells.lib",  # for the directions of pins
            "write_json mapped.json",
        ], folder)  # fmt: skip
        netlist = json.loads((folder / "mapped.json").read_text())
        drop_ways_through(netlist["modules"][block.top])
        buffer_wide_nets(netlist["modules"][block.top])
        (folder / "buffered.json").write_text(json.dumps(netlist))
        synthesis.run("yosys", [
            "read_json buffered.json",
            f"hierarchy -top {block.top}",
            "write_verilog -noattr mapped.v",
            "tee -o area.txt stat -liberty cells.lib",
        ], folder)  # fmt: skip
        area = re.findall(r"Chip area for .*: ([\d.]+)", (folder / "area.txt").read_text())
        cells = netlist["modules"][block.top]["cells"].values()
        flip_flops = sum("DFF" in cell["type"] for cell in cells)
        ns, path = longest_path(folder, block.top)
        return Timed(ns, path, float(area[-1]) / NAND2_UM2 / 1000, flip_flops)


def copy_library(liberty: Path, to: Path) -> None:
    """The cells as plain text."""
    opened = gzip.open if liberty.suffix == ".gz" else open
    with opened(liberty, "rb") as source, to.open("wb") as target:
        shutil.copyfileobj(source, target)


def drop_ways_through(module: Json) -> None:
    """Outputs that are inputs, as pins of other blocks often are: no path ends there, and thousands of them
    take `sta` an hour.
    """
    ports: Json = module["ports"]
    given = {"0", "1", "x"}.union(*(port["bits"] for port in ports.values() if port["direction"] == "input"))
    for name in [name for name, port in ports.items() if port["direction"] == "output"]:
        if given.issuperset(ports[name]["bits"]):
            del ports[name]


def buffer_wide_nets(module: Json) -> None:
    """A tree of buffers behind each net of a flip-flop or an input that has too many loads."""
    cells: Json = module["cells"]
    inputs = [port["bits"] for port in module["ports"].values() if port["direction"] == "input"]
    sources = {bit for bits in inputs for bit in bits}
    clocks = {bit for cell in cells.values() for bit in cell["connections"].get("CK", ())}
    loads: dict[int, list[tuple[Json, str]]] = {}
    for cell in cells.values():
        for pin, bits in cell["connections"].items():
            if cell["port_directions"][pin] == "input":
                loads.setdefault(bits[0], []).append((cell["connections"], pin))
            elif "DFF" in cell["type"]:
                sources.add(bits[0])
    used = [bit for cell in cells.values() for bits in cell["connections"].values() for bit in bits]
    free = count(max((bit for bit in (*used, *sources) if isinstance(bit, int)), default=1) + 1)
    for net in sources - clocks:
        ends = loads.get(net, [])
        while len(ends) > MOST_LOADS:
            groups = [ends[first : first + MOST_LOADS] for first in range(0, len(ends), MOST_LOADS)]
            ends = [_buffered(cells, net, group, next(free)) for group in groups]


def _buffered(cells: Json, net: int, ends: list[tuple[Json, str]], bit: int) -> tuple[Json, str]:
    """A buffer of the net that drives these pins instead."""
    for connections, pin in ends:
        connections[pin] = [bit]
    own: Json = {"A": [net], "Z": [bit]}
    cells[f"wide_{bit}"] = {
        "type": BUFFER,
        "parameters": {},
        "attributes": {},
        "port_directions": {"A": "input", "Z": "output"},
        "connections": own,
    }
    return own, "A"


def longest_path(folder: Path, top: str) -> tuple[float, tuple[str, ...]]:
    """Of the mapped block, in ns, with its two ends."""
    has_clock = re.search(r"input clock\b", (folder / "mapped.v").read_text())
    (folder / "timing.tcl").write_text("\n".join([
        "read_liberty cells.lib",
        "read_verilog mapped.v",
        f"link_design {top}",
        f"create_clock -name edge -period {GOAL_PS / 1000} {'[get_ports clock]' if has_clock else ''}",
        "set_input_delay 0 -clock edge [all_inputs]",
        "set_output_delay 0 -clock edge [all_outputs]",
        "report_checks -path_delay max",
        "exit",
    ]) + "\n")  # fmt: skip
    done = subprocess.run(
        ["sta", "-no_splash", "-exit", "timing.tcl"], capture_output=True, text=True, check=False, cwd=folder
    )
    found = re.findall(r"([\d.]+)\s+data arrival time", done.stdout)
    if not found:
        raise SynthesisError(f"sta found no path:\n{done.stdout}{done.stderr}")
    ends = re.findall(r"(?:Startpoint|Endpoint): (\S+)", done.stdout)
    return float(found[0]), tuple(_register(folder, name) for name in ends)


def _register(folder: Path, name: str) -> str:
    """What a flip-flop of the mapped block holds; a port's own name."""
    text = (folder / "mapped.v").read_text()
    cell = re.search(rf" {re.escape(name)} \(.*?\.QN?\(([^)]*)\)", text, re.DOTALL)
    return cell[1].strip() if cell else name


def main() -> int:
    """Time what the file lacks or has of other sources, or blocks that are named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("blocks", nargs="*", help=f"of {', '.join(BLOCKS)}; all without")
    parser.add_argument("--again", action="store_true", help="also what the file has")
    library = os.environ.get("DLASIM_LIBERTY")
    parser.add_argument("--liberty", type=Path, default=library, help="the file of the library of cells")
    parser.add_argument("--points", type=Path, default=POINTS, help="the file of points")
    arguments = parser.parse_args()
    if wrong := sorted(set(arguments.blocks) - set(BLOCKS)):
        parser.error(f"no block {', '.join(wrong)}; allowed: {', '.join(BLOCKS)}")
    if arguments.liberty is None or not Path(arguments.liberty).is_file():
        parser.error(f"no library of cells: {arguments.liberty}; name one by --liberty or DLASIM_LIBERTY")
    points = PointFile(arguments.points, COLUMNS, keys=2)
    for name in arguments.blocks or BLOCKS:
        for parameters in BLOCKS[name].points:
            key = name, parameters_text(parameters)
            is_known = key in points.rows and points.rows[key]["sources"] == sources(name)
            if is_known and not arguments.again:
                continue
            try:
                timed = measure(BLOCKS[name], parameters, arguments.liberty)
            except SynthesisError as error:
                print(f"static timing: {error}", file=sys.stderr)
                return 1
            measured = f"{timed.ns:.2f}", f"{timed.kge:.3f}", timed.flip_flops
            points.keep(*key, *measured, sources(name), synthesis.versions())
            print(*points.rows[key].values(), *timed.path, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
