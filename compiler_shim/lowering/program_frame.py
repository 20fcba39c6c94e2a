"""What is the same in all programs of a placed network: the order of streams and host calls, the tensors that
programs describe, and what decides when a host call may start."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, chain, product

from dlasim.compiler_shim.calls.live_ranges import footprints, variables
from dlasim.compiler_shim.calls.nodes import HostNode, PlacedNetwork, root_of
from dlasim.compiler_shim.facts import once
from dlasim.compiler_shim.lowering.addresses.memory import SystemPlan
from dlasim.isa import program as p
from dlasim.isa.file_records import DataType, LayerKind, Role
from dlasim.isa.host_op_rows import PLACE_CURSOR
from dlasim.isa.registers import Region
from dlasim.native.storage import filled_numbers
from dlasim.sim.host_time.host_estimate import estimate_call

_Range = tuple[Region, int, int]
_Ranges = tuple[list[_Range], list[_Range]]  # what is read, and what is written


class ProgramFrame:
    """`runs`: the steps of nodes for the DLA that follow each other; each is a stream. `order`: whether a
    stream is next, or else a host call. `pooled`: constants that host calls have read. `tensors`: descriptors
    in which each value begins at its number; `bases`: the values that have their bytes; `numbers`: where they
    are, by value. `layers`, `calls`, `call_cycles`."""

    def __init__(self, network: PlacedNetwork) -> None:
        self._network, self._variables = network, variables(network)
        self.runs, self.order = list[list[int]](), list[bool]()
        self._pooled: list[list[int]] = [[]]  # before each stream and at the end
        self.tensors, self.bases = list[p.TensorDescriptor](), list[int]()
        self.numbers, self.calls = dict[int, int](), list[p.HostCall]()
        self._touched = footprints(network)
        self._host_steps = list[int]()
        for value in network.inputs:
            self._tensor(value, Role.INPUT)
        for value in network.outputs:
            self._tensor(value, Role.OUTPUT)
        for value in sorted(self._variables):
            self._tensor(value)  # even one that only the DLA reads: the CPU gives it its initial value
        for step, node in enumerate(network.nodes):
            if isinstance(node, HostNode):
                self._add_call(step, node.call)
            elif self.order and self.order[-1]:
                self.runs[-1].append(step)
            else:
                self.runs.append([step])
                self._pooled.append([])
                self.order.append(True)
        # For routines: how many nodes there are up to the end of each stream, and constants before each.
        self.run_ends = filled_numbers([*accumulate(map(len, self.runs))])
        self.pooled = filled_numbers([*chain.from_iterable(self._pooled)])
        self.pooled_ends = filled_numbers([*accumulate(map(len, self._pooled), initial=0)])
        self.layers = tuple(
            p.Layer(layer.name, layer.operator, LayerKind(layer.kind), layer.macs) for layer in network.layers
        )
        macs = [layer.macs for layer in self.layers]
        self.call_cycles = [estimate_call(self.tensors, macs[call.layer], call) for call in self.calls]

    def _add_call(self, step: int, call: p.HostCall) -> None:
        self._host_steps.append(step)
        self.order.append(False)
        inputs, outputs = (tuple([self._tensor(each) for each in own]) for own in (call.inputs, call.outputs))
        self.calls.append(p.HostCall(call.code, inputs, outputs, call.attributes, call.layer))

    def _tensor(self, value: int, role: Role = Role.INTERNAL) -> int:
        """The number of a value's descriptor."""
        if value not in self.numbers:
            described, base = self._network.values[value], root_of(self._network.values, value)
            if self._network.values[base].data is not None:
                role = Role.CONSTANT
                self._pooled[-1].append(base)
            elif value in self._variables:
                role = Role.VARIABLE
            self.numbers[value] = len(self.tensors)
            self.bases.append(base)
            self.tensors.append(
                p.TensorDescriptor(
                    described.name, DataType[described.dtype], role, Region.ARENA, base, described.size_bytes,
                    described.shape, described.scale, described.zero_point,
                )
            )  # fmt: skip
        return self.numbers[value]

    def waits(self, system: SystemPlan, in_sram: frozenset[int]) -> list[int]:
        """By host call how many streams must have ended before it: it may conflict with the last of them."""
        waits, streams, calls = list[int](), list[_Ranges](), iter(self._host_steps)
        for is_stream in self.order if self.calls else ():
            if is_stream:
                streams.append(self._ranges(self.runs[len(streams)], system, in_sram))
                continue
            mine, newest_first = self._ranges([next(calls)], system, in_sram), reversed(range(len(streams)))
            after = next((number + 1 for number in newest_first if _conflict(mine, streams[number])), 0)
            if self.calls[len(waits)].code == PLACE_CURSOR:
                after = len(streams)  # the accelerator must be idle
            waits.append(after)
        return waits

    def _ranges(self, steps: Sequence[int], system: SystemPlan, in_sram: frozenset[int]) -> _Ranges:
        """Where in system memory nodes read, and where they write."""
        found: _Ranges = ([], [])
        for step in steps:
            for values, ranges in zip(self._touched[step], found, strict=True):
                for value in values:
                    if value not in in_sram:
                        region, offset = system.locations[value]
                        ranges.append((region, offset, offset + self._network.values[value].size_bytes))
        return found


def _conflict(one: _Ranges, other: _Ranges) -> bool:
    """Whether two have a common byte that one of them writes."""
    (read, written), (other_read, other_written) = one, other
    pairs = [*product(read + written, other_written), *product(written, other_read)]
    return any(a[0] == b[0] and a[1] < b[2] and b[1] < a[2] for a, b in pairs)


@once
def program_frame(network: PlacedNetwork) -> ProgramFrame:
    """That of a network, which its plans share."""
    return ProgramFrame(network)
