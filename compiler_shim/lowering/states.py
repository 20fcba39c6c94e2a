"""Searches which tensors stay in SRAM, and which nodes run as chains: a shortest path over states.

A state is a place between two nodes with the tensors that are in SRAM there. From it the next node alone, or
the next few as a chain, lead to later states; the estimate of each such segment is that of its best tile
shapes for the SRAM that the state leaves. Where many tensors are alive at once, only the cheapest states of a
place are followed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import inf
from typing import Protocol

from dlasim.compiler_shim.lowering.addresses.allocation import LiveRange
from dlasim.compiler_shim.lowering.tiles.tile_records import MAX_CHAIN
from dlasim.dataclass import dataclass

MAX_STATES = 6  # that are followed from one place

State = int  # values as a set: bit n is value n
Segment = tuple[int, ...]


def state_of(values: Iterable[int]) -> State:
    """These values as a state."""
    state = 0
    for value in values:
        state |= 1 << value
    return state


def values_of(state: State) -> list[int]:
    """The values of a state, in order."""
    values = []
    while state:
        lowest = state & -state
        values.append(lowest.bit_length() - 1)
        state ^= lowest
    return values


class SegmentCosts(Protocol):
    """What the search asks of the planner."""

    def segment_cycles(self, steps: Segment, resident: State) -> float:
        """Estimated cycles of a node or a chain while these values are in SRAM; infinite if it does not
        fit."""

    def is_link(self, step: int) -> bool:
        """Whether a step and the next can be in one chain."""

    def is_done(self, step: int, resident: State) -> bool:
        """Whether a chain can hardly be better for this step than the node alone."""


@dataclass(frozen=True, slots=True)
class Path:
    """The cheapest way to a state: its cycles, its last segment, what that leaves in SRAM, and the rest."""

    cycles: float
    segment: Segment = ()
    kept: int | None = None
    before: Path | None = None

    def segments(self) -> list[Segment]:
        """The segments of the whole way."""
        return [path.segment for path in self._parts()][::-1]

    def residents(self) -> set[int]:
        """All values that it leaves in SRAM."""
        return {path.kept for path in self._parts() if path.kept is not None}

    def _parts(self) -> list[Path]:
        found, path = [], self
        while path.before is not None:
            found.append(path)
            path = path.before
        return found


class StateSearch:
    """Steps of the DLA, the value that each writes, and the live ranges of those that may stay in SRAM."""

    def __init__(
        self,
        steps: Sequence[int],
        outputs: Mapping[int, int],
        live_ranges: Mapping[int, LiveRange],
        costs: SegmentCosts,
    ) -> None:
        self._steps, self._outputs, self._live_ranges, self._costs = steps, outputs, live_ranges, costs
        self._alive_after = _alive_after(steps, live_ranges)

    def run(self) -> Path | None:
        """The cheapest way through all steps; None where some step fits nowhere."""
        places: list[dict[State, Path]] = [{} for _ in range(len(self._steps) + 1)]
        places[0][0] = Path(0)
        for place, paths in enumerate(places[:-1]):
            ranked = sorted(paths.items(), key=lambda item: (item[1].cycles, values_of(item[0])))
            for state, path in ranked[:MAX_STATES]:
                for segment in self._segments(place, state):
                    self._follow(places[place + len(segment)], state, path, segment)
        return min(places[-1].values(), key=lambda path: path.cycles, default=None)

    def _segments(self, place: int, state: State) -> list[Segment]:
        """The node at a place alone, and the chains from there that may be better."""
        steps, costs = self._steps, self._costs
        found: list[Segment] = [(steps[place],)]
        is_done = costs.is_done(steps[place], state)
        for end in range(place + 2, min(place + MAX_CHAIN, len(steps)) + 1):
            if not costs.is_link(steps[end - 2]):
                break
            is_done = is_done and costs.is_done(steps[end - 1], state)
            if not is_done:
                found.append(tuple(steps[place:end]))
        return found

    def _follow(self, paths: dict[State, Path], state: State, path: Path, segment: Segment) -> None:
        """Extend a path by a segment, with its output in SRAM or not, where that is the cheapest so far."""
        last = segment[-1]
        output = self._outputs[last]
        for is_kept in self._choices(output, last, state):
            resident = state | 1 << output if is_kept else state
            cycles = path.cycles + self._costs.segment_cycles(segment, resident)
            after = resident & self._alive_after[last]
            known = paths.get(after)
            if cycles < (inf if known is None else known.cycles):
                paths[after] = Path(cycles, segment, output if is_kept else None, path)

    def _choices(self, output: int, step: int, state: State) -> tuple[bool, ...]:
        """Whether the output may stay in SRAM; that is decided when it is first written."""
        if output not in self._live_ranges:
            return (False,)
        if self._live_ranges[output].first < step:
            return (state >> output & 1 == 1,)
        return True, False


def _alive_after(steps: Sequence[int], live_ranges: Mapping[int, LiveRange]) -> dict[int, State]:
    """The values that something reads or writes after each step."""
    ending = sorted(live_ranges.items(), key=lambda item: item[1].last)
    found, state = {}, 0
    for step in sorted(steps, reverse=True):
        while ending and ending[-1][1].last > step:
            state |= 1 << ending.pop()[0]
        found[step] = state
    return found
