"""Where a layer loses cycles against its compulsory work, and what it waits for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

import numpy as np
from numpy.typing import NDArray

from dlasim.dataclass import dataclass
from dlasim.isa.instruction_rows import Unit
from dlasim.isa.program import Program
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.execution.runner import Inference
from dlasim.sim.timing.lower_bound import Bound, layer_bounds
from dlasim.sim.timing.plan import Plan

CAUSES = TILES, OUTPUT, PORTS, FIRST_LOAD, TRANSFERS, ISSUE = (
    "tile shape", "output stage", "SRAM ports", "first load", "transfers", "launch",
)  # fmt: skip
_FREE_OUTPUT = {"mac_results": 0, "vector_requantizations": 0, "vector_divisions": 0}
Spans = tuple[NDArray[np.int64], NDArray[np.int64]]


@dataclass(slots=True)
class Losses:
    """Cycles that a layer takes beyond its compulsory work, by cause; those that it waits for its compulsory
    transfers; and what its computations and transfers take in all."""

    bound_cycles: int = 0
    compulsory_waits: int = 0
    by_cause: dict[str, int] = field(default_factory=lambda: dict.fromkeys(CAUSES, 0))
    compute_cycles: int = 0
    transfer_cycles: int = 0

    @property
    def total(self) -> int:
        """All of them."""
        return sum(self.by_cause.values())

    @property
    def cause(self) -> str:
        """The one that costs most; empty without any loss."""
        worst = max(self.by_cause, key=lambda cause: self.by_cause[cause])
        return worst if self.by_cause[worst] > 0 else ""


def find_losses(program: Program, config: DlaConfig, inference: Inference) -> list[Losses]:
    """The losses of each layer.

    Cycles in which nothing computes count for the layer of the computation that starts next: as transfers
    while one runs (as first load before the first computation of a stream), as launch otherwise. What the
    output stage takes of the compulsory work is no loss, nor are waits for compulsory transfers, as far
    as these take longer than compulsory computations.
    """
    bounds = layer_bounds(config, program.work, len(program.layers))
    without_output = layer_bounds(config.replace(**_FREE_OUTPUT), program.work, len(program.layers))
    losses = [Losses(bound.cycles) for bound in bounds]
    layer_of = program.layer_of_words()
    for run in inference.runs:
        _add_run(losses, layer_of[run.first_word :], run.plan)
    for loss, bound, free in zip(losses, bounds, without_output, strict=True):
        compulsory = _computing(bound)
        loss.by_cause[OUTPUT] = max(loss.by_cause[OUTPUT] - (compulsory - _computing(free)), 0)
        others = loss.by_cause[PORTS] + loss.by_cause[OUTPUT]
        loss.by_cause[TILES] += loss.compute_cycles - others - compulsory
        for cause in (TRANSFERS, FIRST_LOAD):
            waits = min(loss.by_cause[cause], max(bound.cycles - compulsory - loss.compulsory_waits, 0))
            loss.by_cause[cause] -= waits
            loss.compulsory_waits += waits
    return losses


def _computing(bound: Bound) -> int:
    return sum(bound.units.get(unit.name, 0) for unit in (Unit.MAC, Unit.VECTOR))


def _add_run(losses: Sequence[Losses], layer_of: NDArray[np.int64], plan: Plan) -> None:
    count = plan.operations
    layers, unit = layer_of[plan.stream.positions[:count]], plan.costs.unit[:count]
    start, end = plan.timeline.start[:count], plan.timeline.end[:count]
    computes, costs = unit >= Unit.MAC, plan.costs
    waits = end - start - (costs.total - costs.sram_stall)[:count]  # for the ports, alone or shared
    for layer, loss in enumerate(losses):
        mine = layers == layer
        loss.compute_cycles += int((end - start)[mine & computes].sum())
        loss.transfer_cycles += int((end - start)[mine & ~computes].sum())
        loss.by_cause[PORTS] += int(waits[mine & computes].sum())
        loss.by_cause[OUTPUT] += int(costs.output_stall[:count][mine & computes].sum())
    gaps, next_layer = _gaps(start[computes], end[computes], layers[computes])
    moving = _covered(union(start[~computes], end[~computes]), gaps)
    columns = next_layer.tolist(), (gaps[1] - gaps[0]).tolist(), moving.tolist(), (gaps[0] == 0).tolist()
    for layer, length, moved, is_first in zip(*columns, strict=True):
        if layer >= 0:
            losses[layer].by_cause[FIRST_LOAD if is_first else TRANSFERS] += moved
            losses[layer].by_cause[ISSUE] += length - moved


def _gaps(
    start: NDArray[np.int64], end: NDArray[np.int64], layers: NDArray[np.int64]
) -> tuple[Spans, NDArray[np.int64]]:
    """The spans before and between computations, and the layer of the one that ends each."""
    order = np.argsort(start, kind="stable")
    start, layers = start[order], layers[order]
    before = np.concatenate((np.zeros(1, np.int64), np.maximum.accumulate(end[order])))[: len(order)]
    some = start > before
    return (before[some], start[some]), layers[some]


def union(start: NDArray[np.int64], end: NDArray[np.int64]) -> Spans:
    """The same cycles as disjoint, ascending spans."""
    some = end > start
    start, end = start[some], end[some]
    order = np.argsort(start, kind="stable")
    start, end = start[order], np.maximum.accumulate(end[order]) if len(order) else end
    first = np.append(True, start[1:] > end[:-1]) if len(start) else np.zeros(0, bool)
    last = np.append(first[1:], True) if len(start) else first
    return start[first], end[last]


def _covered(spans: Spans, ranges: Spans) -> NDArray[np.int64]:
    """How many cycles of disjoint, ascending spans lie in each of the ranges."""
    return _covered_before(spans, ranges[1]) - _covered_before(spans, ranges[0])


def _covered_before(spans: Spans, cycles: NDArray[np.int64]) -> NDArray[np.int64]:
    if not len(spans[0]):
        return np.zeros_like(cycles)
    lengths = spans[1] - spans[0]
    number = np.searchsorted(spans[0], cycles, side="right") - 1
    at = np.maximum(number, 0)
    whole = np.cumsum(lengths)[at] - lengths[at]
    inside = np.clip(cycles - spans[0][at], 0, lengths[at])
    found: NDArray[np.int64] = np.where(number >= 0, whole + inside, 0)
    return found
