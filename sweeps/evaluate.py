"""One point to its figures: lowered, timed and reported, as `dlasim run --timing-only` does it, or run on the
virtual prototype, as `dlasim run --host riscv` does it."""

from __future__ import annotations

import hashlib
import json
from collections import OrderedDict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from dlasim.compiler_shim.compile import lower_for
from dlasim.compiler_shim.partition import Partitioned
from dlasim.errors import DlasimError
from dlasim.isa.instructions import UNITS
from dlasim.sim.report import KINDS, SCHEMA, report
from dlasim.sim.runner import Simulation
from dlasim.sweeps.models import Blueprint, code_hash
from dlasim.sweeps.parameters import resolve

OK, REFUSED, FAILED = "ok", "refused", "failed"
UNIT_TERMS = (
    "work", "fill", "drain", "latency", "sram", "contention", "idle_issue", "idle_wait", "idle_queue",
)  # fmt: skip
# Only the virtual prototype has these; the seconds are those of its emulation, and a measurement.
BOARD_FIGURES = (
    "cpu_setup_instructions", "cpu_idle_cycles", "stack_peak_bytes", "ram_peak_bytes", "simulation_seconds",
)  # fmt: skip
FIGURES = (
    "cycles_total", "milliseconds", "cycles_dla", "cycles_cpu", "cycles_overlap",
    *(f"cycles_{kind.lower()}" for kind in KINDS), "cycles_stall", "cycles_dma",
    "macs", "utilization", "dma_read_bytes", "dma_write_bytes", "sram_peak_bytes", "arena_peak_bytes",
    "constants_bytes", "artifact_bytes", "cpu_instructions", *BOARD_FIGURES,
    "layers_dla", "layers_cpu", "tiles",
    *(f"unit_{unit.name.lower()}_{term}" for unit in UNITS for term in UNIT_TERMS),
)  # fmt: skip
LAYER_FIGURES = (
    "layer", "name", "operator", "kind", "unit", "cycles", "macs", "utilization", "tiles",
    "dma_read_bytes", "dma_write_bytes",
)  # fmt: skip
MOST_REMEMBERED = 256  # machines with SRAM to spare


@dataclass(frozen=True, slots=True)
class Entry:
    """What a point gave: figures in the order of FIGURES, or the reason why there are none."""

    status: str
    reason: str = ""
    figures: Sequence[Any] = ()
    layers: Sequence[Sequence[Any]] | None = None


_NEVER = (1 << 63, Entry(FAILED))


@cache
def code_version() -> str:
    """Hash of all code that a figure depends on."""
    packages = [files(f"dlasim.{name}") for name in ("isa", "sim", "compiler_shim", "vp")]
    own = [files("dlasim.sweeps") / name for name in ("evaluate.py", "prototype.py")]
    return code_hash([*packages, *own, files("dlasim") / "inputs.py"])[:16]


def content_key(content: str, values: Mapping[str, Any]) -> str:
    """Hash of everything that determines a point's figures: code, model, machine and options.

    Names of presets and cores do not count, only what they stand for.
    """
    told = {name: value for name, value in values.items() if name not in ("preset", "cpu")}
    if values["host"] == "riscv":
        told["board"] = _board_content(values["cpu"])
    text = json.dumps([SCHEMA, code_version(), content, told], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


@cache
def _board_content(cpu: str) -> str:
    from dlasim.sweeps.prototype import board_content

    return board_content(cpu)


def kin(model: str, values: Mapping[str, Any], layers: bool) -> Hashable:
    """The same for points that differ in their SRAM alone, of which one worker has least to do."""
    return (model, layers, *(value for name, value in values.items() if name != "sram_bytes"))


class Evaluator:
    """Evaluates points of some networks; restores each network once.

    SRAM beyond what the compiler has a use for changes no figure: of machines that differ in that alone, one
    is evaluated.
    """

    def __init__(self, blueprints: Mapping[str, Blueprint]) -> None:
        self._networks = {name: blueprint.restore() for name, blueprint in blueprints.items()}
        self._sufficient: OrderedDict[Hashable, tuple[int, Entry]] = OrderedDict()

    def evaluate(self, model: str, values: Mapping[str, Any], layers: bool) -> Entry:
        """The figures of a point. A bug that one point meets must not end the others: it becomes a row."""
        machine = kin(model, values, layers)
        sufficient_bytes, entry = self._sufficient.get(machine, _NEVER)
        if values["sram_bytes"] >= sufficient_bytes:
            return entry
        sufficient, entry = self._evaluate(model, values, layers)
        if sufficient is not None:
            self._sufficient[machine] = (sufficient, entry)
            if len(self._sufficient) > MOST_REMEMBERED:
                self._sufficient.popitem(last=False)
        return entry

    def _evaluate(self, model: str, values: Mapping[str, Any], layers: bool) -> tuple[int | None, Entry]:
        try:
            if values["host"] == "riscv":
                return None, prototype_entry(self._networks[model], values, layers)
            return timing_entry(self._networks[model], values, layers)
        except DlasimError as error:
            return None, Entry(REFUSED, str(error))
        except (Exception, MemoryError) as error:
            text = " ".join(str(error).split())
            return None, Entry(FAILED, f"internal error, please report it: {type(error).__name__}: {text}")


def prototype_entry(network: Partitioned, values: Mapping[str, Any], layers: bool) -> Entry:
    """The figures of a network on the board that the values describe."""
    from dlasim.sweeps.prototype import prototype_report  # the emulator takes its time to load

    told, seconds = prototype_report(network, values)
    return Entry(OK, "", row_figures(told, seconds), layer_rows(told) if layers else None)


def timing_entry(network: Partitioned, values: Mapping[str, Any], layers: bool) -> tuple[int | None, Entry]:
    """The figures of a network on the machine that the values describe, without a host; and the SRAM from
    which on more of it changes none of them, if it has that."""
    config, options = resolve(values)
    lowered = lower_for(network, config, options, with_constants=False)
    program = lowered.program
    inference = Simulation(program, config, None).run()
    told = report(program, config, inference)
    return lowered.sufficient_sram_bytes, Entry(
        OK, "", row_figures(told), layer_rows(told) if layers else None
    )


def row_figures(told: Mapping[str, Any], simulation_seconds: float | None = None) -> list[Any]:
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
    cells += [told["cpu"]["instructions"], *_board_figures(told), simulation_seconds]
    cells += [on_dla, len(layers) - on_dla]
    cells += [sum(layer["tiles"] for layer in layers)]
    for unit in UNITS:
        terms = told["units"].get(unit.name, {})
        cells += [terms.get(term, 0) for term in UNIT_TERMS]
    assert len(cells) == len(FIGURES)
    return cells


def _board_figures(told: Mapping[str, Any]) -> list[Any]:
    cpu, memory = told["cpu"], told["memory"]
    cells = (cpu.get("setup_instructions"), cpu.get("idle_cycles"))
    return [*cells, memory.get("stack_peak_bytes"), memory.get("ram_peak_bytes")]


def layer_rows(told: Mapping[str, Any]) -> list[list[Any]]:
    """The report's layers as rows of cells."""
    return [
        [number, *(layer[name] for name in LAYER_FIGURES[1:-2]), *layer["dma_bytes"].values()]
        for number, layer in enumerate(told["layers"])
    ]  # fmt: skip
