"""Two transfers at once on a shared bus: each slows the other down, worked out from change to change."""

from __future__ import annotations

from dataclasses import dataclass

from dlasim.sim.cost import Costs


@dataclass(slots=True)
class _Channel:
    """A DMA unit: its transfers in order; the first `len(ends)` of them are done."""

    arrivals: list[int]
    latencies: list[int]
    amounts: list[int]
    ends: list[int]
    progress: int = 0

    @property
    def is_idle(self) -> bool:
        return len(self.ends) == len(self.arrivals)

    @property
    def on_bus(self) -> int:
        """The cycle in which the first bytes of the current transfer reach the bus."""
        index = len(self.ends)
        begin = self.arrivals[index]
        if index and self.ends[-1] > begin:
            begin = self.ends[-1]
        return begin + self.latencies[index]

    @property
    def remaining(self) -> int:
        return self.amounts[len(self.ends)] - self.progress


class DmaBus:
    """Work is counted in fractions of a cycle: a transfer alone does `alone` of them in a cycle, one of two
    that both want the bus does `shared`. What happens in a cycle is settled for the whole cycle."""

    def __init__(self, alone: int, shared: int, costs: Costs) -> None:
        self._alone, self._shared = alone, shared
        self._latency: list[int] = costs.latency.tolist()
        self._work: list[int] = costs.work.tolist()
        self._channels = tuple(_Channel([], [], [], []) for _ in range(2))
        self._now = 0

    def push(self, unit: int, number: int, now: int) -> None:
        """A transfer reaches the queue of its unit; nothing that comes later can change what was before."""
        while self._now < now and self._step(now):
            pass
        self._now = max(self._now, now)
        channel = self._channels[unit]
        channel.arrivals.append(now)
        channel.latencies.append(self._latency[number])
        channel.amounts.append(self._work[number] * self._alone)

    def end_of(self, unit: int, index: int) -> int:
        """When a transfer ends, given all that has been pushed."""
        channel = self._channels[unit]
        while len(channel.ends) <= index:
            self._step(None)
        return channel.ends[index]

    def _step(self, limit: int | None) -> bool:
        """Go to the next change on the bus, not beyond `limit`; False when nothing is left to do."""
        waiting = [channel for channel in self._channels if not channel.is_idle]
        if not waiting:
            return False
        active = [channel for channel in waiting if channel.on_bus <= self._now]
        rate = self._shared if len(active) == 2 else self._alone
        times = [self._now + -(-channel.remaining // rate) for channel in active]
        times += [channel.on_bus for channel in waiting if channel.on_bus > self._now]
        until = min(times) if limit is None else min(*times, limit)
        for channel in active:
            channel.progress += (until - self._now) * rate
            if channel.remaining <= 0:
                channel.ends.append(until)
                channel.progress = 0
        self._now = until
        return True
