"""The estimate of the CPU's time compared with the virtual prototype: operators, and networks on the CPU.

    python benchmarks/cpu_estimate.py [MODEL.tflite …]

Instructions are those of the firmware, which the estimate's core executes at one a cycle. Without files, the
built-in networks. Fails where an estimate is further off than `docs/timing-model.md` says.
"""

from __future__ import annotations

import sys
from math import prod
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from compared.common import Networks, percent, table
from compared.single_calls import Single, singles

from dlasim import api
from dlasim.inputs import noise
from dlasim.isa import host_op_rows, host_ops
from dlasim.isa.file_records import DataType, LayerKind, Role, StepKind
from dlasim.isa.host_attributes import encode_attributes
from dlasim.isa.program import HostCall, Layer, Program, Step, TensorDescriptor
from dlasim.isa.registers import Region
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.execution.executor import make_executor
from dlasim.sim.host_time.host_estimate import call_cycles
from dlasim.vp.system.host import Prototype

MAX_ERROR = 0.1  # of a network
MAX_SINGLE_ERROR = 0.15
HEAD = ("", "prototype", "estimate", "off")
NETWORKS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("mnist", {}),
    ("ds_cnn", {}),
    ("autoencoder", {}),
    ("resnet8", {}),
    ("mobilenet_v1", {"alpha": 0.25, "resolution": 96, "classes": 2}),
    ("mobilenet_v2", {"alpha": 0.35, "resolution": 96}),
)
_ROOTS = (host_op_rows.UnaryFunction.SQRT, host_op_rows.UnaryFunction.RSQRT)


def measure(single: Single) -> tuple[int, int]:
    """Instructions of a call, and their estimate."""
    program = program_of(single)
    config = DlaConfig()
    inputs = [_usual_values(single, values) for values in noise(program.inputs, seed=0)]
    done = Prototype(program, config, make_executor("auto")).run(inputs)
    return done.cpu.call_instructions[0], call_cycles(program, program.host_calls[0])


def _usual_values(single: Single, values: Any) -> Any:
    """Floats up to 20, as after a DEQUANTIZE; only roots of what has one. QUANTIZE has up to 1, its range."""
    if values.dtype.kind != "f" or single.operator.startswith("QUANTIZE"):
        return values
    has_root = single.operator == "UNARY" and single.attributes["function"] in _ROOTS
    return (abs(values) if has_root else values) * np.float32(20)


def program_of(single: Single) -> Program:
    """A program that makes the call; int8 and float tensors are inputs, int32 ones are zero."""
    tensors, ends = [], dict.fromkeys(Region, 0)
    created = [*single.inputs, single.output]
    outputs = [len(single.inputs)]
    for more in single.more_outputs:
        outputs.append(more if isinstance(more, int) else len(created))
        created += [] if isinstance(more, int) else [more]
    for shape, dtype in created:
        is_given = len(tensors) < len(single.inputs) and (dtype != "int32" or len(tensors) < single.sums)
        is_output = len(tensors) >= len(single.inputs)
        role = Role.OUTPUT if is_output else Role.INPUT if is_given else Role.INTERNAL
        region = Region.OUTPUTS if is_output else Region.INPUTS if is_given else Region.ARENA
        size = prod(shape) * np.dtype(dtype).itemsize
        name = f"t{len(tensors)}"
        tensors.append(TensorDescriptor(name, DataType[dtype], role, region, ends[region], size, shape, 1.0))
        ends[region] += -(-size // 8) * 8
    operator = host_ops.BY_NAME[single.operator]
    words = {attribute.name: _usual(attribute) for attribute in operator.attributes} | single.attributes
    numbers = tuple(range(len(single.inputs)))
    call = HostCall(operator.code, numbers, tuple(outputs), encode_attributes(operator.name, **words), 0)
    need = DlaConfig().requirement(
        inputs_bytes=ends[Region.INPUTS], outputs_bytes=ends[Region.OUTPUTS], arena_bytes=ends[Region.ARENA]
    )
    layer = Layer(single.title, operator.name, LayerKind.HOST, macs=single.macs)
    return Program(
        "single", need, np.zeros(0, np.uint64), (), (Step(StepKind.HOST, 0),),
        np.zeros(0, np.uint8), tuple(tensors), (call,), (layer,),
    )  # fmt: skip


def _usual(attribute: host_op_rows.Attribute) -> Any:
    usual = {"clamp_min": -128, "clamp_max": 127, "output_shift": -8}
    if attribute.name.startswith(("stride_", "dilation_")):
        return 1
    value = 1 << 30 if attribute.name.endswith("multiplier") else usual.get(attribute.name, 0)
    return value if attribute.count == 1 else [value] * attribute.count


def network_cycles(model: Path) -> tuple[int, int]:
    """Instructions of the host calls of a network on the CPU alone, and their estimate."""
    done = api.run(model, timing_only=True, place="cpu", host="riscv")
    assert done.prototyped is not None
    program = done.loaded.program
    measured = sum(done.prototyped.cpu.call_instructions)
    return measured, sum(call_cycles(program, call) for call in program.host_calls)


def main(arguments: list[str]) -> int:
    """Print two tables; fails where a network is too far off."""
    calls = [(single.title, *measure(single)) for single in singles()]
    print(table(HEAD, [_row(*call) for call in calls]))
    with TemporaryDirectory() as folder:
        networks = Networks(Path(folder))
        models = [Path(name) for name in arguments] or [
            networks.path(name, **more) for name, more in NETWORKS
        ]
        found = {model.stem: network_cycles(model) for model in models}
    print(table(HEAD, [_row(name, *cycles) for name, cycles in found.items()]))
    missed = [title for title, real, guess in calls if abs(guess / real - 1) > MAX_SINGLE_ERROR]
    missed += [name for name, (real, guess) in found.items() if abs(guess / real - 1) > MAX_ERROR]
    print(f"too far off: {', '.join(missed)}" if missed else "all are within reach")
    return int(bool(missed))


def _row(name: str, measured: int, estimate: int) -> list[str]:
    return [name, f"{measured:,}", f"{estimate:,}", percent(estimate, measured)]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
