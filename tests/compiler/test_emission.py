"""Emission compiled and in plain Python: the same program, with its debug information, for any network."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from dlasim.compiler_shim.compile import load_model, lower_for
from dlasim.compiler_shim.lowering.emission import emitter
from dlasim.compiler_shim.lowering.emission.streams import EMIT
from dlasim.compiler_shim.options import CompileOptions
from dlasim.errors import InputError
from dlasim.isa.program import Program
from dlasim.native.backend import PLAIN, Backend
from dlasim.native.number_memory import NumberMemory
from dlasim.sim.config import DlaConfig
from tests.compiled import compiled
from tests.compiler.cases import Case, random_case, striped_case, write_model

SEEDS = 24


@pytest.mark.parametrize("make", [random_case, striped_case])
def test_both_ways_write_the_same(make: Callable[[int], Case], tmp_path: Path) -> None:
    words = 0
    for seed in range(1000, 1000 + SEEDS):
        case = make(seed)
        plain = _lower(case, tmp_path)
        backend, calls = compiled(EMIT)
        fast = _lower(case, tmp_path, backend)
        assert_same(plain, fast, case)
        if plain is not None:
            assert calls or not plain.streams  # a plan may be emitted, and lose to one on the CPU alone
            words += len(plain.commands)
    assert words > 3_000


@pytest.mark.parametrize("make", [random_case, striped_case])
def test_tiles_at_a_time_are_no_matter(
    make: Callable[[int], Case], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed in range(1000, 1000 + SEEDS // 4):
        case = make(seed)
        whole = _lower(case, tmp_path)
        with monkeypatch.context() as patch:
            patch.setattr(emitter, "_OPERATIONS_AT_A_TIME", 1)
            pieces = _lower(case, tmp_path)
        assert_same(whole, pieces, case)


def test_memory_grows_with_what_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked, real = [0], NumberMemory.reserve

    def reserve(memory: NumberMemory, size: int, used: int) -> None:
        asked.append(size)
        real(memory, size, used)

    monkeypatch.setattr(NumberMemory, "reserve", reserve)
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


def _lower(case: Case, folder: Path, backend: Backend = PLAIN) -> Program | None:
    """The program of a case; None where it is refused."""
    path = write_model(case, folder)
    try:
        config, options = DlaConfig().replace(**case.machine), CompileOptions(**case.options)
        return lower_for(load_model(path), config, options, backend=backend).program
    except InputError:
        return None
