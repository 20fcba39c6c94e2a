"""Devices for the tests: one that works for a while and interrupts, as the DLA does."""

from dlasim.vp.devices.device import Device

START = 0  # write: how many cycles the job takes
STATUS = 4  # read: 1 while done and not acknowledged
ACKNOWLEDGE = 8  # write: lowers the line
AGAIN = 12  # write: after each acknowledge, start again with this many cycles; 0: do not


class JobDevice(Device):
    """Does jobs of so many cycles; the line is high from a job's end to its acknowledgement."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self.now = 0
        self.due: int | None = None
        self.done = False
        self.again = 0
        self.finished_at: list[int] = []
        self.started_at: list[int] = []

    def tick(self, now: int) -> None:
        self.now = now
        if self.due is not None and now >= self.due:
            self.finished_at.append(self.due)
            self.due = None
            self.done = True

    def next_event(self) -> int | None:
        return self.due

    def interrupt(self) -> bool:
        return self.done

    def load(self, offset: int, size: int) -> int:
        return int(self.done) if offset == STATUS else 0

    def store(self, offset: int, size: int, value: int) -> None:
        if offset == START:
            self._start(value)
        elif offset == ACKNOWLEDGE:
            self.done = False
            if self.again:
                self._start(self.again)
        elif offset == AGAIN:
            self.again = value

    def _start(self, cycles: int) -> None:
        self.started_at.append(self.now)
        self.due = self.now + cycles


class Glitch(Device):
    """Raises its line at some cycle and lowers it when the CPU looks for the cause: a spurious interrupt."""

    def __init__(self) -> None:
        self.high = False
        self.loads = 0

    def store(self, offset: int, size: int, value: int) -> None:
        self.high = True

    def load(self, offset: int, size: int) -> int:
        self.loads += 1
        self.high = False
        return 0

    def interrupt(self) -> bool:
        return self.high
