"""Weights that stay in SRAM: the usual outputs in every inference, on both engines and on the board."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dlasim import api
from dlasim.compiler_shim.compile import load_model, lower_for
from dlasim.compiler_shim.lowering.addresses.constants import MEMORY_ALIGNMENT
from dlasim.compiler_shim.options import CompileOptions
from dlasim.compiler_shim.tflite.writer import write_tflite
from dlasim.compiler_shim.topologies import build_topology
from dlasim.errors import InputError
from dlasim.inputs import noise
from dlasim.isa.assembly.assembler import assemble
from dlasim.isa.assembly.disassembler import disassemble
from dlasim.isa.container import reader, writer
from dlasim.isa.file_records import StepKind
from dlasim.isa.instruction_rows import Unit
from dlasim.isa.registers import Region
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.execution.executor import make_executor
from dlasim.sim.execution.runner import Simulation
from dlasim.sim.physical.activity import count_operations
from tests.compiler.cases import lower_case, mixed_case, program_cycles, random_case, run_case

ENOUGH = 1 << 20
OPTIONS = [
    {}, {"objective": "energy"}, {"fusion": "none"}, {"tiling": "output-channel"}, {"depthwise": "emulated"},
    {"depthwise": "cpu"}, {"requant": "cpu"},
]  # fmt: skip


def outputs(program, config, engine, inferences=3):
    """Of inferences with different inputs, one after the other."""
    simulation = Simulation(program, config, make_executor(engine))
    return [simulation.run(noise(program.inputs, seed)).outputs for seed in range(inferences)]


def same(one, other):
    """Whether all outputs of all inferences are equal."""
    return all(
        (a == b).all()
        for mine, theirs in zip(one, other, strict=True)
        for a, b in zip(mine, theirs, strict=True)
    )


def with_weights(case, weights):
    """A case with as much SRAM as weights need, if they stay."""
    options = {**case.options, "weights": weights}
    return replace(case, options=options, machine={**case.machine, "sram_bytes": ENOUGH})


def loads_of_constants(program, run):
    """How many transfers of a run read constants."""
    counts = count_operations(run.plan)
    return int(((counts.unit == Unit.DMA_IN) & (counts.region == Region.CONSTANTS)).sum())


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("name", ["resnet8", "ds_cnn"])
def test_three_inferences_are_as_usual(name, options, tmp_path):
    path = tmp_path / "model.tflite"
    path.write_bytes(write_tflite(build_topology(name)))
    network, config = load_model(path), DlaConfig().replace(parallel="8x8", sram_bytes=200 * 1024)
    usual, kept = (
        lower_for(network, config, CompileOptions(weights=weights, **options)).program
        for weights in ("reload", "keep")
    )
    api.refuse_races(kept)
    expected = outputs(usual, config, "fast")
    assert same(outputs(kept, config, "fast"), expected)
    assert same(outputs(kept, config, "reference", 2), expected[:2])
    simulation = Simulation(kept, config, None)
    first, *others = [simulation.run() for _ in range(3)]
    assert sum(loads_of_constants(kept, run) for run in first.runs) > 0
    assert not any(loads_of_constants(kept, run) for each in others for run in each.runs)
    assert others[0].total_cycles == others[1].total_cycles == program_cycles(kept, config)
    assert first.total_cycles > others[0].total_cycles
    assert [step.kind for step in kept.steps].count(StepKind.PRELOAD) == 1


@pytest.mark.parametrize("make", [random_case, mixed_case])
def test_random_networks_are_tflite_micros(make, tmp_path):
    for seed in range(30):
        outcome = run_case(with_weights(make(seed), "keep"), tmp_path)
        assert not outcome.failure, (seed, outcome.failure)


@pytest.mark.parametrize("seed", range(4_000, 4_016))
def test_random_networks_give_the_usual_outputs_again_and_again(seed, tmp_path):
    case = with_weights(mixed_case(seed), "keep")
    usual, kept = (lower_case(with_weights(case, weights), tmp_path) for weights in ("reload", "keep"))
    config = DlaConfig().replace(**case.machine)
    config = config.replace(sram_bytes=kept.program.requirement.sram_bytes)
    expected = outputs(usual.program, config.replace(sram_bytes=usual.program.requirement.sram_bytes), "fast")
    assert same(outputs(kept.program, config, "fast"), expected)


@pytest.mark.parametrize("seed", range(5_000, 5_006))
def test_too_little_sram_is_refused_to_the_byte(seed, tmp_path):
    """`run_case` gives a machine what the refusal asks for, and expects another refusal for a byte less."""
    case = with_weights(random_case(seed), "keep")
    outcome = run_case(replace(case, machine={**case.machine, "sram_bytes": 16}), tmp_path)
    assert not outcome.failure


def test_the_refusal_says_what_is_missing():
    with pytest.raises(
        InputError, match=r"to keep its weights, the network needs \d+ bytes of SRAM, 82560 for"
    ):
        api.compile("resnet8", sram="80KiB", weights="keep")


def test_a_program_with_a_preload_survives_both_forms():
    program = api.compile("mnist", weights="keep").program
    assert program.preloads
    again = reader.read(writer.write(program), "again")
    assembled = assemble(disassemble(program), "text")
    for other in (again, assembled):
        assert other.steps == program.steps
        assert (other.commands == program.commands).all()


def test_only_the_first_step_may_be_a_preload():
    program = api.compile("mnist", weights="keep").program
    swapped = replace(program, steps=(replace(program.steps[0], kind=StepKind.STREAM),
                                      replace(program.steps[1], kind=StepKind.PRELOAD)))  # fmt: skip
    with pytest.raises(InputError, match="its step 1 is a preload, which only the first may be"):
        reader.read(writer.write(swapped), "swapped")


def test_a_report_has_the_first_inference_apart():
    usual, kept = (
        api.run("resnet8", parallel="8x8", weights=w, timing_only=True) for w in ("reload", "keep")
    )
    first = kept.report["first_inference"]
    between = first["dma_bytes"]["read"] - usual.report["dma_bytes"]["read"]
    assert 0 <= between < MEMORY_ALIGNMENT * len(usual.layers)  # what transfers of several layers read more
    assert kept.report["dma_bytes"]["read"] < 4096 < first["dma_bytes"]["read"]
    assert kept.report["energy_nj"]["total"] < 0.7 * usual.report["energy_nj"]["total"] < first["energy_nj"]
    assert kept.report["cycles"]["total"] <= 1.001 * usual.report["cycles"]["total"] < first["cycles"]
    assert kept.report["bound_cycles"] <= kept.report["cycles"]["total"]
    assert "first_inference" not in usual.report


@pytest.mark.parametrize("submission", ["queue", "registers"])
@pytest.mark.parametrize("repeat", [1, 3])
def test_the_board_keeps_weights_too(submission, repeat):
    expected = api.run("mnist", inputs=np.zeros((28, 28)))
    kept = api.run(
        "mnist", inputs=np.zeros((28, 28)), weights="keep", host="riscv", repeat=repeat,
        host_options={"submission": submission},
    )  # fmt: skip
    assert (kept.outputs[0] == expected.outputs[0]).all()
    alone = api.run("mnist", weights="keep", timing_only=True).report
    assert kept.report["dma_bytes"] == alone["dma_bytes"]
    assert kept.report["first_inference"]["dma_bytes"] == alone["first_inference"]["dma_bytes"]
    if submission == "queue":
        assert kept.report["cycles"]["dla"] == alone["cycles"]["dla"]


def test_a_sweep_has_steady_figures(tmp_path):
    found = api.sweep("mnist", weights=["reload", "keep"], jobs=1, out=tmp_path / "out")
    rows = {row["weights"]: row for row in found}
    alone = api.run("mnist", weights="keep", timing_only=True).report
    assert rows["keep"]["energy_nj"] == alone["energy_nj"]["total"] < rows["reload"]["energy_nj"]
