"""Cuts nodes of a plan into more rows, so that the MAC and the VECTOR unit work side by side.

A node that has all of its tensors in SRAM is one tile as far as its own time goes, and then the node after it
has to wait for all of it. Where the two are for different units, tiles of a few rows let the second one begin
when the first rows are done. The buffers of the plan stay: smaller tiles fit into them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dlasim.compiler_shim.lowering.addresses.packed_records import SEGMENT_SLOTS, SLOTS, TILE
from dlasim.compiler_shim.lowering.addresses.sram_plan import NO_PREFETCHES, SramPlan, TileShape
from dlasim.compiler_shim.lowering.tiles.known_tilings import NONE

_TASKS, _PROBLEM = SLOTS["tasks"], SLOTS["problem"]
_PLACE, _NODES, _ROUNDS, _CYCLES = (SEGMENT_SLOTS[name] for name in ("place", "nodes", "rounds", "cycles"))
MIN_HIDDEN_PART = 256  # where less than 1/256 of a plan's cycles is to be hidden, nothing is cut


def hidden_cycles(plan: SramPlan) -> int:
    """The most cycles that the VECTOR unit could work in parallel with the MAC unit; 0 if they are
    negligible."""
    places = _at_changes(plan)
    rows = plan.segments[:, _PLACE].searchsorted(places[~plan.path.is_mac[places]])
    hidden = int(plan.segments[rows, _CYCLES].sum())
    return hidden if MIN_HIDDEN_PART * hidden >= plan.estimated_cycles else 0


def split_rows(plan: SramPlan, parts: Mapping[int, int]) -> SramPlan | None:
    """The plan with some nodes cut into the given numbers of parts, without prefetches; None where it has no
    node that can be cut."""
    nodes, segments, is_cut = plan.nodes.copy(), plan.segments.copy(), False
    rows = {place: row for row, place in enumerate(segments[:, _PLACE].tolist())}
    for step, count in parts.items():
        place = plan.path.places[step]
        found = _split(plan, place, count)
        if found is not None:
            nodes[place, _TASKS], nodes[place, TILE] = found
            segments[rows[place], _ROUNDS], is_cut = found[0], True
    if not is_cut:
        return None
    return replace(plan, nodes=nodes, segments=segments, prefetches=NO_PREFETCHES)


def changes_of_unit(plan: SramPlan) -> list[list[int]]:
    """The steps at changes of unit, those that follow each other together."""
    found, last = list[list[int]](), NONE
    for place in _at_changes(plan).tolist():
        if not found or place > last + 1:
            found.append([])
        found[-1].append(plan.steps[place])
        last = place
    return found


def _at_changes(plan: SramPlan) -> NDArray[np.int64]:
    """The places of nodes outside chains where the unit changes between MAC and VECTOR: those that compute
    rows in the VECTOR unit, and their neighbours in the MAC unit."""
    alone, is_mac = plan.segments[plan.segments[:, _NODES] == 1, _PLACE], plan.path.is_mac
    pairs = np.stack((alone[:-1], alone[1:]))
    pairs = pairs[:, is_mac[pairs[0]] != is_mac[pairs[1]]]
    on_vector, found = np.where(is_mac[pairs[0]], pairs[1], pairs[0]), np.zeros_like(is_mac)
    found[pairs[:, plan.path.heights[on_vector] > 1]] = True
    return np.flatnonzero(found)


def _split(plan: SramPlan, place: int, parts: int) -> tuple[int, TileShape] | None:
    """Tasks and tile of a node in rows of a part of the height, if that loads nothing again but rows that
    windows share."""
    problem = int(plan.nodes[place, _PROBLEM])
    sizes = plan.tables.kinds.sizes[problem]
    tile = TileShape(*plan.nodes[place, TILE].tolist())
    rows = -(-sizes.height // parts)
    if tile.columns != sizes.width or tile.depth != sizes.depth or rows >= tile.rows:
        return None
    groups = -(-sizes.channels // tile.channels)
    if groups > 1 and (not tile.is_channels_outer or sizes.input_bytes or sizes.second_bytes):
        return None
    return -(-sizes.height // rows) * groups, tile._replace(rows=rows, is_channels_outer=True)
