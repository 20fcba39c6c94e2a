"""A lower bound of an inference's cycles: what each unit must do, however the layers are cut and ordered.

Section WORK of a program lists the compulsory work: each layer's computation on whole tensors, each constant
once, and the tensors that the DLA must read or write because the user or the CPU has them. No plan for the
same placement is faster than the most loaded unit, with what must come before it, after it and, on the CPU,
between. `docs/planner.md` says how close plans come.

Cutting a layer has fills, drains and the end of each operation's results in the MAC unit that it cannot
avoid. An operation is not over before its results have left, and nothing overlaps within a unit. So each
operation of a layer adds cycles to the layer's steps, whose number depends on its pixels: few where the last
block of pixels is small. The least sum over all ways to divide the pixels among operations is found block by
block, since operations that differ by whole blocks add the same. `docs/timing-model.md` says why this is a
bound.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import prod
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dlasim.dataclass import dataclass
from dlasim.isa import codec
from dlasim.isa.instruction_rows import Unit
from dlasim.isa.instructions import BY_MNEMONIC, BY_OPCODE, INSTRUCTIONS
from dlasim.isa.program import Program
from dlasim.isa.registers import Region
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.timing import formulas
from dlasim.sim.timing.cost import memory_costs, transfer_rate, unit_costs, units_overlap
from dlasim.sim.timing.formulas import (
    ENOUGH,
    RESULTS_SCALE,
    UnitCosts,
    ceil_div,
    output_stall_cycles,
    output_steps,
)
from dlasim.sim.timing.memory_timing import memories_of, memory_numbers

CPU = "CPU"
_COMPUTE = (Unit.MAC.name, Unit.VECTOR.name)
_COMPUTING = [row.opcode for row in INSTRUCTIONS if row.unit in (Unit.MAC, Unit.VECTOR)]
_INFINITE = 1 << 200  # more than any sum of costs
MAX_ACCUMULATORS = 128  # with more, fills and drains of one operation are all that is counted


@dataclass(frozen=True, slots=True)
class Bound:
    """Cycles that each unit needs at least, the CPU among them; and those of all, one after the other."""

    units: Mapping[str, int]
    in_order: int = 0

    @property
    def cycles(self) -> int:
        """Those of the most loaded unit, and of what cannot run in parallel with it."""
        return max(self.in_order, *self.units.values(), 0)

    @property
    def unit(self) -> str:
        """The most loaded unit."""
        return max(self.units, key=lambda name: self.units[name], default="")


def find_bound(config: DlaConfig, work: NDArray[np.void], cpu_cycles: int = 0) -> Bound:
    """The bound of records of section WORK, with a CPU that is busy for so many cycles."""
    cycles: defaultdict[str, int] = defaultdict(int)
    units: dict[str, UnitCosts] = {}
    known: dict[tuple[int, ...], int] = {}  # layers repeat
    moved: dict[str, list[int]] = {unit.name: [0] * len(Region) for unit in (Unit.DMA_IN, Unit.DMA_OUT)}
    for _, opcode, count, *sizes in work.tolist():
        instruction = BY_OPCODE[opcode]
        unit = instruction.unit
        assert unit is not None, "the reader lets only operations pass"
        if instruction.is_transfer:
            moved[unit.name][sizes[0]] += count
        elif config.timing == "full":
            name, kind = instruction.mnemonic, (opcode, count, *sizes)
            if kind not in known:
                costs = units[name] = units.get(name) or unit_costs(config, name)
                weights = prod(sizes) if unit is Unit.MAC else 0
                known[kind] = _compute_cycles(costs, weights, count, *sizes)
            cycles[unit.name] += known[kind]
        elif config.timing == "macs" and unit is Unit.MAC:
            cycles[unit.name] += -(-count * prod(sizes) // config.pes)
    if config.timing == "full":
        cycles |= _bus_cycles(config, moved)
    if cpu_cycles:
        cycles[CPU] = cpu_cycles
    return Bound(dict(cycles))


def program_bound(config: DlaConfig, program: Program, cpu_cycles: Mapping[int, int]) -> Bound:
    """The bound of a program whose host calls, by number, take so many cycles on the CPU.

    The CPU does one step after the other: no stream begins before the CPU has come to it, and no host call
    before the streams that it needs have ended. Nothing is computed before a first load, nor after the last
    store.
    """
    whole = find_bound(config, program.work, sum(cpu_cycles.values()))
    if config.timing != "full" or not program.streams:
        return whole
    around = _transfers_around(config, program.work)
    parts, ends, now = _work_of_streams(config, program, whole), list[int](), 0
    units = whole.units
    if not units_overlap(config):
        around |= dict.fromkeys(_COMPUTE, around[Unit.VECTOR.name])  # the less
        units, parts = _together(units), [_together(part) for part in parts]
    done = {unit: around[unit][0] for unit in _COMPUTE}
    for step in program.steps:
        if not step.is_stream:
            now = max([now, *ends[: step.after_streams]]) + cpu_cycles.get(step.index, 0)
            continue
        for unit, cycles in parts[step.index].items():
            done[unit] = max(done[unit], now) + cycles
        ends.append(max([now, *[done[unit] for unit in parts[step.index]]]))
        if len(ends) == len(program.streams):
            busy = {unit: around[unit][0] + cycles for unit, cycles in units.items() if unit != CPU}
            busy |= {unit: max(cycles, done.get(unit, 0)) for unit, cycles in busy.items()}
            ends.append(max([ends.pop(), *[cycles + around[unit][1] for unit, cycles in busy.items()]]))
    return Bound(whole.units, max([now, *ends]))


def _together(units: Mapping[str, int]) -> Mapping[str, int]:
    """MAC and VECTOR as one unit."""
    others = {unit: cycles for unit, cycles in units.items() if unit not in _COMPUTE}
    return others | {Unit.MAC.name: sum(units.get(unit, 0) for unit in _COMPUTE)}


def _transfers_around(config: DlaConfig, work: NDArray[np.void]) -> dict[str, tuple[int, int]]:
    """Cycles before each unit can begin, and from its end to that of the last stream: the shortest load and
    the shortest store; for a transfer unit, the latencies of its transfers."""
    load, load_latency = _first_transfer(config, work, Unit.DMA_IN)
    store, store_latency = _first_transfer(config, work, Unit.DMA_OUT)
    has_fill = bool((work["opcode"] == BY_MNEMONIC["OP_FILL"].opcode).any())  # which needs no load
    first = 0 if has_fill else load
    return {
        Unit.DMA_IN.name: (load_latency, store),
        Unit.MAC.name: (load, store),
        Unit.VECTOR.name: (first, store),
        Unit.DMA_OUT.name: (first + store_latency, 0),
    }


def _first_transfer(config: DlaConfig, work: NDArray[np.void], unit: Unit) -> tuple[int, int]:
    """Cycles of the shortest transfer of a direction, and the latencies of all; 0 where there is none.

    A transfer moves no more than the whole SRAM. The next one's latency follows it, unless several may be
    outstanding.
    """
    transfers = work[
        work["opcode"] == BY_MNEMONIC["OP_DMA_READ" if unit is Unit.DMA_IN else "OP_DMA_WRITE"].opcode
    ]
    memories, numbers = memories_of(config), memory_numbers(config)
    used = {numbers[region] for region in transfers["taps"].tolist()}
    costs = [memory_costs(config, memories[number]) for number in used]
    shortest = min((cost.latency + formulas.transfer_beats(cost, 1, 1) for cost in costs), default=0)
    is_serial = all(cost.outstanding == 1 for cost in costs)
    count = -(-int(transfers["count"].sum()) // config.sram_bytes) if is_serial else 1
    return shortest, count * min((cost.latency for cost in costs), default=0)


def _work_of_streams(config: DlaConfig, program: Program, whole: Bound) -> list[Mapping[str, int]]:
    """What each stream computes at least: the layers that are computed in this stream alone."""
    if len(program.streams) == 1:
        return [{unit: cycles for unit, cycles in whole.units.items() if unit in _COMPUTE}]
    computes = np.isin(codec.decode_opcodes(program.commands), _COMPUTING)
    layers = program.layer_of_words()[computes]
    starts = np.array([stream.first_word for stream in program.streams])
    streams = np.searchsorted(starts, np.flatnonzero(computes), "right") - 1
    first = np.full(len(program.layers) + 1, len(starts))
    last = np.full(len(program.layers) + 1, -1)
    np.minimum.at(first, layers, streams)
    np.maximum.at(last, layers, streams)
    work = program.work[np.isin(program.work["opcode"], _COMPUTING)]
    only = np.where(first == last, first, -1)[work["layer"]]
    return [find_bound(config, work[only == number]).units for number in range(len(starts))]


def layer_bounds(config: DlaConfig, work: Any, layers: int) -> list[Bound]:
    """The bound of each layer of a program alone."""
    return [find_bound(config, work[work["layer"] == layer]) for layer in range(layers)]


def _compute_cycles(unit: UnitCosts, weight_bytes: int, *sizes: int) -> int:
    """All results leave through the output stage; a pool may have none to scale. However a layer is cut, its
    weights and its results cross the SRAM's ports once or more often. What else does depends on the tiles."""
    pixels, taps, in_channels, channels = sizes
    turns = formulas.ceil_div(pixels, unit.pixel_rows * unit.pixel_columns)
    least = _least_mac_cycles(unit, pixels, taps, in_channels, channels)
    work = formulas.lane_cycles(_without_blocks(unit), turns, taps, in_channels, channels)
    output = formulas.output_cycles(pixels * channels, unit.result_cycles)
    ports = formulas.port_cycles(unit.port_rate, weight_bytes + pixels * channels)
    return max(max(work, output, ports) + formulas.overhead_cycles(unit), least)


def _without_blocks(unit: UnitCosts) -> UnitCosts:
    """The same unit; tiles need not be of whole blocks."""
    unlimited = UnitCosts()
    unlimited.assign(unit)
    unlimited.accumulators = ENOUGH
    return unlimited


def _least_mac_cycles(unit: UnitCosts, *sizes: int) -> int:
    """What operations on blocks of pixels add, where that is known."""
    is_simple = unit.pixel_rows * unit.pixel_columns == unit.load_cycles == 1
    is_simple = is_simple and not unit.in_blocks and unit.accumulators <= MAX_ACCUMULATORS
    if not is_simple or not unit.result_cycles:
        return 0
    fixed = (
        unit.input_lanes, unit.output_lanes, unit.step_group, formulas.overhead_cycles(unit),
        unit.accumulators, unit.result_cycles,
    )  # fmt: skip
    return least_mac_cycles(fixed, *sizes)


def _bus_cycles(config: DlaConfig, moved: Mapping[str, Sequence[int]]) -> dict[str, int]:
    """What the bytes of each direction, by region, take on the bus; together no less than what both share, a
    memory or a bus, needs for them."""
    of_unit = {unit: _memory_beats(config, sizes) for unit, sizes in moved.items()}
    beats = {unit: sum(parts) for unit, parts in of_unit.items() if any(parts)}
    if beats:
        both = [sum(parts) for parts in zip(*of_unit.values(), strict=True)]
        most = max(beats, key=lambda unit: beats[unit])
        beats[most] = max(beats[most], _shared_cycles(config, both))
    return beats


def _memory_beats(config: DlaConfig, sizes: Sequence[int]) -> list[int]:
    """Cycles on the bus for the bytes of one direction, by memory."""
    in_memory = [0] * len(memories_of(config))
    for number, size in zip(memory_numbers(config), sizes, strict=True):
        in_memory[number] += size
    return [
        formulas.transfer_beats(memory_costs(config, memory), size, 1)
        for memory, size in zip(memories_of(config), in_memory, strict=True)
    ]


def _shared_cycles(config: DlaConfig, beats: Sequence[int]) -> int:
    """Cycles that the busiest memory or bus needs for transfers of both directions, by memory."""
    work: defaultdict[tuple[str, str, int], int] = defaultdict(int)
    for memory, cycles in zip(memories_of(config), beats, strict=True):
        amount = cycles * transfer_rate(config, memory)
        work["memory", memory.name, memory.bandwidth] += amount
        work["bus", memory.bus, memory.bus_bandwidth] += amount
    return max((amount // rate for (_, _, rate), amount in work.items() if rate), default=0)


@lru_cache(maxsize=4096)
def least_mac_cycles(
    fixed: tuple[int, int, int, int, int, int], pixels: int, taps: int, in_channels: int, out_channels: int
) -> int:
    """Cycles that a layer takes in a MAC unit of one pixel at a time at least, however it is cut. `fixed` are
    the unit's lanes of inputs and of outputs, step group, overhead cycles, accumulators and result cycles."""
    inputs, lanes, group, overhead, accumulators, result_cycles = fixed
    unit = UnitCosts(
        input_lanes=inputs,
        output_lanes=lanes,
        step_group=group,
        accumulators=accumulators,
        result_cycles=result_cycles,
    )
    groups = ceil_div(out_channels, lanes)
    steps = output_steps(unit, taps, ceil_div(in_channels, inputs))
    last = out_channels - (groups - 1) * lanes
    kinds = _Kinds(unit, pixels, steps, overhead, ((1, last), (groups, out_channels)), last)
    return pixels * steps * groups + kinds.least()


class _Kinds:
    """Operations of a layer by the pixels of their last block, and what each adds to the layer's steps.

    Costs are in parts of a cycle, RESULTS_SCALE to each, less what every pixel adds wherever it is computed.
    """

    def __init__(
        self,
        unit: UnitCosts,
        pixels: int,
        steps: int,
        overhead: int,
        spans: tuple[tuple[int, int], ...],
        last_channels: int,
    ) -> None:
        self._unit, self._pixels, self._steps, self._overhead = unit, pixels, steps, overhead
        # By pixels, from one on, what the results of the last one or two blocks take after the work: the
        # stall of an operation whose other results have all left.
        few: Any = np.arange(1, 2 * unit.accumulators + 1)
        enough = few * steps + (1 << 40)
        self._left: Any = output_stall_cycles(unit, few, few, last_channels, last_channels, enough, steps)
        # Of each pixel, how much longer its results take than its steps: of one group of channels, of all.
        self._slopes = [
            channels * unit.result_cycles - steps * groups * RESULTS_SCALE for groups, channels in spans
        ]
        self._slope = max(min(self._slopes), 0)

    def least(self) -> int:
        """Cycles of all operations in addition to their steps, for the best way to divide the pixels."""
        block = self._unit.accumulators
        costs = [_INFINITE] * block  # by the pixels of the last block, 0 for a whole one
        for rest in range(1, min(block, self._pixels) + 1):
            costs[rest % block] = min(self._small(rest), self._large(rest))
        cheapest = min(costs)
        if cheapest <= 0:
            return 0
        wanted = self._pixels % block
        # What is to be added to each sum for a remainder: `backwards[block - 1 - remainder :]`.
        backwards = costs[::-1] * 2
        sums, best, count = costs, costs[wanted], 1
        while best >= _INFINITE or (count + 1) * cheapest < best:
            count += 1
            sums = [min(map(add, sums, backwards[block - 1 - remainder :])) for remainder in range(block)]
            best = min(best, sums[wanted])
        return (best + self._slope * self._pixels) // RESULTS_SCALE

    def _small(self, pixels: int) -> int:
        """Of an operation on one block."""
        return self._cost(pixels, pixels, pixels)

    def _large(self, rest: int) -> int:
        """The least of operations on several blocks, the last of which has so many pixels."""
        block = self._unit.accumulators
        more = (self._pixels - rest) // block
        if more < 1:
            return self._small(rest)
        return self._cost(rest, rest + block, rest + more * block)

    def _cost(self, rest: int, fewest: int, most: int) -> int:
        """Where the results of the last blocks leave late, or those of the whole operation; or, if that is
        less, of computing the pixels a second time, which is what operations on fewer channels come to."""
        block = min(self._unit.accumulators, fewest)
        left = RESULTS_SCALE * int(self._left[fewest - 1])
        late = min(
            block * (self._steps - 1) * RESULTS_SCALE + slope * (fewest if slope >= 0 else most)
            for slope in self._slopes
        )
        twice = self._steps * RESULTS_SCALE
        again = twice * fewest - self._slope * (fewest if twice >= self._slope else most)
        least = max(left - self._slope * most, late - self._slope * fewest, -self._slope * most)
        return self._overhead * RESULTS_SCALE + min(least, again)
