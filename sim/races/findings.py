"""What the race checker found, for people and for programs."""

from __future__ import annotations

from dlasim.dataclass import dataclass
from dlasim.isa.instruction_rows import Unit


@dataclass(frozen=True, slots=True)
class OperandAccess:
    """One operand of one operation: `runs` runs of `run_bytes` between two addresses of a memory.

    `word` is the instruction's index in the command region (in the stream, where one was checked alone);
    `layer` and `source` (FILE:LINE) are empty where the program does not say; `memory` is SRAM or a region.
    """

    word: int
    mnemonic: str
    unit: Unit
    layer: str
    operand: str
    writes: bool
    memory: str
    first: int
    last: int
    runs: int
    run_bytes: int
    source: str = ""

    @property
    def where(self) -> str:
        """The instruction, as a reader finds it in a disassembly."""
        layer = f" of layer {self.layer}" if self.layer else ""
        return f"word {self.word}{self.at} {self.mnemonic}{layer}"

    @property
    def at(self) -> str:
        """Its source line in parentheses, where it is known."""
        return f" ({self.source})" if self.source else ""

    @property
    def range(self) -> str:
        """The bytes it covers, and in which runs when there are gaps."""
        text = f"{self.operand} at {self.first:#x} to {self.last:#x}"
        return text if self.runs == 1 else f"{text} in {self.runs} runs of {self.run_bytes}"


@dataclass(frozen=True, slots=True)
class Race:
    """Two accesses to a common byte that nothing orders, and the WAIT that would."""

    earlier: OperandAccess
    later: OperandAccess
    byte: int
    max_outstanding: int

    @property
    def wait(self) -> str:
        """The missing instruction; it belongs before the later operation."""
        return f"WAIT {self.earlier.unit.name.lower()}, {self.max_outstanding}"

    def __str__(self) -> str:
        later, earlier = self.later, self.earlier
        return (
            f"race on byte {self.byte:#x} of {later.memory}: {later.where} "
            f"{'writes' if later.writes else 'reads'} {later.range} on {later.unit.name.lower()}, while "
            f"{earlier.where} may still {'write' if earlier.writes else 'read'} {earlier.range} on "
            f"{earlier.unit.name.lower()}; insert `{self.wait}` before word {later.word}{later.at}"
        )


@dataclass(frozen=True, slots=True)
class UninitialisedRead:
    """A read of SRAM bytes that nothing wrote before; `byte` is the first of them."""

    access: OperandAccess
    byte: int

    def __str__(self) -> str:
        return (
            f"uninitialised read of byte {self.byte:#x} of SRAM: {self.access.where} reads "
            f"{self.access.range}, and no operation before it in this inference wrote that byte"
        )


@dataclass(frozen=True, slots=True)
class RaceReport:
    """Findings in program order; `is_complete` is False where the checker stopped at its limit."""

    races: tuple[Race, ...] = ()
    uninitialised: tuple[UninitialisedRead, ...] = ()
    is_complete: bool = True

    @property
    def is_clean(self) -> bool:
        """Whether there is nothing to report."""
        return not self.races and not self.uninitialised

    def __str__(self) -> str:
        if self.is_clean:
            return "no race, and no read of SRAM that nothing wrote"
        lines = [str(finding) for finding in (*self.races, *self.uninitialised)]
        if not self.is_complete:
            lines.append("there may be more: the checker stopped at its limit")
        return "\n".join(lines)
