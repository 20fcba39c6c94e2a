"""A partitioned network to a program for one configuration."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray

from dlasim.compiler_shim.calls.nodes import DlaNode, HostNode, PlacedNetwork
from dlasim.compiler_shim.lowering.addresses.constants import ConstantPool
from dlasim.compiler_shim.lowering.addresses.memory import (
    SystemPlan,
    extend_live_ranges,
    find_live_ranges,
    footprints,
    once,
    plan_system,
    resolve_alias,
    variables,
)
from dlasim.compiler_shim.lowering.addresses.packed_segments import PackedNodes
from dlasim.compiler_shim.lowering.addresses.sram_plan import Segment, SramPlan
from dlasim.compiler_shim.lowering.emission.emitter import Emitter
from dlasim.compiler_shim.lowering.emission.network_nodes import constant_operands
from dlasim.compiler_shim.lowering.emission.planned_nodes import PlannedNodes
from dlasim.compiler_shim.lowering.emission.records import SRAM, Place
from dlasim.compiler_shim.lowering.tiles.tiling import Tiling
from dlasim.compiler_shim.lowering.tiles.work import (
    list_kept_work,
    list_packed_work,
    list_stored_work,
    list_work,
)
from dlasim.dataclass import dataclass
from dlasim.errors import InputError
from dlasim.isa import program as p
from dlasim.isa.codec import count_operations
from dlasim.isa.file_records import DataType, LayerKind, Role, StepKind
from dlasim.isa.host_op_rows import PLACE_CURSOR
from dlasim.isa.registers import Region
from dlasim.native.storage import Store
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.timing.cost import packs_weights
from dlasim.system.fileio import MAX_FILE_BYTES

MAX_TILES = 1 << 20
MAX_SYSTEM_PLANS = 64  # that are remembered for a network
_Range = tuple[Region, int, int]
_Footprint = tuple[list[_Range], list[_Range]]  # what is read, and what is written
_NO_BYTE = np.zeros(1, np.uint8)  # stands for constants that nobody reads, however many


@dataclass(frozen=True, slots=True)
class Lowered:
    """A program, and for `explain` the tiling of each DLA node by its index in the network."""

    program: p.Program
    network: PlacedNetwork
    tilings: dict[int, Tiling]
    descriptors: dict[int, int]  # value to the number of its tensor descriptor
    sram_peak_bytes: int
    estimated_cycles: int  # of the DLA, by the estimates that made the plan
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
    return _Lowering(network, config, plan, sufficient_sram_bytes, with_constants).run()


class _Lowering:
    def __init__(
        self,
        network: PlacedNetwork,
        config: DlaConfig,
        plan: SramPlan,
        sufficient_sram_bytes: int | None,
        with_constants: bool,
    ) -> None:
        self._network, self._config, self._sram = network, config, plan
        self._sufficient_sram_bytes = sufficient_sram_bytes
        self._variables = variables(network)
        self._nodes = PlannedNodes(network, plan)
        self._check_tile_limit()
        inner = dict.fromkeys(plan.inner, 0)  # stripes of them, wherever their chain has them
        self._in_sram = {**inner, **plan.addresses}
        self._system = self._plan_system()
        self._pool = ConstantPool()
        self._with_constants = with_constants
        self._places = self._list_places()
        self._emitter = Emitter(network, self._nodes, self._places, self._pool, self._config, with_constants)
        self._steps: list[p.Step] = []
        self._calls: list[p.HostCall] = []
        self._tensors: list[p.TensorDescriptor] = []
        self._numbers: dict[int, int] = {}
        self._constant_operands = constant_operands(network)
        self._streams: list[Sequence[int]] = []  # the steps of each
        self._touched: list[_Footprint] = []  # what the first of them read, and what they write

    def _plan_system(self) -> SystemPlan:
        """Where values are that are not in SRAM; found once for plans that keep the same there."""
        chains = tuple([chain.steps for chain in self._sram.chains.values()])
        known, key = _system_plans(self._network), (frozenset(self._in_sram), chains)
        found = known.get(key)
        if found is None:
            ranges = find_live_ranges(self._network).items()
            outside = {value: live_range for value, live_range in ranges if value not in self._in_sram}
            found = plan_system(self._network, extend_live_ranges(self._network, outside, chains))
            known[key] = found
            if len(known) > MAX_SYSTEM_PLANS:
                known.popitem(last=False)
        return found

    def _check_tile_limit(self) -> None:
        """Reject a program with too many tiles, as a large layer in a tiny SRAM makes."""
        tiles = np.cumsum(self._nodes.tasks * self._nodes.repeats)
        for step in np.flatnonzero(tiles > MAX_TILES)[:1].tolist():
            node, tiling = self._network.nodes[step], self._sram.tilings[step]
            assert isinstance(node, DlaNode)
            layer = self._network.layers[node.layer]
            raise InputError(
                f"layer {layer.name} ({layer.operator}) would be cut into {tiling.tasks:,} tiles to fit "
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

    def run(self) -> Lowered:
        """Walk the nodes: runs of DLA nodes become streams, host nodes steps between them."""
        for value in self._network.inputs:
            self._tensor(value, Role.INPUT)
        for value in self._network.outputs:
            self._tensor(value, Role.OUTPUT)
        for value in sorted(self._variables):
            self._tensor(value)  # even one that only the DLA reads: the CPU gives it its initial value
        if self._sram.kept.addresses:
            self._preload()
        parts, first = self._sram.parts, 0
        for steps in _runs(self._network):
            node, end = self._network.nodes[steps[0]], first
            if isinstance(node, HostNode):
                self._host(steps[0], node)
                continue
            while end < len(parts) and parts[end][0][0] <= steps[-1]:
                end += 1
            self._stream(steps, parts[first:end])
            first = end
        return Lowered(
            self._program(),
            self._network,
            dict(self._sram.tilings),
            self._numbers,
            self._sram.peak_bytes,
            self._sram.estimated_cycles,
            self._sufficient_sram_bytes,
        )

    def _preload(self) -> None:
        """The stream that only the first inference runs: it loads the constants that stay in SRAM."""
        self._pool_operands(range(len(self._network.nodes)))
        self._emitter.preload()
        self._end_stream([], StepKind.PRELOAD)

    def _stream(self, steps: Sequence[int], parts: Sequence[tuple[Segment, PackedNodes]]) -> None:
        prefetches = self._sram.prefetches
        if self._constant_operands:
            for own, _ in parts:
                self._pool_operands((*own, *[load.step for load in prefetches.loads.get(own[0], ())]))
        self._emitter.add(parts, prefetches)
        self._end_stream(steps, StepKind.STREAM)

    def _end_stream(self, steps: Sequence[int], kind: StepKind) -> None:
        self._emitter.halt()
        self._streams.append(steps)
        self._steps.append(p.Step(kind, len(self._streams) - 1))

    def _list_places(self) -> Store[Place]:
        """Where values are, by their numbers; those of constants are found when they are met."""
        places = Store(Place, len(self._network.values))
        view = places.view()
        if self._system.locations:
            view[list(self._system.locations), :2] = list(self._system.locations.values())
        for node in self._network.nodes:
            if isinstance(node, DlaNode) and node.cursor:
                _, offset = self._system.locations[resolve_alias(self._network, node.output)]
                places.write(node.output, (node.cursor.region, offset, node.cursor.reach))
        if self._in_sram:
            view[list(self._in_sram), 0], view[list(self._in_sram), 1] = SRAM, list(self._in_sram.values())
        return places

    def _pool_operands(self, steps: Iterable[int]) -> None:
        """Put the operands of nodes that are constants among the constants."""
        for step in steps:
            for value in self._constant_operands.get(step, ()):
                if self._pool.find(value) is None:
                    self._places.write(value, self._system_location(value))

    def _system_location(self, base: int) -> tuple[Region, int]:
        """Region and offset of a value; a constant operand is put among the constants."""
        data = self._network.values[base].data
        if data is None:
            return self._system.locations[base]
        offset = self._pool.find(base)
        if offset is None:
            offset = self._pool.add(base, data.nbytes, data.tobytes)
        return Region.CONSTANTS, offset

    def _host(self, step: int, node: HostNode) -> None:
        call = node.call
        mine = self._footprint((step,))
        self._touched += [self._footprint(steps) for steps in self._streams[len(self._touched) :]]
        newest_first = reversed(range(len(self._touched)))
        after = next((n + 1 for n in newest_first if _conflict(mine, self._touched[n])), 0)
        if call.code == PLACE_CURSOR:
            after = len(self._streams)  # the accelerator must be idle
        inputs = tuple(self._tensor(value) for value in call.inputs)
        outputs = tuple(self._tensor(value) for value in call.outputs)
        self._calls.append(p.HostCall(call.code, inputs, outputs, call.attributes, call.layer))
        self._steps.append(p.Step(StepKind.HOST, len(self._calls) - 1, after))

    def _footprint(self, steps: Sequence[int]) -> _Footprint:
        """What nodes read and what they write of system memory."""
        touched = [footprints(self._network)[step] for step in steps]
        read, written = (frozenset[int]().union(*[each[part] for each in touched]) for part in (0, 1))
        return self._ranges(read), self._ranges(written)

    def _ranges(self, values: frozenset[int]) -> list[_Range]:
        """Where values are in system memory: region, first byte and end."""
        outside = [value for value in values if value not in self._in_sram]  # which has many more
        places = [(self._system_location(value), self._network.values[value].size_bytes) for value in outside]
        return [(region, offset, offset + size) for (region, offset), size in places]

    def _tensor(self, value: int, role: Role = Role.INTERNAL) -> int:
        """The number of a value's descriptor."""
        if value not in self._numbers:
            described = self._network.values[value]
            region, offset = self._system_location(resolve_alias(self._network, value))
            if region is Region.CONSTANTS:
                role = Role.CONSTANT
            elif value in self._variables:
                role = Role.VARIABLE
            self._numbers[value] = len(self._tensors)
            self._tensors.append(
                p.TensorDescriptor(
                    described.name, DataType[described.dtype], role, region, offset, described.size_bytes,
                    described.shape, described.scale, described.zero_point,
                )
            )  # fmt: skip
        return self._numbers[value]

    def _program(self) -> p.Program:
        emitter, system = self._emitter, self._system
        size = self._pool.size_bytes
        if len(emitter.words) > p.MAX_OPERATIONS:
            self._check_operation_limit(count_operations(emitter.words))
        return p.Program(
            name=self._network.name,
            requirement=self._config.requirement(
                arena_bytes=system.arena_bytes,
                inputs_bytes=system.inputs_bytes,
                outputs_bytes=system.outputs_bytes,
                sram_peak_bytes=self._sram.peak_bytes,
            ),
            commands=emitter.words,
            streams=tuple(p.Stream(*stream) for stream in emitter.streams),
            steps=tuple(self._steps),
            constants=constants_image(self._pool)
            if self._with_constants
            else np.broadcast_to(_NO_BYTE, size),
            tensors=tuple(self._tensors),
            host_calls=tuple(self._calls),
            layers=_layers(self._network),
            spans=emitter.spans,
            debug=emitter.slices,
            work=self._work(),
        )

    def _work(self) -> NDArray[np.void]:
        """The compulsory work of an inference."""
        if self._sram.kept.addresses:
            return list_kept_work(self._network)
        if self._nodes.spared:
            return list_stored_work(self._network, packs_weights(self._config), self._nodes.spared)
        return list_packed_work(self._network) if packs_weights(self._config) else list_work(self._network)


def _conflict(one: _Footprint, other: _Footprint) -> bool:
    """Whether two footprints have a common byte that one of them writes."""
    (read, written), (other_read, other_written) = one, other
    pairs = [*product(read + written, other_written), *product(written, other_read)]
    return any(a[0] == b[0] and a[1] < b[2] and b[1] < a[2] for a, b in pairs)


def constants_image(pool: ConstantPool) -> NDArray[np.uint8]:
    """The bytes of the constants; weights are in it once for each operator that reads them."""
    if pool.size_bytes > MAX_FILE_BYTES:
        size, most = f"{pool.size_bytes:,}", f"{MAX_FILE_BYTES:,}"
        raise InputError(f"the program's constants take {size} bytes; at most {most} are supported")
    return pool.image()


@once
def _system_plans(network: PlacedNetwork) -> OrderedDict[object, SystemPlan]:
    """Those of the last few plans, by what these keep in SRAM."""
    del network
    return OrderedDict()


@once
def _runs(network: PlacedNetwork) -> Sequence[Sequence[int]]:
    """The steps of nodes for the DLA that follow each other, and each of the CPU's alone."""
    found = list[list[int]]()
    for step, node in enumerate(network.nodes):
        if step and isinstance(node, DlaNode) and isinstance(network.nodes[step - 1], DlaNode):
            found[-1].append(step)
        else:
            found.append([step])
    return found


@once
def _layers(network: PlacedNetwork) -> tuple[p.Layer, ...]:
    return tuple(
        p.Layer(layer.name, layer.operator, LayerKind(layer.kind), layer.macs) for layer in network.layers
    )
