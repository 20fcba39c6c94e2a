"""Prints the tables [sram] and [buffers] of sim/physical/technologies/45nm.toml: energy, leakage and area of
memory macros, as CACTI 7.0 has them.

CACTI is not part of this project: name the folder of a built one (its file `cache.cfg` is the template of
what it reads). Its search finds better layouts for some sizes than for others, so a wider or larger macro may
come out smaller. The tables have a fit through all points instead, in which more never takes less.
"""

import math
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import mul
from pathlib import Path

from dlasim.sim.physical.block_areas import fit_relative

WIDTHS = (4, 8, 16, 32, 64)
PORTS = {"sram": (1, 0, 0), "buffers": (0, 1, 1)}  # of both kinds, for reading, for writing
LARGEST_BITS = {"sram": 22, "buffers": 18}  # of the size of a macro that is measured
LEAST_ROWS = 32  # shallower macros are mostly periphery
SHOWN_SIZES = [1 << bits for bits in range(10, 23, 2)]
SHOWN_WIDTHS = (4, 16, 64)
# What each figure is linear in, of a size and a width in bytes.
TERMS: dict[str, Callable[[int, int], list[float]]] = {
    "access_pj": lambda size, width: [1.0, width, math.sqrt(size), width * math.sqrt(size)],
    "leakage_mw": lambda size, width: [width, math.sqrt(size), size],
    "area_mm2": lambda size, width: [width, size, width * math.sqrt(size)],
}
NODE_MICROMETRES = 0.045
FIXED = {
    "-associativity": 1,
    "-UCA bank count": 1,
    "-operating temperature (K)": 300,
    "-cache type": '"ram"',
    "-Data array cell type -": '"itrs-lstp"',
    "-Data array peripheral type -": '"itrs-lop"',
    "-Tag array cell type -": '"itrs-lstp"',
    "-Tag array peripheral type -": '"itrs-lop"',
    "-Add ECC -": '"false"',
    "-Core count": 4,
}
FOUND = {
    "read": r"dynamic read energy per access \(nJ\): ([\d.e+-]+)",
    "write": r"dynamic write energy per access \(nJ\): ([\d.e+-]+)",
    "below": r"Total leakage power of a bank \(mW\): ([\d.e+-]+)",
    "gates": r"gate leakage power of a bank \(mW\): ([\d.e+-]+)",
    "height": r"height x width \(mm\): ([\d.e+-]+) x",
    "length": r"height x width \(mm\): [\d.e+-]+ x ([\d.e+-]+)",
}


@dataclass(frozen=True)
class Macro:
    """Of an access (the mean of a read and a write) and of the whole macro."""

    access_pj: float
    leakage_mw: float
    area_mm2: float


def settings(template: str, kind: str, size: int, width: int) -> str:
    """The template with the values of a macro."""
    both, read, write = PORTS[kind]
    values = FIXED | {
        "-size (bytes)": size,
        "-block size (bytes)": width,
        "-read-write port": both,
        "-exclusive read port": read,
        "-exclusive write port": write,
        "-technology (u)": NODE_MICROMETRES,
        "-output/input bus width": 8 * width,
    }
    lines = []
    for line in template.splitlines():
        named = [name for name in values if line.startswith(name)]
        lines.append(f"{named[0]} {values[named[0]]}" if named else line)
    return "\n".join(lines) + "\n"


def laid_out(folder: Path, kind: str, size: int, width: int) -> Macro | None:
    """What CACTI says of a macro, if it can lay it out."""
    with tempfile.NamedTemporaryFile("w", suffix=".cfg") as file:
        file.write(settings((folder / "cache.cfg").read_text(), kind, size, width))
        file.flush()
        command = [str(folder / "cacti"), "-infile", file.name]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    found = {name: re.search(pattern, done.stdout) for name, pattern in FOUND.items()}
    if not all(found.values()):
        return None
    number = {name: float(match[1]) for name, match in found.items() if match}
    return Macro(
        500 * (number["read"] + number["write"]),
        number["below"] + number["gates"],
        number["height"] * number["length"],
    )


def measured(folder: Path, kind: str) -> dict[tuple[int, int], Macro]:
    """All macros that CACTI can lay out, by size and width."""
    sizes = [1 << bits for bits in range(10, LARGEST_BITS[kind] + 1)]
    macros = {
        (size, width): laid_out(folder, kind, size, width)
        for size in sizes
        for width in WIDTHS
        if size >= LEAST_ROWS * width
    }
    return {key: macro for key, macro in macros.items() if macro}


def linear(fitted: Sequence[float], terms: Sequence[float]) -> float:
    """The fit at a place."""
    return sum(map(mul, fitted, terms))


def table(kind: str, macros: dict[tuple[int, int], Macro]) -> str:
    """The TOML of one kind."""
    lines = [f"[{kind}]", f"sizes = {SHOWN_SIZES}", f"widths = {list(SHOWN_WIDTHS)}"]
    for name, terms in TERMS.items():
        values = [getattr(macro, name) for macro in macros.values()]
        fitted = fit_relative([terms(*key) for key in macros], values)
        errors = [linear(fitted, terms(*key)) / value - 1 for key, value in zip(macros, values, strict=True)]
        mean = math.sqrt(sum(error * error for error in errors) / len(errors))
        lines.append(f"# The fit is {min(errors):+.0%} to {max(errors):+.0%} off, {mean:.0%} in the mean.")
        lines.append(f"{name} = [")
        for size in SHOWN_SIZES:
            row = ", ".join(f"{linear(fitted, terms(size, width)):.4g}" for width in SHOWN_WIDTHS)
            lines.append(f"    [{row}],  # {size >> 10} KiB")
        lines.append("]")
    return "\n".join(lines)


def main(arguments: list[str]) -> int:
    """Print both tables."""
    if len(arguments) != 1 or not (Path(arguments[0]) / "cacti").exists():
        print("usage: python tools/memory_macros.py FOLDER_OF_CACTI", file=sys.stderr)
        return 2
    for kind in PORTS:
        print(table(kind, measured(Path(arguments[0]), kind)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
