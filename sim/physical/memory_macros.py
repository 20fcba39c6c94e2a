"""The memories of a machine as macros: their size, area, leakage, and the energy of an access."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType

from dlasim.dataclass import dataclass
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.configuration.sizes import KIB
from dlasim.sim.physical import area
from dlasim.sim.physical.macro_table import MacroTable
from dlasim.sim.physical.technology import Technology

MEMORIES = {
    "sram": "the SRAM",
    "line_buffers": "the line buffers of MAC and VECTOR",
    "weight_buffer": "the weight buffer of MAC",
    "accumulators": "the accumulators of all output lanes",
}
DEFAULT_PORT_BYTES = 16  # the width of an access where the machine states none
_TOGGLING = 0.5  # share of the bits of a word that differ from the word before
_ADDRESS_BITS = 32  # that cross with a word
_UM2_IN_MM2 = 1e6


@dataclass(frozen=True, slots=True)
class Macros:
    """So many macros of one kind, of which an access takes one."""

    count: int
    size_bytes: float  # of each
    width_bytes: float  # of an access
    has_two_ports: bool  # one to read and one to write

    @property
    def bytes(self) -> float:
        """Of all together."""
        return self.count * self.size_bytes

    def table(self, technology: Technology) -> MacroTable:
        """The technology's table for their ports."""
        return technology.buffers if self.has_two_ports else technology.sram

    def access_pj(self, technology: Technology) -> float:
        """Picojoules of an access."""
        return self.table(technology).access(self.size_bytes, self.width_bytes)

    def leakage_mw(self, technology: Technology) -> float:
        """Milliwatts of all."""
        return self.count * self.table(technology).leakage(self.size_bytes, self.width_bytes)

    def area_mm2(self, technology: Technology) -> float:
        """Square millimetres of all."""
        return self.count * self.table(technology).area(self.size_bytes, self.width_bytes)


def port_bytes(config: DlaConfig) -> int:
    """Bytes of an access of the SRAM."""
    return config.sram_bandwidth or DEFAULT_PORT_BYTES


@lru_cache(maxsize=1024)
def macros(config: DlaConfig) -> Mapping[str, Macros]:
    """The macros of a machine by name; a buffer without a limit has no size, and is left out.

    A buffer gives what its unit takes in a cycle, and takes words of the SRAM's ports meanwhile.
    """
    inputs, outputs = config.lanes
    word, pixels = port_bytes(config), math.prod(config.pixel_tile)
    weights = min(config.mac_weights or inputs * outputs, inputs * outputs)
    words, lanes = area.accumulator_words(config), area.mac_lanes(config)
    sum_bytes = area.sum_bits(config) // 8
    found = {
        "sram": Macros(config.sram_banks, config.sram_bytes / config.sram_banks, word, False),
        "mac_lines": _buffer(config.line_buffer_bytes, max(word, inputs * pixels)),
        "vector_lines": _buffer(config.line_buffer_bytes, max(word, config.elements)),
        "weight_buffer": _buffer(config.weight_buffer_bytes, max(word, weights)),
    }
    if config.accumulator_storage == "memory" and config.accumulators:
        found["accumulators"] = _buffer(words * lanes * sum_bytes, lanes * sum_bytes)
    return {name: each for name, each in found.items() if each.size_bytes}


def _buffer(size: int, width: int) -> Macros:
    """A buffer has one word at least."""
    return Macros(1, size, min(width, size), True)


_COMPONENTS = {
    "mac_lines": "line_buffers",
    "vector_lines": "line_buffers",
}  # others have one of their own name


@lru_cache(maxsize=1024)
def memory_kib(config: DlaConfig) -> Mapping[str, float]:
    """The memories of a machine in KiB, whatever they are made of."""
    sizes = dict.fromkeys(MEMORIES, 0.0)
    for name, each in macros(config).items():
        sizes[_COMPONENTS.get(name, name)] += each.bytes / KIB
    if config.accumulators:
        sizes["accumulators"] = (
            area.accumulator_words(config) * area.mac_lanes(config) * area.sum_bits(config) / 8 / KIB
        )
    return MappingProxyType(sizes)


def areas_mm2(config: DlaConfig, technology: Technology) -> dict[str, float]:
    """Square millimetres by component: of logic, what its cells take at the technology's utilization."""
    found = {name: part.kge * _gates_mm2(technology) for name, part in area.areas(config).items()}
    found |= {name: 0.0 for name in MEMORIES if name not in found}
    for name, each in macros(config).items():
        found[_COMPONENTS.get(name, name)] += each.area_mm2(technology)
    return found


def area_uncertainty_mm2(config: DlaConfig, technology: Technology) -> float:
    """How far the sum may be off, if all constants are off in the same direction."""
    gates = (technology.constants[name].uncertainty for name in ("gate_um2", "utilization"))
    stored = sum(
        each.area_mm2(technology) * each.table(technology).uncertainty for each in macros(config).values()
    )
    logic = sum(part.kge for part in area.areas(config).values()) * _gates_mm2(technology)
    return logic * math.hypot(*gates) + stored


def _gates_mm2(technology: Technology) -> float:
    """Square millimetres of a thousand gates."""
    return 1000 * technology.value("gate_um2") / technology.value("utilization") / _UM2_IN_MM2


def sram_access_pj(config: DlaConfig, technology: Technology) -> float:
    """Picojoules of an access of the SRAM: that of a bank, and the way to it, which is half the side of the
    square that all banks fill."""
    banks = macros(config)["sram"]
    distance_mm = math.sqrt(banks.area_mm2(technology)) / 2
    wires = _TOGGLING * (8 * banks.width_bytes + _ADDRESS_BITS)
    return banks.access_pj(technology) + wires * distance_mm * technology.value("wire_pj_per_mm")


def memory_leakage_mw(config: DlaConfig, technology: Technology) -> float:
    """Milliwatts of all macros."""
    return sum(each.leakage_mw(technology) for each in macros(config).values())
