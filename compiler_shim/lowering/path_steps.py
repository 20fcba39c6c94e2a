"""The nodes of a placed network as the search over states sees them, the same for all machines."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dlasim.compiler_shim.calls.live_ranges import LiveRange
from dlasim.compiler_shim.calls.nodes import DlaNode, PlacedNetwork, root_of
from dlasim.compiler_shim.facts import once
from dlasim.compiler_shim.lowering.addresses.allocation import PlacedRange, placed_slots
from dlasim.compiler_shim.lowering.addresses.memory import sram_candidates
from dlasim.compiler_shim.lowering.addresses.packed_records import MAX_BUFFERS
from dlasim.compiler_shim.lowering.states import MAX_BITS, MAX_PATHS, Path, PathStep
from dlasim.compiler_shim.lowering.tiles.known_tilings import NONE
from dlasim.compiler_shim.lowering.tiles.node_kinds import NodeKind, node_kind
from dlasim.compiler_shim.lowering.tiles.tile_buffers import ALIGNMENT
from dlasim.compiler_shim.lowering.tiles.tile_records import MAX_CHAIN
from dlasim.isa.instruction_rows import Unit
from dlasim.isa.instructions import BY_MNEMONIC
from dlasim.native.storage import Store, filled_memory, filled_numbers


class PathSteps:
    """The nodes for the DLA by step, the tensors that each reads and writes, and memory for the search."""

    def __init__(self, network: PlacedNetwork) -> None:
        self.nodes = {step: node for step, node in enumerate(network.nodes) if isinstance(node, DlaNode)}
        self.live_ranges = sram_candidates(network)
        self.outputs = {step: root_of(network.values, node.output) for step, node in self.nodes.items()}
        self.operands = dict[int, tuple[int, int | None, int]]()  # the second may be a matrix; and the output
        for step, node in self.nodes.items():
            first, *others = [root_of(network.values, value) for value in node.sources]
            self.operands[step] = first, others[0] if others else None, self.outputs[step]
        self.order = list(self.nodes)
        self.places = {step: place for place, step in enumerate(self.order)}
        self.links = frozenset([step for step in self.nodes if self._is_link(step)])
        self._bits = _assign_bits(self.live_ranges)
        self.alive_bytes = self._count_alive_bytes()
        ending = self._ending()
        records, bits, sizes, alive = list[PathStep](), list[int](), list[int](), 0
        for step in self.nodes:
            gone = sum([self._bit(value) for value in ending[step]])
            alive = (alive | self._bit(self.outputs[step])) & ~gone
            records.append(self._record(step, alive, len(bits), len(ending[step])))
            bits += [self._bit(value) for value in ending[step]]
            sizes += [self._size(value) for value in ending[step]]
        self.steps, self.count = filled_memory(PathStep, records), len(records)
        self.paths, self.counts = Store(Path, (self.count + 1) * MAX_PATHS), Store(int, self.count + 1)
        self.leaves, self.chosen = Store(int, self.count), Store(int, 3 * self.count)
        self._find_kinds()
        ordered = sorted(self.live_ranges.values(), key=lambda each: (-each.size_bytes, each.key))
        self.tensors, self.ranges = [each.key for each in ordered], Store(PlacedRange)
        self.ranges.write(0, [slot for each in ordered for slot in placed_slots(each)])
        lives = sum([each.last - each.first + 2 * MAX_CHAIN for each in ordered])  # with those of chains
        self.most_ranges = lives + self.count * MAX_BUFFERS
        self.numbers = filled_numbers(self.order)
        units = [BY_MNEMONIC[node.mnemonic].unit for node in self.nodes.values()]
        self.units, self.is_mac = filled_numbers(units), np.array(units) == Unit.MAC
        self.heights = np.array([node.out_shape[0] for node in self.nodes.values()])
        numbers = {value: number for number, value in enumerate(self.tensors)}
        operands = [each for own in self.operands.values() for each in own]
        self.values = filled_numbers([NONE if each is None else numbers.get(each, NONE) for each in operands])
        self.endings, self.ending_bytes = filled_numbers(bits), filled_numbers(sizes)

    def is_alive(self, value: int, step: int) -> bool:
        """Whether a tensor that may stay in SRAM is needed there during a step."""
        return self.live_ranges[value].first <= step <= self.live_ranges[value].last

    def _is_link(self, step: int) -> bool:
        """Whether only the next node reads a node's output."""
        node, follower = self.nodes[step], self.nodes.get(step + 1)
        value = node.output
        return (
            follower is not None
            and value in self.live_ranges
            and follower.inputs[0] == value
            and value not in follower.inputs[1:]
            and follower.matrix is None
            and self.live_ranges[value].first == step
            and self.live_ranges[value].last == step + 1
            and node.out_element_bytes == follower.in_element_bytes == 1
            and node.out_shape == follower.in_shape
        )

    def _find_kinds(self) -> None:
        """Find `kinds`, and `chains` of them; `kind_of` and `chain_of` say which a place, and a place and so
        many more nodes, have. The first node, before which nothing comes, has a kind of its own."""
        nodes = [node_kind(node, is_first=place == 0) for place, node in enumerate(self.nodes.values())]
        kinds, chains = dict[NodeKind, int](), dict[tuple[int, ...], int]()
        self.kind_of = np.array([kinds.setdefault(kind, len(kinds)) for kind in nodes], np.int64)
        self.kinds = list(kinds)
        numbers, linked = self.kind_of.tolist(), [step in self.links for step in self.order]
        self.chain_of = np.full(self.count * MAX_CHAIN, NONE)
        for place in range(self.count):
            end = place + 1
            while end < min(place + MAX_CHAIN, self.count) and linked[end - 1]:
                end += 1
                found = chains.setdefault(tuple(numbers[place:end]), len(chains))
                self.chain_of[place * MAX_CHAIN + end - place - 1] = found
        self.chains = list(chains)

    def _count_alive_bytes(self) -> Mapping[int, int]:
        """What all values that may stay in SRAM take there at each step."""
        taken = dict.fromkeys(self.nodes, 0)
        for live_range in self.live_ranges.values():
            for step in range(live_range.first, live_range.last + 1):
                if step in taken:
                    taken[step] += live_range.size_bytes + ALIGNMENT
        return taken

    def _ending(self) -> dict[int, list[int]]:
        """By step the values that nothing uses after it."""
        found: dict[int, list[int]] = {step: [] for step in self.nodes}
        for value, live_range in self.live_ranges.items():
            found[live_range.last].append(value)
        return found

    def _bit(self, value: int | None) -> int:
        return 0 if value is None else self._bits.get(value, 0)

    def _size(self, value: int | None) -> int:
        if value is None or value not in self._bits:
            return 0
        return self.live_ranges[value].size_bytes + ALIGNMENT

    def _record(self, step: int, alive_after: int, first_ending: int, endings: int) -> PathStep:
        first, second, output = self.operands[step]
        return PathStep(
            first=self._bit(first),
            second=self._bit(second),
            output=self._bit(output),
            first_bytes=self._size(first),
            second_bytes=self._size(second),
            output_bytes=self._size(output),
            alive_bytes=self.alive_bytes[step],
            has_matrix=int(self.nodes[step].matrix is not None),
            decides=int(output in self.live_ranges and self.live_ranges[output].first == step),
            is_link=int(step in self.links),
            alive_after=alive_after,
            first_ending=first_ending,
            endings=endings,
        )


def _assign_bits(live_ranges: Mapping[int, LiveRange]) -> dict[int, int]:
    """A bit for each value. Those after the last use of another by a chain's nodes may have its bit. Where
    more values than bits are alive, some have none: they are not kept."""
    free_from, found = [0] * MAX_BITS, dict[int, int]()
    for value, live_range in sorted(live_ranges.items(), key=lambda item: item[1].first):
        for bit, first in enumerate(free_from):
            if first <= live_range.first:
                found[value] = 1 << bit
                free_from[bit] = live_range.last + MAX_CHAIN
                break
    return found


@once
def path_steps(network: PlacedNetwork) -> PathSteps:
    """The nodes of a network as the search over states sees them."""
    return PathSteps(network)
