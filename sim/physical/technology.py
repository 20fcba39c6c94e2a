"""What a machine is made of: constants of energy and area with their sources, from a TOML file.

A file may be based on another (`base = "45nm"`), scales what that has by the factors of its table `scaling`,
and replaces what it names.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from dlasim.dataclass import dataclass
from dlasim.errors import InputError, unknown
from dlasim.isa.registers import HOMES, Region
from dlasim.sim.physical.macro_table import MacroTable
from dlasim.system.fileio import FileStamp, file_stamp, parse_toml, read_toml

_FOLDER = Path(__file__).parent / "technologies"
# Every constant, with what it is; the unit is the end of its name.
CONSTANTS = {
    "mac_pj": "a multiply-accumulate: int8 product, int32 sum",
    "requantization_pj": "an int32 product with the sums that round and shift it, or a division",
    "element_pj": "a step of a vector lane besides requantization",
    "instruction_pj": "an instruction of the CPU, its memory included",
    "flip_flop_clock_pj": "a cycle of a flip-flop whose clock runs",
    "gate_leakage_nw": "leakage of a gate equivalent of logic",
    "wire_pj_per_mm": "a change of a wire's bit, by its length",
    "gate_um2": "area of a gate equivalent",
    "utilization": "share of the area of logic that its cells fill",
    "supply_v": "supply at which all constants hold",
    "least_supply_v": "least supply",
    "most_supply_v": "greatest supply",
    "threshold_v": "threshold of the transistors",
    "clock_mhz": "clock that the logic reaches at supply_v",
}
_ENTRY = ("value", "uncertainty", "source")
_MEMORY = ("read_pj_per_byte", "write_pj_per_byte", "uncertainty", "source")
_ROWS = ("access_pj", "leakage_mw", "area_mm2")
_MACROS = ("sizes", "widths", *_ROWS, "uncertainty", "source")
_ROOT = "45nm"
_MAX_BASES = 8
_FILE = ("base", "scaling", "constants", "memories", "regions", "sram", "buffers")
# What each factor multiplies: constants, or rows of the tables of memory macros.
_CONSTANTS = {
    "logic_energy": (
        "mac_pj", "requantization_pj", "element_pj", "instruction_pj", "flip_flop_clock_pj",
    ),
    "logic_leakage": ("gate_leakage_nw",),
    "logic_area": ("gate_um2",),
}  # fmt: skip
_SCALED_ROWS = {"memory_energy": "access_pj", "memory_leakage": "leakage_mw", "memory_area": "area_mm2"}
FACTORS = (*_CONSTANTS, *_SCALED_ROWS)
_MOST = 1_000_000
_SCALED_ENTRY = ("value", "uncertainty", "source")


@dataclass(frozen=True, slots=True)
class Constant:
    """A number, how far it may be off as a share of it, and where it comes from."""

    value: float
    uncertainty: float
    source: str


@dataclass(frozen=True, slots=True)
class MemoryEnergy:
    """A system memory: energy of each byte, its interface included."""

    read_pj_per_byte: float
    write_pj_per_byte: float
    uncertainty: float
    source: str


@dataclass(frozen=True, slots=True)
class Technology:
    """All constants; `regions` says in which memory each region of system memory lies. Macros of `sram` have
    a port for both directions, those of `buffers` one to read and one to write."""

    name: str
    constants: Mapping[str, Constant]
    memories: Mapping[str, MemoryEnergy]
    regions: Mapping[str, str]
    sram: MacroTable
    buffers: MacroTable

    def value(self, name: str) -> float:
        """The number of a constant."""
        return self.constants[name].value

    def memory_of(self, region: Region) -> MemoryEnergy:
        """The memory in which a region lies."""
        return self.memories[self.regions[region.home.name]]


def technology_names() -> tuple[str, ...]:
    """The technologies that dlasim includes."""
    return tuple(sorted(path.stem for path in _FOLDER.glob("*.toml")))


def technology(name: str) -> Technology:
    """The technology of that name, or in that file, whose name ends in .toml."""
    return _read_once(name, file_stamp(name) if name.endswith(".toml") else (0, 0))


@lru_cache(maxsize=64)
def _read_once(name: str, _stamp: FileStamp) -> Technology:
    return _Reader(name).technology(technology_values(name))


def technology_files(name: str, depth: int = 0) -> tuple[str, ...]:
    """The files that a technology is read from: its own, if its name is that of a file, and its bases."""
    if not name.endswith(".toml"):
        return ()
    base = _base_of(name, read_toml(name))
    return (name, *(technology_files(base, depth + 1) if base and depth <= _MAX_BASES else ()))


def technology_values(name: str, depth: int = 0) -> dict[str, Any]:
    """The tables of a technology, its bases included."""
    if name.endswith(".toml"):
        values = read_toml(name)
    elif name in technology_names():
        values = parse_toml((_FOLDER / f"{name}.toml").read_text(encoding="utf-8"), name)
    else:
        raise InputError(f"{unknown('technology', name, technology_names())}; a file must end in .toml")
    for key in values:
        if key not in _FILE:
            raise InputError(f"technology {name}: {unknown('table', key, _FILE)}")
    base = _base_of(name, values)
    if base is None:
        return values
    if depth > _MAX_BASES:
        raise InputError(
            f"technology {name}: base leads back to itself, or through more than {_MAX_BASES} files"
        )
    base_values = technology_values(base, depth + 1)
    factors = values.pop("scaling", None)
    if factors is not None:
        _Reader(base).technology(base_values)  # only what is right can be scaled
        base_values = scaled(base_values, factors, f"technology {name}")
    return _merged(base_values, values)


def _base_of(name: str, values: dict[str, Any]) -> str | None:
    """The technology on which the tables of another are based, which no longer name it then."""
    base = values.pop("base", None if name == _ROOT else _ROOT)
    if base is not None and not isinstance(base, str):
        raise InputError(f"technology {name}: base must be text (got {base!r})")
    if base is not None and base.endswith(".toml") and name.endswith(".toml"):
        return str(Path(name).parent / base)
    return base


def _merged(base: dict[str, Any], values: dict[str, Any]) -> dict[str, Any]:
    """The base with what `values` replaces. A bare number replaces only the value of a constant."""
    result = dict(base)
    for key, value in values.items():
        old = result.get(key)
        if isinstance(old, dict) and isinstance(value, dict):
            result[key] = _merged(old, value)
        elif isinstance(old, dict) and _is_number(value) and "value" in old:
            result[key] = {"value": value, "uncertainty": 0.0, "source": "given"}
        else:
            result[key] = value
    return result


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


@dataclass(frozen=True, slots=True)
class _Reader:
    """Checks the tables of one technology; errors name it."""

    name: str

    def technology(self, values: dict[str, Any]) -> Technology:
        """The checked technology."""
        constants = self._table(values.get("constants"), "constants", CONSTANTS)
        numbers = {
            name: Constant(**self._entry(f"constants.{name}", item, _ENTRY))
            for name, item in constants.items()
        }
        self._check_supplies({name: constant.value for name, constant in numbers.items()})
        memories = self._table(values.get("memories"), "memories")
        regions = self._table(values.get("regions"), "regions", [region.name for region in HOMES])
        for region, memory in regions.items():
            if memory not in memories:
                self._fail(f"regions.{region}", f"must be {' or '.join(sorted(memories))}", memory)
        return Technology(
            self.name,
            numbers,
            {
                name: MemoryEnergy(**self._entry(f"memories.{name}", item, _MEMORY))
                for name, item in memories.items()
            },
            regions,
            *(self._macros(kind, values.get(kind)) for kind in ("sram", "buffers")),
        )

    def _check_supplies(self, values: Mapping[str, float]) -> None:
        """Logic works above its threshold only, and what the model divides by is above 0."""
        order = ("threshold_v", "least_supply_v", "supply_v", "most_supply_v")
        threshold, *supplies = (values[name] for name in order)
        if not (threshold < supplies[0] and supplies == sorted(supplies)):
            self._fail("constants", f"must ascend from {order[0]} to {order[-1]}", [threshold, *supplies])
        for name, most in (("utilization", 1), ("clock_mhz", 1e6)):
            if not 0 < values[name] <= most:
                self._fail(f"constants.{name}", f"must be above 0 and at most {most:g}", values[name])

    def _fail(self, what: str, wanted: str, value: Any) -> None:
        raise InputError(f"technology {self.name}: {what} {wanted} (got {value!r:.80})")

    def _table(self, table: Any, what: str, names: Any = None) -> dict[str, Any]:
        """A table that has exactly these names, if any are given."""
        if not isinstance(table, dict):
            self._fail(what, "must be a table", table)
        for name in table if names is not None else ():
            if name not in names:
                raise InputError(f"technology {self.name}: {unknown(what, name, names)}")
        for name in names or ():
            if name not in table:
                raise InputError(f"technology {self.name}: {what} lacks {name}")
        return dict(table)

    def _entry(self, what: str, entry: Any, names: Sequence[str]) -> dict[str, Any]:
        """A table of numbers that are not negative, with a source."""
        table = self._table(entry, what, names)
        for name in names:
            if name == "source":
                if not isinstance(table[name], str):
                    self._fail(f"{what}.{name}", "must be text", table[name])
            elif not _is_number(table[name]) or not 0 <= table[name] < 1e12:
                self._fail(f"{what}.{name}", "must be a number from 0 to 1e12", table[name])
        return table

    def _macros(self, kind: str, entry: Any) -> MacroTable:
        table = self._table(entry, kind, _MACROS)
        self._entry(kind, {name: table[name] for name in _MACROS[-2:]}, _MACROS[-2:])
        sizes, widths = (self._numbers(f"{kind}.{name}", table[name]) for name in _MACROS[:2])
        for name, axis in (("sizes", sizes), ("widths", widths)):
            if list(axis) != sorted(set(axis)) or len(axis) < 2:
                self._fail(f"{kind}.{name}", "must ascend, two numbers at least", axis)
        rows = {name: self._rows(f"{kind}.{name}", table[name], len(sizes), len(widths)) for name in _ROWS}
        return MacroTable(sizes, widths, uncertainty=table["uncertainty"], source=table["source"], **rows)

    def _rows(self, what: str, rows: Any, sizes: int, widths: int) -> list[list[float]]:
        if not isinstance(rows, list) or len(rows) != sizes:
            self._fail(what, f"must have a row for each of {sizes} sizes", rows)
        return [self._numbers(what, row, widths) for row in rows]

    def _numbers(self, what: str, values: Any, count: int | None = None) -> list[float]:
        if (
            not isinstance(values, list)
            or not values
            or not all(_is_number(v) and 0 < v < 1e15 for v in values)
        ):
            self._fail(what, "must be a list of numbers above 0", values)
        if count is not None and len(values) != count:
            self._fail(what, f"must have {count} numbers", values)
        return [float(value) for value in values]


def scaled(values: Mapping[str, Any], factors: Any, what: str) -> dict[str, Any]:
    """The tables of a technology with these factors; `what` names the one that has them."""
    result = dict(values)
    for name, factor in _checked(factors, what).items():
        if name in _SCALED_ROWS:
            for kind in ("sram", "buffers"):
                result[kind] = _scaled_rows(values[kind], result[kind], _SCALED_ROWS[name], factor)
        else:
            constants = {each: _scaled_value(values["constants"][each], factor) for each in _CONSTANTS[name]}
            result["constants"] = result["constants"] | constants
    return result


def _checked(factors: Any, what: str) -> Mapping[str, Any]:
    if not isinstance(factors, dict):
        raise InputError(f"{what}: scaling must be a table (got {factors!r:.80})")
    for name, factor in factors.items():
        if name not in FACTORS:
            raise InputError(f"{what}: {unknown('scaling', name, FACTORS)}")
        if not isinstance(factor, dict) or set(factor) != set(_SCALED_ENTRY):
            raise InputError(f"{what}: scaling.{name} must have value, uncertainty and source")
        for key, allowed in (("value", "above 0"), ("uncertainty", "from 0")):
            number = factor[key]
            is_number = isinstance(number, int | float) and not isinstance(number, bool)
            if not is_number or not 0 <= number < _MOST or (key == "value" and not number):
                raise InputError(
                    f"{what}: scaling.{name}.{key} must be a number {allowed} and below {_MOST:,} "
                    f"(got {number!r:.80})"
                )
    return factors


def _scaled_value(constant: Mapping[str, Any], factor: Mapping[str, Any]) -> dict[str, Any]:
    return {**constant, "value": constant["value"] * factor["value"], **_origin(constant, factor)}


def _scaled_rows(
    base: Mapping[str, Any], table: Mapping[str, Any], name: str, factor: Mapping[str, Any]
) -> dict[str, Any]:
    """The table with some rows of the base scaled. It has one uncertainty, the largest."""
    rows = [[number * factor["value"] for number in row] for row in base[name]]
    uncertainty = max(table["uncertainty"], _origin(base, factor)["uncertainty"])
    return {**table, name: rows, **_origin(table, factor), "uncertainty": uncertainty}


def _origin(old: Mapping[str, Any], factor: Mapping[str, Any]) -> dict[str, Any]:
    """Errors of a constant and of its scaling are independent, so their squares add up."""
    return {
        "uncertainty": math.hypot(old["uncertainty"], factor["uncertainty"]),
        "source": f"{old['source']}; times {factor['value']:g}: {factor['source']}",
    }
