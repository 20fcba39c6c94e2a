"""Evaluates a point on the virtual prototype, like `dlasim run --host riscv`. The program runs with its
weights, because the time of the firmware's kernels depends on the data.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from dlasim.compiler_shim.compile import lower_for
from dlasim.compiler_shim.forms.partition import UnplacedNetwork
from dlasim.inputs import noise
from dlasim.isa.program import Program
from dlasim.sim.execution.executor import make_executor
from dlasim.sim.execution.runner import Inference
from dlasim.sweeps.definition.axes import resolve
from dlasim.vp.riscv.costs import load_costs
from dlasim.vp.system.host import HostOptions, Prototype, shipped_firmware
from dlasim.vp.system.host_report import report

_RUNS = 2  # the figures are equal; the first run includes one-time costs, so the faster time counts


def prototype_report(network: UnplacedNetwork, values: Mapping[str, Any]) -> tuple[dict[str, Any], float]:
    """The report of one inference, and the seconds that emulating it took, from reset to exit."""
    config, choices = resolve(values)
    program = lower_for(network, config, choices).program
    options = HostOptions(cpu=values["cpu"], inferences=1 + program.preloads)
    prototype = Prototype(program, config, make_executor("auto"), options)
    inputs = noise(program.inputs, seed=0)
    runs = [prototype.run(inputs) for _ in range(_RUNS)]
    run_report = report(program, config, runs[0], options, {})
    return run_report, min(run.inference.wall_seconds for run in runs)


def prototype_inference(network: UnplacedNetwork, values: Mapping[str, Any]) -> tuple[Program, Inference]:
    """The program and what happened when during one inference of it."""
    config, choices = resolve(values)
    program = lower_for(network, config, choices).program
    prototype = Prototype(
        program,
        config,
        make_executor("auto"),
        HostOptions(cpu=values["cpu"], inferences=1 + program.preloads),
    )
    return program, prototype.run(noise(program.inputs, seed=0)).inference


def board_content(cpu: str) -> str:
    """Hash of what else a point on the board depends on: the firmware and the costs of the core."""
    digest = hashlib.sha256(shipped_firmware().read_bytes())
    digest.update(repr(load_costs(cpu)).encode())
    return digest.hexdigest()[:16]
