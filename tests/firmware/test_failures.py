"""What goes wrong on the board, and what the user is told."""

import re

import numpy as np
import pytest

from dlasim import api
from dlasim.errors import InputError, RunError
from dlasim.inputs import noise
from dlasim.isa.assembly import assemble
from dlasim.isa.file_records import DataType, LayerKind, Role, StepKind
from dlasim.isa.host_attributes import encode_attributes
from dlasim.isa.host_checks import RULES
from dlasim.isa.host_op_rows import HostOperator
from dlasim.isa.host_ops import BY_CODE, BY_NAME
from dlasim.isa.program import HostCall, Layer, Program, Step, TensorDescriptor
from dlasim.isa.registers import Region
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.execution.runner import Simulation, config_of
from dlasim.vp.programs.elf import parse_elf, read_elf
from dlasim.vp.programs.launch import Completion, Submission
from dlasim.vp.system.bare_metal import run_bare_metal
from dlasim.vp.system.host import HostOptions, Prototype, shipped_firmware
from dlasim.vp.system.run_control import RunControl

HANGS_AFTER = 50_000_000
BAD_PROGRAM, WRONG_MACHINE, NO_KERNEL = 2, 3, 5

BAD_READ = """
.program "bad"
.config pes=64 parallel=output sram=4KiB
.stream
    CFG DMA_IN_REGION, CONSTANTS
.layer "reader", RELU, ACT
    CFG DMA_IN_SRAM_ADDR, 0x20000
    OP_DMA_READ
.endlayer
    HALT
.data
    .zero 16
"""


def executor():
    return api.make_executor("auto")


def run(program, config=None, inputs=(), **options):
    machine = config or config_of(program)
    options.setdefault("run_control", RunControl(max_instructions=HANGS_AFTER))
    return Prototype(program, machine, executor(), HostOptions(**options)).run(inputs)


@pytest.mark.parametrize("completion", Completion)
@pytest.mark.parametrize("submission", Submission)
def test_a_fault_comes_through_the_driver(completion, submission):
    program = assemble(BAD_READ)
    with pytest.raises(RunError) as standalone:
        Simulation(program, config_of(program), executor()).run()
    fault = re.search(
        r"SRAM_RANGE at word (\d+), \w+ in layer reader: operand \w+ covers bytes (0x[0-9a-f]+)",
        str(standalone.value),
    )
    assert fault is not None
    with pytest.raises(RunError) as failed:
        run(program, completion=completion, submission=submission)
    said = f"DLA fault 8 at word {fault[1]}, address 0x{int(fault[2], 16):08x}"
    assert said in str(failed.value)
    assert str(standalone.value) in str(failed.value)


def test_a_program_for_another_machine_is_refused_before_it_runs(network):
    program = api.compile(network("mnist")).program
    with pytest.raises(InputError, match=r"lowered for 64 PEs .* the machine has 128"):
        Prototype(program, DlaConfig(pes=128), executor())


def test_the_firmware_itself_refuses_another_machine(network):
    from dlasim import on_board

    program = api.compile(network("mnist")).program
    elf = parse_elf(on_board.application(program), "application")
    done = run_bare_metal(elf, DlaConfig(pes=128), executor())
    assert done.board.exit_code == WRONG_MACHINE
    assert f"lowered for machine 0x{program.requirement.fingerprint:08x}".encode() in done.board.uart
    assert f"this is 0x{DlaConfig(pes=128).fingerprint:08x}".encode() in done.board.uart
    with pytest.raises(RunError, match="exit code 3"):
        done.check()


def test_no_program_at_all():
    done = run_bare_metal(read_elf(shipped_firmware()), DlaConfig(), executor())
    assert done.board.exit_code == BAD_PROGRAM
    assert b"no program image" in done.board.uart


def one_call(name, inputs, output, **attributes):
    """A program of one host call on constants of these types and shapes."""
    operator, tensors, offset = BY_NAME[name], [], 0
    for number, (kind, shape) in enumerate(inputs):
        size = int(np.prod(shape)) * np.dtype(kind).itemsize
        tensors.append(
            TensorDescriptor(
                f"t{number}", DataType[kind], Role.CONSTANT, Region.CONSTANTS, offset, size, shape
            )
        )
        offset += -(-size // 8) * 8
    kind, shape = output
    size = int(np.prod(shape)) * np.dtype(kind).itemsize
    tensors.append(TensorDescriptor("out", DataType[kind], Role.OUTPUT, Region.OUTPUTS, 0, size, shape))
    count = len(inputs)
    call = HostCall(operator.code, tuple(range(count)), (count,), encode_attributes(name, **attributes), 0)
    return Program(
        "one", DlaConfig().requirement(outputs_bytes=size), np.zeros(0, np.uint64), (),
        (Step(StepKind.HOST, 0),), np.zeros(offset, np.uint8), tuple(tensors), (call,),
        (Layer("the layer", name, LayerKind.HOST),),
    )  # fmt: skip


@pytest.fixture
def program_of_a_later_version(monkeypatch):
    """A program that calls a host operator for which this firmware has no kernel."""
    row = HostOperator("LATER", max(BY_CODE) + 1, "", BY_NAME["UNARY"].inputs, BY_NAME["UNARY"].outputs)
    monkeypatch.setitem(BY_NAME, row.name, row)
    monkeypatch.setitem(BY_CODE, row.code, row)
    monkeypatch.setitem(RULES, row.name, ())
    return one_call("LATER", [("float32", (4,))], ("float32", (4,)))


def test_what_the_firmware_lacks_is_refused_by_name(program_of_a_later_version):
    with pytest.raises(InputError, match=r"layer the layer: the firmware has no kernel for LATER$"):
        Prototype(program_of_a_later_version, DlaConfig(), executor())


def test_the_firmware_would_refuse_it_too(program_of_a_later_version, monkeypatch):
    monkeypatch.setattr("dlasim.vp.system.host.refuse_missing_kernels", lambda _: None)
    with pytest.raises(
        RunError, match=f"exit code {NO_KERNEL} .*the firmware said: a host call has no kernel"
    ):
        run(program_of_a_later_version, DlaConfig())


def test_the_limit_of_instructions_ends_a_run(network):
    program = api.compile(network("mnist"), place="cpu").program
    with pytest.raises(RunError, match="limit of instructions was reached after 100"):
        run(program, inputs=noise(program.inputs, 0), run_control=RunControl(max_instructions=100_000))


def test_an_endless_program_too(firmware):
    done = run_bare_metal(
        read_elf(firmware("endless")),
        DlaConfig(),
        executor(),
        run_control=RunControl(max_instructions=50_000),
    )
    with pytest.raises(RunError, match=r"limit of instructions .* main\+"):
        done.check()


def test_timer_and_accelerator_together(network, firmware):
    program = api.compile(network("ds_cnn"), depthwise="cpu").program
    inputs = noise(program.inputs, 3)
    quiet = run(program, inputs=inputs)
    storm = run(program, inputs=inputs, firmware=firmware("timer"))
    np.testing.assert_array_equal(storm.outputs[0], quiet.outputs[0])
    ticks = int(storm.board.uart.split()[-1])
    # Each tick comes TICK_CYCLES after the one before was handled, asleep or awake.
    assert 0.5 < ticks / (storm.inference.total_cycles / 400) < 2
    assert [run.plan.timeline.total for run in storm.inference.runs] == [
        run.plan.timeline.total for run in quiet.inference.runs
    ]


@pytest.mark.parametrize("completion", Completion)
def test_acknowledges_without_cause_early_and_late_lose_nothing(network, firmware, completion):
    program = api.compile(network("autoencoder")).program
    assert not program.host_calls
    inputs = noise(program.inputs, 3)
    done = run(program, inputs=inputs, firmware=firmware("acknowledge"), completion=completion)
    np.testing.assert_array_equal(done.outputs[0], run(program, inputs=inputs).outputs[0])


def test_interrupts_without_cause_are_counted_and_harmless(network, firmware):
    program = api.compile(network("ds_cnn")).program
    inputs = noise(program.inputs, 3)
    done = run(program, inputs=inputs, firmware=firmware("spurious"))
    np.testing.assert_array_equal(done.outputs[0], run(program, inputs=inputs).outputs[0])
    assert int(done.board.uart.split()[-1]) == 10


def test_inputs_must_fit(network):
    program = api.compile(network("mnist")).program
    with pytest.raises(InputError, match=r"takes 1 input \(got 0\)"):
        run(program)
    with pytest.raises(InputError, match=r"expected int8 .*, got int16"):
        run(program, inputs=[noise(program.inputs, 0)[0].astype(np.int16)])


def test_firmware_that_runs_no_programs_is_refused(network, firmware):
    program = api.compile(network("mnist")).program
    with pytest.raises(InputError, match="no symbol launch"):
        run(program, firmware=firmware("endless"))
