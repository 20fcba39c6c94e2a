"""What can be looked up by name: instructions, registers, faults, records, enumerations, host operators."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

from dlasim.errors import InputError
from dlasim.isa import records
from dlasim.isa.faults import Fault
from dlasim.isa.instructions import INSTRUCTIONS, Instruction
from dlasim.isa.records import Record
from dlasim.isa.registers import REGISTERS, Register

Thing: TypeAlias = Instruction | Register | Fault | Record | type[enum.IntEnum]


@dataclass(frozen=True, slots=True)
class Topic:
    """One kind of thing, all of it."""

    name: str
    doc: str
    entries: dict[str, Thing]


@cache
def topics() -> dict[str, Topic]:
    """Every topic by its name."""
    found = (
        Topic("instructions", "what the DLA executes", {i.mnemonic: i for i in INSTRUCTIONS}),
        Topic("registers", "what the host and CFG write", {r.name: r for r in REGISTERS}),
        Topic("faults", "what stops the DLA", {fault.name: fault for fault in Fault}),
        Topic(
            "program",
            "what program.bin consists of",
            {record.name: record for record in records.RECORDS}
            | {kind.__name__: kind for kind, _ in records.ENUMS},
        ),
    )
    return {topic.name: topic for topic in found}


def find(name: str) -> dict[str, Thing]:
    """What `name` means, whatever its case: a topic, an entry, or an operation without its OP_."""
    wanted = name.strip().lower()
    for topic in topics().values():
        if topic.name == wanted:
            return topic.entries
    known = {key.lower(): (key, thing) for key, thing in _all_entries()}
    for candidate in (wanted, f"op_{wanted}"):
        if candidate in known:
            key, thing = known[candidate]
            return {key: thing}
    raise InputError(_unknown(name, known))


def find_all(names: Iterable[str]) -> dict[str, Thing]:
    """Several names at once, in the order given; without any, everything."""
    found: dict[str, Thing] = {}
    for name in names:
        found |= find(name)
    return found or dict(_all_entries())


def _all_entries() -> list[tuple[str, Thing]]:
    # Names are unique across topics but for case-only twins, where the earlier topic wins.
    found: dict[str, tuple[str, Thing]] = {}
    for topic in topics().values():
        for key, thing in topic.entries.items():
            found.setdefault(key.lower(), (key, thing))
    return list(found.values())


def _unknown(name: str, known: dict[str, tuple[str, Thing]]) -> str:
    from difflib import get_close_matches

    places = {**{key: shown for key, (shown, _) in known.items()}, **{topic: topic for topic in topics()}}
    places |= {key.removeprefix("op_"): places[key] for key in known if key.startswith("op_")}
    close = dict.fromkeys(places[match] for match in get_close_matches(name.lower(), places, n=3, cutoff=0.6))
    hint = f"did you mean {' or '.join(close)}?" if close else f"allowed: {', '.join(topics())}, or an entry"
    return f"nothing is called {name!r}; {hint}"
