"""A point on the virtual prototype: the program runs on the board, weights and all, as with
`dlasim run --host riscv`. What the firmware's kernels take depends on the numbers, which timing alone lacks.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from dlasim.compiler_shim.compile import lower_for
from dlasim.compiler_shim.partition import Partitioned
from dlasim.inputs import noise
from dlasim.isa.program import Program
from dlasim.sim.executor import make_executor
from dlasim.sim.runner import Inference
from dlasim.sweeps.parameters import resolve
from dlasim.vp.costs import load_costs
from dlasim.vp.host import HostOptions, Prototype, shipped_firmware
from dlasim.vp.host_report import report

_RUNS = (
    2  # the first also pays for what a process does once; figures are equal, the time is that of the faster
)


def prototype_report(network: Partitioned, values: Mapping[str, Any]) -> tuple[dict[str, Any], float]:
    """The report of one inference, and the seconds that emulating it took, from reset to exit."""
    config, choices = resolve(values)
    program = lower_for(network, config, choices).program
    options = HostOptions(cpu=values["cpu"])
    prototype = Prototype(program, config, make_executor("auto"), options)
    inputs = noise(program.inputs, seed=0)
    runs = [prototype.run(inputs) for _ in range(_RUNS)]
    told = report(program, config, runs[0], options, {})
    return told, min(run.inference.wall_seconds for run in runs)


def prototype_inference(network: Partitioned, values: Mapping[str, Any]) -> tuple[Program, Inference]:
    """The program and what happened when during one inference of it."""
    config, choices = resolve(values)
    program = lower_for(network, config, choices).program
    prototype = Prototype(program, config, make_executor("auto"), HostOptions(cpu=values["cpu"]))
    return program, prototype.run(noise(program.inputs, seed=0)).inference


def board_content(cpu: str) -> str:
    """Hash of what a point on the board depends on besides Python code: the firmware and the core's costs."""
    digest = hashlib.sha256(shipped_firmware().read_bytes())
    digest.update(repr(load_costs(cpu)).encode())
    return digest.hexdigest()[:16]
