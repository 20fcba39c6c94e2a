"""How many cycles each class of instruction takes: tables in TOML, the shipped ones in `presets/`."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from dlasim.dataclass import dataclass
from dlasim.errors import InputError, unknown
from dlasim.system.fileio import parse_toml, read_toml
from dlasim.vp.devices.memory_map import AddressRange
from dlasim.vp.riscv.block_records import CODE_SLOT_BYTES
from dlasim.vp.riscv.decode import Code, CodeTable
from dlasim.vp.riscv.instruction_table import InstructionClass

IDEAL = "ideal"
PRESETS = (IDEAL, "two_stage", "five_stage")
_CLASS_KEYS = tuple(kind.name.lower() for kind in InstructionClass if kind != InstructionClass.ILLEGAL)
_EXTRA_KEYS = ("branch_taken", "trap_entry")
_KEYS = ("name", "description", "cycles", "extra_cycles")
_MAX_CYCLES = 10_000
WORD_BYTES = 4  # that the CPU fetches at once


@dataclass(frozen=True, slots=True)
class CpuCosts:
    """Cycles per instruction class, what a taken branch adds, and what entering a trap costs."""

    name: str
    cycles: tuple[int, ...]  # by InstructionClass
    branch_taken_cycles: int
    trap_entry_cycles: int

    def table(self, code: Code, slow: AddressRange | None = None, wait_cycles: int = 0) -> CodeTable:
        """What each instruction costs. In the slow range the CPU waits for each word of 4 bytes that
        it fetches; the second half of a word is there when the first was fetched."""
        costs = np.array(self.cycles, np.int64)[code.classes]
        if slow is not None and wait_cycles:
            addresses = code.base + CODE_SLOT_BYTES * np.arange(len(costs))
            is_slow = (addresses >= slow.base) & (addresses < slow.end)
            is_there = (addresses % WORD_BYTES != 0) & ~code.is_wide
            costs[is_slow & ~is_there] += wait_cycles
        taken = np.where(code.classes == InstructionClass.BRANCH, self.branch_taken_cycles, 0)
        return CodeTable(code.base, code.is_wide, costs, taken)


def load_costs(name_or_path: str | Path) -> CpuCosts:
    """Load a preset by name, or a TOML file of the same form by path. The ideal core needs no table: every
    instruction takes a cycle."""
    name = str(name_or_path)
    if name == IDEAL:
        return CpuCosts(IDEAL, (1,) * len(InstructionClass), 0, 0)
    if name in PRESETS:
        return _preset(name)
    path = Path(name)
    if path.suffix != ".toml":
        raise InputError(f"cpu must be {', '.join(PRESETS)}, or a path that ends in .toml (got {name!r})")
    return _costs(read_toml(path), name)


@cache
def _preset(name: str) -> CpuCosts:
    text = (Path(__file__).parent / "presets" / f"{name}.toml").read_text("utf-8")
    return _costs(parse_toml(text, f"preset {name}"), f"preset {name}")


def _costs(tables: dict[str, Any], origin: str) -> CpuCosts:
    unexpected = set(tables) - set(_KEYS)
    if unexpected:
        raise InputError(f"{origin}: {unknown('key', min(unexpected), _KEYS)}")
    cycles = _numbers(tables.get("cycles"), _CLASS_KEYS, 1, f"{origin}: [cycles]")
    extra = _numbers(tables.get("extra_cycles"), _EXTRA_KEYS, 0, f"{origin}: [extra_cycles]")
    name = tables.get("name", origin)
    illegal = 1  # it is fetched and decoded before it traps
    return CpuCosts(str(name), (*cycles, illegal), extra[0], extra[1])


def _numbers(table: Any, keys: tuple[str, ...], minimum: int, origin: str) -> list[int]:
    if not isinstance(table, dict) or set(table) != set(keys):
        raise InputError(f"{origin} must have exactly the keys {', '.join(keys)}")
    for key in keys:
        value = table[key]
        if not isinstance(value, int) or isinstance(value, bool) or not minimum <= value <= _MAX_CYCLES:
            raise InputError(f"{origin} {key} must be from {minimum} to {_MAX_CYCLES} (got {value!r})")
    return [table[key] for key in keys]
