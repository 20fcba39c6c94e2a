"""Random race-free streams of the whole instruction set whose units overlap as far as they may."""

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from dlasim.isa import codec, registers
from dlasim.isa.instruction_rows import UNITS, Extent, Unit
from dlasim.isa.instructions import INSTRUCTIONS
from dlasim.isa.registers import HOMES, Region
from dlasim.sim.programs.footprint import footprints
from dlasim.sim.programs.operation import Operation, reset_file
from dlasim.sim.programs.stream import decode_stream
from dlasim.sim.races import check_races
from tests.sim_engines.generate import Limits, make_operation, random_scene

Array = NDArray[np.uint8]
OPERATIONS = tuple(row.mnemonic for row in INSTRUCTIONS if row.is_operation)
# MAC and transfers more often, so that every unit has work.
_WEIGHTS = np.array([{Unit.MAC: 2.5}.get(row.unit, 1.0) for row in INSTRUCTIONS if row.is_operation])
_WEIGHTS[:2] = 5.0
REGION_BYTES = (4096, 16384, 4096, 8192, 65536, 9000, 15000)
CURSOR_PLACES = 5001, 1000  # in the arena
_SENSIBLE = (Extent.RECORDS, Extent.EXPONENTIALS, Extent.CURVE, Extent.CURVES)
ROUNDS = 400  # of mending


class StreamMaker:
    """Puts operations behind each other, their operands here and there in an SRAM of its own."""

    def __init__(
        self, rng: Generator, sram_bytes: int, fingerprint: int, limits: Limits, int16: bool = False,
        unpacks: bool = False, sums: bool = False, decodes: bool = False,
    ) -> None:  # fmt: skip
        self._rng, self._limits, self._fingerprint = rng, limits, fingerprint
        self._int16, self._sums = int16, sums
        self.sram: Array = rng.integers(0, 256, sram_bytes, np.uint8)
        self._words: list[int] = []
        self._known = reset_file()
        has = {row.mnemonic: int16 for row in INSTRUCTIONS if row.needs_int16}
        has |= {"OP_DMA_DECODE": decodes, "OP_DMA_UNPACK": unpacks}
        weights = np.where([has.get(name, True) for name in OPERATIONS], _WEIGHTS, 0)
        self._shares = weights / weights.sum()

    def stream(self, operations: int, waits: float = 0.0) -> NDArray[np.uint64]:
        """So many operations, with the WAITs that they need, and some that they do not need."""
        for _ in range(operations):
            mnemonic = str(self._rng.choice(OPERATIONS, p=self._shares))
            self._put(self._transfer(mnemonic) if "DMA" in mnemonic else self._compute(mnemonic))
            while self._rng.random() < waits:
                self._words.append(self._control())
        words = [*self._words, codec.encode("HALT")]
        return np.array(self._without_races(words), np.uint64)

    def transfers(self, count: int) -> NDArray[np.uint64]:
        """So many transfers alone, of both directions, with the WAITs that they need."""
        shares = self._shares * ["DMA" in name for name in OPERATIONS]
        for mnemonic in self._rng.choice(OPERATIONS, count, p=shares / shares.sum()):
            self._put(self._transfer(str(mnemonic)))
        return np.array(self._without_races([*self._words, codec.encode("HALT")]), np.uint64)

    def _put(self, operation: Operation) -> None:
        """The CFGs of what changes, and the operation's word."""
        for number, register in enumerate(registers.OPERANDS):
            value = operation.file[number]
            if register.name in operation.instruction.registers and value != self._known[number]:
                self._words.append(codec.encode_cfg(register.name, value))
                self._known[number] = value
        self._words.append(codec.encode(operation.instruction.mnemonic, **operation.fields))

    def _control(self) -> int:
        match self._rng.integers(6):
            case 0:
                return codec.encode("IRQ")
            case 1:
                return codec.encode("NOP")
            case _:
                unit, most = int(self._rng.integers(4)), int(self._rng.integers(3))
                return codec.encode("WAIT", unit=unit, max_outstanding=most)

    def _compute(self, mnemonic: str) -> Operation:
        """An operation of the engines' tests, moved to some place of the SRAM."""
        scene = random_scene(self._rng, mnemonic, self._limits, self._int16, self._sums)
        shift = 4 * int(self._rng.integers(0, (len(self.sram) - self._limits.sram_bytes) // 4 + 1))
        operation = scene.operation
        values = {}
        for register in operation.instruction.registers:
            entry = registers.BY_NAME[register]
            moved = shift if register.endswith("_ADDR") else 0
            values[register] = (
                operation.value(register) + moved if entry.is_plain else operation.pair(register)
            )
        moved_operation = make_operation(mnemonic, operation.fields, values)
        for footprint in footprints(operation):  # records and tables have to make sense, or results saturate
            if footprint.operand.extent in _SENSIBLE and self._rng.random() < 0.7:
                start, size = int(footprint.box.address), int(footprint.box.run_bytes)
                self.sram[start + shift : start + shift + size] = scene.sram[start : start + size]
        return moved_operation

    def _transfer(self, mnemonic: str) -> Operation:
        """A transfer of a few runs, touching or apart, on either side."""
        rng = self._rng
        prefix = "DMA_OUT" if mnemonic == "OP_DMA_WRITE" else "DMA_IN"
        region = int(rng.integers(0, 4)) if prefix == "DMA_IN" else int(rng.choice([1, 3, 5, 6]))
        run, runs, planes = int(rng.integers(1, 60)), int(rng.integers(1, 5)), int(rng.integers(1, 4))
        fields: dict[str, int] = {}
        if mnemonic == "OP_DMA_UNPACK":
            run, runs, planes = run * runs, 1, 1
            fields["packed"] = int(rng.integers(0, run // 4 + 1))
        if mnemonic == "OP_DMA_DECODE":
            fields = {"words": int(rng.integers(0, 6)), "copied": int(rng.integers(0, 9))}
            fields["steps"] = fields["words"] + int(rng.integers(0, 4))
            decoded = int(rng.integers(0, min(64 * fields["steps"], 30 * fields["words"] + 99) + 1))
            run, runs, planes = max(decoded + 4 * fields["copied"], 1), 1, 1
            fields["steps"] = max(fields["steps"], -(-(run - 4 * fields["copied"]) // 64))
        values: dict[str, object] = {"REGION": region, "RUN_BYTES": run, "RUNS": runs, "PLANES": planes}
        ends = []
        for side in ("STRIDE", "SRAM_STRIDE"):
            between = run + int(rng.choice([0, 0, 1, 3, 20]))
            plane = (runs - 1) * between + run + int(rng.choice([0, 0, 2, 50]))
            values |= {f"RUN_{side}": between, f"PLANE_{side}": plane}
            ends.append((planes - 1) * plane + (runs - 1) * between + run)
        if mnemonic == "OP_DMA_DECODE":
            ends[0] = 16 * fields["words"] + 4 * fields["copied"]
        values["OFFSET"] = int(rng.integers(0, REGION_BYTES[region] - ends[0] + 1))
        values["SRAM_ADDR"] = int(rng.integers(0, len(self.sram) - ends[1] + 1))
        return make_operation(mnemonic, fields, {f"{prefix}_{name}": value for name, value in values.items()})

    def _without_races(self, words: list[int]) -> list[int]:
        """With each WAIT that the race checker proposes, one after the other."""
        for _ in range(ROUNDS):
            stream = decode_stream(np.array(words, np.uint64), reset_file(), self._fingerprint)
            races = check_races(stream, len(self.sram), limit=1).races
            if not races:
                return words
            words.insert(races[0].later.word, _encoded(races[0].wait))
        raise AssertionError("the proposed waits do not come to an end")


def _encoded(wait: str) -> int:
    """`WAIT unit, n` as a word."""
    _, unit, most = wait.replace(",", "").split()
    number = [unit.name.lower() for unit in UNITS].index(unit)
    return codec.encode("WAIT", unit=number, max_outstanding=int(most))


def places() -> list[tuple[int, int]]:
    """Where the regions lie, one after the other, and the cursors in the arena."""
    *bases, _ = np.cumsum((0, *REGION_BYTES[: len(HOMES)])).tolist()
    bases += [bases[Region.ARENA] + place for place in CURSOR_PLACES]
    return list(zip(bases, REGION_BYTES, strict=True))


MEMORY_BYTES = sum(REGION_BYTES[: len(HOMES)])
assert len(REGION_BYTES) == len(Region)
