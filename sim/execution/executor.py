"""Runs the operations of a planned stream, in program order, on SRAM and the regions."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from dlasim.errors import InputError, RunError
from dlasim.sim.programs.operation import Operation
from dlasim.sim.timing.plan import Plan

if TYPE_CHECKING:
    from dlasim.sim.fast_engine import PreparedStream

ENGINES = ("auto", "fast", "reference")
MAX_PREPARED = 1024  # streams; as many as the machine keeps plans
Array = NDArray[np.uint8]
Observer = Callable[[int, Callable[[], Operation], Array], None]
"""Called after each operation with the index of its word in the command region, a function that returns the
operation, and the SRAM."""


class Executor(Protocol):
    """Executes a plan. Engines differ in speed; their results are the same, bit for bit."""

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
        from dlasim.sim.readable_engine import execute_operation

        for number in range(plan.operations):
            operation = plan.stream.operation(number)
            execute_operation(operation, sram, regions)
            if observer is not None:
                observer(first_word + operation.position, partial(plan.stream.operation, number), sram)


class FastExecutor:
    """The compiled kernels; each plan is prepared once and cached."""

    def __init__(self) -> None:
        from dlasim.sim.fast_engine import Engine

        self._engine = Engine()
        self._prepared: dict[Plan, PreparedStream] = {}

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
        kept = self._prepared.get(plan)
        if kept is None:
            if len(self._prepared) >= MAX_PREPARED:
                self._prepared.clear()
            kept = self._prepared[plan] = self._engine.prepare(plan.stream, plan.operations)
        return kept


def make_executor(engine: str) -> Executor:
    """The engine of that name; `auto` takes the fast one, or else the readable one."""
    if engine not in ENGINES:
        raise InputError(f"engine must be one of {', '.join(ENGINES)} (got {engine!r})")
    if engine == "reference":
        return ReferenceExecutor()
    try:
        return FastExecutor()
    except (ImportError, OSError, RuntimeError, RunError) as error:  # no compiler, or none for this CPU
        reason = " ".join(str(error).split())
        if engine == "fast":
            raise RunError(f"no fast engine here: {reason}; engine `reference` needs no compiler") from None
        print(f"note: no fast engine here: {reason}; the readable one takes longer", file=sys.stderr)
        return ReferenceExecutor()
