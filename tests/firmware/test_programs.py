"""Whole programs on the board: outputs and DLA cycles as on the standalone simulator, and as TensorFlow's."""

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dlasim import api
from dlasim.inputs import noise
from dlasim.isa.file_records import DataType, Role, StepKind
from dlasim.isa.host_ops import BY_NAME
from dlasim.isa.program import HostCall, Step, TensorDescriptor
from dlasim.isa.registers import Region
from dlasim.sim.execution.runner import Simulation, config_of
from dlasim.vp.programs.launch import Completion, Submission
from dlasim.vp.system import spare_parts
from dlasim.vp.system.host import HostOptions, Prototype
from dlasim.vp.system.host_report import report
from dlasim.vp.system.run_control import RunControl
from tests.oracle import output_indices, run_tflite_micro

NETWORKS = ("mnist", "ds_cnn", "autoencoder", "resnet8")
ON_CPU = {"place": "cpu"}
ALL_BUT_SOFTMAX = frozenset({"CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "AVERAGE_POOL_2D"})
MACHINES = (
    {},
    {"pes": 16, "parallel": "input", "sram_bytes": 48 << 10, "dma_latency": 0},
    {"parallel": "8x16", "fusion": "none"},
    {"depthwise": "cpu", "dma_bandwidth": 1},
    {"dla_ops": frozenset({"CONV_2D"})},
    {"timing": "zero"},
)
HANGS_AFTER = 500_000_000
ZOO = ("resnet", "vww", "aww", "toycar")


def lowered(model, **choices):
    """A program, its machine, and noise for it."""
    program = api.compile(model, **choices).program
    machine = {name: value for name, value in choices.items() if name in ("timing", "dma_latency")}
    if "dma_bandwidth" in choices:
        machine["dma_bandwidth"] = choices["dma_bandwidth"]
    return program, config_of(program).replace(**machine), noise(program.inputs, seed=7)


def on_board(program, config, inputs, **options):
    chosen = HostOptions(run_control=RunControl(max_instructions=HANGS_AFTER), **options)
    return Prototype(program, config, api.make_executor("auto"), chosen).run(inputs)


def standalone(program, config, inputs):
    return Simulation(program, config, api.make_executor("auto")).run(inputs)


def dla_cycles(inference):
    return sum(run.plan.timeline.total for run in inference.runs)


def check_equal(model, **choices):
    """The board against the simulator and TensorFlow; what the board did."""
    program, config, inputs = lowered(model, **choices)
    expected, done = standalone(program, config, inputs), on_board(program, config, inputs)
    of_tensorflow = run_tflite_micro(model, inputs)
    for ours, theirs, golden in zip(done.outputs, expected.outputs, output_indices(model), strict=True):
        np.testing.assert_array_equal(ours, theirs, strict=True)
        np.testing.assert_array_equal(ours, of_tensorflow[golden].reshape(ours.shape))
    assert dla_cycles(done.inference) == dla_cycles(expected)
    assert [run.first_word for run in done.inference.runs] == [run.first_word for run in expected.runs]
    return done


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("choices", [*MACHINES, ON_CPU], ids=str)
def test_outputs_and_dla_cycles_are_the_same_everywhere(network, name, choices):
    check_equal(network(name), **choices)


@pytest.mark.parametrize("name", ZOO)
@pytest.mark.parametrize("choices", [*MACHINES[:3], ON_CPU], ids=str)
def test_real_networks_too(model_zoo, name, choices):
    check_equal(model_zoo / "mlperf_tiny" / f"{name}.tflite", **choices)


# CPU only, of the paper; and what the accelerator must save at least.
BASELINES = {"resnet": 57_300_000, "vww": 41_200_000, "aww": 14_300_000}
MIN_SAVED = 0.97
CONVOLUTIONS = {"dla_ops": frozenset({"CONV_2D", "DEPTHWISE_CONV_2D"})}


@pytest.mark.parametrize("name", BASELINES)
@pytest.mark.parametrize("offloaded", [{}, CONVOLUTIONS], ids=["all", "convolutions"])
def test_the_baseline_is_fair_and_the_accelerator_saves_nearly_all(model_zoo, name, offloaded):
    model = model_zoo / "mlperf_tiny" / f"{name}.tflite"
    alone, helped = (on_board(*lowered(model, **choices)).cpu.instructions for choices in (ON_CPU, offloaded))
    assert alone <= BASELINES[name]
    assert 1 - helped / alone >= MIN_SAVED


@pytest.mark.parametrize("completion", Completion)
@pytest.mark.parametrize("submission", Submission)
def test_every_way_to_submit_and_to_wait_gives_the_same(network, completion, submission):
    program, config, inputs = lowered(network("ds_cnn"))
    expected = standalone(program, config, inputs)
    done = on_board(program, config, inputs, completion=completion, submission=submission)
    np.testing.assert_array_equal(done.outputs[0], expected.outputs[0], strict=True)
    if submission is Submission.QUEUE:
        assert dla_cycles(done.inference) == dla_cycles(expected)
    else:
        assert len(done.inference.runs) > len(expected.runs)
        assert sum(run.plan.macs for run in done.inference.runs) == sum(
            run.plan.macs for run in expected.runs
        )
    asleep = done.cpu.idle_cycles
    assert (asleep == 0) if completion is Completion.POLLING else (asleep > 0.9 * dla_cycles(done.inference))


def test_runs_are_deterministic_to_the_instruction(network):
    first, second = (on_board(*lowered(network("ds_cnn"))) for _ in range(2))
    assert first.cpu == second.cpu
    assert first.board == second.board


def test_cycles_add_up(network):
    program, config, inputs = lowered(network("ds_cnn"), depthwise="cpu", dla_ops=ALL_BUT_SOFTMAX)
    options = HostOptions(cpu="five_stage")
    done = Prototype(program, config, api.make_executor("auto"), options).run(inputs)
    figures = report(program, config, done, options, {})
    cycles, cpu = figures["cycles"], figures["cpu"]
    assert cycles["total"] == cycles["cpu"] + cycles["dla"] - cycles["overlap"]
    assert cycles["total"] == cycles["cpu"] + cpu["idle_cycles"]
    assert cycles["dla"] == dla_cycles(done.inference)
    assert cycles["cpu"] > cpu["instructions"] > sum(done.cpu.call_instructions) > 0
    assert figures["memory"]["stack_peak_bytes"] > 100
    on_cpu = [layer["instructions"] for layer in figures["layers"] if layer["unit"] == "cpu"]
    assert sum(on_cpu) == sum(done.cpu.call_instructions)
    assert min(on_cpu) > 0
    functions = {function["name"]: function for function in figures["functions"]}
    assert functions["convolve_depthwise"]["entries"] == len(on_cpu) - 1
    assert sum(f["instructions"] for f in figures["functions"]) == done.board.instructions


def test_a_costlier_cpu_takes_longer_for_the_same_instructions(network):
    model = network("mnist")
    ideal, real = (on_board(*lowered(model, **ON_CPU), cpu=cpu) for cpu in ("ideal", "five_stage"))
    assert ideal.cpu.instructions == real.cpu.instructions == ideal.cpu.cycles
    assert real.cpu.cycles > 1.1 * ideal.cpu.cycles


def test_repeated_inferences_give_the_same_and_are_counted_one_by_one(network):
    program, config, inputs = lowered(network("ds_cnn"))
    once, often = (on_board(program, config, inputs, inferences=count) for count in (1, 3))
    assert len(often.wall_seconds) == 3
    np.testing.assert_array_equal(once.outputs[0], often.outputs[0])
    assert once.cpu.instructions == often.cpu.instructions
    assert dla_cycles(once.inference) == dla_cycles(often.inference)
    assert once.inference.total_cycles == often.inference.total_cycles
    assert once.setup_instructions < often.setup_instructions < once.setup_instructions + 100


def with_independent_call(program):
    """The program, and a host call that waits for no stream."""
    elements, table = 5000, len(program.tensors)
    data = np.random.default_rng(0).integers(-128, 128, 256 + elements).astype(np.int8)
    start = len(program.constants)
    outputs = program.requirement.outputs_bytes
    tensors = (
        TensorDescriptor("table", DataType.int8, Role.CONSTANT, Region.CONSTANTS, start, 256, (256,)),
        TensorDescriptor(
            "values", DataType.int8, Role.CONSTANT, Region.CONSTANTS, start + 256, elements, (elements,)
        ),
        TensorDescriptor("more", DataType.int8, Role.OUTPUT, Region.OUTPUTS, outputs, elements, (elements,)),
    )
    call = HostCall(BY_NAME["LUT"].code, (table + 1, table), (table + 2,), (), 0)
    calls = (call, *program.host_calls)
    first, *rest = program.steps
    assert first.kind is StepKind.STREAM
    moved = [Step(step.kind, step.index + (step.kind is StepKind.HOST), step.after_streams) for step in rest]
    return replace(
        program,
        constants=np.concatenate([program.constants, data.view(np.uint8)]),
        tensors=program.tensors + tensors,
        host_calls=calls,
        steps=(first, Step(StepKind.HOST, 0), *moved),
        requirement=replace(program.requirement, outputs_bytes=outputs + elements),
    )


def test_cpu_and_accelerator_work_at_the_same_time_where_data_allow_it(network):
    program, config, inputs = lowered(network("ds_cnn"))
    more = with_independent_call(program)
    alone, both = on_board(program, config, inputs), on_board(more, config, inputs)
    expected = standalone(more, config, inputs)
    for ours, theirs in zip(both.outputs, expected.outputs, strict=True):
        np.testing.assert_array_equal(ours, theirs, strict=True)
    extra = both.cpu.cycles - alone.cpu.cycles
    assert extra > 20_000
    assert both.inference.total_cycles - alone.inference.total_cycles < 1000  # it hid behind the stream
    assert dla_cycles(both.inference) == dla_cycles(alone.inference)


def test_an_output_may_be_a_constant(network):
    program, config, inputs = lowered(network("ds_cnn"), dla_ops=ALL_BUT_SOFTMAX)
    table = next(tensor for tensor in program.tensors if tensor.region is Region.CONSTANTS)
    more = replace(program, tensors=(*program.tensors, replace(table, role=Role.OUTPUT)))
    expected, done = standalone(more, config, inputs), on_board(more, config, inputs)
    assert len(done.outputs) == 2
    np.testing.assert_array_equal(done.outputs[1], expected.outputs[1], strict=True)


def test_nothing_leaks_from_run_to_run(network):
    """Boards hand parts on, also to those of other programs; and after an interrupt."""
    networks = [(network("mnist"), {}), (network("ds_cnn"), ON_CPU), (network("ds_cnn"), {})]
    boards, fresh = [], []
    for model, choices in networks:
        program, config, inputs = lowered(model, **choices)
        spare_parts.clear()
        fresh.append(figures(on_board(program, config, inputs)))
        board = Prototype(program, config, api.make_executor("auto"))
        boards.append((board, inputs))
    for number in (0, 1, 0, 0, 2, 1, 1, 2):
        board, inputs = boards[number]
        assert figures(board.run(inputs)) == fresh[number]

    def interrupt(*_):
        raise KeyboardInterrupt

    for number in (0, 1):
        board, inputs = boards[number]
        board.observer = board.host_observer = interrupt
        with pytest.raises(KeyboardInterrupt):
            board.run(inputs)
        board.observer = board.host_observer = None
        assert figures(board.run(inputs)) == fresh[number]


def figures(done):
    """All of a run but the times of this computer."""
    inference = done.inference
    runs = [(run.start, run.end, run.first_word) for run in inference.runs]
    outputs = [output.tobytes() for output in inference.outputs]
    return done.cpu, done.board, done.setup_instructions, done.start_cycle, runs, inference.host, outputs


def test_time_alone_takes_the_same_cycles(network):
    program, config, inputs = lowered(network("ds_cnn"))
    full = on_board(program, config, inputs)
    timed = Prototype(program, config, None).run()
    assert timed.inference.runs[0].plan.timeline.total == full.inference.runs[0].plan.timeline.total


def test_memories_grow_with_the_program(network):
    program, config, inputs = lowered(network("mnist"), **ON_CPU)
    large = replace(program, requirement=replace(program.requirement, arena_bytes=100 << 20))
    board = Prototype(large, config, api.make_executor("auto"))
    assert board.layout.memory_map.ram_bytes > 100 << 20
    np.testing.assert_array_equal(board.run(inputs).outputs[0], on_board(program, config, inputs).outputs[0])


def test_firmware_needs_little_stack_and_is_small(network):
    done = on_board(*lowered(network("resnet8"), **ON_CPU))
    assert done.board.stack_peak_bytes < 4096
    assert os.stat(Path(done.firmware.origin)).st_size < 200 << 10
