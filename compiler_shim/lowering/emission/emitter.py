"""The command words of a plan: its nodes and segments as rows, by one call of a routine, and all its streams
by another, or by as many calls as use up its room. The memory of one program serves for the next."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dlasim.compiler_shim.calls.nodes import PlacedNetwork
from dlasim.compiler_shim.lowering.addresses.packed_records import PackedNode, PackedSegment
from dlasim.compiler_shim.lowering.addresses.sram_plan import SramPlan
from dlasim.compiler_shim.lowering.emission.network_nodes import (
    WeightCut,
    alike_steps,
    facts_memory,
    network_nodes,
    value_bytes,
)
from dlasim.compiler_shim.lowering.emission.piece_codes import piece_codes, stored_piece
from dlasim.compiler_shim.lowering.emission.plan_rows import ROWS, PlanRows
from dlasim.compiler_shim.lowering.emission.records import (
    MAX_FIXED,
    MAX_REGISTERS,
    InFlight,
    Load,
    Piece,
    Place,
    Slice,
    Span,
    StreamBuilder,
)
from dlasim.compiler_shim.lowering.emission.streams import EMIT
from dlasim.compiler_shim.lowering.program_frame import ProgramFrame
from dlasim.compiler_shim.lowering.tiles.known_tilings import NONE
from dlasim.isa.file_records import SLICE, SPAN
from dlasim.isa.instruction_rows import UNITS
from dlasim.isa.registers import Region
from dlasim.native.record import layout
from dlasim.native.storage import PointedMemory, Store, pointer_to
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.timing.cost import packs_weights, queue_depth

_WORDS_PER_OPERATION = MAX_FIXED + MAX_REGISTERS + len(UNITS)  # with one for itself, a wait for each other
_OPERATIONS_AT_A_TIME = 1 << 12  # room for more than these may never be filled
_CODED_WORDS, _CODED_STEPS = (layout(Piece).fields[name].slot for name in ("coded_words", "coded_steps"))


class EmissionMemory:
    """What emission works on, which grows with the largest program so far."""

    def __init__(self) -> None:
        self.plan, self.places = PlanRows(), Store(Place)
        self.of_plan = PointedMemory(self.plan)
        self.in_flight, self.words, self.ends = Store(InFlight), Store(int), Store(int)
        self.spans, self.slices = Store(Span), Store(Slice)


class Emitter:
    """Writes the streams of a plan, whose values are at the `places` of the memory. What it finds is there
    until another program is written."""

    def __init__(
        self,
        network: PlacedNetwork,
        plan: SramPlan,
        frame: ProgramFrame,
        config: DlaConfig,
        memory: EmissionMemory,
    ) -> None:
        self._network, self._plan, self._frame, self._memory = network, plan, frame, memory
        stream = self._stream = StreamBuilder()
        stream.fingerprint = config.fingerprint
        # In batches, weights that are unpacked or decoded would be a transfer for each piece.
        stream.unpacks = int(packs_weights(config) and not plan.kept.batch_bytes)
        stream.most_ahead = queue_depth(config)  # with more, loads would wait to be issued

    def list_rows(self, most_tiles: int) -> int:
        """Make the rows of the plan; the step with which it has too many tiles, NONE if it has not."""
        frame, plan, rows = self._frame, self._plan, self._memory.plan
        path, given = plan.path, plan.prefetches
        pieces = plan.kept.pieces if plan.places_constants else given.pieces
        rows.place_count, rows.part_count, rows.load_count = path.count, len(plan.segments), len(given.loads)
        rows.placed_count, rows.load_first_count = len(pieces.counts), len(given.load_first)
        rows.run_count, rows.most_tiles = len(frame.runs), most_tiles
        rows.places_constants, rows.batch_bytes = int(plan.places_constants), plan.kept.batch_bytes
        rows.numbers, rows.facts = path.numbers.pointer, facts_memory(self._network).pointer
        rows.alike, rows.run_ends = alike_steps(self._network).pointer, frame.run_ends.pointer
        rows.packed, rows.parts = pointer_to(plan.nodes, PackedNode), pointer_to(plan.segments, PackedSegment)
        rows.placed_counts, rows.placed_addresses = map(pointer_to, pieces)
        rows.loads, rows.load_first = pointer_to(given.loads, Load), pointer_to(given.load_first)
        self._make_room(rows)
        self._stream.chain.sizes = plan.tables.kinds.sizes.pointer
        self._make_rows(rows)
        return rows.crowded_step

    def _make_room(self, rows: PlanRows) -> None:
        """Room for what is listed; constants that stay take two rows of their own, each batch one."""
        batches = rows.place_count if rows.batch_bytes else 0
        count = rows.part_count + batches + rows.run_count + 3
        self._memory.of_plan.reserve(nodes=len(self._network.nodes), rows=count, kept=rows.place_count)

    def _make_rows(self, rows: PlanRows) -> None:
        """Make the rows, with room for all pieces of constants, and say how large compressed ones are."""
        memory, network = self._memory.of_plan, self._network
        pieces = memory["pieces"]
        while not ROWS(rows):
            memory.reserve(pieces=rows.piece_count)
            rows.piece_room = len(pieces)
        if rows.batch_bytes:
            return
        codes = piece_codes(network)
        for step in codes.steps:
            node = memory["nodes"][step]
            sizes = codes.sizes(step, WeightCut(node.tile.channels, node.tile.depth))
            own = slice(node.first_constant, node.first_constant + len(sizes.words))
            pieces.view()[own, _CODED_WORDS], pieces.view()[own, _CODED_STEPS] = sizes.words, sizes.steps

    def write(self, keeps_slices: bool) -> None:
        """Write all words; with slices, where each computation writes what of a tensor."""
        stream, memory, network, rows = self._stream, self._memory, self._network, self._memory.plan
        memory.ends.reserve(rows.run_count + 1, 0)
        stream.keeps_slices = int(keeps_slices)
        stream.facts, stream.value_bytes = facts_memory(network).pointer, value_bytes(network).pointer
        stream.nodes, stream.pieces, stream.segments = rows.nodes, rows.pieces, rows.rows
        stream.places, stream.ends = memory.places.pointer, memory.ends.pointer
        stream.segment_count = rows.row_count
        stream.pooled, stream.pooled_ends = self._frame.pooled.pointer, self._frame.pooled_ends.pointer
        stream.preloads = int(self._plan.keeps_constants)
        stream.loads = rows.kept if rows.places_constants else rows.loads
        most = rows.most_operations  # also for the last task there must seem to be room
        room, is_left = min(rows.operations + most, max(most, _OPERATIONS_AT_A_TIME)), 1
        while is_left:
            self._reserve(room)
            is_left = EMIT(stream)

    def _reserve(self, operations: int) -> None:
        """Make room for this many more operations."""
        stream, memory = self._stream, self._memory
        used = stream.used_slots if stream.is_open else 0
        words = stream.word_count
        memory.in_flight.reserve(used + operations, used)
        memory.words.reserve(words + operations * _WORDS_PER_OPERATION, words)
        memory.spans.reserve(stream.span_count + operations, stream.span_count)
        if stream.keeps_slices:
            memory.slices.reserve(stream.slice_count + operations, stream.slice_count)
        stream.operation_limit = stream.operation_count + operations
        stream.in_flight, stream.words = memory.in_flight.pointer, memory.words.pointer
        stream.spans, stream.slices = memory.spans.pointer, memory.slices.pointer

    @property
    def words(self) -> NDArray[np.uint64]:
        """The command words."""
        return self._memory.words.view()[: self._stream.word_count].view(np.uint64)

    @property
    def streams(self) -> list[tuple[int, int]]:
        """The first word of each stream, and how many there are."""
        ends = self._memory.ends.take(0, self._stream.stream_count)
        return [(first, end - first) for first, end in zip([0, *ends], ends, strict=False)]

    @property
    def spans(self) -> NDArray[np.void]:
        """Which words belong to which layer."""
        return self._memory.spans.array(self._stream.span_count).astype("<u4").view(SPAN.dtype).ravel()

    @property
    def slices(self) -> NDArray[np.void]:
        """What each compute instruction writes of a tensor."""
        return self._memory.slices.array(self._stream.slice_count).astype("<u4").view(SLICE.dtype).ravel()

    @property
    def pool_bytes(self) -> int:
        """The bytes of all constants."""
        return self._stream.pool_bytes

    def constants(self) -> NDArray[np.uint8]:
        """All constants in their places."""
        memory, network, unpacks = self._memory, self._network, bool(self._stream.unpacks)
        image = np.zeros(self.pool_bytes, np.uint8)

        def put(offset: int, stored: bytes) -> None:
            image[offset : offset + len(stored)] = np.frombuffer(stored, np.uint8)

        for value, (space, offset, _) in zip(network.values, memory.places.view().tolist(), strict=False):
            if space == Region.CONSTANTS:
                assert value.data is not None, "nothing else is among the constants"
                put(offset, value.data.tobytes())
        for step, found in network_nodes(network).items():
            node = memory.of_plan["nodes"][step]
            cut = WeightCut(node.tile.channels, node.tile.depth)
            for number in range(found.pieces(cut)):
                piece = memory.of_plan["pieces"][node.first_constant + number]
                if piece.offset != NONE:
                    is_coded = bool(piece.coded_steps)
                    put(piece.offset, stored_piece(network, found, cut, number, is_coded, unpacks))
        return image
