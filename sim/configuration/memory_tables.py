"""The tables `memories` and `buses` of a machine, as a user writes them: checks, changes, and one form."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from dlasim.errors import InputError, one_of, unknown
from dlasim.isa.registers import HOMES
from dlasim.named_tuple import NamedTuple
from dlasim.sim.configuration.parameters import Better, Form, MachineParameter
from dlasim.sim.configuration.sizes import UNLIMITED, parse_size
from dlasim.system.fileio import parse_toml

RATE_SCALE = 1000  # of a rate: a byte per cycle
SYSTEM = "system"  # the memory and the bus that the parameters dma_… describe
MAX_MEMORIES = 8
_MAX_RATE, _MAX_CYCLES, _MAX_BYTES = 1 << 20, 1 << 20, 1 << 31
_NAME_LENGTH = 32  # names become columns of tables


def scaled(rate: float) -> int:
    """A rate in thousandths of a byte per cycle."""
    return round(rate * RATE_SCALE)


def normalize_tables(memories: Any, buses: Any) -> tuple[str, str]:
    """Both tables as text in one form; they may be given as text or as tables. Refuses what is wrong."""
    rates = _checked_buses(_tables("buses", buses))
    tables = _checked_memories(_tables("memories", memories), rates)
    return (as_text(tables) if tables else "", as_text(rates) if rates else "")


def merge(text: Any, name: str, changes: Mapping[str, Any]) -> dict[str, Any]:
    """The tables (`name` is memories or buses) with changes named like `memories.flash.bandwidth`."""
    merged: dict[str, Any] = dict(_tables(name, text))
    for path, value in changes.items():
        entry, *keys = _split(path)
        merged[entry] = (
            {**_tables(f"{name}.{entry}", merged.get(entry, {})), keys[0]: value} if keys else value
        )
    return merged


def part_of(path: str) -> MachineParameter:
    """What is known of `memories.flash.bandwidth` or of `buses.axi`; its own check knows the range."""
    key = _key_of(path)
    form = Form.SIZE if path.endswith("_bytes") else Form.NUMBER
    return MachineParameter(key.kind, key.kind(), form=form, may_be_unlimited=key.is_limit,
                            least_if_limited=1 / RATE_SCALE, better=key.better)  # fmt: skip


def _key_of(path: str) -> Key:
    entry, *keys = _split(path)
    if keys and keys[0] not in KEYS:
        raise InputError(unknown(f"key of memories.{entry}", keys[0], KEYS))
    return KEYS[keys[0]] if keys else _BUS


def _split(path: str) -> list[str]:
    """The parts of `buses.NAME` or `memories.NAME.KEY` after the first."""
    table, *parts = path.split(".")
    form = {"buses": "buses.NAME", "memories": "memories.NAME.KEY"}[table]
    if len(parts) != form.count("."):
        raise InputError(f"unknown parameter {path!r}; the form is {form}")
    return parts


def _tables(name: str, given: Any) -> Mapping[str, Any]:
    if isinstance(given, str):
        return parse_table(name, given)
    if isinstance(given, Mapping):
        return given
    raise InputError(f"{name} must be a table (got {given!r:.80})")


def parse_table(name: str, text: str) -> Mapping[str, Any]:
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


def as_text(value: Any) -> str:
    """A value as TOML, on one line; tables are sorted."""
    if isinstance(value, Mapping):
        items = sorted((str(key), item) for key, item in value.items())
        return "{" + ", ".join(f"{_key_text(key)} = {as_text(item)}" for key, item in items) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(as_text, value)) + "]"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str | bool) else f"{value}"


def _key_text(key: str) -> str:
    return key if _is_plain(key) else json.dumps(key, ensure_ascii=False)


def _checked_buses(buses: Mapping[str, Any]) -> dict[str, Any]:
    for name in buses:
        _check_name("buses", name)
    return {name: _rate(f"buses.{name}", rate) for name, rate in buses.items()}


def _checked_memories(memories: Mapping[str, Any], buses: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    if len(memories) > MAX_MEMORIES:
        raise InputError(f"memories: at most {MAX_MEMORIES} are allowed (got {len(memories)})")
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
            checked[key] = KEYS[key].check(f"memories.{name}.{key}", value)
        if not checked.get("regions"):
            raise InputError(f"memories.{name} has no regions; set regions, such as constants")
        cpu, all_of_it = (checked.get(key, 0) for key in ("cpu_bandwidth", "bandwidth"))
        if cpu and not cpu < all_of_it:
            raise InputError(
                f"memories.{name}.cpu_bandwidth must be less than its bandwidth, {all_of_it or UNLIMITED} "
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


def _check_name(what: str, name: Any) -> None:
    if not isinstance(name, str) or not _is_plain(name) or len(name) > _NAME_LENGTH:
        raise InputError(
            f"{what}: a name has letters, digits, - and _, at most {_NAME_LENGTH} (got {name!r:.80})"
        )
    if name == SYSTEM:
        raise InputError(f"{what}.{SYSTEM} is described by the parameters dma_…; choose another name")


def _rate(what: str, value: Any) -> float:
    """Bytes per cycle, in thousandths; 0 for no limit."""
    if isinstance(value, str):
        if value.strip().lower() == UNLIMITED:
            return 0.0
        try:
            value = float(value)
        except ValueError:
            raise InputError(f"{what} must be a number (got {value!r:.80})") from None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(f"{what} must be a number (got {value!r:.80})")
    if value and not 1 <= value * RATE_SCALE <= _MAX_RATE * RATE_SCALE:
        raise InputError(
            f"{what} must be from {1 / RATE_SCALE} to {_MAX_RATE} bytes per cycle, or {UNLIMITED} "
            f"(got {value})"
        )
    return scaled(value) / RATE_SCALE


def _part(what: str, value: Any) -> float:
    rate = _rate(what, value)
    if not rate:
        raise InputError(f"{what} must be a number (got {value!r:.80})")
    return rate


def _whole(low: int, high: int) -> Callable[[str, Any], int]:
    def check(what: str, value: Any) -> int:
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
    if not _is_plain(value):
        raise InputError(f"{what} must be a name (got {value!r:.80})")
    return value


def _is_plain(name: str) -> bool:
    """Whether TOML needs no quotes for this name."""
    return name.isascii() and name.replace("_", "").replace("-", "").isalnum()


def _regions(what: str, value: Any) -> list[str]:
    """A list of regions, or text such as constants+commands."""
    given = value.split("+") if isinstance(value, str) else value
    if not isinstance(given, list) or not all(isinstance(name, str) for name in given):
        raise InputError(f"{what} must be a list of regions (got {value!r:.80})")
    names = [name.strip().upper() for name in given]
    known = [region.name for region in HOMES]
    for name in names:
        if name not in known:
            raise InputError(f"{what}: {unknown('region', name, known)}")
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"{what} names {name} twice")
    return sorted(names)


class Key(NamedTuple):
    """A key of a memory: the type of its values, what checks one, which are better, and whether 0 is
    `unlimited`."""

    kind: type
    check: Callable[[str, Any], Any]
    better: Better = Better.NEITHER
    is_limit: bool = False


KEYS = {
    "bandwidth": Key(float, _rate, Better.MORE, is_limit=True),
    "latency": Key(int, _whole(0, _MAX_CYCLES), Better.LESS),
    "outstanding": Key(int, _whole(1, 255), Better.MORE),
    "burst_bytes": Key(int, _whole(1, _MAX_BYTES), Better.MORE),
    "burst_overhead": Key(int, _whole(0, _MAX_CYCLES), Better.LESS),
    "bus": Key(str, _text),
    "cpu_bandwidth": Key(float, _part, Better.LESS),
    "fetch_wait": Key(int, _whole(0, 10_000), Better.LESS),
    "regions": Key(str, _regions),
    "energy": Key(str, _text),
}
_BUS = Key(float, _rate, Better.MORE, is_limit=True)
