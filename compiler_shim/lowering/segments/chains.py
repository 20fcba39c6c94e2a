"""Chains of nodes that are computed piece by piece, so that what lies between them never leaves SRAM.

A piece is a stripe of rows (`stripes`) or a group of channels (`channel_groups`).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dlasim.compiler_shim.lowering.tiles.geometry import Buffers, TileShape, total_bytes
from dlasim.compiler_shim.lowering.tiles.tile_buffers import align
from dlasim.compiler_shim.lowering.tiles.tiling import Tiling
from dlasim.dataclass import dataclass
from dlasim.named_tuple import NamedTuple


class Rows(NamedTuple):
    """What one node does in a stripe: computes rows [first, end); before that its output's buffer, which
    starts at row `old_base`, is made to start at `base`."""

    first: int
    end: int
    old_base: int
    base: int


Schedule = tuple[tuple[Rows, ...], ...]


@dataclass(frozen=True)
class ChainLayout:
    """The pieces of a chain, and the buffers that they take: by node its tile shape, its own buffers and its
    tasks, and by link the bytes between two nodes. There is a schedule of stripes, or a number of groups."""

    tile_shapes: tuple[TileShape, ...]
    buffers: tuple[Buffers, ...]
    inner: tuple[int, ...]
    tasks: tuple[int, ...]
    schedule: Schedule = ()
    groups: int = 0

    @property
    def rounds(self) -> int:
        """Stripes; or groups of channels, and one round more since the first node is a group ahead."""
        return self.groups + 1 if self.groups else len(self.schedule)

    @property
    def sram_bytes(self) -> int:
        """The size of all buffers together."""
        return sum(map(total_bytes, self.buffers)) + sum(map(align, self.inner))

    @cached_property
    def rows(self) -> NDArray[np.int64]:
        """The schedule by stripe and node."""
        return np.array(self.schedule, np.int64).reshape(-1, len(Rows._fields))


@dataclass(frozen=True, slots=True, eq=False)
class ChainTiling:
    """A chain cut into pieces, with what it takes and costs."""

    layouts: Mapping[int, ChainLayout]  # by the size of a piece
    size: int  # of a piece: rows of the last node's output, or channels of the first's
    cycles: int
    moved_bytes: int
    tensor_cycles: int

    @property
    def layout(self) -> ChainLayout:
        """The pieces and their buffers."""
        return self.layouts[self.size]

    @property
    def sram_bytes(self) -> int:
        """The size of all buffers together."""
        return self.layout.sram_bytes

    def tiling(self, number: int) -> Tiling:
        """What `explain` tells of one node of the chain."""
        layout = self.layout
        buffers = layout.buffers[number]
        return Tiling(layout.tile_shapes[number], buffers, total_bytes(buffers), 0, layout.tasks[number], 0)
