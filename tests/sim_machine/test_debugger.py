"""The debugger does what the machine does, a word at a time."""

import random

import numpy as np
import pytest

from dlasim.api import compile
from dlasim.compiler_shim.tflite.writer import write_tflite
from dlasim.compiler_shim.topologies import build_topology
from dlasim.errors import InputError
from dlasim.isa.assembly import assemble
from dlasim.isa.faults import Fault
from dlasim.isa.file_records import StepKind
from dlasim.isa.program import Program, Step, Stream
from dlasim.isa.registers import Region
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.execution.debugger import Debugger, StopReason
from dlasim.sim.execution.executor import ReferenceExecutor
from dlasim.sim.execution.runner import Simulation, config_of
from tests.sim_machine.bench import CONFIG, HALT, REGION_BYTES, SRAM_BYTES, Bench, cfg, fill, op
from tests.sim_machine.test_hostile import random_word

ADD_ON_BOTH = """
.program "both"
.config pes=64 parallel=output sram=4KiB arena=16 inputs=4 outputs=4
.tensor x, int8, input,  INPUTS,  shape=1x1x4x1, scale=1, zero_point=0
.tensor t, int8, internal, ARENA, shape=1x1x4x1, scale=1, zero_point=0
.tensor u, int8, internal, ARENA+8, shape=1x1x4x1, scale=1, zero_point=0
.tensor y, int8, output, OUTPUTS, shape=1x1x4x1, scale=1, zero_point=0
.stream
.layer "first", ADD, ELTWISE
    CFG DMA_IN_REGION, INPUTS
    CFG DMA_IN_RUN_BYTES, 4
    OP_DMA_READ
    CFG OUT_CHANNELS, 4
    CFG IN2_ADDR, 0
    CFG OUT_ADDR, 4
    WAIT dma_in, 0
    OP_E_ADD
    CFG DMA_OUT_REGION, ARENA
    CFG DMA_OUT_SRAM_ADDR, 4
    CFG DMA_OUT_RUN_BYTES, 4
    WAIT vector, 0
    OP_DMA_WRITE
.endlayer
    HALT
.layer "second", LUT, ACT
.host LUT, inputs=(t, table), outputs=(u)
.endlayer
.stream
.layer "third", ABS, ELTWISE
    CFG DMA_IN_REGION, ARENA
    CFG DMA_IN_OFFSET, 8
    OP_DMA_READ
    WAIT dma_in, 0
    OP_E_ABS
    CFG DMA_OUT_REGION, OUTPUTS
    WAIT vector, 0
    OP_DMA_WRITE
.endlayer
    HALT
"""


def program_of(words: list[int], first_words: list[int] = ()) -> Program:
    """Streams of bare words; `first_words` are where streams after the first start."""
    starts = [0, *first_words]
    ends = [*first_words, len(words)]
    streams = tuple(Stream(start, end - start) for start, end in zip(starts, ends, strict=True))
    steps = tuple(Step(StepKind.STREAM, index) for index in range(len(streams)))
    need = CONFIG.requirement(arena_bytes=REGION_BYTES, inputs_bytes=REGION_BYTES, outputs_bytes=REGION_BYTES)
    constants = np.zeros(REGION_BYTES, np.uint8)
    return Program("words", need, np.array(words, np.uint64), streams, steps, constants)


def random_program(rng: random.Random) -> Program:
    words: list[int] = []
    starts = []
    for _ in range(rng.randint(1, 3)):
        starts.append(len(words))
        words += [*(random_word(rng) for _ in range(rng.choice([5, 30]))), HALT]
    return program_of(words, starts[1:])


def test_it_computes_what_the_machine_computes():
    rng = random.Random(1)
    outcomes = {"fault": 0, "end": 0}
    for _ in range(150):
        program = random_program(rng)
        debugger, bench = Debugger(program, CONFIG), Bench()
        for region in (Region.CONSTANTS, Region.ARENA, Region.INPUTS):
            content = np.frombuffer(rng.randbytes(REGION_BYTES), np.uint8)
            debugger.region(region)[:] = bench.region(region)[:] = content
        bench.write("REGION4_SIZE", 8 * len(program.commands))
        bench.ring(bench.place(program.commands.tolist()))
        bench.finish()
        while debugger.step().reason not in (StopReason.END, StopReason.FAULT):
            assert debugger.position.cycle <= bench.dla.now
        assert debugger.fault == bench.dla.fault
        assert (debugger.sram == bench.dla.sram).all()
        assert debugger.file == bench.dla.file
        for region in (Region.CONSTANTS, Region.ARENA, Region.INPUTS, Region.OUTPUTS):
            assert (debugger.region(region) == bench.region(region)).all()
        outcomes["fault" if debugger.fault else "end"] += 1
    assert min(outcomes.values()) > 5, outcomes


def test_cycles_are_the_machines():
    words = [
        *fill(0, 1),
        HALT,
        cfg("DMA_IN_REGION", 1),
        op("OP_DMA_READ"),
        op("IRQ"),
        cfg("IN_ADDR", 4),
        HALT,
    ]
    debugger, bench = Debugger(program_of(words, [6]), CONFIG), Bench()
    bench.ring(bench.place(words))
    bench.finish()
    first, second = bench.completed
    at = {}
    while (position := debugger.position) is not None:
        at[position.word] = position
        assert debugger.step().reason in (StopReason.STEP, StopReason.END)
    assert at[4].cycle + CONFIG.check_cycles + 1 == first.plan.timeline.issued[0]
    assert at[6].cycle == 0
    assert at[6].dla_cycle == first.end
    assert at[9].cycle == second.plan.timeline.markers[0]
    assert at[10].dla_cycle + 1 == second.end, "nothing is left to wait for at HALT"


def test_streams_and_host_calls_in_turn():
    table = np.arange(-128, 128, dtype=np.int8)[::-1].copy()  # -1 - x
    text = ADD_ON_BOTH + ".tensor table, int8, constant, CONSTANTS, shape=256, scale=1, zero_point=0\n"
    program = assemble(f'{text}.data\n.hex "{table.tobytes().hex()}"\n')
    x = np.array([1, 2, 3, 4], np.int8).reshape(1, 1, 4, 1)
    debugger = Debugger(program, CONFIG, [x])
    debugger.break_at(layer="second")
    assert debugger.resume().reason is StopReason.BREAKPOINT
    here = debugger.position
    assert (here.step, here.word, here.layer, here.text) == (1, None, "second", "host LUT")
    doubled = debugger.tensor("t").ravel().tolist()
    assert debugger.tensor("u").ravel().tolist() == [0] * 4
    assert debugger.step().reason is StopReason.STEP
    assert debugger.tensor("u").ravel().tolist() == [-1 - value for value in doubled]
    assert debugger.register("OUT_CHANNELS") == 4, "registers last over host calls"
    (y,) = debugger.run()
    assert y.ravel().tolist() == [abs(value) if value < 0 else value for value in (-1 - v for v in doubled)]
    assert debugger.is_finished
    assert debugger.position is None
    assert debugger.step().reason is StopReason.END


def test_a_compiled_network_ends_as_the_simulator_ends(tmp_path):
    (tmp_path / "mnist.tflite").write_bytes(write_tflite(build_topology("mnist")))
    machine = DlaConfig(sram_bytes=16 * 1024)
    on_dla = ("CONV_2D", "MAX_POOL_2D", "FULLY_CONNECTED")  # SOFTMAX is on the CPU
    program = compile(tmp_path / "mnist.tflite", machine, dla_ops=on_dla).program
    assert {step.kind for step in program.steps} == {StepKind.STREAM, StepKind.HOST}
    rng = np.random.default_rng(0)
    inputs = [rng.integers(-128, 128, tensor.shape).astype(tensor.type.name) for tensor in program.inputs]
    simulation = Simulation(program, machine, ReferenceExecutor())
    inference = simulation.run(inputs)
    debugger = Debugger(program, machine, inputs)
    seen = []
    while debugger.position is not None:
        seen.append(debugger.position.layer)
        debugger.step()
    assert {layer.name for layer in program.layers} <= set(seen)
    for tensor, output in zip(program.outputs, inference.outputs, strict=True):
        assert (debugger.tensor(tensor.name) == output).all()
    assert (debugger.sram == simulation.dla.sram).all()


def test_a_fault_stands_at_its_word():
    words = [HALT, cfg("OUT_ADDR", SRAM_BYTES), op("OP_FILL"), HALT]
    debugger = Debugger(program_of(words, [1]), CONFIG)
    assert debugger.resume().reason is StopReason.FAULT
    assert debugger.fault.code is Fault.SRAM_RANGE
    assert debugger.fault.position == debugger.position.word == 2
    assert debugger.position.text == "OP_FILL"
    assert debugger.is_finished
    assert debugger.step().reason is StopReason.FAULT
    assert debugger.register("OUT_ADDR") == SRAM_BYTES


def test_a_stream_without_halt_stands_at_its_end():
    debugger = Debugger(program_of([op("NOP")]), CONFIG)
    debugger.run()
    assert debugger.fault.code is Fault.QUEUE
    assert debugger.position.word == 1
    assert debugger.position.text == ""


def test_breakpoints_combine_and_go():
    words = [*fill(0, 1), *fill(1, 2), HALT]
    debugger = Debugger(program_of(words), CONFIG)
    both = debugger.break_at(mnemonic="OP_FILL", word=9)
    stop = debugger.resume()
    assert (stop.reason, stop.number, debugger.position.word) == (StopReason.BREAKPOINT, both, 9)
    assert debugger.sram[:2].tolist() == [1, 0]
    debugger.remove(both)
    assert debugger.resume().reason is StopReason.END
    assert debugger.sram[:2].tolist() == [1, 2]


def test_a_step_passes_breakpoints_and_a_watchpoint_holds_it_up():
    debugger = Debugger(program_of([*fill(0, 1), *fill(4, 2), HALT]), CONFIG)
    debugger.break_at(word=2)
    number = debugger.watch(4)
    stop = debugger.step(100)
    assert (stop.reason, stop.number) == (StopReason.WATCHPOINT, number)
    assert debugger.position.word == 10


@pytest.mark.parametrize(
    ("act", "named"),
    [
        (lambda d: d.break_at(mnemonic="OP_NONE"), "OP_NONE"),
        (lambda d: d.break_at(layer="none"), "none"),
        (lambda d: d.break_at(word=99), "99"),
        (lambda d: d.watch(SRAM_BYTES), "0x1000"),
        (lambda d: d.watch(0, 0), "0 bytes"),
        (lambda d: d.remove(7), "7"),
        (lambda d: d.register("STATUS"), "STATUS"),
        (lambda d: d.tensor("z"), "z"),
    ],
)
def test_mistakes_are_named(act, named):
    with pytest.raises(InputError, match=named):
        act(Debugger(program_of([HALT]), CONFIG))


def test_inputs_and_machines_that_do_not_fit_are_refused():
    program = assemble(ADD_ON_BOTH.replace("(t, table)", "(t, t)"))
    with pytest.raises(InputError, match="input x: expected int8"):
        Debugger(program, CONFIG, [np.zeros(4, np.int8)])
    with pytest.raises(InputError, match="lowered for"):
        Debugger(program, DlaConfig())


def test_more_inputs_than_the_program_has_are_refused() -> None:
    program = assemble('.program "p"\n.config pes=16 parallel=output sram=4KiB\n.stream\nHALT\n')
    with pytest.raises(InputError, match=r"takes no inputs \(got 1\)"):
        Debugger(program, config_of(program), [np.zeros(1, np.int8)])
