"""Runs the operations of a planned stream, in program order, on SRAM and the regions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from dlasim.errors import InputError
from dlasim.isa.instructions import Unit
from dlasim.sim.footprint import all_footprints, dma_prefix, system_box
from dlasim.sim.operation import Operation
from dlasim.sim.plan import Plan

if TYPE_CHECKING:
    from dlasim.sim.kernels import PreparedStream

ENGINES = ("auto", "fast", "reference")
MAX_PREPARED = 1024  # streams; as many as the machine keeps plans
Array = NDArray[np.uint8]
Observer = Callable[[int, Callable[[], Operation], Array], None]
"""Called after an operation with its word's index in the command region, a function that tells the operation,
and the SRAM."""


class Executor(Protocol):
    """Computes what a plan says; engines differ in speed, never in a bit."""

    def run(
        self, plan: Plan, sram: Array, regions: Sequence[Array], observer: Observer | None, first_word: int
    ) -> None:
        """Execute the plan's operations up to its fault."""


class ReferenceExecutor:
    """One operation after another on the readable engine."""

    def run(
        self, plan: Plan, sram: Array, regions: Sequence[Array], observer: Observer | None, first_word: int
    ) -> None:
        """Execute the plan's operations up to its fault."""
        for number in range(plan.operations):
            operation = plan.stream.operation(number)
            execute_operation(operation, sram, regions)
            if observer is not None:
                observer(first_word + operation.position, partial(plan.stream.operation, number), sram)


def execute_operation(operation: Operation, sram: Array, regions: Sequence[Array]) -> None:
    """One operation of any unit, on the readable engine."""
    from dlasim.sim.reference import execute
    from dlasim.sim.reference.transfer import copy_box

    unit = operation.instruction.unit
    if unit not in (Unit.DMA_IN, Unit.DMA_OUT):
        execute(operation, sram)
        return
    (inside,) = all_footprints(operation)
    region = regions[operation.value(f"{dma_prefix(operation.instruction)}_REGION")]
    if unit is Unit.DMA_IN:
        copy_box(region, system_box(operation), sram, inside.box)
    else:
        copy_box(sram, inside.box, region, system_box(operation))


class FastExecutor:
    """The compiled kernels; a plan is made ready once, and kept for the next time."""

    def __init__(self) -> None:
        from dlasim.sim.kernels import Engine

        self._engine = Engine()
        self._prepared: dict[int, tuple[Plan, PreparedStream]] = {}

    def run(
        self, plan: Plan, sram: Array, regions: Sequence[Array], observer: Observer | None, first_word: int
    ) -> None:
        """Execute the plan's operations up to its fault."""
        prepared = self._prepare(plan)
        if observer is None:
            prepared.run(sram, regions)
            return
        words = (first_word + plan.stream.positions[: plan.operations]).tolist()
        for number, word in zip(prepared.steps(sram, regions), words, strict=True):
            observer(word, partial(plan.stream.operation, number), sram)

    def _prepare(self, plan: Plan) -> PreparedStream:
        """Kept by identity; holding the plan keeps its identity from being used again."""
        kept = self._prepared.get(id(plan))
        if kept is None:
            if len(self._prepared) >= MAX_PREPARED:
                self._prepared.clear()
            kept = plan, self._engine.prepare(plan.stream, plan.operations)
            self._prepared[id(plan)] = kept
        return kept[1]


def make_executor(engine: str) -> Executor:
    """The engine of that name; `auto` takes the fast one."""
    if engine not in ENGINES:
        raise InputError(f"engine = {engine!r} is unknown (allowed: {', '.join(ENGINES)})")
    return ReferenceExecutor() if engine == "reference" else FastExecutor()
