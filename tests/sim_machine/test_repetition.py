"""An inference that is done again: what it must give, and what makes it be planned anew."""

import numpy as np
import pytest

import dlasim
from dlasim.inputs import noise
from dlasim.isa import codec
from dlasim.isa.assembly import assemble
from dlasim.isa.registers import BY_NAME, COUNTERS, Region
from dlasim.sim.execution.executor import make_executor
from dlasim.sim.execution.runner import Simulation, config_of
from dlasim.sim.timing.plan import PlanCache

ADD = """.config sram=4KiB
.tensor x, int8, input,  INPUTS,  shape=16
.tensor y, int8, output, OUTPUTS, shape=16
.stream
    CFG DMA_IN_REGION, INPUTS
    CFG DMA_IN_RUN_BYTES, 16
    OP_DMA_READ
    WAIT dma_in, 0
    CFG OUT_CHANNELS, 16
    CFG OUT_ADDR, 64
    CFG IN_ADDR, 0
    OP_E_ABS
    WAIT vector, 0
    CFG DMA_OUT_REGION, OUTPUTS
    CFG DMA_OUT_RUN_BYTES, 16
    CFG DMA_OUT_SRAM_ADDR, 64
    OP_DMA_WRITE
    HALT
"""


@pytest.fixture
def plans(monkeypatch):
    """How often a machine looked for a plan, or made one."""
    calls = []
    original = PlanCache.plan
    monkeypatch.setattr(PlanCache, "plan", lambda cache, *given: calls.append(1) or original(cache, *given))
    return calls


def values(seed: int) -> list[np.ndarray]:
    return [np.random.default_rng(seed).integers(-128, 128, 16).astype(np.int8)]


def simulate(engine: str = "fast") -> Simulation:
    program = assemble(ADD)
    return Simulation(program, config_of(program), make_executor(engine))


def steady() -> Simulation:
    """A simulation whose next inference is done again."""
    simulation = simulate()
    for seed in range(2):
        simulation.run(values(seed))
    return simulation


def counters(simulation: Simulation) -> list[int]:
    registers = simulation.dla.registers
    names = [f"COUNT_{name}_{half}" for name, _ in COUNTERS for half in ("LOW", "HIGH")]
    return [registers[name] for name in (*names, "STREAMS_DONE", "STATUS", "IRQ_STATUS", "QUEUE_READ")]


def test_it_gives_what_planning_anew_gives(plans):
    again, anew = simulate(), simulate()
    for seed in range(5):
        anew.dla.writes += 1
        first, second = again.run(values(seed)), anew.run(values(seed))
        assert np.array_equal(first.outputs[0], np.abs(values(seed)[0].astype(int)).clip(max=127))
        assert first.outputs[0].tolist() == second.outputs[0].tolist()
        assert first.total_cycles == second.total_cycles
        assert [(run.start, run.end) for run in first.runs] == [(run.start, run.end) for run in second.runs]
        assert counters(again) == counters(anew)
        assert again.dla.now == anew.dla.now
    assert len(plans) == 2 + 5


def test_another_command_is_executed(plans):
    simulation = steady()
    commands = simulation.region(Region.COMMANDS).view(np.uint64)
    (place,) = np.flatnonzero(commands == np.uint64(codec.encode("OP_E_ABS")))
    commands[place] = codec.encode("OP_FILL")
    assert simulation.run(values(3)).outputs[0].tolist() == [0] * 16
    assert len(plans) == 3


@pytest.mark.parametrize("register", ["OUT_CHANNELS", "IRQ_ENABLE", "REGION2_BASE"])
def test_a_register_that_the_host_writes_counts(plans, register):
    simulation = steady()
    dla, value = simulation.dla, 0
    if register == "REGION2_BASE":
        value = dla.registers[register]
    dla.store(BY_NAME[register].address, 4, value)
    simulation.run(values(3))
    assert len(plans) == 3


def test_an_observer_sees_every_operation(plans):
    simulation, seen = steady(), []
    simulation.observer = lambda word, operation, sram: seen.append(operation().instruction.mnemonic)
    simulation.run(values(3))
    assert seen == ["OP_DMA_READ", "OP_E_ABS", "OP_DMA_WRITE"]
    assert len(plans) == 3


def test_time_alone_is_repeated_too(plans):
    program = assemble(ADD)
    simulation = Simulation(program, config_of(program), None)
    cycles = {simulation.run().total_cycles for _ in range(4)}
    assert len(cycles) == 1
    assert len(plans) == 2


@pytest.mark.parametrize("choices", [{}, {"weights": "keep"}, {"timing": "zero"}])
def test_calls_of_the_cpu_are_repeated_in_between(plans, choices):
    lowered = dlasim.compile("mnist", dla_ops="FULLY_CONNECTED,CONV_2D", **choices)
    program = lowered.program
    config = config_of(program).replace(**{k: v for k, v in choices.items() if k == "timing"})
    assert program.host_calls
    assert program.streams
    again, anew = (Simulation(program, config, make_executor("fast")) for _ in range(2))
    plans.clear()
    for seed in range(6):
        anew.dla.writes += 1
        inputs = noise(program.inputs, seed)
        first, second = again.run(inputs), anew.run(inputs)
        np.testing.assert_array_equal(first.outputs[0], second.outputs[0])
        assert first.total_cycles == second.total_cycles
        assert first.host == second.host
        assert first.doorbells == second.doorbells
        assert [(run.start, run.end) for run in first.runs] == [(run.start, run.end) for run in second.runs]
        assert counters(again) == counters(anew)
    streams = len(program.streams)
    assert len(plans) <= (3 + 6) * streams  # of 6 inferences, the last 3 at least are repeated
    assert len(np.unique(first.outputs[0])) > 1


def test_calls_of_the_cpu_alone_are_repeated():
    program = dlasim.compile("mnist", place="cpu").program
    simulation = Simulation(program, config_of(program), make_executor("fast"))
    found = [simulation.run(noise(program.inputs, seed % 2)) for seed in range(4)]
    assert not program.streams
    assert found[0].host == found[3].host
    assert len({inference.total_cycles for inference in found}) == 1
    for number in range(2):
        np.testing.assert_array_equal(found[number].outputs[0], found[number + 2].outputs[0])
    assert found[0].outputs[0].tolist() != found[1].outputs[0].tolist()
