"""One point to its figures: lowered, timed and reported, as `dlasim run --timing-only` does it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from dlasim.compiler_shim.compile import lower_for
from dlasim.compiler_shim.partition import Partitioned
from dlasim.errors import DlasimError
from dlasim.isa.instructions import UNITS, WORD_BYTES
from dlasim.sim.report import KINDS, SCHEMA, report
from dlasim.sim.runner import Simulation
from dlasim.sweeps.models import Blueprint, code_hash
from dlasim.sweeps.parameters import resolve

OK, REFUSED, FAILED = "ok", "refused", "failed"
UNIT_TERMS = (
    "work", "fill", "drain", "latency", "sram", "contention", "idle_issue", "idle_wait", "idle_queue",
)  # fmt: skip
FIGURES = (
    "cycles_total", "milliseconds", "cycles_dla", "cycles_cpu", "cycles_overlap",
    *(f"cycles_{kind.lower()}" for kind in KINDS), "cycles_stall", "cycles_dma",
    "macs", "utilization", "dma_read_bytes", "dma_write_bytes", "sram_peak_bytes", "arena_peak_bytes",
    "constants_bytes", "artifact_bytes", "cpu_instructions", "layers_dla", "layers_cpu", "tiles",
    *(f"unit_{unit.name.lower()}_{term}" for unit in UNITS for term in UNIT_TERMS),
)  # fmt: skip
LAYER_FIGURES = (
    "layer", "name", "operator", "kind", "unit", "cycles", "macs", "utilization", "tiles",
    "dma_read_bytes", "dma_write_bytes",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Entry:
    """What a point gave: figures in the order of FIGURES, or the reason why there are none."""

    status: str
    reason: str = ""
    figures: Sequence[Any] = ()
    layers: Sequence[Sequence[Any]] | None = None


@cache
def code_version() -> str:
    """Hash of all code that a figure depends on."""
    packages = [files(f"dlasim.{name}") for name in ("isa", "sim", "compiler_shim")]
    return code_hash([*packages, files("dlasim.sweeps") / "evaluate.py"])[:16]


def content_key(content: str, values: Mapping[str, Any]) -> str:
    """Hash of everything that determines a point's figures: code, model, machine and options.

    Names of presets do not count, only what they stand for.
    """
    told = {name: value for name, value in values.items() if name != "preset"}
    text = json.dumps([SCHEMA, code_version(), content, told], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


class Evaluator:
    """Evaluates points of some networks; restores each network once."""

    def __init__(self, blueprints: Mapping[str, Blueprint]) -> None:
        self._networks = {name: blueprint.restore() for name, blueprint in blueprints.items()}

    def evaluate(self, model: str, values: Mapping[str, Any], layers: bool) -> Entry:
        """The figures of a point. A bug that one point meets must not end the others: it becomes a row."""
        try:
            return timing_entry(self._networks[model], values, layers)
        except DlasimError as error:
            return Entry(REFUSED, str(error))
        except (Exception, MemoryError) as error:
            text = " ".join(str(error).split())
            return Entry(FAILED, f"internal error, please report it: {type(error).__name__}: {text}")


def timing_entry(network: Partitioned, values: Mapping[str, Any], layers: bool) -> Entry:
    """The figures of a network on the machine that the values describe."""
    config, options = resolve(values)
    program = lower_for(network, config, options, with_constants=False).program
    inference = Simulation(program, config, None).run()
    artifact = len(program.commands) * WORD_BYTES + len(program.constants)
    told = report(program, config, inference, artifact_bytes=artifact)
    return Entry(OK, "", row_figures(told), layer_rows(told) if layers else None)


def row_figures(told: Mapping[str, Any]) -> list[Any]:
    """A report as the cells of one row."""
    cycles, moved, memory, layers = told["cycles"], told["dma_bytes"], told["memory"], told["layers"]
    milliseconds = round(cycles["total"] / told["config"]["clock_mhz"] / 1000, 6)
    cells = [cycles["total"], milliseconds, cycles["dla"], cycles["cpu"], cycles["overlap"]]
    cells += [cycles["by_kind"].get(kind, 0) for kind in KINDS]
    cells += [
        cycles["stall"],
        cycles["dma"],
        told["macs"],
        told["utilization"],
        moved["read"],
        moved["write"],
    ]
    cells += [told["sram_peak_bytes"]]
    cells += [memory[name] for name in ("arena_peak_bytes", "constants_bytes", "artifact_bytes")]
    on_dla = sum(layer["unit"] == "dla" for layer in layers)
    cells += [told["cpu"]["instructions"], on_dla, len(layers) - on_dla]
    cells += [sum(layer["tiles"] for layer in layers)]
    for unit in UNITS:
        terms = told["units"].get(unit.name, {})
        cells += [terms.get(term, 0) for term in UNIT_TERMS]
    assert len(cells) == len(FIGURES)
    return cells


def layer_rows(told: Mapping[str, Any]) -> list[list[Any]]:
    """The report's layers as rows of cells."""
    return [
        [number, *(layer[name] for name in LAYER_FIGURES[1:-2]), *layer["dma_bytes"].values()]
        for number, layer in enumerate(told["layers"])
    ]  # fmt: skip
