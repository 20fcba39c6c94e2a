"""What the CPU and each unit did when: the spans of an inference, lane by lane."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dlasim.isa.instruction_rows import UNITS
from dlasim.isa.program import Program
from dlasim.sim.execution.runner import Inference

CPU = "CPU"
LANES = (CPU, *(unit.name for unit in UNITS))
Integers = NDArray[np.int64]


def lane_spans(program: Program, inference: Inference) -> dict[str, Integers]:
    """For each lane rows of start, end and layer (-1 for none), ascending."""
    layer_of = program.layer_of_words()
    calls = [(span.start, span.end, program.host_calls[span.call].layer) for span in inference.host]
    parts = {lane: [np.zeros((0, 3), np.int64)] for lane in LANES}
    parts[CPU].append(np.array([*calls, *((*bell, -1) for bell in inference.doorbells)], np.int64))
    for run in inference.runs:
        plan = run.plan
        layers = layer_of[run.first_word :][plan.stream.positions[: plan.operations]]
        units = plan.costs.unit[: plan.operations]
        spans = np.stack((plan.timeline.start + run.start, plan.timeline.end + run.start, layers), axis=1)
        for unit in UNITS:
            parts[unit.name].append(spans[units == unit])
    return {lane: _ascending(np.concatenate([part.reshape(-1, 3) for part in some]))
            for lane, some in parts.items()}  # fmt: skip


def _ascending(spans: Integers) -> Integers:
    return spans[np.argsort(spans[:, 0], kind="stable")]
