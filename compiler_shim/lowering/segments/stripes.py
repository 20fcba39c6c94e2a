"""Chains of nodes computed in stripes of rows.

The last node's output is cut into stripes. For each stripe every node computes the rows that the next one
lacks, in full width and depth; each row is computed once. A buffer between two nodes holds some rows: those
that the next stripe still needs are moved to its start, and new rows follow.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from dlasim.compiler_shim.lowering.segments.chains import ChainLayout, Rows, Schedule
from dlasim.compiler_shim.lowering.segments.stripe_search import ChainSearch, begin_stripe, end_stripe
from dlasim.compiler_shim.lowering.tiles.geometry import Buffers, Geometry, TileShape
from dlasim.compiler_shim.lowering.tiles.tile_buffers import DOUBLE, SINGLE
from dlasim.compiler_shim.lowering.tiles.tile_records import NodeSizes
from dlasim.native.storage import filled_memory


def make_schedule(links: Sequence[Geometry], rows: int) -> Schedule:
    """The stripes of a chain whose last node computes `rows` rows in each."""
    chain = ChainSearch()
    chain.count, chain.sizes = len(links), filled_memory(NodeSizes, [each.sizes for each in links]).pointer
    nodes = [chain.nodes[number] for number in range(chain.count)]
    for number, node in enumerate(nodes):
        node.problem = number
    stripes = []
    for end in range(rows, links[-1].height + rows, rows):
        begin_stripe(chain, end)
        stripes.append(tuple([Rows(node.done, node.need, node.base, node.start) for node in nodes]))
        end_stripe(chain)
    return tuple(stripes)


def _layout(links: Sequence[Geometry], rows: int) -> ChainLayout:
    """The stripes of a chain, and the buffers that they take; the inner tensors stay in SRAM."""
    schedule = make_schedule(links, rows)
    tile_shapes: list[TileShape] = []
    buffers: list[Buffers] = []
    inner: list[int] = []
    buffering = DOUBLE if len(schedule) > 1 else SINGLE
    for number, shape in enumerate(links):
        column = [stripe[number] for stripe in schedule]
        most = max([rows.end - rows.first for rows in column])
        tile_shape = TileShape(
            most, shape.width, shape.channels, shape.depth, is_channels_outer=True, buffering=buffering
        )
        tile_shapes.append(tile_shape)
        buffers.append(shape.buffers(tile_shape))
        if number + 1 < len(links):
            row_bytes = shape.width * shape.channels
            inner.append(max([rows.end - rows.base for rows in column]) * row_bytes)
    tasks = (len(schedule),) * len(links)
    return ChainLayout(tuple(tile_shapes), tuple(buffers), tuple(inner), tasks, schedule)


class _StripeLayouts(dict[int, ChainLayout]):
    """The layouts of a chain by rows of a stripe, which are the same for all machines."""

    def __init__(self, links: Sequence[Geometry]) -> None:
        super().__init__()
        self._links = links

    def __missing__(self, rows: int) -> ChainLayout:
        made = self[rows] = _layout(self._links, rows)
        return made


stripe_layouts = lru_cache(maxsize=512)(_StripeLayouts)
