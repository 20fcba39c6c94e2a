"""Elements of int16 on the RTL: operators and networks that the compiler wrote, and the SRAM's ports."""

from pathlib import Path

import pytest

from dlasim.compiler_shim.tflite.writer import write_tflite
from dlasim.isa.instructions import INSTRUCTIONS
from tests.rtl.machine import RtlMachine
from tests.rtl.machines import INT16_DRAWN, INT16_LIMITED, machine
from tests.rtl.networks import Outcome, lowered, run_on_both
from tests.rtl.test_streams import STREAMS, compare_cycles, compare_random, compare_softmax16
from tests.tflite.sixteen_bit_operators import random_int16_graph

KINDS = ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "TRANSPOSE_CONV", "ADD", "MUL", "AVERAGE_POOL_2D",
         "MAX_POOL_2D", "MEAN", "LEAKY_RELU", "LOGISTIC", "TANH", "CONCATENATION", "BATCH_MATMUL",
         "SOFTMAX")  # fmt: skip
SEEDS = range(40, 44)
NEAR = 0.06  # of the cycles of small operations, as tests/rtl/test_limits.py has it for int8


def outcomes(kind: str, name: str, folder: Path) -> list[Outcome]:
    """Random networks of an operator that the DLA runs."""
    found = []
    for seed in SEEDS:
        path = folder / f"{seed}.tflite"
        path.write_bytes(write_tflite(random_int16_graph(kind, seed)))
        outcome = run_on_both(lowered(path, machine(name)), machine(name))
        found += [outcome] if outcome.comparisons else []
    assert found, "some of them run on the DLA"
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_operators_are_equal(kind: str, tmp_path: Path) -> None:
    for outcome in outcomes(kind, "int16", tmp_path):
        assert not outcome.differences
        assert outcome.rtl_cycles == outcome.simulator_cycles


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", INT16_LIMITED)
def test_operators_have_equal_results_with_ports(kind: str, name: str, tmp_path: Path) -> None:
    for outcome in outcomes(kind, name, tmp_path):
        assert not outcome.wrong_results


@pytest.mark.parametrize("name", INT16_DRAWN)
def test_random_streams(rtl: RtlMachine, name: str) -> None:
    """Results, cycles and counters, with each instruction for int16."""
    missing = {row.opcode for row in INSTRUCTIONS if row.needs_int16}
    for number in range(STREAMS):
        missing -= set(compare_random(rtl, machine(name), number).plan.stream.opcodes.tolist())
    assert not missing


@pytest.mark.parametrize("name", ["int16", *INT16_DRAWN])
def test_softmax(rtl: RtlMachine, name: str) -> None:
    for number in range(60):
        compare_softmax16(rtl, machine(name), number)


@pytest.mark.parametrize("name", INT16_LIMITED)
def test_random_streams_with_ports(rtl: RtlMachine, name: str) -> None:
    """The check on words that crossed sees both bytes of an element, and those of a tensor that is added."""
    compare_cycles(rtl, machine(name), NEAR)
