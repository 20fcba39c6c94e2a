"""Random networks, machines and options: every tensor is TFLite Micro's, and no program has a race.

A failure is reported as the simplest case found that fails too; `run_case(Case(...), folder)` repeats it.
"""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest

from dlasim.compiler_shim.lowering import states
from dlasim.compiler_shim.tflite.writer import write_tflite
from tests.compiled import in_python
from tests.compiler.cases import Case, mixed_case, random_case, run_case, shrink, striped_case
from tests.compiler.hosts import hosts_differ
from tests.compiler.networks import BUILDERS, random_network
from tests.host.test_listed_operators import LISTED as LISTED_OPERATORS
from tests.host.test_listed_operators import PLAIN
from tests.oracle import run_tflite_micro

BATCH = 20


def check(cases: Iterable[Case], folder: Path) -> None:
    for case in cases:
        failure = run_case(case, folder).failure
        if failure:
            simplest = shrink(case, folder)
            pytest.fail(
                f"{simplest}: {run_case(simplest, folder).failure}\n(first seen with {case}: {failure})"
            )


@pytest.mark.parametrize("batch", range(15))
def test_random_networks_are_bit_exact(batch, tmp_path):
    check((random_case(seed) for seed in range(batch * BATCH, (batch + 1) * BATCH)), tmp_path)


@pytest.mark.parametrize("batch", range(3))
def test_stripes_are_bit_exact(batch, tmp_path, monkeypatch):
    """Lines of operators on images larger than the SRAM, with chains wherever they are possible."""
    monkeypatch.setattr(states, "_cost", lambda cycles, moved_bytes: cycles + 100 * moved_bytes)
    with in_python(states.CHOOSE):
        check((striped_case(seed) for seed in range(batch * BATCH, (batch + 1) * BATCH)), tmp_path)


@pytest.mark.parametrize("batch", range(3))
def test_mixed_networks_are_bit_exact(batch, tmp_path):
    """With operators beyond those of CNNs, for some of which LiteRT is the reference."""
    check((mixed_case(seed) for seed in range(batch * BATCH, (batch + 1) * BATCH)), tmp_path)


@pytest.mark.parametrize("make", [random_case, mixed_case])
def test_random_networks_are_the_same_on_both_hosts(make, tmp_path):
    """`make random` does this for thousands."""
    for seed in range(2_000, 2_012):
        outcome = run_case(make(seed), tmp_path)
        assert not outcome.failure
        assert not hosts_differ(outcome, seed), seed


def test_litert_computes_what_tflite_micro_cannot_in_any_network(tmp_path):
    """Found at random: a TANH whose input has a scale of 2^-42."""
    assert not run_case(random_case(301_548), tmp_path).failure


def test_buffers_whose_constants_are_loaded_again_stay_occupied(tmp_path):
    """Found at random: three groups of channels, the weights of each loaded in two passes for each tile. A
    group's weights were prefetched to where the group before loaded its own once more."""
    machine = {"dma_latency": 500, "dma_shared_bandwidth": 4}
    case = Case(7_000_494, 5, machine=machine, options={"requant": "cpu"})
    kinds = [operator.kind for operator in random_network(case.seed, case.operators).operators]
    assert kinds[-1] == "CONV_2D"
    outcome = run_case(case, tmp_path)
    assert not outcome.failure


@pytest.mark.slow
@pytest.mark.parametrize("batch", range(200))
def test_many_more_random_networks(batch, tmp_path):
    check(
        (random_case(seed) for seed in range(10_000 + batch * BATCH, 10_000 + (batch + 1) * BATCH)), tmp_path
    )
    check((striped_case(seed) for seed in range(10_000 + batch * 5, 10_000 + (batch + 1) * 5)), tmp_path)
    check((mixed_case(seed) for seed in range(10_000 + batch * 5, 10_000 + (batch + 1) * 5)), tmp_path)


def test_networks_are_what_their_seed_says_and_grow_at_the_end():
    short, long = random_network(5, 3), random_network(5, 9)
    assert short.operators == long.operators[:3]
    assert write_tflite(long) == write_tflite(random_network(5, 9))


def test_networks_have_every_operator_and_values_that_differ():
    """What the tests above prove depends on it."""
    kinds: set[str] = set()
    saturated = values = 0
    for seed in range(60):
        graph = random_network(seed, 12)
        kinds |= {operator.kind for operator in graph.operators}
        inputs = [
            np.random.default_rng(seed).integers(-128, 128, graph.tensors[index].shape).astype(np.int8)
            for index in graph.inputs
        ]
        found = run_tflite_micro(write_tflite(graph), inputs)
        for operator in graph.operators:
            data = found[operator.outputs[0]]
            saturated += int(np.isin(data, (-128, 127)).sum())
            values += data.size
    assert len(kinds) >= 29
    assert len(BUILDERS) == 24
    assert saturated < 0.3 * values


def test_mixed_networks_have_every_operator_that_has_a_reference():
    """All that tests/host/test_listed_operators.py lists stands among others here."""
    kinds = {
        operator.kind for seed in range(250) for operator in random_network(seed, 12, is_mixed=True).operators
    }
    assert (LISTED_OPERATORS.keys() | PLAIN.keys()) - kinds == set()
    assert {"UNIDIRECTIONAL_SEQUENCE_LSTM", "CAST", "GATHER_ND", "DETECTION_POSTPROCESS"} <= kinds
