"""Networks of one operator on the DLA alone: every tensor is TensorFlow's, and both hosts agree."""

from pathlib import Path

import pytest

from dlasim.checking.tensorflow_reference import ReferenceModel
from dlasim.checking.verification import verify
from dlasim.compiler_shim.compile import load_graph, lower_for
from dlasim.compiler_shim.forms.partition import partition
from dlasim.compiler_shim.operators.definition import Trait
from dlasim.compiler_shim.operators.lookup_rows import OWN_TABLE
from dlasim.compiler_shim.operators.table import OPERATORS, has_trait
from dlasim.compiler_shim.options import CompileOptions
from dlasim.compiler_shim.tflite.writer import write_tflite
from dlasim.errors import InputError
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.races import check_program
from tests.compiler.cases import Outcome
from tests.compiler.hosts import hosts_differ
from tests.tflite.one_operator import random_graph

SEEDS = range(4)
SIZES = (512 << 10, 8 << 10, 2 << 10)


# TABLE is dlasim's own: the reference has none, and tests/dlag holds it to its definition.
# DYNAMIC_UPDATE_SLICE alone has no variable to update in place; tests/api/test_session.py has networks of it.
ELSEWHERE = OWN_TABLE, "DYNAMIC_UPDATE_SLICE"


@pytest.mark.parametrize(
    "kind",
    sorted(row.name for row in OPERATORS.values() if row.dla and row.name not in ELSEWHERE),
)
def test_an_operator_on_the_dla_is_bit_exact_on_both_hosts(kind: str, tmp_path: Path) -> None:
    on_dla = sum(_runs_on_dla(kind, seed, tmp_path / f"{seed}.tflite") for seed in SEEDS)
    assert on_dla, f"no network of {kind} ran on the DLA"


def _runs_on_dla(kind: str, seed: int, path: Path) -> bool:
    """Check a network if the DLA takes all of it, or some steps of an operator that has many."""
    path.write_bytes(write_tflite(random_graph(kind, seed)))
    try:
        network = partition(load_graph(path))
    except InputError:
        return False  # this one breaks a limit of its host operator
    is_stepwise = has_trait(kind, Trait.STEPWISE)
    on_dla = [bool(item.dla) for item in network.items]
    if not (any(on_dla) if is_stepwise else on_dla and all(on_dla)):
        return False
    config = DlaConfig(sram_bytes=SIZES[seed % len(SIZES)])
    try:
        lowered = lower_for(network, config, CompileOptions(place="dla"))
    except InputError:  # this one needs more
        config = DlaConfig()
        lowered = lower_for(network, config, CompileOptions(place="dla"))
    assert is_stepwise or not lowered.program.host_calls
    races = check_program(lowered.program)
    assert not races.races
    assert not races.uninitialised
    reference = ReferenceModel(path.read_bytes(), lowered.network.tensor_count, isolated=False)
    result = verify(path, lowered, config, runs=1, seed=seed, reference=reference)
    assert result.passed, (seed, result.mismatch, result.uncompared)
    assert not hosts_differ(Outcome("", lowered, config), seed)
    return True
