"""A lower bound of an inference's cycles: what each unit must do, however the layers are cut and ordered.

Section WORK of a program lists the compulsory work: each layer's computation on whole tensors, each constant
once, and the tensors that the DLA must read or write because the user or the CPU has them. No plan for the
same placement is faster than the most loaded unit, with what must come before it, after it and, on the CPU,
between. `docs/planner.md` says how close plans come.

Cutting a layer has fills, drains and the end of each operation's results in the MAC unit that it cannot
avoid. An operation is not over before its results have left, and nothing overlaps within a unit. So each
operation of a layer adds cycles to the layer's steps, whose number depends on its pixels: few where the last
block of pixels is small. Operations that differ by whole blocks add the same. So what matters of the pixels
that are done is the remainder by the size of a block: each operation leads from one to another, and the
cheapest division of the pixels is a shortest path. `docs/timing-model.md` says why this is a bound.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dlasim.dataclass import dataclass
from dlasim.isa import codec
from dlasim.isa.instruction_rows import Unit
from dlasim.isa.instructions import BY_MNEMONIC, BY_OPCODE, INSTRUCTIONS
from dlasim.isa.program import Program
from dlasim.isa.registers import Region
from dlasim.native.record import Record, array, member
from dlasim.native.routine import Routine, routine
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
MAX_ACCUMULATORS = 128  # with more, fills and drains of one operation are all that is counted
_ENDLESS = 1 << 40  # cycles of work in which all results but the last leave
_UNKNOWN = 1 << 61  # more than any sum of costs
_MOST_PARTS = 1 << 55  # of a cycle that a layer may take: 64 bits hold the sums of what its operations do


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
    units: dict[str, tuple[int, ...]] = {}
    moved: dict[str, list[int]] = {unit.name: [0] * len(Region) for unit in (Unit.DMA_IN, Unit.DMA_OUT)}
    for _, opcode, count, *sizes in work.tolist():
        instruction = BY_OPCODE[opcode]
        unit = instruction.unit
        assert unit is not None, "the reader lets only operations pass"
        if instruction.is_transfer:
            moved[unit.name][sizes[0]] += count
        elif config.timing == "full":
            name, weights = instruction.mnemonic, prod(sizes) if unit is Unit.MAC else 0
            costs = units[name] = units.get(name) or tuple(unit_costs(config, name).flatten())
            cycles[unit.name] += _compute_cycles(costs, weights, count, *sizes)
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


@lru_cache(maxsize=1 << 12)
def _compute_cycles(unit_numbers: tuple[int, ...], weight_bytes: int, *sizes: int) -> int:
    """All results leave through the output stage; a pool may have none to scale. However a layer is cut, its
    weights and its results cross the SRAM's ports once or more often. What else does depends on the tiles.
    Layers repeat, in a network and from machine to machine."""
    unit, (pixels, taps, in_channels, channels) = UnitCosts(*unit_numbers), sizes
    turns = formulas.ceil_div(pixels, unit.pixel_rows * unit.pixel_columns)
    least = least_mac_cycles(unit, pixels, taps, in_channels, channels)
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


def least_mac_cycles(unit: UnitCosts, pixels: int, taps: int, in_channels: int, out_channels: int) -> int:
    """Cycles that a layer takes at least, however it is cut, by what its operations add to its steps; 0 where
    that is not known."""
    is_simple = unit.pixel_rows * unit.pixel_columns == unit.load_cycles == 1
    is_simple = is_simple and not unit.in_blocks and unit.accumulators <= MAX_ACCUMULATORS
    groups = ceil_div(out_channels, unit.output_lanes)
    steps = output_steps(unit, taps, ceil_div(in_channels, unit.input_lanes))
    last = out_channels - (groups - 1) * unit.output_lanes
    overhead, whole = formulas.overhead_cycles(unit), out_channels * unit.result_cycles
    most = pixels * (steps * groups * RESULTS_SCALE + whole) + overhead * RESULTS_SCALE
    if not (is_simple and pixels and unit.result_cycles) or most > _MOST_PARTS:
        return 0
    layer = DividedLayer(pixels=pixels, steps=steps, overhead=overhead, last_channels=last)
    layer.unit = UnitCosts(  # which no ports, fills and drains hold up
        input_lanes=unit.input_lanes,
        output_lanes=unit.output_lanes,
        accumulators=unit.accumulators,
        result_cycles=unit.result_cycles,
    )
    layer.last_slope = last * unit.result_cycles - steps * RESULTS_SCALE
    layer.whole_slope = whole - steps * groups * RESULTS_SCALE
    layer.slope = max(min(layer.last_slope, layer.whole_slope), 0)
    return pixels * steps * groups + DIVIDE(layer)


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


class DividedLayer(Record):
    """A layer in a MAC unit of one pixel at a time: its pixels, the `steps` of a pixel and a group of output
    channels, the cycles of an operation's `overhead`, and the channels of the last group.

    Costs are in parts of a cycle, RESULTS_SCALE to each, less the `slope`, which every pixel adds wherever it
    is computed. `last_slope` and `whole_slope` are how much longer the results of a pixel take than its
    steps, of the last group of channels and of all. By remainder, `costs` are those of an operation, `sums`
    the least of several, as far as they are known.
    """

    unit: UnitCosts = member(UnitCosts)
    pixels: int = 0
    steps: int = 0
    overhead: int = 0
    last_channels: int = 0
    last_slope: int = 0
    whole_slope: int = 0
    slope: int = 0
    costs: list[int] = array(int, MAX_ACCUMULATORS)
    sums: list[int] = array(int, MAX_ACCUMULATORS)
    is_final: list[int] = array(int, MAX_ACCUMULATORS)


@routine
def least_added_cycles(layer: DividedLayer) -> int:
    """Cycles of all operations in addition to their steps, for the best way to divide the pixels."""
    block, cheapest = layer.unit.accumulators, _UNKNOWN
    wanted = layer.pixels % block
    for rest in range(1, block + 1):
        place, cost = rest % block, _UNKNOWN
        if rest <= layer.pixels:
            more = (layer.pixels - rest) // block
            cost = _operation_cost(layer, rest, rest)
            if more:  # operations on several blocks
                cost = min(cost, _operation_cost(layer, rest + block, rest + more * block))
        layer.costs[place] = layer.sums[place] = cost
        layer.is_final[place], cheapest = 0, min(cheapest, cost)
    if cheapest <= 0:
        return 0
    nearest = _nearest(layer)
    while layer.sums[nearest] + cheapest < layer.sums[wanted]:
        layer.is_final[nearest] = 1
        for rest in range(block):
            place = (nearest + rest) % block
            layer.sums[place] = min(layer.sums[place], layer.sums[nearest] + layer.costs[rest])
        nearest = _nearest(layer)
    return (layer.sums[wanted] + layer.slope * layer.pixels) // RESULTS_SCALE


DIVIDE = Routine(least_added_cycles, "divided")


@routine
def _nearest(layer: DividedLayer) -> int:
    """The remainder with the least sum that is not final yet; the last if all are."""
    nearest = layer.unit.accumulators - 1
    for place in range(layer.unit.accumulators):
        is_less = layer.is_final[nearest] or layer.sums[place] < layer.sums[nearest]
        if is_less and not layer.is_final[place]:
            nearest = place
    return nearest


@routine
def _operation_cost(layer: DividedLayer, fewest: int, most: int) -> int:
    """Of an operation on any of these numbers of pixels, whose last block is the same: the results of the
    last blocks leave late, or those of the whole operation; or, if that is less, of computing the pixels a
    second time, which is what operations on fewer channels come to."""
    unit, steps, last = layer.unit, layer.steps, layer.last_channels
    left = output_stall_cycles(unit, fewest, fewest, last, last, fewest * steps + _ENDLESS, steps)
    first = min(unit.accumulators, fewest) * (steps - 1) * RESULTS_SCALE
    late = first + min(
        layer.last_slope * (fewest if layer.last_slope >= 0 else most),
        layer.whole_slope * (fewest if layer.whole_slope >= 0 else most),
    )
    twice = steps * RESULTS_SCALE
    again = twice * fewest - layer.slope * (fewest if twice >= layer.slope else most)
    least = max(left * RESULTS_SCALE - layer.slope * most, late - layer.slope * fewest)
    return layer.overhead * RESULTS_SCALE + min(max(least, -layer.slope * most), again)
