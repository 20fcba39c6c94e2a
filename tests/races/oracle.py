"""Races by brute force: sets of bytes, and for each operation what still starts if it never finishes.

Nothing here shares code with the checker: registers are followed word by word, bytes are listed one by one
for the few instructions that the random streams use.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dlasim.isa import codec, registers
from dlasim.isa.instruction_rows import Unit

Bytes = set[tuple[str, int]]  # (memory, address)


@dataclass(frozen=True)
class Step:
    """An instruction that is not CFG: where it stands and what it touches."""

    position: int
    mnemonic: str
    fields: dict[str, int]
    unit: Unit
    reads: Bytes
    writes: Bytes

    def conflicts(self, other: "Step") -> bool:
        """Whether both touch a byte that one of them writes."""
        return bool(self.writes & other.writes or self.writes & other.reads or self.reads & other.writes)


def steps(words: Sequence[int]) -> list[Step]:
    """The stream's instructions with the bytes that each touches."""
    file = {register.name: register.reset for register in registers.OPERANDS}
    found = []
    for position, word in enumerate(words):
        decoded = codec.decode(int(word))
        assert decoded.instruction is not None
        name = decoded.instruction.mnemonic
        if name == "CFG":
            register = registers.BY_ADDRESS[4 * decoded.values["register"]]
            file[register.name] = decoded.values["value"]
            continue
        reads, writes = _touched(name, file)
        found.append(Step(position, name, dict(decoded.values), decoded.instruction.unit, reads, writes))
    return found


def _touched(name: str, file: dict[str, int]) -> tuple[Bytes, Bytes]:
    pixels, outputs = (file["OUT_SIZE"] & 0xFFFF, file["OUT_SIZE"] >> 16), file["OUT_CHANNELS"]
    match name:
        case "OP_DMA_READ":
            return _transfer(file, "DMA_IN", "OFFSET", "STRIDE"), _transfer(
                file, "DMA_IN", "SRAM_ADDR", "SRAM_STRIDE"
            )
        case "OP_DMA_WRITE":
            return _transfer(file, "DMA_OUT", "SRAM_ADDR", "SRAM_STRIDE"), _transfer(
                file, "DMA_OUT", "OFFSET", "STRIDE"
            )
        case "OP_FILL":
            return set(), _view(file, "OUT", *pixels, outputs)
        case "OP_ACT_RELU":
            return _view(file, "IN", *pixels, outputs), _view(file, "OUT", *pixels, outputs)
        case "OP_MAT_MUL":
            weights = {("SRAM", file["WEIGHT_ADDR"] + i) for i in range(outputs * file["IN_CHANNELS"])}
            source = _view(file, "IN", *pixels, file["IN_CHANNELS"])
            return source | weights, _view(file, "OUT", *pixels, outputs)
        case "NOP" | "WAIT" | "IRQ" | "HALT":
            return set(), set()
        case _:
            raise AssertionError(f"the oracle does not know {name}")


def _transfer(file: dict[str, int], prefix: str, base: str, stride: str) -> Bytes:
    memory = "SRAM" if base == "SRAM_ADDR" else f"region {file[f'{prefix}_REGION']}"
    return {
        (
            memory,
            file[f"{prefix}_{base}"]
            + plane * file[f"{prefix}_PLANE_{stride}"]
            + run * file[f"{prefix}_RUN_{stride}"]
            + byte,
        )
        for plane in range(file[f"{prefix}_PLANES"])
        for run in range(file[f"{prefix}_RUNS"])
        for byte in range(file[f"{prefix}_RUN_BYTES"])
    }


def _view(file: dict[str, int], prefix: str, height: int, width: int, channels: int) -> Bytes:
    return {
        (
            "SRAM",
            file[f"{prefix}_ADDR"]
            + row * file[f"{prefix}_ROW_STRIDE"]
            + pixel * file[f"{prefix}_PIXEL_STRIDE"]
            + channel,
        )
        for row in range(height)
        for pixel in range(width)
        for channel in range(channels)
    }


def racing_pairs(words: Sequence[int]) -> list[tuple[Step, Step]]:
    """Every pair of conflicting operations of which the later starts even if the earlier never finishes."""
    program = steps(words)
    return [
        (stuck, other)
        for index, stuck in enumerate(program)
        if stuck.unit is not Unit.ISSUE
        for other in _started_beside(stuck, program[index + 1 :])
        if stuck.conflicts(other)
    ]


def _started_beside(stuck: Step, rest: Sequence[Step]) -> Iterator[Step]:
    """What starts while one operation hangs and all else takes no time."""
    outstanding = 1  # of the stuck operation's unit; it and all behind it stay
    for step in rest:
        if step.mnemonic in ("IRQ", "HALT"):
            return
        if step.mnemonic == "WAIT":
            if step.fields["unit"] == stuck.unit and outstanding > step.fields["max_outstanding"]:
                return
        elif step.unit == stuck.unit:
            outstanding += 1
        elif step.unit is not Unit.ISSUE:
            yield step


@dataclass(frozen=True)
class Repair:
    """A race and the wait that settles it, by positions in the original stream."""

    earlier: int
    later: int
    unit: int
    max_outstanding: int


def repairs(words: Sequence[int]) -> list[Repair]:
    """Waits that settle every race: again and again the first operation's latest conflict, unit by unit."""
    numbered = list(enumerate(int(word) for word in words))
    found = []
    while pairs := racing_pairs([word for _, word in numbered]):
        earlier, later = min(pairs, key=lambda pair: (pair[1].position, pair[0].unit, -pair[0].position))
        between = [
            step
            for step in steps([word for _, word in numbered])
            if earlier.position < step.position < later.position and step.unit == earlier.unit
        ]
        wait = codec.encode("WAIT", unit=earlier.unit, max_outstanding=len(between))
        origin = numbered[earlier.position][0], numbered[later.position][0]
        found.append(Repair(*origin, int(earlier.unit), len(between)))
        numbered.insert(later.position, (-1, wait))
    return found


def unwritten_reads(words: Sequence[int], written: set[int]) -> list[tuple[int, int]]:
    """(position, lowest byte) of reads of SRAM bytes that are not in `written`, which is brought up to date.

    Operands are not told apart; a byte is reported once.
    """
    found = []
    for step in steps(words):
        missing = {address for memory, address in step.reads if memory == "SRAM"} - written
        if missing:
            found.append((step.position, min(missing)))
        written |= missing | {address for memory, address in step.writes if memory == "SRAM"}
    return found
