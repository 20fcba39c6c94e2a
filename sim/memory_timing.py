"""The memories behind the DMA: how fast each one is, the bus that it is on, and which regions lie in it.

Memory `system` is always there: the parameters `dma_…` describe it, and it holds every region that no named
memory does. Rates count in thousandths of a byte per cycle, so that all of time is whole numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from dlasim.errors import InputError, one_of, unknown
from dlasim.fileio import parse_toml
from dlasim.isa.registers import Region

if TYPE_CHECKING:
    from dlasim.sim.config import DlaConfig

RATE_SCALE = 1000  # of a rate: a byte per cycle
SYSTEM = "system"  # the memory and the bus that the parameters dma_… describe
MOST_MEMORIES = 8
_MOST_RATE, _MOST_CYCLES, _MOST_BYTES = 1 << 20, 1 << 20, 1 << 31
_NAME_LENGTH = 32

Table = Mapping[str, Any]
Tables = Mapping[str, Table]


@dataclass(frozen=True, slots=True)
class MemoryTiming:
    """A memory. `bandwidth` is what it moves for the DMA, and `bus_bandwidth` what its bus moves, both ways
    together, in thousandths of a byte per cycle, 0 for no limit. So many transfers of a DMA unit may be
    `outstanding`: the next one's latency passes while others move their bytes."""

    name: str
    regions: tuple[str, ...]
    bandwidth: int = 0
    latency: int = 0
    outstanding: int = 1
    burst_bytes: int = 64
    burst_overhead: int = 0
    bus: str = SYSTEM
    bus_bandwidth: int = 0
    fetch_wait: int = 0  # cycles that the board's CPU waits for each word of code
    energy: str = ""  # a memory of the technology; "": where the technology places the region


def memories_of(config: DlaConfig) -> tuple[MemoryTiming, ...]:
    """All memories, `system` first."""
    return _memories(
        config.memories, config.buses, config.dma_latency, config.dma_burst_bytes, config.dma_burst_overhead,
        config.dma_shared_bandwidth,
    )  # fmt: skip


def memory_numbers(config: DlaConfig) -> tuple[int, ...]:
    """The number of the memory in which each region lies, by the region."""
    return _numbers(memories_of(config))


def fetch_wait_cycles(config: DlaConfig) -> int:
    """For how long the board's CPU waits for each word of its code, which lies where the commands do."""
    return memories_of(config)[memory_numbers(config)[Region.COMMANDS]].fetch_wait


@lru_cache(maxsize=64)
def _numbers(memories: tuple[MemoryTiming, ...]) -> tuple[int, ...]:
    of = {region: number for number, memory in enumerate(memories) for region in memory.regions}
    return tuple(of[region.name] for region in Region)


@lru_cache(maxsize=64)
def _memories(
    text: str, buses: str, latency: int, burst_bytes: int, burst_overhead: int, shared_bandwidth: int
) -> tuple[MemoryTiming, ...]:
    rates = {name: _scaled(rate) for name, rate in _parsed("buses", buses).items()}
    rates[SYSTEM] = _scaled(shared_bandwidth)
    named = [
        MemoryTiming(
            name,
            tuple(table.get("regions", ())),
            _scaled(table.get("bandwidth", 0)) - _scaled(table.get("cpu_bandwidth", 0)),
            table.get("latency", latency),
            table.get("outstanding", 1),
            table.get("burst_bytes", burst_bytes),
            table.get("burst_overhead", burst_overhead),
            bus := table.get("bus", SYSTEM),
            rates.get(bus, 0),
            table.get("fetch_wait", 0),
            table.get("energy", ""),
        )
        for name, table in _parsed("memories", text).items()
    ]
    taken = {region for memory in named for region in memory.regions}
    rest = tuple(region.name for region in Region if region.name not in taken)
    system = MemoryTiming(
        SYSTEM, rest, 0, latency, 1, burst_bytes, burst_overhead, SYSTEM, _scaled(shared_bandwidth)
    )
    return (system, *named)


def _scaled(rate: float) -> int:
    return round(rate * RATE_SCALE)


# What the user writes


def settle(memories: Any, buses: Any) -> tuple[str, str]:
    """Both tables as text in one form; they may be given as text or as tables. Refuses what is wrong."""
    rates = _checked_buses(_tables("buses", buses))
    tables = _checked_memories(_tables("memories", memories), rates)
    return (_as_text(tables) if tables else "", _as_text(rates) if rates else "")


def merge(text: Any, name: str, changes: Mapping[str, Any]) -> dict[str, Any]:
    """The tables (`name` is memories or buses) with changes named like `memories.flash.bandwidth`."""
    merged: dict[str, Any] = dict(_tables(name, text))
    for path, value in changes.items():
        _, *parts = path.split(".")
        if name == "buses" and len(parts) == 1:
            merged[parts[0]] = value
        elif name == "memories" and len(parts) == 2:
            merged[parts[0]] = {**merged.get(parts[0], {}), parts[1]: value}
        else:
            form = "buses.NAME" if name == "buses" else "memories.NAME.KEY"
            raise InputError(f"unknown parameter {path!r}; the form is {form}")
    return merged


def _tables(name: str, given: Any) -> Mapping[str, Any]:
    if isinstance(given, str):
        return _parsed(name, given)
    if isinstance(given, Mapping):
        return given
    raise InputError(f"{name} must be a table (got {given!r:.80})")


def _parsed(name: str, text: str) -> Mapping[str, Any]:
    """The inline table of TOML in a text."""
    if not text.strip():
        return {}
    try:
        value = parse_toml(f"table = {text}", name)
    except InputError:
        value = {}
    if set(value) != {"table"} or not isinstance(value["table"], dict):
        example = "{axi = 4}" if name == "buses" else "{flash = {bandwidth = 1}}"
        raise InputError(f"{name} must be a table such as {example} (got {text!r:.80})")
    table: dict[str, Any] = value["table"]
    return table


def _as_text(value: Any) -> str:
    """A value as TOML, on one line; tables are sorted."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key} = {_as_text(value[key])}" for key in sorted(value)) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_as_text, value)) + "]"
    return f'"{value}"' if isinstance(value, str) else f"{value}"


def _checked_buses(buses: Mapping[str, Any]) -> dict[str, Any]:
    for name in buses:
        _check_name("buses", name)
    return {name: _rate(f"buses.{name}", rate) for name, rate in buses.items()}


def _checked_memories(memories: Mapping[str, Any], buses: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    if len(memories) > MOST_MEMORIES:
        raise InputError(f"memories: at most {MOST_MEMORIES} are possible (got {len(memories)})")
    found: dict[str, dict[str, Any]] = {}
    holder: dict[str, str] = {}
    for name, table in memories.items():
        _check_name("memories", name)
        if not isinstance(table, Mapping):
            raise InputError(f"memories.{name} must be a table (got {table!r:.80})")
        found[name] = checked = {}
        for key, value in table.items():
            if key not in KEYS:
                raise InputError(unknown(f"key of memories.{name}", str(key), KEYS))
            checked[key] = KEYS[key](f"memories.{name}.{key}", value)
        if not checked.get("regions"):
            raise InputError(f"memories.{name} holds nothing; give it regions, such as constants")
        cpu, all_of_it = (checked.get(key, 0) for key in ("cpu_bandwidth", "bandwidth"))
        if cpu and not cpu < all_of_it:
            raise InputError(
                f"memories.{name}.cpu_bandwidth must be less than its bandwidth, {all_of_it or 'unlimited'} "
                f"(got {cpu})"
            )
        bus = checked.get("bus", SYSTEM)
        if bus not in (SYSTEM, name, *buses):
            known = (SYSTEM, name, *buses)
            raise InputError(f"memories.{name}.bus must be {one_of(known)} (got {bus!r}); [buses] has more")
        for region in checked.get("regions", ()):
            if region in holder:
                raise InputError(f"region {region} is in two memories: {holder[region]} and {name}")
            holder[region] = name
    return found


def _check_name(what: str, name: str) -> None:
    plain = name.replace("_", "").replace("-", "")
    if not (name.isascii() and plain.isalnum() and len(name) <= _NAME_LENGTH):
        raise InputError(
            f"{what}: a name has letters, digits, - and _, at most {_NAME_LENGTH} (got {name!r:.80})"
        )
    if name == SYSTEM:
        raise InputError(f"{what}.{SYSTEM} is described by the parameters dma_…; choose another name")


def _rate(what: str, value: Any) -> float:
    """Bytes per cycle, in thousandths."""
    if isinstance(value, str):
        if value.strip().lower() == "unlimited":
            return 0.0
        try:
            value = float(value)
        except ValueError:
            raise InputError(f"{what} must be a number (got {value!r:.80})") from None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(f"{what} must be a number (got {value!r:.80})")
    if not 1 <= value * RATE_SCALE <= _MOST_RATE * RATE_SCALE:
        raise InputError(
            f"{what} must be from {1 / RATE_SCALE} to {_MOST_RATE} bytes per cycle, or unlimited "
            f"(got {value})"
        )
    return _scaled(value) / RATE_SCALE


def _part(what: str, value: Any) -> float:
    rate = _rate(what, value)
    if not rate:
        raise InputError(f"{what} must be a number (got {value!r:.80})")
    return rate


def _whole(low: int, high: int) -> Callable[[str, Any], int]:
    def check(what: str, value: Any) -> int:
        from dlasim.sim.config import parse_size

        if isinstance(value, str):
            size = parse_size(value)
            value = value if size is None else size
        if isinstance(value, bool) or not isinstance(value, int):
            raise InputError(f"{what} must be a whole number (got {value!r:.80})")
        if not low <= value <= high:
            raise InputError(f"{what} must be from {low} to {high} (got {value})")
        return value

    return check


def _text(what: str, value: Any) -> str:
    if not isinstance(value, str):
        raise InputError(f"{what} must be text (got {value!r:.80})")
    _check_plain(what, value)
    return value


def _check_plain(what: str, value: str) -> None:
    if not value.replace("_", "").replace("-", "").isalnum() or not value.isascii():
        raise InputError(f"{what} must be a name (got {value!r:.80})")


def _regions(what: str, value: Any) -> list[str]:
    """A list of regions, or text such as constants+commands."""
    given = value.split("+") if isinstance(value, str) else value
    if not isinstance(given, list) or not all(isinstance(name, str) for name in given):
        raise InputError(f"{what} must be a list of regions (got {value!r:.80})")
    names = [name.strip().upper() for name in given]
    for name in names:
        if name not in Region.__members__:
            raise InputError(f"{what}: {unknown('region', name, [region.name for region in Region])}")
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"{what} names {name} twice")
    return sorted(names)


# Each key of a memory with what reads its value.
KEYS: dict[str, Callable[[str, Any], Any]] = {
    "bandwidth": _rate,
    "latency": _whole(0, _MOST_CYCLES),
    "outstanding": _whole(1, 255),
    "burst_bytes": _whole(1, _MOST_BYTES),
    "burst_overhead": _whole(0, _MOST_CYCLES),
    "bus": _text,
    "cpu_bandwidth": _part,
    "fetch_wait": _whole(0, 10_000),
    "regions": _regions,
    "energy": _text,
}
