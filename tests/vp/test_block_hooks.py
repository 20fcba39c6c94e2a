"""The native hooks as machine code, held to the same routines run by Python over random blocks."""

from __future__ import annotations

import ctypes
import random
from typing import NamedTuple, cast

import numpy as np
import pytest
from numpy.typing import NDArray

from dlasim.native.record import layout
from dlasim.native.storage import pointer_to
from dlasim.vp.riscv import block_hooks, native_hooks
from dlasim.vp.riscv.block_records import (
    NO_SLOT,
    BlockWatch,
    CodeSlot,
    Counts,
    FunctionChange,
    PageMap,
    SlotNote,
    SlotTally,
    TlbEntry,
    TranslatedBlock,
)
from dlasim.vp.riscv.decode import known_decoder
from dlasim.vp.riscv.interceptions import instructions, is_intercepted
from dlasim.vp.riscv.native_hooks import find_hooks

SLOTS, LOG = 40, 6
COLUMNS = layout(CodeSlot).slots + layout(SlotNote).slots
BASE = 0x8000_0000
MSTATUS, MIE = 1, 2
HOOK = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_uint64, ctypes.c_uint32, ctypes.c_int64)


class Emulator:
    """Stands for the emulator: counts stops, and has two registers."""

    def __init__(self) -> None:
        self.stops, self.registers = 0, {MSTATUS: 8, MIE: 0x880}
        self._functions = [
            ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int64)(self._stop),
            ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int64, ctypes.c_int, ctypes.c_int64)(self._read),
        ]

    def connect(self, counts: Counts) -> None:
        counts.stop_function, counts.read_function = (
            cast("int", ctypes.cast(each, ctypes.c_void_p).value) for each in self._functions
        )
        address = ctypes.addressof(counts)
        counts.register_address = address + 8 * layout(Counts).fields["register"].slot

    def _stop(self, _: int) -> int:
        self.stops += 1
        return 0

    def _read(self, _: int, register: int, address: int) -> int:
        ctypes.c_int64.from_address(address).value = self.registers[register]
        return 0


class Prepared(NamedTuple):
    """Counts, and the memory that they lead to."""

    counts: Counts
    slots: NDArray[np.int64]
    tallies: NDArray[np.int64]
    log: NDArray[np.int64]


def prepared(rng: random.Random, emulator: Emulator, rows: list[list[int]]) -> Prepared:
    slots, notes = np.hsplit(np.array(rows, np.int64), [layout(CodeSlot).slots])
    slots, notes = np.ascontiguousarray(slots), np.ascontiguousarray(notes)
    counts, log = Counts(), np.zeros((LOG, 2), np.int64)
    tallies = np.zeros((SLOTS, layout(SlotTally).slots), np.int64)
    counts.code_base, counts.code_bytes = BASE, 2 * (SLOTS - 4)
    counts.open_first = counts.resume_first = NO_SLOT
    counts.mstatus_id, counts.mie_id, counts.most_changes = MSTATUS, MIE, LOG
    counts.slots, counts.log = pointer_to(slots, CodeSlot), pointer_to(log, FunctionChange)
    counts.tallies, counts.notes = pointer_to(tallies, SlotTally), pointer_to(notes, SlotNote)
    emulator.connect(counts)
    return Prepared(counts, slots, tallies, log)


def assert_same(plain: Prepared, native: Prepared) -> None:
    others = (
        "slots",
        "tallies",
        "notes",
        "log",
        "register_address",
        "stop_function",
        "read_function",
        "ring",
    )
    for name in layout(Counts).fields.keys() - set(others):
        assert getattr(plain.counts, name) == getattr(native.counts, name), name
    assert list(plain.counts.ring) == list(native.counts.ring)
    assert np.array_equal(plain.slots, native.slots)
    assert np.array_equal(plain.tallies, native.tallies)
    assert np.array_equal(plain.log, native.log)


@pytest.mark.parametrize("logs", [False, True])
@pytest.mark.parametrize("costs", [False, True])
def test_machine_code_counts_what_python_does(costs: bool, logs: bool) -> None:
    emulators = Emulator(), Emulator()
    hooks = find_hooks(taken_branches_cost=costs, log_functions=logs)
    block, debug = HOOK(hooks.block), HOOK(hooks.debug)
    outside = changes = 0
    for seed in range(30):
        rng = random.Random(seed)
        rows = [[rng.randrange(3) for _ in range(COLUMNS)] for _ in range(SLOTS)]
        plain, native = (prepared(rng, emulator, rows) for emulator in emulators)
        address = ctypes.addressof(native.counts)
        for _ in range(60):
            change(rng, plain.counts, native.counts, emulators)
            pc, size = BASE - 8 + 2 * rng.randrange(SLOTS + 4), 2 * rng.randint(1, 4)
            if rng.random() < 0.7:
                block_hooks.begin_block(0, pc, size, plain.counts, costs, logs)
                block(0, pc, size, address)
            else:
                block_hooks.begin_instruction(0, pc, size, plain.counts)
                debug(0, pc, size, address)
            assert_same(plain, native)
            assert emulators[0].stops == emulators[1].stops
        outside += plain.counts.outside_blocks
        changes += plain.counts.changes
    assert min(emulators[0].stops, outside) > 30
    assert bool(changes) == logs


def test_new_blocks_are_told_of_where_an_instruction_needs_a_hook() -> None:
    """Over random code, both ways, against one instruction after the other."""
    hook = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * 4)(find_hooks(taken_branches_cost=False).look_through)
    told: list[tuple[int, int]] = []
    tell = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 2)(lambda *block: told.append(block) or 0)
    watch = BlockWatch(cast("int", ctypes.cast(tell, ctypes.c_void_p).value), known_decoder())
    code = np.random.default_rng(5).integers(0, 1 << 16, 4000).astype("<u2")
    code[::2] = code[::2] & 0x0FFF | 0x4000  # mostly legal ones
    view = watch.memories[1]
    view.base, view.size_bytes, view.data = BASE, code.nbytes, pointer_to(code.view(np.int64))
    found = 0
    for at in range(0, code.nbytes - 16, 6):
        block = TranslatedBlock(BASE + at, 3 | 8 << 16)
        words = instructions(code.tobytes()[at : at + 12], BASE + at)
        is_told = any(is_intercepted(word) for address, word in words if address < BASE + at + 8)
        expected = [(BASE + at, 8)] * is_told
        told.clear()
        hook(0, ctypes.addressof(block), 0, ctypes.addressof(watch))
        assert told == expected
        block_hooks.look_through(0, block, 0, watch)
        assert told == 2 * expected
        found += is_told
    assert 100 < found < 1200


@pytest.mark.parametrize("fetches", [False, True])
def test_pages_are_executable_once_they_were_fetched_from(fetches: bool) -> None:
    """Both ways; the right to execute is 4, a fetch 18 and a write 17."""
    fill = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_int64, *[ctypes.c_uint64] * 4)
    native = fill(find_hooks(taken_branches_cost=False).fill_tlb)
    for is_native in (False, True):
        flags, entry = np.zeros(4, np.int64), TlbEntry()
        pages = PageMap(BASE, 4 << 12, pointer_to(flags))
        for access in (17, 18, 17) if fetches else (17, 17):
            if is_native:
                assert native(0, BASE + 0x2345, access, ctypes.addressof(entry), ctypes.addressof(pages))
            else:
                assert block_hooks.fill_tlb(0, BASE + 0x2345, access, entry, pages)
        assert (entry.page, entry.rights) == (BASE + 0x2000, 7 if fetches else 3)
        assert flags.tolist() == [0, 0, int(fetches), 0]
        assert block_hooks.fill_tlb(0, BASE - 1, 17, entry, pages)
        assert (entry.page, entry.rights) == (BASE - 0x1000, 7)  # no RAM


def test_hooks_are_called_in_python_where_there_is_no_machine_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native_hooks, "find_function", lambda _: None)
    native_hooks._address.cache_clear()
    hooks = find_hooks(taken_branches_cost=True)
    native_hooks._address.cache_clear()
    emulator = Emulator()
    found = prepared(random.Random(0), emulator, [[1] * COLUMNS] * SLOTS)
    HOOK(hooks.block)(0, BASE, 4, ctypes.addressof(found.counts))
    assert (found.counts.stopped, emulator.stops) == (1, 1)  # its deadline is 0


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
