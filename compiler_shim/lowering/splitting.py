"""Cuts nodes of a plan into more rows, so that the MAC and the VECTOR unit work side by side.

A node that has all of its tensors in SRAM is one tile as far as its own time goes, and then the node after it
has to wait for all of it. Where the two are for different units, tiles of a few rows let the second one begin
when the first rows are done. The buffers of the plan stay: smaller tiles fit into them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from dlasim.compiler_shim.lowering.addresses.sram_plan import NO_PREFETCHES, SramPlan
from dlasim.compiler_shim.lowering.tiles.tiling import Tiling, TilingProblem
from dlasim.isa.instruction_rows import Unit

MIN_HIDDEN_PART = 256  # where less than 1/256 of a plan's cycles is to be hidden, nothing is cut


def hidden_cycles(plan: SramPlan) -> int:
    """The most cycles that the VECTOR unit could work in parallel with the MAC unit; 0 if they are
    negligible."""
    steps = _at_changes(plan)
    hidden = sum(plan.tilings[step].cycles for step in steps if not _is_mac(plan, step))
    return hidden if MIN_HIDDEN_PART * hidden >= plan.estimated_cycles else 0


def split_rows(plan: SramPlan, parts: Mapping[int, int]) -> SramPlan | None:
    """The plan with some nodes cut into the given numbers of parts, without prefetches; None where it has no
    node that can be cut."""
    found = {step: _split(plan.problems[step], plan.tilings[step], count) for step, count in parts.items()}
    smaller = {step: tiling for step, tiling in found.items() if tiling is not None}
    if not smaller:
        return None
    cut = [
        (steps, nodes.with_tiling(smaller[steps[0]]) if steps[0] in smaller else nodes)
        for steps, nodes in plan.parts
    ]
    return replace(plan, parts=cut, tilings={**plan.tilings, **smaller}, prefetches=NO_PREFETCHES)


def changes_of_unit(plan: SramPlan) -> list[list[int]]:
    """The steps at changes of unit, those that follow each other together."""
    order = {step: number for number, step in enumerate(sorted(plan.tilings))}
    found: list[list[int]] = []
    for step in _at_changes(plan):
        if not found or order[step] > order[found[-1][-1]] + 1:
            found.append([])
        found[-1].append(step)
    return found


def _at_changes(plan: SramPlan) -> Sequence[int]:
    """The steps outside chains where the unit changes between MAC and VECTOR: those that compute rows in the
    VECTOR unit, and their neighbours in the MAC unit."""
    chained = plan.chained
    steps = [step for step in sorted(plan.tilings) if step not in chained]
    found = set[int]()
    for step, other in pairwise(steps):
        if _is_mac(plan, step) != _is_mac(plan, other):
            vector = other if _is_mac(plan, step) else step
            if plan.problems[vector].height > 1:
                found |= {step, other}
    return sorted(found)


def _is_mac(plan: SramPlan, step: int) -> bool:
    return plan.problems[step].unit is Unit.MAC


def _split(problem: TilingProblem, tiling: Tiling, parts: int) -> Tiling | None:
    """A tiling in rows of a part of the height, if that loads nothing again but rows that windows share."""
    tile_shape = tiling.tile_shape
    rows = -(-problem.height // parts)
    is_whole = (
        tile_shape.columns == problem.width and tile_shape.depth == problem.depth and rows < tile_shape.rows
    )
    groups = -(-problem.channels // tile_shape.channels)
    if not is_whole or (groups > 1 and not (tile_shape.is_channels_outer and all(problem.in_sram.inputs))):
        return None
    smaller = tile_shape._replace(rows=rows, is_channels_outer=True)
    tasks = -(-problem.height // rows) * groups
    return replace(tiling, tile_shape=smaller, tasks=tasks)
