"""A partitioned network to a program for one configuration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dlasim.compiler_shim.calls.live_ranges import extend_live_ranges, find_live_ranges
from dlasim.compiler_shim.calls.nodes import DlaNode, PlacedNetwork, root_of
from dlasim.compiler_shim.facts import Recent, once
from dlasim.compiler_shim.lowering.addresses.memory import SystemPlan, plan_system
from dlasim.compiler_shim.lowering.addresses.packed_records import SLOTS
from dlasim.compiler_shim.lowering.addresses.sram_plan import SramPlan
from dlasim.compiler_shim.lowering.emission.emitter import EmissionMemory, Emitter
from dlasim.compiler_shim.lowering.emission.records import SRAM, Place
from dlasim.compiler_shim.lowering.program_frame import program_frame
from dlasim.compiler_shim.lowering.tiles.known_tilings import NONE
from dlasim.compiler_shim.lowering.work import list_work
from dlasim.dataclass import dataclass
from dlasim.errors import InputError
from dlasim.isa import program as p
from dlasim.isa.codec import count_operations
from dlasim.isa.file_records import StepKind
from dlasim.isa.registers import Region
from dlasim.named_tuple import NamedTuple
from dlasim.native.storage import Store
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.timing.cost import packs_weights
from dlasim.sim.timing.duration import computation_ends, doorbell_cycles, schedule_steps
from dlasim.sim.timing.stream_timer import StreamTimer
from dlasim.system.fileio import MAX_FILE_BYTES

MAX_TILES = 1 << 20
MAX_PLACEMENTS = 64  # that are remembered for a network
_NO_BYTE = np.zeros(1, np.uint8)  # stands for constants that nobody reads, however many


@dataclass(frozen=True, slots=True)
class Lowered:
    """A program, and the plan that it was made by."""

    program: p.Program
    network: PlacedNetwork
    plan: SramPlan
    descriptors: dict[int, int]  # value to the number of its tensor descriptor
    sufficient_sram_bytes: int | None
    """With so much SRAM or more the program is the same; None where the machine has less."""

    def sliced_nodes(self) -> dict[int, DlaNode]:
        """For each value that debug slices make up the node that writes it."""
        return {
            node.output: node for node in self.network.nodes if isinstance(node, DlaNode) and node.is_observed
        }


def emit(
    network: PlacedNetwork,
    config: DlaConfig,
    plan: SramPlan,
    sufficient_sram_bytes: int | None,
    with_constants: bool = True,
) -> Lowered:
    """The program of a plan; without constants it serves for timing only."""
    lowering = _Lowering(network, config, plan, with_constants, EmissionMemory())
    numbers = program_frame(network).numbers
    return Lowered(lowering.program(), network, plan, numbers, sufficient_sram_bytes)


def plan_cycles(
    network: PlacedNetwork, config: DlaConfig, plan: SramPlan, timer: StreamTimer, memory: EmissionMemory
) -> int:
    """The cycles of an inference on the timer's machine by the program of a plan; only its words are made."""
    return _Lowering(network, config, plan, False, memory).cycles(timer)


def plan_ends(
    network: PlacedNetwork, config: DlaConfig, plan: SramPlan, timer: StreamTimer, memory: EmissionMemory
) -> NDArray[np.int64]:
    """By layer when its last computation ends, in its own stream."""
    lowering = _Lowering(network, config, plan, False, memory)
    emitter, layers = lowering.emitter, len(program_frame(network).layers)
    return computation_ends(timer, emitter.words, emitter.streams, emitter.spans, layers)


class _Placement(NamedTuple):
    """Where values are that are not in SRAM, also as records by value; and the streams and host calls in
    their order, with what must have ended before each call."""

    system: SystemPlan
    places: NDArray[np.int64]
    steps: list[p.Step]


class _Lowering:
    """The streams of a plan, and what is made of them."""

    def __init__(
        self,
        network: PlacedNetwork,
        config: DlaConfig,
        plan: SramPlan,
        with_constants: bool,
        memory: EmissionMemory,
    ) -> None:
        self._network, self._config, self._sram = network, config, plan
        self._frame, self._with_constants = program_frame(network), with_constants
        self._memory = memory
        self._placed = self._place_values()
        self.emitter = Emitter(network, plan, self._frame, config, memory)
        crowded = self.emitter.list_rows(MAX_TILES)
        if crowded != NONE:
            raise self._too_many_tiles(crowded)
        self.emitter.write(with_constants)
        if len(self.emitter.words) > p.MAX_OPERATIONS:
            self._check_operation_limit(count_operations(self.emitter.words))

    def _place_values(self) -> _Placement:
        """Say where values are; what is not in SRAM has its place found once for plans that keep the same
        there."""
        plan, values = self._sram, self._network.values
        key = frozenset(plan.addresses), plan.inner, plan.keeps_constants
        placed = _placements(self._network).get(key, self._find_places)
        self._memory.places.reserve(len(values), 0)
        places = self._memory.places.view()
        places[: len(values)] = placed.places
        if plan.addresses:
            numbers = list(plan.addresses)
            places[numbers, 0], places[numbers, 1] = SRAM, list(plan.addresses.values())
        return placed

    def _find_places(self) -> _Placement:
        """Where values are that are not in SRAM. Those that only exist in stripes are there, wherever their
        chain has them."""
        plan, network = self._sram, self._network
        in_sram = plan.inner.union(plan.addresses)
        ranges = find_live_ranges(network).items()
        outside = {value: live_range for value, live_range in ranges if value not in in_sram}
        system = plan_system(network, extend_live_ranges(network, outside, plan.chains))
        places = Store(Place, len(network.values)).view()
        places[:, 0] = NONE
        places[list(plan.inner), 0] = SRAM
        for value, place in system.locations.items():
            places[value, :2] = place
        for node in network.nodes:
            if isinstance(node, DlaNode) and node.cursor:
                _, offset = system.locations[root_of(network.values, node.output)]
                places[node.output] = node.cursor.region, offset, node.cursor.reach
        return _Placement(system, places, self._steps(self._frame.waits(system, in_sram)))

    def _too_many_tiles(self, step: int) -> InputError:
        """A large layer in a tiny SRAM makes so many."""
        node, place = self._network.nodes[step], self._sram.path.places[step]
        assert isinstance(node, DlaNode)
        layer, tasks = self._network.layers[node.layer], self._sram.nodes[place, SLOTS["tasks"]]
        return InputError(
            f"layer {layer.name} ({layer.operator}) would be cut into {tasks:,} tiles to fit "
            f"{self._config.sram_bytes} bytes of SRAM, but a program can hold at most "
            f"{MAX_TILES:,} in total; use more SRAM (--sram)"
        )

    def _check_operation_limit(self, operations: int) -> None:
        if operations > p.MAX_OPERATIONS:
            raise InputError(
                f"network {self._network.name} would take {operations:,} operations with "
                f"{self._config.sram_bytes} bytes of SRAM, but a program can hold at most "
                f"{p.MAX_OPERATIONS:,}; use more SRAM (--sram)"
            )

    def cycles(self, timer: StreamTimer) -> int:
        """Of an inference on the timer's machine, after a preload."""
        emitter, frame, preloads = self.emitter, self._frame, int(self._sram.keeps_constants)
        streams = timer.cycles(emitter.words, emitter.streams[preloads:])
        doorbell = doorbell_cycles(timer.config, bool(frame.calls))
        return schedule_steps(self._placed.steps, doorbell, streams, frame.call_cycles).cycles

    def _steps(self, waits: Sequence[int]) -> list[p.Step]:
        """The streams and host calls in their order; the preload of constants that stay is a stream, too."""
        preloads, calls, steps = int(self._sram.keeps_constants), 0, list[p.Step]()
        if preloads:
            steps.append(p.Step(StepKind.PRELOAD, 0))
        for is_stream in self._frame.order:
            if is_stream:
                steps.append(p.Step(StepKind.STREAM, len(steps) - calls))
            else:
                after = waits[calls]
                steps.append(p.Step(StepKind.HOST, calls, after + preloads if after else 0))
                calls += 1
        return steps

    def program(self) -> p.Program:
        """The program of the plan."""
        emitter, frame, system = self.emitter, self._frame, self._placed.system
        size = emitter.pool_bytes
        if self._with_constants and size > MAX_FILE_BYTES:
            raise InputError(
                f"the program's constants take {size:,} bytes; at most {MAX_FILE_BYTES:,} are supported"
            )
        places = [Place(*place) for place in self._memory.places.view()[frame.bases].tolist()]
        return p.Program(
            name=self._network.name,
            requirement=self._config.requirement(
                arena_bytes=system.arena_bytes,
                inputs_bytes=system.inputs_bytes,
                outputs_bytes=system.outputs_bytes,
                sram_peak_bytes=self._sram.peak_bytes,
            ),
            commands=emitter.words.copy(),
            streams=tuple(p.Stream(*stream) for stream in emitter.streams),
            steps=tuple(self._placed.steps),
            constants=emitter.constants() if self._with_constants else np.broadcast_to(_NO_BYTE, size),
            tensors=tuple(
                replace(each, region=Region(place.space), offset=place.offset)
                for each, place in zip(frame.tensors, places, strict=True)
            ),
            host_calls=tuple(frame.calls),
            layers=frame.layers,
            spans=emitter.spans,
            debug=emitter.slices,
            work=list_work(self._network, packs_weights(self._config), self._sram.keeps_constants),
        )


@once
def _placements(network: PlacedNetwork) -> Recent[_Placement]:
    """Those of the last few plans, by what these keep in SRAM."""
    del network
    return Recent(MAX_PLACEMENTS)
