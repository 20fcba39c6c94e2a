"""Emission compiled and in plain Python: the same program, with its debug information, for any network."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dlasim.compiler_shim.compile import load_model, lower_for
from dlasim.compiler_shim.lowering.emission import emitter
from dlasim.compiler_shim.lowering.emission.plan_rows import ROWS
from dlasim.compiler_shim.lowering.emission.streams import EMIT
from dlasim.compiler_shim.lowering.lower import emit, plan_cycles
from dlasim.compiler_shim.options import CompileOptions
from dlasim.compiler_shim.planning import plan_maker
from dlasim.errors import InputError
from dlasim.isa.program import Program
from dlasim.native.storage import Store
from dlasim.sim.configuration.config import DlaConfig
from tests.compiled import counted, in_python
from tests.compiler.cases import Case, program_cycles, random_case, striped_case, write_model

SEEDS = 24
STEP = 32  # one candidate in so many is emitted both ways, and the plan that is chosen
Arguments = tuple[Any, ...]


class Plans:
    """What the search gives to `plan_cycles` and `emit` for the cases of tests. `cycles`: the arguments of
    each candidate, the machine that it is timed on, and what it takes."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self.cycles: list[tuple[Arguments, DlaConfig, int]] = []
        self._folder, self._patch = folder, patch

    def of(self, case: Case) -> list[Arguments]:
        """Some candidates, and last the plan that is chosen; nothing where there is no plan."""
        found: list[Arguments] = []

        def timed(*arguments: Any) -> int:
            cycles = plan_cycles(*arguments)
            found.append((*arguments[:3], None))
            self.cycles.append((found[-1], arguments[3].config, cycles))
            return cycles

        def emitted(*arguments: Any) -> Any:
            found.append(arguments[:4])
            return emit(*arguments)

        with self._patch.context() as patch:
            patch.setattr(plan_maker, "plan_cycles", timed)
            patch.setattr(plan_maker, "emit", emitted)
            _lower(case, self._folder)
        return [*found[:-1:STEP], *found[-1:]]


@pytest.fixture
def plans(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Plans:
    return Plans(tmp_path, monkeypatch)


@pytest.mark.parametrize("make", [random_case, striped_case])
def test_both_ways_write_the_same(make: Any, plans: Plans) -> None:
    words = 0
    for seed in range(1000, 1000 + SEEDS):
        case, plain = make(seed), None
        for arguments in plans.of(case):
            with in_python(ROWS, EMIT):
                plain = _emitted(arguments)
            with counted(EMIT) as calls:
                assert_same(plain, _emitted(arguments), case)
            if plain is not None:
                assert calls or not plain.streams  # all may be on the CPU
        words += 0 if plain is None else len(plain.commands)
    assert words > 3_000


@pytest.mark.parametrize("way", ["plain", "compiled"])
@pytest.mark.parametrize("make", [random_case, striped_case])
def test_tiles_at_a_time_are_no_matter(
    make: Any, way: str, plans: Plans, monkeypatch: pytest.MonkeyPatch
) -> None:
    if way == "plain":
        monkeypatch.setattr(EMIT, "_run", EMIT.function)
    for seed in range(1000, 1000 + SEEDS // 4):
        case = make(seed)
        for arguments in plans.of(case)[-1:]:
            whole = _emitted(arguments)
            with monkeypatch.context() as patch:
                patch.setattr(emitter, "_OPERATIONS_AT_A_TIME", 1)
                pieces = _emitted(arguments)
            assert_same(whole, pieces, case)


def test_a_program_is_one_call(plans: Plans) -> None:
    streams = 0
    for seed in range(1000, 1000 + SEEDS):
        for arguments in plans.of(random_case(seed))[-1:]:
            with counted(EMIT) as calls:
                program = _emitted(arguments)
            if program is not None:
                assert len(calls) == 1
                streams = max(streams, len(program.streams))
    assert streams > 1


@pytest.mark.parametrize("make", [random_case, striped_case])
def test_candidates_take_as_long_as_their_programs(make: Any, plans: Plans) -> None:
    for seed in range(1000, 1000 + SEEDS):
        plans.of(make(seed))
    for arguments, machine, cycles in plans.cycles[::STEP]:
        program = _emitted(arguments)
        assert program is not None
        assert program_cycles(program, machine) == cycles
    assert len({cycles for _, _, cycles in plans.cycles}) > SEEDS


def test_memory_grows_with_what_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked, real = [0], Store.reserve

    def reserve(memory: Store[Any], size: int, used: int) -> None:
        asked.append(size - used if memory._kind is int else 0)  # plans that are tried are larger
        real(memory, size, used)

    monkeypatch.setattr(Store, "reserve", reserve)
    monkeypatch.setattr(emitter, "_OPERATIONS_AT_A_TIME", 1)
    case = Case(0, 2, machine={"sram_bytes": 2_000}, options={"place": "dla"})
    program = _lower(case, tmp_path)
    assert program is not None
    assert len(program.spans) < len(program.debug)  # a layer has many tiles
    assert max(asked) < 2 * len(program.commands)


def assert_same(one: Program | None, other: Program | None, case: Case) -> None:
    """Both refused, or both the same with their debug information."""
    assert (one is None) == (other is None), case
    if one is not None and other is not None:
        for name in ("commands", "spans", "debug", "constants"):
            assert np.array_equal(getattr(one, name), getattr(other, name)), (case, name)
        assert (one.streams, one.steps, one.tensors) == (other.streams, other.steps, other.tensors)


def _emitted(arguments: Arguments) -> Program | None:
    """The program of a plan; None where it is refused."""
    try:
        return emit(*arguments, with_constants=True).program
    except InputError:
        return None


def _lower(case: Case, folder: Path) -> Program | None:
    """The program of a case; None where it is refused."""
    path = write_model(case, folder)
    try:
        config, options = DlaConfig().replace(**case.machine), CompileOptions(**case.options)
        return lower_for(load_model(path), config, options).program
    except InputError:
        return None
