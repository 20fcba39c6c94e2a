"""A program on both hosts: the RISC-V board must give the standalone simulator's outputs and DLA cycles."""

from __future__ import annotations

import numpy as np

from dlasim import api
from dlasim.inputs import noise
from dlasim.sim.execution.runner import Simulation
from dlasim.vp.system.host import HostOptions, Prototype
from dlasim.vp.system.run_control import RunControl
from tests.compiler.cases import Outcome

HANGS_AFTER = 2_000_000_000


def hosts_differ(outcome: Outcome, seed: int) -> str:
    """Where the two hosts differ on a program that is right on one of them; nothing if nowhere."""
    assert outcome.lowered is not None
    assert outcome.config is not None
    program, config = outcome.lowered.program, outcome.config
    inputs = noise(program.inputs, seed=seed)
    try:
        expected = Simulation(program, config, api.make_executor("auto")).run(inputs)
        options = HostOptions(run_control=RunControl(max_instructions=HANGS_AFTER))
        found = Prototype(program, config, api.make_executor("auto"), options).run(inputs)
    except Exception as error:  # whatever it is, it has to be reported
        return f"on the hosts: {type(error).__name__}: {error}"
    for number, (ours, theirs) in enumerate(zip(found.outputs, expected.outputs, strict=True)):
        if not np.array_equal(ours, theirs):
            return f"output {number} differs on the RISC-V host in {(ours != theirs).sum()} elements"
    cycles = [sum(run.plan.timeline.total for run in runs) for runs in (found.inference.runs, expected.runs)]
    return (
        f"DLA cycles {cycles[0]} on the RISC-V host, {cycles[1]} standalone" if len(set(cycles)) > 1 else ""
    )
