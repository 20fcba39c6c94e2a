"""Evaluates a point like `dlasim run --timing-only`, or on the board like `dlasim run --host riscv`."""

from __future__ import annotations

import hashlib
import json
from collections import OrderedDict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import field, replace
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

from dlasim.compiler_shim.forms.partition import UnplacedNetwork
from dlasim.compiler_shim.lowering.addresses.sram_plan import SramPlan
from dlasim.compiler_shim.planning.plan_maker import PlanMemory
from dlasim.compiler_shim.planning.planner import fastest_plan
from dlasim.dataclass import dataclass
from dlasim.errors import DlasimError
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.execution.runner import time_compiled
from dlasim.sim.physical.technology import technology
from dlasim.sim.reports.figures import LAYER_FIGURES, RUN_FIGURES, cells, columns, energy_digits
from dlasim.sim.reports.measured import Measured
from dlasim.sim.reports.report import SCHEMA, report_of
from dlasim.sim.timing.stream_timer import StreamTimer
from dlasim.sweeps.definition.axes import resolve
from dlasim.sweeps.definition.models import Blueprint, blueprint_name, code_hash
from dlasim.system.fileio import FileStamp, file_stamp

OK, REFUSED, FAILED = "ok", "refused", "failed"
FIGURES = columns(RUN_FIGURES)
LAYER_COLUMNS = ("layer", *columns(LAYER_FIGURES))  # the first is its number
MAX_REMEMBERED = 4  # machines, or plans; points that share plans follow each other
# Parameters on which neither plans nor cycles depend, unless energies decide about plans.
_PHYSICAL = ("clock_mhz", "technology")
_ENERGY_OBJECTIVES = ("energy", "edp")


@dataclass(frozen=True, slots=True)
class Entry:
    """The result of a point: figures in the order of FIGURES, or the reason why there are none."""

    status: str
    reason: str = ""
    figures: Sequence[Any] = ()
    layers: Sequence[Sequence[Any]] | None = None


@cache
def code_version() -> str:
    """Hash of all code that figures depend on."""
    packages = [files(f"dlasim.{name}") for name in ("isa", "sim", "compiler_shim", "vp")]
    own = [files("dlasim.sweeps.evaluation") / name for name in ("evaluate.py", "prototype.py")]
    return code_hash([*packages, *own, files("dlasim") / "inputs.py"])[:16]


def content_key(content: str, values: Mapping[str, Any]) -> str:
    """Hash of everything that determines a point's figures: code, model, machine and options.

    It includes the contents of presets, cores and technologies instead of their names.
    """
    contents = {name: value for name, value in values.items() if name not in ("preset", "cpu")}
    contents["technology"] = _technology_content(values["technology"], file_stamp(values["technology"]))
    if values["host"] == "riscv":
        contents["board"] = _board_content(values["cpu"], file_stamp(values["cpu"]))
    text = json.dumps([SCHEMA, code_version(), content, contents], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


@lru_cache(maxsize=64)
def _technology_content(name: str, _stamp: FileStamp) -> str:
    return repr(technology(name))


@lru_cache(maxsize=64)
def _board_content(cpu: str, _stamp: FileStamp) -> str:
    from dlasim.sweeps.evaluation.prototype import board_content

    return board_content(cpu)


def plan_group(model: str, values: Mapping[str, Any], layers: bool) -> Hashable:
    """Equal for points that share plans, since they differ only in SRAM size, clock or technology; one worker
    evaluates them faster than several."""
    decides = values.get("objective") in _ENERGY_OBJECTIVES
    free = ("sram_bytes",) if decides else ("sram_bytes", *_PHYSICAL)
    return (model, layers, *(value for name, value in values.items() if name not in free))


Known = tuple[Entry, Measured]


@dataclass(slots=True)
class GroupMemory:
    """What is known of points that share plans: the plans, what times them, and what was measured with the
    last few, by plan and by the size of SRAM."""

    plans: PlanMemory = field(default_factory=PlanMemory)
    timer: StreamTimer | None = None
    entries: OrderedDict[SramPlan, Known] = field(default_factory=OrderedDict)
    sizes: OrderedDict[int, Known] = field(default_factory=OrderedDict)


def _remember(known: OrderedDict[Any, Any], key: Hashable, value: Any) -> None:
    known[key] = value
    if len(known) > MAX_REMEMBERED:
        known.popitem(last=False)


class Evaluator:
    """Evaluates points of some networks; restores each network once.

    More SRAM than the compiler can use changes only energy and area, so only one machine with so much is
    evaluated, and those figures again for each. The same holds where one plan is the fastest for several
    sizes, and for other clocks and technologies.
    """

    def __init__(self, blueprints: Mapping[str, Blueprint]) -> None:
        self._networks = {name: blueprint.restore() for name, blueprint in blueprints.items()}
        self._memory: tuple[Hashable, GroupMemory] = None, GroupMemory()  # of the group of points at hand
        self._enough_sram: OrderedDict[Hashable, tuple[int, Known]] = OrderedDict()

    def evaluate(self, model: str, values: Mapping[str, Any], layers: bool) -> Entry:
        """The figures of a point. An internal error becomes the point's row and does not stop the sweep."""
        try:
            if values["host"] == "riscv":
                return prototype_entry(self._network(model, values), values, layers)
            return self._timed(model, values, layers)
        except DlasimError as error:
            return Entry(REFUSED, str(error))
        except (Exception, MemoryError) as error:
            text = " ".join(str(error).split())
            return Entry(FAILED, f"internal error, please report it: {type(error).__name__}: {text}")

    def _timed(self, model: str, values: Mapping[str, Any], layers: bool) -> Entry:
        group, size = plan_group(model, values, layers), values["sram_bytes"]
        memory = self._group_memory(group)
        enough, known = self._enough_sram.get(group, (None, None))
        if enough is None or size < enough:
            known = memory.sizes.get(size)
        if known is not None:
            return on_machine(*known, resolve(values)[0])
        enough, entry, measured = timing_entry(self._network(model, values), values, layers, memory)
        _remember(memory.sizes, size, (entry, measured))
        if enough is not None:
            _remember(self._enough_sram, group, (enough, (entry, measured)))
        return entry

    def _network(self, model: str, values: Mapping[str, Any]) -> UnplacedNetwork:
        return self._networks[blueprint_name(model, values["numerics"])]

    def _group_memory(self, group: Hashable) -> GroupMemory:
        if self._memory[0] != group:
            self._memory = group, GroupMemory()
        return self._memory[1]


def prototype_entry(network: UnplacedNetwork, values: Mapping[str, Any], layers: bool) -> Entry:
    """The figures of a network on the board that the values describe."""
    from dlasim.sweeps.evaluation.prototype import prototype_report  # the emulator is slow to import

    run_report, seconds = prototype_report(network, values)
    return Entry(OK, "", row_figures(run_report, seconds), layer_rows(run_report) if layers else None)


def timing_entry(
    network: UnplacedNetwork,
    values: Mapping[str, Any],
    layers: bool,
    memory: GroupMemory | None = None,
) -> tuple[int | None, Entry, Measured]:
    """The figures of a network on the machine that the values describe, without a host; the SRAM size above
    which the program no longer changes, if it is known; and what was measured."""
    config, options = resolve(values)
    memory = memory or GroupMemory()
    choice = fastest_plan(network, config, options, memory.plans)
    known = memory.entries.get(choice.plan)
    if known is not None:
        return choice.sufficient_sram_bytes, on_machine(*known, config), known[1]
    program = choice.program()
    memory.timer = memory.timer or StreamTimer(config)
    measured = Measured(program, config, time_compiled(program, config, memory.timer), {})
    run_report = report_of(measured)
    entry = Entry(OK, "", row_figures(run_report), layer_rows(run_report) if layers else None)
    _remember(memory.entries, choice.plan, (entry, measured))
    return choice.sufficient_sram_bytes, entry, measured


def on_machine(entry: Entry, measured: Measured, config: DlaConfig) -> Entry:
    """The entry of a machine that differs only in SRAM, clock or technology, and runs the same program."""
    if config == measured.config:
        return entry
    other = measured.on_machine(config)
    shown = [figure for figure in RUN_FIGURES if figure.column]
    times = {"cycles": {"total": other.inference.total_cycles}, "config": {"clock_mhz": config.clock_mhz}}
    figures = [
        cell if not figure.is_physical else figure.get(other) if figure.get else figure.cell(times)
        for figure, cell in zip(shown, entry.figures, strict=True)
    ]  # fmt: skip
    if entry.layers is None:
        return replace(entry, figures=figures)
    energies = [energy_digits(layer.energy_nj) for layer in other.layers]
    place = LAYER_COLUMNS.index("energy_nj")
    layers = [
        [*row[:place], energy, *row[place + 1 :]] for row, energy in zip(entry.layers, energies, strict=True)
    ]
    return replace(entry, figures=figures, layers=layers)


def row_figures(report: Mapping[str, Any], simulation_seconds: float | None = None) -> list[Any]:
    """A report as the cells of one row."""
    return cells(RUN_FIGURES, {**report, "simulation_seconds": simulation_seconds})


def layer_rows(report: Mapping[str, Any]) -> list[list[Any]]:
    """The report's layers as rows of cells."""
    return [[number, *cells(LAYER_FIGURES, layer)] for number, layer in enumerate(report["layers"])]
