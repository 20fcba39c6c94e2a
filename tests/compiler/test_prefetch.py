"""Prefetches: no two things in one place at a time, the same results, and the bus at work."""

from __future__ import annotations

from collections import defaultdict
from itertools import combinations
from typing import NamedTuple

import numpy as np
import pytest

from dlasim.checking.verification import verify
from dlasim.compiler_shim.compile import load_model, lower_for
from dlasim.compiler_shim.lowering.addresses.sram_plan import NO_PREFETCHES
from dlasim.compiler_shim.lowering.emission.records import Load
from dlasim.compiler_shim.lowering.loads.load_records import OccupiedRange, TimedConstants, TimedSegment
from dlasim.compiler_shim.lowering.loads.load_schedule import LOADS
from dlasim.compiler_shim.lowering.loads.prefetch import LoadMemory, add_prefetches
from dlasim.compiler_shim.lowering.policy import Policy
from dlasim.compiler_shim.lowering.residency import SramPlanner
from dlasim.compiler_shim.lowering.tiles.known_tilings import NONE
from dlasim.compiler_shim.lowering.tiles.tiling import MachineModel
from dlasim.compiler_shim.network.graph import Quantization
from dlasim.compiler_shim.options import CompileOptions
from dlasim.compiler_shim.tflite.writer import write_tflite
from dlasim.compiler_shim.topologies import build_topology
from dlasim.compiler_shim.topologies.builder import NetworkBuilder
from dlasim.errors import InputError
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.execution.runner import Simulation
from dlasim.sim.races import check_program
from dlasim.sim.timing.lower_bound import find_bound
from tests.compiled import in_python
from tests.compiler.cases import random_case, write_model
from tests.compiler.placed import parts_of, place

KIB = 1 << 10
MACHINE = MachineModel(DlaConfig())
SLOW_BUS = DlaConfig().replace(dma_bandwidth=2, parallel="4x64")


class Constants(NamedTuple):
    """Those of a node of a segment: its number there, its pieces, bytes and cycles of one, and buffers."""

    node: int
    pieces: int
    piece_bytes: int
    piece_cycles: int
    buffers: int
    is_loaded_again: bool = False


class Work(NamedTuple):
    """What a segment loads and computes."""

    constants: list[Constants]
    tasks: int
    compute: int
    tensors: int
    ports: int = 0
    is_chain: bool = False
    unit: int = 0


class Part(NamedTuple):
    """The steps of a node or a chain, and what the planner reads of it; ranges are start, end and the number
    of the constants whose buffer it is."""

    steps: tuple[int, ...]
    work: Work
    ranges: list[tuple[int, int, int]]


def plan_parts(parts, limit, machine, memory=None):
    memory = memory or LoadMemory()
    describe(memory, parts)
    if not memory.schedule.piece_count:
        return NO_PREFETCHES
    memory.run(limit, machine)
    return memory.found(sum(len(part.steps) for part in parts))


def loads_of(prefetches):
    """By the number of a segment the loads that it makes for later tasks."""
    found, loads = defaultdict(list), [Load(*row) for row in prefetches.loads.tolist()]
    for load in loads:
        found[load.segment].append(load)
    assert [load.segment for load in loads] == sorted(load.segment for load in loads)
    return found


def addresses_of(parts, prefetches):
    """By step the addresses of the first pieces of its constants."""
    steps, addresses = (
        [step for part in parts for step in part.steps],
        iter(prefetches.pieces.addresses.tolist()),
    )
    counts = prefetches.pieces.counts.tolist() or [0] * len(steps)
    found = {step: [next(addresses) for _ in range(count)] for step, count in zip(steps, counts, strict=True)}
    assert not list(addresses)
    return found


def are_same(one, other):
    return one.commands() == other.commands() and one.peak_bytes == other.peak_bytes


def describe(memory, parts):
    """As `LoadMemory.describe` does with a plan."""
    segments, constants, ranges, place, count = [], [], [], 0, 0
    for part in parts:
        work = part.work
        segments += TimedSegment(
            tasks=work.tasks, is_chain=work.is_chain, first_unit=work.unit, last_unit=work.unit,
            compute_cycles=work.compute, tensor_cycles=work.tensors, port_cycles=work.ports,
            first_range=len(ranges) // 3, ranges=len(part.ranges),
            first_constants=count, constants=len(work.constants),
        ).flatten()  # fmt: skip
        for each in work.constants:
            tasks = 1 if work.is_chain or each.is_loaded_again else work.tasks // each.pieces
            sizes = each.pieces, tasks, each.piece_bytes, each.piece_cycles
            where = place + each.node, part.steps[each.node]
            constants += TimedConstants(*where, *sizes, each.is_loaded_again, each.buffers).flatten()
        place += len(part.steps)
        for start, end, owner in part.ranges:
            ranges += start, end, owner if owner == NONE else count + owner
        count += len(work.constants)
    for name, slots in (("segments", segments), ("constants", constants), ("ranges", ranges)):
        memory.of_schedule[name].write(0, slots)
        memory.of_schedule.reserve(**{name: 0})
    memory.schedule.segment_count = len(parts)
    memory.schedule.piece_count = sum(each.pieces for part in parts for each in part.work.constants)


def described(memory, plan):
    """The parts of a plan that has been described."""
    parts, constants, ranges = (
        [],
        iter(records(memory.of_schedule["constants"], TimedConstants)),
        iter(records(memory.of_schedule["ranges"], OccupiedRange)),
    )
    for steps, segment in zip(
        parts_of(plan), records(memory.of_schedule["segments"], TimedSegment), strict=False
    ):
        own = [next(constants) for _ in range(segment.constants)]
        work = Work(
            [Constants(steps.index(each.step), each.pieces, each.size, each.cycles, each.buffers,
                       each.is_loaded_again) for each in own],
            segment.tasks, segment.compute_cycles, segment.tensor_cycles, segment.port_cycles,
            bool(segment.is_chain), segment.first_unit,
        )  # fmt: skip
        occupied = [next(ranges) for _ in range(segment.ranges)]
        first = segment.first_constants
        owners = [NONE if each.owner == NONE else each.owner - first for each in occupied]
        ranges_of = [(each.start, each.end, owner) for each, owner in zip(occupied, owners, strict=True)]
        parts.append(Part(steps, work, ranges_of))
    return parts


def records(memory, kind):
    return [kind(*row) for row in memory.view().tolist()]


def overlap(one, other):
    return one[0] < other[1] and other[0] < one[1]


def check_places(parts, prefetches, limit):
    """That a piece is loaded once, before it is used, to bytes that nothing else has until then. Times are
    (segment, task). Returns how many pieces there are."""
    addresses_by_step, lives = addresses_of(parts, prefetches), []
    loaded = defaultdict(list)  # by step
    for segment, loads in loads_of(prefetches).items():
        for load in loads:
            assert 0 <= load.task < parts[segment].work.tasks
            loaded[load.step] += [((segment, load.task), number) for number in load_range(load)]
    for number, (steps, work, _) in enumerate(parts):
        for index, constants in enumerate(work.constants):
            pieces = loaded.pop(steps[constants.node], [])
            addresses = addresses_by_step[steps[constants.node]]
            assert [piece for _, piece in pieces] == list(range(len(addresses)))
            for (begin, piece), address in zip(pieces, addresses, strict=True):
                gap = (address, address + constants.piece_bytes)
                assert address >= 0
                assert gap[1] <= limit
                first, end = tasks_of(work, constants, piece)
                assert begin < (number, first), "it is there before the task that reads it"
                lives.append((begin, (number, end), gap))
                for between in range(begin[0], number + 1):
                    taken = occupied(parts[between], addresses_by_step, index if between == number else NONE)
                    assert not any(overlap(gap, each) for each in taken)
    assert not loaded
    for (begin, end, gap), (other_begin, other_end, other) in combinations(lives, 2):
        if overlap(gap, other):
            # After the last task that uses one, no earlier than with the one that follows it.
            assert end <= other_begin or other_end <= begin, (gap, other)
    return len(lives)


def occupied(part, addresses, own):
    """What a segment occupies, without the buffers of constants that are all prefetched, and of its own."""
    free = set()
    for number, each in enumerate(part.work.constants):
        is_whole = len(addresses[part.steps[each.node]]) == each.pieces
        if not each.is_loaded_again and (is_whole or number == own):
            free.add(number)
    return [(start, end) for start, end, owner in part.ranges if owner not in free]


def most_in_use(parts, prefetches):
    """The most bytes that a segment's ranges and pieces cover; 0 where nothing is prefetched."""
    host, addresses = {}, addresses_of(parts, prefetches)
    for segment, loads in loads_of(prefetches).items():
        host |= {(load.step, piece): segment for load in loads for piece in load_range(load)}
    most = 0
    for number, part in enumerate(parts):
        used = set()
        for start, end in occupied(part, addresses, NONE):
            used |= set(range(start, end, 16))
        for later, (steps, work, _) in enumerate(parts):
            for each in work.constants:
                step = steps[each.node]
                for piece, address in enumerate(addresses[step]):
                    if host[step, piece] <= number <= later:
                        used |= set(range(address, address + each.piece_bytes, 16))
        most = max(most, 16 * len(used))
    return most if host else 0


def load_range(load):
    return range(load.first, load.first + load.pieces)


def tasks_of(work, constants, piece):
    """The first task that uses a piece, and the end of them."""
    if work.is_chain:
        return min(piece, work.tasks - 1), work.tasks
    each = 1 if constants.is_loaded_again else work.tasks // constants.pieces
    return piece * each, (piece + 1) * each


def random_parts(rng, limit):
    """Segments of all shapes: with one piece or many, in tasks of one or several for each, some in chains."""
    parts, step, unit = [], 0, 0
    for _ in range(int(rng.integers(2, 9))):
        is_chain, free, occupied, constants = bool(rng.random() < 0.2), 0, [], []

        def take(size, owner=NONE):
            nonlocal free
            start, free = free, free + size
            occupied.append((start, free, owner))  # noqa: B023 (used before the next round)

        pieces = int(rng.choice([1, 1, 2, 5, 12]))
        tasks = pieces * int(rng.choice([1, 1, 3, 200]))
        if rng.random() < 0.7:
            take(16 * int(rng.integers(1, limit // 64)))
        for member in range(int(rng.integers(1, 3)) if is_chain else 1):
            if rng.random() < 0.85:
                size = 16 * int(rng.integers(1, limit // 128))
                buffers = int(rng.integers(1, 3))
                for _ in range(buffers):
                    take(size, len(constants))
                cycles = int(rng.integers(1, 2000))
                again = bool(rng.random() < 0.2)
                constants.append(Constants(member, pieces, size, cycles, buffers, again))
        compute, tensors = int(rng.integers(1, 9000)), int(rng.choice([0, 0, rng.integers(1, 9000)]))
        unit ^= int(bool(parts) and bool(rng.random() < 0.4))
        ports = int(rng.integers(2 * compute))
        work = Work(constants, tasks, compute, tensors, ports, is_chain, unit)
        parts.append(Part((step, step + 1), work, occupied))
        step += 2
    return parts


def test_places_of_random_segments():
    seen, memory = defaultdict(int), LoadMemory()
    for seed in range(300):
        rng = np.random.default_rng(seed)
        limit = 16 * int(rng.integers(256, 1024))
        parts = random_parts(rng, limit)
        ports = int(rng.integers(3))
        config = DlaConfig().replace(queue_depth=int(rng.integers(1, 8)), sram_bandwidth=4 * ports)
        machine = MachineModel(config)
        prefetches = plan_parts(parts, limit, machine, memory)
        with in_python(LOADS):
            again = plan_parts(parts, limit, machine)
        assert are_same(prefetches, again), "nothing stays of what was planned before"
        seen["pieces"] += check_places(parts, prefetches, limit)
        loads = loads_of(prefetches).items()
        seen["own"] += sum(load.step == parts[segment].steps[0] for segment, own in loads for load in own)
        assert prefetches.peak_bytes == most_in_use(parts, prefetches)
    assert seen["pieces"] > 800
    assert seen["own"] > 100


def test_a_place_that_is_taken_is_noticed():
    """The check above can fail."""
    parts = [
        Part((0,), Work([], 1, 900, 0), [(0, 64, NONE)]),
        Part((1,), Work([Constants(0, 1, 32, 10, 1)], 1, 100, 0), [(64, 96, 0)]),
    ]
    prefetches = plan_parts(parts, 256, MACHINE)
    assert check_places(parts, prefetches, 256) == 1
    parts[0].ranges.append((0, 256, NONE))
    with pytest.raises(AssertionError):
        check_places(parts, prefetches, 256)


@pytest.mark.parametrize(("tensors", "pieces"), [(0, 1), (10, 0)])
def test_a_load_may_take_longer_than_all_that_follows(tensors, pieces):
    """Unless a load of tensors would have to wait for it."""
    parts = [
        Part((0,), Work([], 1, 100, 0), [(0, 64, NONE)]),
        Part((1,), Work([], 1, 50, tensors), [(64, 128, NONE)]),
        Part((2,), Work([Constants(0, 1, 32, 1000, 1)], 1, 50, 0), [(128, 160, 0)]),
    ]
    loads = loads_of(plan_parts(parts, 256, MACHINE))[0]
    assert sum(load.pieces for load in loads) == pieces


@pytest.mark.parametrize("first", [0, 12])
def test_places_of_random_networks(first, tmp_path):
    count = 0
    for seed in range(first, first + 12):
        case = random_case(seed)
        config = DlaConfig().replace(**case.machine | {"timing": "full"})
        policy = Policy(config, CompileOptions(place="dla"))
        placed = place(load_model(write_model(case, tmp_path)), policy)
        try:
            plan = SramPlanner(placed, policy).plan(config.sram_bytes)
        except InputError:
            continue  # the SRAM is too small
        memory = LoadMemory()
        memory.describe(plan, policy.machine)
        parts = described(memory, plan)
        prefetches = plan_parts(parts, config.sram_bytes, policy.machine)
        assert are_same(prefetches, add_prefetches(plan, policy.machine).prefetches)
        count += check_places(parts, prefetches, config.sram_bytes)
    assert count > 5


def classifier(folder):
    """Convolutions, and then many weights that are used once each."""
    build = NetworkBuilder("classifier", 1)
    samples = np.random.default_rng(2).integers(-128, 128, (2, 14, 14, 16)).astype(np.int8)
    source = build.input((14, 14, 16), Quantization((1 / 128,), (0,)), samples)
    x = build.conv("wide", build.conv("narrow", source, 32, 3), 256)
    path = folder / "classifier.tflite"
    path.write_bytes(write_tflite(build.finish(build.fully_connected("logits", build.mean("pool", x), 640))))
    return path


@pytest.mark.parametrize("bandwidth", [2, 4])
def test_a_layer_loads_its_own_next_pieces(bandwidth, tmp_path):
    """More than its two buffers hold."""
    config = DlaConfig().replace(dma_bandwidth=bandwidth, sram_bytes=64 * KIB)
    path = classifier(tmp_path)
    network = load_model(path)
    policy = Policy(config, CompileOptions())
    packed = SramPlanner(place(network, policy), policy).plan(config.sram_bytes)
    plan = add_prefetches(packed, policy.machine)
    lowered = lower_for(network, config, CompileOptions())
    loads = loads_of(plan.prefetches).items()
    assert any(load.step == parts_of(plan)[segment][0] for segment, own in loads for load in own)
    assert not check_program(lowered.program).races
    assert verify(path, lowered, config, runs=2).passed


def test_the_bus_hardly_waits_where_it_is_the_limit(tmp_path):
    """A network that loads for longer than it computes takes hardly more than its loads."""
    path = tmp_path / "vww.tflite"
    path.write_bytes(write_tflite(build_topology("mobilenet_v1", alpha=0.25, resolution=96)))
    config = SLOW_BUS.replace(sram_bytes=512 * KIB)
    program = lower_for(load_model(path), config, CompileOptions(), with_constants=False).program
    bound = find_bound(config, program.work)
    assert bound.unit == "DMA_IN"
    assert Simulation(program, config, None).run().total_cycles < 1.1 * bound.cycles
