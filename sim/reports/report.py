"""The JSON report of an inference: what was run, and the values of the table of figures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dlasim.isa.program import Program, TensorDescriptor
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.execution.runner import Inference
from dlasim.sim.reports.figures import RUN_FIGURES, values
from dlasim.sim.reports.measured import Measured

SCHEMA = "dlasim.report/1"


def report(
    program: Program,
    config: DlaConfig,
    inference: Inference,
    wall_seconds: Mapping[str, float] | None = None,
    instructions: int | None = None,
) -> dict[str, Any]:
    """The report of one inference; `instructions` of the CPU, if a board counted them."""
    return report_of(Measured(program, config, inference, wall_seconds or {}, instructions))


def report_of(measured: Measured) -> dict[str, Any]:
    """The report of what was measured."""
    return {
        "schema": SCHEMA,
        "program": measured.program.name,
        "config": measured.config.as_dict(),
        "outputs": [_output(tensor) for tensor in measured.program.outputs],
        **values(RUN_FIGURES, measured),
    }


def first_inference(report: Mapping[str, Any]) -> dict[str, Any]:
    """What a report of an inference that loads weights says beside that of later ones, which keep them."""
    return {
        "cycles": report["cycles"]["total"],
        "energy_nj": report["energy_nj"]["total"],
        "dma_bytes": report["dma_bytes"],
    }


def _output(tensor: TensorDescriptor) -> dict[str, Any]:
    return {
        "name": tensor.name,
        "type": tensor.type.name,
        "shape": list(tensor.shape),
        "scale": tensor.scale,
        "zero_point": tensor.zero_point,
    }
