"""The exit device: ends the run with a code, and lets the guest mark regions for the profiler."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from dlasim.dataclass import dataclass
from dlasim.vp.devices.device import Device
from dlasim.vp.devices.memory_map import DeviceRegister

EXIT = DeviceRegister("STATUS", 0x00, 4, "write EXIT_PASS, or EXIT_FAIL | code << 16, to end the run")
RAM_BYTES = DeviceRegister("RAM_BYTES", 0x08, 4, "size of RAM; reads 0 on other boards")
REGION_BEGIN = DeviceRegister("REGION_BEGIN", 0x10, 4, "write an id: the region starts here")
REGION_END = DeviceRegister("REGION_END", 0x14, 4, "write an id: the region ends here")
REGISTERS = (EXIT, RAM_BYTES, REGION_BEGIN, REGION_END)

EXIT_PASS = 0x5555
EXIT_FAIL = 0x3333
MAX_MARKS = 1 << 18  # further ones are only counted


@dataclass(frozen=True, slots=True)
class RegionMark:
    """One write to REGION_BEGIN or REGION_END; counts are those at the start of the writing block."""

    region_id: int
    is_begin: bool
    instructions: int
    cycles: int
    idle_cycles: int  # of them, asleep in wfi


@dataclass(frozen=True, slots=True)
class RegionSpan:
    """One pass through a marked region."""

    region_id: int
    start_cycles: int
    end_cycles: int
    instructions: int


def region_spans(marks: Iterable[RegionMark]) -> tuple[RegionSpan, ...]:
    """Pairs each end with the last open begin of the same id, in order of the ends; regions may nest.

    A begin that never ends, or an end without a begin, is not a region.
    """
    open_marks: dict[int, list[RegionMark]] = {}
    spans = []
    for mark in marks:
        begins = open_marks.setdefault(mark.region_id, [])
        if mark.is_begin:
            begins.append(mark)
        elif begins:
            begin = begins.pop()
            instructions = mark.instructions - begin.instructions
            spans.append(RegionSpan(mark.region_id, begin.cycles, mark.cycles, instructions))
    return tuple(spans)


class ExitDevice(Device):
    """`exit_code` is None until the guest ends the run; `marks` lists the region marks in order.

    `on_mark`, where set, is called for each as it happens.
    """

    registers = REGISTERS

    def __init__(self, ram_bytes: int, counts: Callable[[], tuple[int, int, int]]) -> None:
        self._ram_bytes = ram_bytes
        self._counts = counts
        self.on_mark: Callable[[RegionMark], None] | None = None
        self.most_marks = MAX_MARKS
        self.reset()

    def reset(self) -> None:
        """Running, nothing marked."""
        self.exit_code: int | None = None
        self.marks: list[RegionMark] = []
        self.marks_lost = 0

    def load(self, offset: int, size: int) -> int:
        """RAM_BYTES; everything else reads as zero."""
        return self._ram_bytes if offset == RAM_BYTES.offset else 0

    def peek(self, offset: int) -> int:
        """A byte of it."""
        return self.load(offset & ~3, 4) >> 8 * (offset & 3) & 0xFF

    def store(self, offset: int, size: int, value: int) -> None:
        """Exit codes and marks; an unknown status is ignored, as on the device this copies."""
        if offset == EXIT.offset:
            self._exit(value)
        elif offset in (REGION_BEGIN.offset, REGION_END.offset):
            mark = RegionMark(value, offset == REGION_BEGIN.offset, *self._counts())
            if len(self.marks) < self.most_marks:
                self.marks.append(mark)
            else:
                self.marks_lost += 1
            if self.on_mark is not None:
                self.on_mark(mark)

    def _exit(self, value: int) -> None:
        if value & 0xFFFF == EXIT_PASS:
            self.exit_code = 0
        elif value & 0xFFFF == EXIT_FAIL:
            self.exit_code = value >> 16
