"""Chains of nodes computed in groups of channels, so that what lies between them never leaves SRAM.

The channels of the first node's output are cut into groups. The nodes after it keep channels apart, as
depthwise convolutions and pools do; the last one may also sum over them, and then adds a group to its
accumulators in each pass. So the weights of all nodes are loaded side by side, a group of each at a time, and
each is used once. A buffer between two nodes holds two groups: the first node is a group ahead of the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from dlasim.compiler_shim.lowering.segments.chains import ChainLayout
from dlasim.compiler_shim.lowering.segments.group_search import COPIES
from dlasim.compiler_shim.lowering.tiles.geometry import Geometry, TileShape
from dlasim.compiler_shim.lowering.tiles.tile_buffers import DOUBLE, align


def _sums(number: int, geometry: Geometry) -> bool:
    """Whether a node of a chain sums over the groups."""
    return number > 0 and bool(geometry.sizes.is_dense)


def _tile_shape(number: int, geometry: Geometry, size: int) -> TileShape:
    """What a node computes at once, with `size` channels in a group."""
    channels, depth = size, geometry.depth
    if _sums(number, geometry):
        channels, depth = geometry.channels, size
    return TileShape(
        geometry.height, geometry.width, channels, depth, is_channels_outer=True, buffering=DOUBLE
    )


class _GroupLayouts(dict[int, ChainLayout]):
    """The layouts of a chain by channels of a group, which are the same for all machines."""

    def __init__(self, geometries: Sequence[Geometry]) -> None:
        super().__init__()
        self._geometries = geometries

    def __missing__(self, size: int) -> ChainLayout:
        tile_shapes = [
            _tile_shape(number, geometry, size) for number, geometry in enumerate(self._geometries)
        ]
        buffers = [
            geometry.buffers(tile_shape)
            for geometry, tile_shape in zip(self._geometries, tile_shapes, strict=True)
        ]
        inner = [COPIES * align(each.height * each.width * size) for each in self._geometries[:-1]]
        groups = -(-self._geometries[0].channels // size)
        tasks = (groups,) * len(tile_shapes)
        made = self[size] = ChainLayout(
            tuple(tile_shapes), tuple(buffers), tuple(inner), tasks, groups=groups
        )
        return made


group_layouts = lru_cache(maxsize=512)(_GroupLayouts)
