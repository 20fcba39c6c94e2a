"""The native hooks as machine code, held to the same routines run by Python over random blocks."""

import ctypes
import random
from typing import cast

import numpy as np
import pytest

from dlasim.native.number_memory import Column
from dlasim.native.record import layout
from dlasim.native.storage import RecordView, bind, create
from dlasim.vp import block_hooks
from dlasim.vp.block_records import NO_SLOT, CodeSlot, Counts, FunctionChange, SlotTally
from dlasim.vp.native_hooks import NativeHooks, compile_hooks

SLOTS, LOG = 40, 6
BASE = 0x8000_0000
MSTATUS, MIE = 1, 2
HOOK = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_uint64, ctypes.c_uint32, ctypes.c_int64)


class Emulator:
    """Stands for the emulator: counts stops, and has two registers."""

    def __init__(self) -> None:
        self.stops, self.registers = 0, {MSTATUS: 8, MIE: 0x880}
        self.counts = Counts()
        self.native_stop = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int64)(self.stop)
        kinds = (ctypes.c_int, ctypes.c_int64, ctypes.c_int, ctypes.c_int64)
        self.native_read = ctypes.CFUNCTYPE(*kinds)(self._write_register)

    def stop(self, _: int) -> int:
        self.stops += 1
        return 0

    def read(self, _: int, register: int, __: int) -> int:
        self.counts.register = self.registers[register]
        return 0

    def _write_register(self, _: int, register: int, address: int) -> int:
        ctypes.c_int64.from_address(address).value = self.registers[register]
        return 0

    def hooks(self, *, costs: bool, logs: bool) -> NativeHooks:
        addresses = (
            ctypes.cast(each, ctypes.c_void_p).value for each in (self.native_stop, self.native_read)
        )
        stop, read = (cast("int", address) for address in addresses)
        return compile_hooks(stop, read, taken_branches_cost=costs, log_functions=logs)


def prepared(rng: random.Random) -> tuple[Counts, Counts, list[Column]]:
    """The same counts for Python and for machine code, with the memory of the latter."""
    rows, tallies = ([[rng.randrange(3) for _ in range(layout(kind).slots)] for _ in range(SLOTS)]
                     for kind in (CodeSlot, SlotTally))  # fmt: skip
    plain, native = Counts(), create(Counts, is_compiled=True)
    for counts in (plain, native):
        counts.code_base, counts.code_bytes = BASE, 2 * (SLOTS - 4)
        counts.open_first = counts.resume_first = NO_SLOT
        counts.mstatus_id, counts.mie_id, counts.most_changes = MSTATUS, MIE, LOG
    arrays = (np.array(rows, np.int64), np.array(tallies, np.int64), np.zeros((LOG, 2), np.int64))
    memories = [Column(array, True) for array in arrays]
    plain.slots = [CodeSlot(*row[:5], row[5:]) for row in rows]
    plain.tallies = [SlotTally(*row) for row in tallies]
    plain.log = [FunctionChange() for _ in range(LOG)]
    for name, memory in zip(("slots", "tallies", "log"), memories, strict=True):
        bind(native, name, memory)
    address = cast("RecordView", native).address
    native.register_address = address + 8 * layout(Counts).fields["register"].slot
    return plain, native, memories


def assert_same(plain: Counts, native: Counts, memories: list[Column]) -> None:
    for name in layout(Counts).fields:
        if name not in ("slots", "tallies", "log", "register", "register_address"):
            one, other = getattr(plain, name), getattr(native, name)
            assert one == (list(other) if name == "ring" else other), name
    for records, memory in zip((plain.slots, plain.tallies, plain.log), memories, strict=True):
        assert [each.flatten() for each in records] == memory.array.tolist()  # type: ignore[attr-defined]


@pytest.mark.parametrize("logs", [False, True])
@pytest.mark.parametrize("costs", [False, True])
def test_machine_code_counts_what_python_does(
    monkeypatch: pytest.MonkeyPatch, costs: bool, logs: bool
) -> None:
    emulators = Emulator(), Emulator()
    compile_hooks.cache_clear()
    hooks = emulators[1].hooks(costs=costs, logs=logs)
    monkeypatch.setattr(block_hooks, "stop_emulator", emulators[0].stop)
    monkeypatch.setattr(block_hooks, "read_register", emulators[0].read)
    block, debug = HOOK(hooks.block), HOOK(hooks.debug)
    outside = changes = 0
    for seed in range(30):
        rng = random.Random(seed)
        plain, native, memories = prepared(rng)
        emulators[0].counts = plain
        address = cast("RecordView", native).address
        for _ in range(60):
            change(rng, plain, native, emulators)
            pc, size = BASE - 8 + 2 * rng.randrange(SLOTS + 4), 2 * rng.randint(1, 4)
            if rng.random() < 0.7:
                block_hooks.begin_block(0, pc, size, plain, costs, logs)
                block(0, pc, size, address)
            else:
                block_hooks.begin_instruction(0, pc, size, plain)
                debug(0, pc, size, address)
            assert_same(plain, native, memories)
            assert emulators[0].stops == emulators[1].stops
        outside += plain.outside_blocks
        changes += plain.changes
    assert min(emulators[0].stops, outside) > 30
    assert bool(changes) == logs
    compile_hooks.cache_clear()


def change(rng: random.Random, plain: Counts, native: Counts, emulators: tuple[Emulator, Emulator]) -> None:
    """What Python does between two calls of hooks, now and then."""
    if rng.random() < 0.4:
        given = {
            "deadline_cycles": rng.choice([0, plain.cycles + 20]),
            "event_cycles": plain.cycles + rng.randrange(-2, 9),
            "deadline_instructions": plain.instructions + rng.randrange(20),
            "pending": rng.choice([0, 0x80, 0x8]),
            "passes_one": rng.randrange(2),
            "is_stepping": int(rng.random() < 0.2),
            "resume_first": rng.choice([NO_SLOT, NO_SLOT, rng.randrange(SLOTS - 8)]),
        }
        for name, value in given.items():
            setattr(plain, name, value)
            setattr(native, name, value)
        for emulator in emulators:
            emulator.registers[MSTATUS] = block_hooks.MSTATUS_MIE * (plain.blocks & 1)
