"""How many cycles each class of instruction takes: tables in TOML, the shipped ones in `presets/`."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from dlasim.errors import InputError
from dlasim.fileio import parse_toml, read_toml
from dlasim.vp.decode import Code, CodeTable, InstructionClass

PRESETS = ("ideal", "two_stage", "five_stage")
_CLASS_KEYS = tuple(kind.name.lower() for kind in InstructionClass if kind != InstructionClass.ILLEGAL)
_EXTRA_KEYS = ("branch_taken", "trap_entry")
_MAX_CYCLES = 10_000


@dataclass(frozen=True, slots=True)
class CpuCosts:
    """Cycles per instruction class, what a taken branch adds, and what entering a trap costs."""

    name: str
    cycles: tuple[int, ...]  # by InstructionClass
    branch_taken_cycles: int
    trap_entry_cycles: int

    def table(self, code: Code) -> CodeTable:
        """The per-slot costs of decoded code."""
        cycles = np.array(self.cycles, np.int64)
        costs = np.where(code.starts, cycles[code.classes], 0)
        branch = code.starts & (code.classes == InstructionClass.BRANCH)
        wide = (code.words & 3) == 3
        taken = np.zeros(len(costs), np.int64)
        taken[branch & ~wide] = self.branch_taken_cycles
        taken[1:][(branch & wide)[:-1]] = self.branch_taken_cycles
        return CodeTable(code.base, code.starts, costs, taken)


def load_costs(name_or_path: str | Path) -> CpuCosts:
    """A preset by name, or any TOML file of the same form by path."""
    name = str(name_or_path)
    if name in PRESETS:
        text = resources.files("dlasim.vp").joinpath("presets", f"{name}.toml").read_text("utf-8")
        return _costs(parse_toml(text, f"preset {name}"), f"preset {name}")
    path = Path(name)
    if path.suffix != ".toml":
        raise InputError(f"CPU costs {name!r}: allowed are {', '.join(PRESETS)}, or the path of a .toml file")
    return _costs(read_toml(path), name)


def _costs(tables: dict[str, Any], origin: str) -> CpuCosts:
    unknown = set(tables) - {"name", "description", "cycles", "extra_cycles"}
    if unknown:
        raise InputError(
            f"{origin}: unknown key {min(unknown)!r}; allowed are name, description, cycles, extra_cycles"
        )
    cycles = _numbers(tables.get("cycles"), _CLASS_KEYS, 1, f"{origin}: [cycles]")
    extra = _numbers(tables.get("extra_cycles"), _EXTRA_KEYS, 0, f"{origin}: [extra_cycles]")
    name = tables.get("name", origin)
    illegal = 1  # it is fetched and decoded before it traps
    return CpuCosts(str(name), (*cycles, illegal), extra[0], extra[1])


def _numbers(table: Any, keys: tuple[str, ...], minimum: int, origin: str) -> list[int]:
    if not isinstance(table, dict) or set(table) != set(keys):
        raise InputError(f"{origin} must give exactly {', '.join(keys)}")
    for key in keys:
        value = table[key]
        if not isinstance(value, int) or isinstance(value, bool) or not minimum <= value <= _MAX_CYCLES:
            raise InputError(f"{origin} {key} = {value!r}: allowed are {minimum} to {_MAX_CYCLES}")
    return [table[key] for key in keys]
