"""What charts know of a figure: its name in words, its unit, whether less or more of it is better, and how
numbers of it are written."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

from dlasim.dataclass import dataclass
from dlasim.errors import InputError, suggestion
from dlasim.sim.reports.figures import RUN_FIGURES

Write = Callable[[float], str]
DECIMAL = ((1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))
BINARY = ((float(1 << 30), "G"), (float(1 << 20), "M"), (float(1 << 10), "K"), (1.0, ""))
ENERGY = ((1e9, " J"), (1e6, " mJ"), (1e3, " µJ"), (1.0, " nJ"))
GATES = ((1e3, " MGE"), (1.0, " kGE"))
MEMORIES = ((float(1 << 20), " GiB"), (float(1 << 10), " MiB"), (1.0, " KiB"))
_PREFIXES = {"B": BINARY, "nJ": ENERGY, "kGE": GATES, "KiB": MEMORIES}  # by unit; DECIMAL for others
_ALIKE = 20  # numbers further apart than this are not written in the same unit
# The short names that charts take besides those of columns.
SHORT = {"cycles": "cycles_total", "sram": "sram_bytes", "clock": "clock_mhz", "dma": "dma_bytes",
         "instructions": "cpu_instructions", "energy": "energy_nj",
         "area": "area_mm2"}  # fmt: skip
_TEXTS = {"cycles_total": "cycles", "pes": "PEs", "sram_bytes": "SRAM", "cycles_dla": "DLA cycles",
          "cycles_cpu": "CPU cycles", "utilization": "utilisation of the PEs", "dma_bytes": "DMA bytes",
          "cpu_instructions": "CPU instructions", "area_kge": "logic area",
          "area_mm2": "area", "sram_kib": "all memories"}  # fmt: skip
_CAPITALS = {word: word.upper() for word in ("dma", "dla", "cpu", "sram", "mac", "ram")}
_MORE_IS_BETTER = frozenset([figure.column for figure in RUN_FIGURES if figure.more_is_better])
_ENDINGS = {"_bytes": "B", "_mhz": "MHz", "_nj": "nJ", "_uj": "µJ", "_mj": "mJ", "_mw": "mW", "_um2": "µm²",
            "_mm2": "mm²", "_kge": "kGE", "_kib": "KiB", "_seconds": "s"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Measure:
    """A figure, or a parameter with numbers, as charts show it."""

    name: str
    text: str
    unit: str = ""
    more_is_better: bool = False

    @property
    def axis(self) -> str:
        """What an axis of it is called."""
        return self.text if not self.unit or self.unit in _PREFIXES else f"{self.text} [{self.unit}]"

    @property
    def best_text(self) -> str:
        """Which of its values is the best: `least` or `most`."""
        return "most" if self.more_is_better else "least"

    @property
    def prefixes(self) -> Sequence[tuple[float, str]]:
        """The steps in which its numbers are abbreviated."""
        return _PREFIXES.get(self.unit, DECIMAL)

    def cost(self, value: float) -> float:
        """A number that is lower for a better value."""
        return -value if self.more_is_better else value

    def shown(self, value: float) -> float:
        """The number that is drawn: shares in percent."""
        return 100 * value if self.unit == "%" else value

    def tick(self, value: float) -> str:
        """A round number of it, as an axis has it."""
        return _tick(value, self.prefixes)

    def writer(self, values: Iterable[float]) -> Write:
        """How these values are written in one chart."""
        return writer([self.shown(value) for value in values], self.prefixes)


def measure(name: str, columns: Iterable[str]) -> Measure:
    """The figure of that name, which must be a column."""
    known = (*columns, "dma_bytes")
    real = name if name in known else SHORT.get(name, name)
    if real not in known:
        raise InputError(
            f"no column {real}{suggestion(name, (*known, *SHORT))}; the table has {', '.join(known)}"
        )
    return describe(real)


def describe(name: str) -> Measure:
    """What is known of a column by its name."""
    text = _TEXTS.get(name, name)
    more = name in _MORE_IS_BETTER
    if name == "utilization":
        return Measure(name, text, "%", more)
    if name == "milliseconds":
        return Measure(name, "time", "ms", more)
    for ending, unit in _ENDINGS.items():
        if name.endswith(ending):
            short = text if name in _TEXTS else name.removesuffix(ending)
            return Measure(name, in_words(short), unit, more)
    return Measure(name, in_words(text), "", more)


def in_words(name: str) -> str:
    """The name of a column as a heading."""
    return " ".join(_CAPITALS.get(word, word) for word in name.split("_"))


def writer(values: Sequence[float], prefixes: Sequence[tuple[float, str]] = DECIMAL) -> Write:
    """Numbers near each other get one unit and the same decimals; of others each gets three digits."""
    sizes = [abs(value) for value in values if value]
    if not sizes:
        return lambda value: f"{value:g}"
    if max(sizes) > _ALIKE * min(sizes):
        return lambda value: three_digits(value, prefixes)
    step, letter = _prefix(max(sizes), prefixes)
    decimals = max(2 - _power(max(sizes) / step), 1 - _power(min(sizes) / step), 0)
    if all(_is_whole(value / step) for value in values):
        decimals = 0
    return lambda value: f"{value / step:.{decimals}f}{letter}"


def three_digits(value: float, prefixes: Sequence[tuple[float, str]] = DECIMAL) -> str:
    """A number as 12.4M."""
    if not value:
        return "0"
    step, letter = _prefix(abs(value), prefixes)
    if step == 1 and _is_whole(value):
        return f"{value:.0f}{letter}"
    return f"{value / step:.{max(2 - _power(value / step), 0)}f}{letter}"


def count_text(value: float) -> str:
    """A round count, as a tick has it: 1.5M."""
    return _tick(value, DECIMAL)


def _tick(value: float, prefixes: Sequence[tuple[float, str]]) -> str:
    if not value:
        return "0"
    step, letter = _prefix(abs(value), prefixes)
    return f"{value / step:.4g}{letter}"


def _prefix(size: float, prefixes: Sequence[tuple[float, str]]) -> tuple[float, str]:
    return next((pair for pair in prefixes if size >= pair[0] * 0.9995), prefixes[-1])


def _power(value: float) -> int:
    return math.floor(math.log10(abs(value) * 1.0005)) if value else 0


def _is_whole(value: float) -> bool:
    return abs(value - round(value)) < 1e-9
