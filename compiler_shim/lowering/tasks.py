"""The tiles of a node as tasks: what to load, compute and store, in the order in which tiles run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from dlasim.compiler_shim.lowering.constants import ConstantPool, pack
from dlasim.compiler_shim.lowering.cuts import align
from dlasim.compiler_shim.lowering.emitter import SRAM, Op, Touch
from dlasim.compiler_shim.lowering.geometry import Cut
from dlasim.compiler_shim.lowering.tiling import TilingProblem
from dlasim.compiler_shim.lowering.views import (
    Home,
    Tile,
    View,
    pack_pair,
    tile_view,
    transfer,
    transfer_blob,
)
from dlasim.compiler_shim.nodes import DlaNode, Value
from dlasim.isa import codec
from dlasim.isa.instructions import INSTRUCTIONS, RECORD_BYTES, TABLE_BYTES, Init, Out
from dlasim.isa.registers import Region

_READ_WORD = codec.encode("OP_DMA_READ")
_WRITE_WORD = codec.encode("OP_DMA_WRITE")
_READS = {row.mnemonic: frozenset(row.registers) for row in INSTRUCTIONS}
_VIEW_REGISTERS = (
    ("IN_ADDR", "IN_PIXEL_STRIDE", "IN_ROW_STRIDE"),
    ("IN2_ADDR", "IN2_PIXEL_STRIDE", "IN2_ROW_STRIDE"),
)


@dataclass(slots=True)
class Task:
    """One tile."""

    loads: list[Op] = field(default_factory=list)
    computes: list[Op] = field(default_factory=list)
    stores: list[Op] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Placement:
    """Homes of a node's tensors, and the addresses of its buffers: for each buffer one per copy."""

    inputs: tuple[Home, ...]
    output: Home
    buffers: tuple[tuple[int, ...], ...]


class NodeTasks:
    """The tiles of one node."""

    def __init__(
        self,
        problem: TilingProblem,
        cut: Cut,
        placement: Placement,
        pool: ConstantPool,
        values: Sequence[Value],
        key: int,
    ) -> None:
        self.problem, self.cut, self.placement = problem, cut, placement
        self.node: DlaNode = problem.node
        self._pool, self._values, self._key = pool, values, key
        self._held: dict[int, object] = {}
        self._turn = [0] * len(placement.buffers)
        self._inputs = len(self.node.inputs)
        self._fixed = self._fixed_registers()
        self._word = codec.encode(self.node.mnemonic, **self.node.fields)
        self._is_dense = self.node.is_dense
        reads = _READS[self.node.mnemonic]
        self._reads_channels, self._reads_size = "IN_CHANNELS" in reads, "IN_SIZE" in reads
        self._axes = tuple(
            (node.stride[axis], node.pad[axis], (node.kernel[axis] - 1) * node.dilation[axis] + 1,
             node.in_shape[axis])
            for node in (self.node,) for axis in (0, 1)
        )  # fmt: skip

    def __iter__(self) -> Iterator[Task]:
        for row, column, channel in self._order():
            yield from self._tile(self._whole_tile(row, column, channel))

    def stripe(self, first: int, rows: int, input_home: Home | None, output_home: Home | None) -> Task:
        """Rows of the output in full width and depth, with the input or the output somewhere else."""
        homes = self.placement
        inputs = homes.inputs if input_home is None else (input_home, *homes.inputs[1:])
        self.placement = Placement(inputs, output_home or homes.output, homes.buffers)
        (task,) = self._tile(Tile(first, 0, 0, rows, self.problem.width, self.problem.channels))
        return task

    def _order(self) -> Iterator[tuple[int, int, int]]:
        problem, tiling = self.problem, self.cut
        rows = range(0, problem.height, tiling.rows)
        columns = range(0, problem.width, tiling.columns)
        groups = range(0, problem.channels, tiling.channels)
        if tiling.weights_outer:
            return ((row, column, group) for group in groups for row in rows for column in columns)
        return ((row, column, group) for row in rows for column in columns for group in groups)

    def _whole_tile(self, row: int, column: int, channel: int) -> Tile:
        rows, columns, channels, _, _, _ = self.cut
        problem = self.problem
        return Tile(
            row,
            column,
            channel,
            min(rows, problem.height - row),
            min(columns, problem.width - column),
            min(channels, problem.channels - channel),
        )

    def _tile(self, out: Tile) -> Iterator[Task]:
        problem, tiling = self.problem, self.cut
        output, stores = self._output(out)
        starts = range(0, problem.depth, tiling.depth)
        for start in starts:
            depth = min(tiling.depth, problem.depth - start)
            task = Task()
            patch, pad = self._patch(out, start, depth)
            inputs = [self._input(which, out, patch, task) for which in range(self._inputs)]
            constants = self._constants(out.channel, out.channels, start, depth, task)
            last = start + depth >= problem.depth
            accumulate = (start > 0, last) if len(starts) > 1 else None
            task.computes = self._computes(out, patch, pad, inputs, output, constants, depth, accumulate)
            if last:
                task.stores = stores
            yield task

    def _patch(self, out: Tile, start: int, depth: int) -> tuple[Tile, int]:
        """The part of the first input that a tile reads, and the padding before it."""
        (stride, pad, span, tall), (side_stride, side_pad, side_span, wide) = self._axes
        row, column = out.row * stride - pad, out.column * side_stride - side_pad
        bottom = min(row + (out.rows - 1) * stride + span, tall)
        right = min(column + (out.columns - 1) * side_stride + side_span, wide)
        above, before = (-row if row < 0 else 0), (-column if column < 0 else 0)
        row, column = row + above, column + before
        if not self._is_dense:
            multiplier = self.node.multiplier
            start, depth = out.channel // multiplier, -(-out.channels // multiplier)
        return Tile(row, column, start, bottom - row, right - column, depth), pack_pair(above, before)

    def _input(self, which: int, out: Tile, patch: Tile, task: Task) -> View:
        home = self.placement.inputs[which]
        node = self.node
        tile = patch
        if which == 1:
            tall, wide = node.broadcast
            tile = Tile(
                out.row * tall, out.column * wide, out.channel,
                out.rows if tall else 1, out.columns if wide else 1, out.channels,
            )  # fmt: skip
        if home.space == SRAM:
            seen = tile_view(home, tile, False)
        else:
            address, fresh = self._buffer(which, tile)
            if fresh:
                task.loads.append(transfer("DMA_IN", _READ_WORD, home, tile, address, node.layer))
            seen = self._dense(address, tile, home.element_bytes, False)
        if which == 1:
            return View(
                seen.address,
                seen.pixel_stride * node.broadcast[1],
                seen.row_stride * node.broadcast[0],
                seen.touch,
            )
        return seen

    def _output(self, out: Tile) -> tuple[View, list[Op]]:
        home = self.placement.output
        if home.space == SRAM:
            return tile_view(home, out, True), []
        address, _ = self._buffer(len(self.placement.buffers) - 1, out)
        store = transfer("DMA_OUT", _WRITE_WORD, home, out, address, self.node.layer)
        return self._dense(address, out, home.element_bytes, True), [store]

    @staticmethod
    def _dense(address: int, tile: Tile, element_bytes: int, writes: bool) -> View:
        pixel = tile.channels * element_bytes
        row = tile.columns * pixel
        return View(address, pixel, row, Touch(SRAM, address, address + tile.rows * row, writes))

    def _buffer(self, number: int, content: object) -> tuple[int, bool]:
        """The buffer that holds this content, and whether it has to be brought there first."""
        copies = self.placement.buffers[number]
        if self._held.get(number) == content:
            return copies[(self._turn[number] - 1) % len(copies)], False
        self._held[number] = content
        address = copies[self._turn[number] % len(copies)]
        self._turn[number] += 1
        return address, True

    def _constants(self, first: int, channels: int, start: int, depth: int, task: Task) -> tuple[int, int]:
        """Addresses of the weights (or table) and of the records."""
        node, problem = self.node, self.problem
        size = problem.geometry.constant_bytes(channels, depth)
        if not size:
            return 0, 0
        content = 0 if node.table is not None else (first, start)
        address, fresh = self._buffer(self._inputs, content)
        weight_bytes = align(
            size if node.table is not None else channels * problem.geometry.weight_depth(depth)
        )
        if fresh:
            offset = self._pool.add(
                (self._key, first, channels, start, depth),
                size,
                lambda: pack(node, self._values, first, channels, start, depth, weight_bytes),
            )
            task.loads.append(transfer_blob(_READ_WORD, Region.CONSTANTS, offset, size, address, node.layer))
        return address, address + weight_bytes

    def _fixed_registers(self) -> dict[str, int]:
        """What stays the same over all tiles, among the registers that the instruction reads."""
        node = self.node
        values = {
            "KERNEL": pack_pair(*node.kernel),
            "STRIDE": pack_pair(*node.stride),
            "DILATION": pack_pair(*node.dilation),
            **node.registers,
        }
        used = _READS[node.mnemonic]
        return {name: value & 0xFFFF_FFFF for name, value in values.items() if name in used}

    def _computes(
        self, out: Tile, patch: Tile, pad: int, inputs: list[View], output: View,
        constants: tuple[int, int], depth: int, accumulate: tuple[bool, bool] | None,
    ) -> list[Op]:  # fmt: skip
        node = self.node
        registers: dict[str, int] = {}
        touches = [output.touch]
        for (at, pixel_stride, row_stride), seen in zip(_VIEW_REGISTERS, inputs, strict=False):
            registers[at], registers[pixel_stride], registers[row_stride], touch = seen
            touches.append(touch)
        registers["OUT_ADDR"] = output.address
        registers["OUT_PIXEL_STRIDE"], registers["OUT_ROW_STRIDE"] = output.pixel_stride, output.row_stride
        registers["OUT_SIZE"] = pack_pair(out.rows, out.columns)
        registers["OUT_CHANNELS"] = out.channels
        if self._reads_channels:
            registers["IN_CHANNELS"] = depth if self._is_dense else patch.channels
        if self._reads_size:
            registers["IN_SIZE"], registers["PAD"] = pack_pair(patch.rows, patch.columns), pad
        touches += self._constant_registers(registers, constants, out.channels, depth)
        mnemonic, word = node.mnemonic, self._word
        if accumulate is not None:
            mnemonic, fields = self._accumulate(registers, touches, out, *accumulate)
            word = codec.encode(mnemonic, **fields)
        if node.one_by_one:
            return self._one_by_one(out, registers, touches, depth)
        slice_ = (node.output, *out) if node.out_element_bytes == 1 else None
        if accumulate is not None and not accumulate[1]:
            slice_ = None
        return [Op(mnemonic, word, registers, touches, node.layer, slice_, self._fixed)]

    def _one_by_one(self, out: Tile, registers: dict[str, int], touches: list[Touch], depth: int) -> list[Op]:
        """An operation for each channel of the tile, each on a view of one channel."""
        node, word = self.node, self._word
        registers["IN_CHANNELS"] = registers["OUT_CHANNELS"] = 1
        steps = {
            "IN_ADDR": node.in_element_bytes,
            "OUT_ADDR": node.out_element_bytes,
            "WEIGHT_ADDR": self.problem.geometry.weight_depth(depth),
            "PARAM_ADDR": RECORD_BYTES,
        }
        ops = []
        for number in range(out.channels):
            tile = out._replace(channel=out.channel + number, channels=1)
            slice_ = (node.output, *tile) if node.out_element_bytes == 1 else None
            moved = {name: registers[name] + number // (node.multiplier if name == "IN_ADDR" else 1) * step
                     for name, step in steps.items() if name in registers}  # fmt: skip
            ops.append(
                Op(node.mnemonic, word, {**registers, **moved}, touches, node.layer, slice_, self._fixed)
            )
        return ops

    def _constant_registers(
        self, registers: dict[str, int], constants: tuple[int, int], channels: int, depth: int
    ) -> list[Touch]:
        node = self.node
        address, records = constants
        if node.table is not None:
            registers["LUT_ADDR"] = address
            return [Touch(SRAM, address, address + TABLE_BYTES, False)]
        touches = []
        if node.weights is not None:
            registers["WEIGHT_ADDR"] = address
            touches.append(
                Touch(SRAM, address, address + channels * self.problem.geometry.weight_depth(depth), False)
            )
        if node.records is not None:
            registers["PARAM_ADDR"] = records
            touches.append(Touch(SRAM, records, records + channels * RECORD_BYTES, False))
        return touches

    def _accumulate(
        self, registers: dict[str, int], touches: list[Touch], out: Tile, follows: bool, last: bool
    ) -> tuple[str, dict[str, int]]:
        """A pass over some of the input channels: from and to the int32 partial result."""
        node = self.node
        home = Home(SRAM, self.placement.buffers[-2][0], (out.rows, out.columns, out.channels), 4)
        partial = tile_view(home, Tile(0, 0, 0, out.rows, out.columns, out.channels), not last)
        fields = dict(node.fields)
        mnemonic = node.mnemonic
        if follows:
            fields["init"] = Init.PARTIAL
            registers["ACC_ADDR"] = partial.address
            registers["ACC_PIXEL_STRIDE"], registers["ACC_ROW_STRIDE"] = (
                partial.pixel_stride,
                partial.row_stride,
            )
        if not last:
            mnemonic = "OP_CONV" if mnemonic == "OP_CONV_RELU" else mnemonic
            fields["out"] = Out.INT32
            registers["OUT_ADDR"] = partial.address
            registers["OUT_PIXEL_STRIDE"], registers["OUT_ROW_STRIDE"] = (
                partial.pixel_stride,
                partial.row_stride,
            )
            touches[0] = partial.touch
        else:
            touches.append(partial.touch)
        return mnemonic, fields
