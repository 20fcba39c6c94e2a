"""The RTL at the other end of two pipes: its registers, SRAM and system memory, and what happened when."""

import subprocess
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dlasim.isa import registers
from dlasim.isa.faults import Fault
from dlasim.isa.instruction_rows import UNITS
from dlasim.isa.registers import BY_NAME, COUNTERS
from dlasim.sim.programs.stream import FaultAt

PATIENCE = 2_000_000_000  # cycles


@dataclass
class Events:
    """When things happened, in cycles from the doorbell: of each unit, in the order of its operations. Bytes
    of operands that crossed the SRAM's ports, and the words in which they did, where these are limited."""

    issued: list[list[int]] = field(default_factory=lambda: [[] for _ in UNITS])
    done: list[list[int]] = field(default_factory=lambda: [[] for _ in UNITS])
    sram_bytes: list[list[int]] = field(default_factory=lambda: [[] for _ in UNITS])
    sram_words: list[list[int]] = field(default_factory=lambda: [[] for _ in UNITS])
    markers: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    seconds: float = 0.0


class RtlMachine:
    """A process that runs the RTL; `memory` is shared with it."""

    def __init__(self, binary: Path, sram_bytes: int, memory_bytes: int) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self._file = Path(self._folder.name, "sram")
        memory_file = Path(self._folder.name, "memory")
        np.zeros(memory_bytes, np.uint8).tofile(memory_file)
        self.memory: NDArray[np.uint8] = np.memmap(memory_file, np.uint8, "r+")
        self._sram_bytes = sram_bytes
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        self._process = subprocess.Popen([str(binary), str(memory_file)], **pipes)

    def __enter__(self) -> "RtlMachine":
        return self

    def __exit__(self, *error: object) -> None:
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()
        del self.memory
        self._folder.cleanup()

    def _tell(self, *words: object) -> None:
        print(*words, file=self._process.stdin)

    def _ask(self, *words: object) -> list[str]:
        self._tell(*words)
        self._process.stdin.flush()
        return self._answer()

    def _answer(self) -> list[str]:
        line = self._process.stdout.readline()
        assert line, f"the RTL's simulator ended with {self._process.wait()}"
        assert "%" not in line, line.strip()  # a fatal error of `crossing.sv`
        return line.split()

    def reset(self) -> None:
        """Power-on; the SRAM keeps what it holds."""
        self._tell("reset")

    def write(self, register: str, value: int) -> None:
        """A register by name."""
        self.write_offset(BY_NAME[register].address, value)

    def write_offset(self, offset: int, value: int) -> None:
        """Whatever is at an offset of the window."""
        self._tell("write", offset, value)

    def read(self, register: str) -> int:
        """A register by name."""
        return self.read_offset(BY_NAME[register].address)

    def read_offset(self, offset: int) -> int:
        """Whatever is at an offset of the window."""
        return int(self._ask("read", offset)[0])

    def interrupt(self) -> bool:
        """The interrupt line."""
        return self._ask("irq") == ["1"]

    @property
    def sram(self) -> NDArray[np.uint8]:
        """A copy of the SRAM."""
        assert self._ask("save", self._file) == ["ok"]
        return np.fromfile(self._file, np.uint8)

    @sram.setter
    def sram(self, content: NDArray[np.uint8]) -> None:
        assert len(content) == self._sram_bytes
        content.tofile(self._file)
        assert self._ask("load", self._file) == ["ok"]

    def place_regions(self, places: Iterable[tuple[int, int]]) -> None:
        """Base and size of each region."""
        for number, (base, size) in enumerate(places):
            self.write(f"REGION{number}_BASE", base)
            self.write(f"REGION{number}_SIZE", size)

    def file(self) -> list[int]:
        """The operand registers."""
        return [self.read_offset(register.address) for register in registers.OPERANDS]

    def counters(self) -> list[int]:
        """All performance counters."""
        return [self.read(f"COUNT_{n}_LOW") | self.read(f"COUNT_{n}_HIGH") << 32 for n, _ in COUNTERS]

    def fault(self) -> FaultAt | None:
        """What stopped it."""
        if not self.read("STATUS") & 2:
            return None
        code, position, address = (self.read(f"ERROR_{name}") for name in ("CODE", "POSITION", "ADDRESS"))
        return FaultAt(Fault(code), position, address)

    def run(self, limit: int = PATIENCE) -> Events:
        """Until no stream runs; the last write was the doorbell."""
        events = Events()
        words = self._ask("run", limit)
        while words[0] != "ran":
            numbers = [int(word) for word in words[1:]]
            match words[0]:
                case "issued":
                    events.issued[numbers[0]].append(numbers[1])
                case "done":
                    unit, time, moved, words_moved = numbers
                    events.done[unit].append(time)
                    events.sram_bytes[unit].append(moved)
                    events.sram_words[unit].append(words_moved)
                case "marker":
                    events.markers.append(numbers[0])
                case "end":
                    events.ends.append(numbers[0])
            words = self._answer()
        events.seconds = float(words[2])
        assert int(words[1]) < limit, f"the RTL still runs after {limit} cycles"
        return events
