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
from dlasim.sim.execution.runner import first_and_steady
from dlasim.sim.physical.technology import technology
from dlasim.sim.reports.figures import LAYER_FIGURES, RUN_FIGURES, cells, columns, energy_digits
from dlasim.sim.reports.measured import Measured
from dlasim.sim.reports.report import SCHEMA, report_of
from dlasim.sweeps.definition.axes import resolve
from dlasim.sweeps.definition.models import Blueprint, code_hash
from dlasim.system.fileio import FileStamp, file_stamp

OK, REFUSED, FAILED = "ok", "refused", "failed"
FIGURES = columns(RUN_FIGURES)
LAYER_COLUMNS = ("layer", *columns(LAYER_FIGURES))  # the first is its number
MAX_REMEMBERED = 4  # machines, or plans; points that differ only in SRAM follow each other
# The figures that depend on the SRAM's size even where the program does not.
_OF_SRAM = ("energy_nj", "area_", "sram_kib")


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


def sram_group(model: str, values: Mapping[str, Any], layers: bool) -> Hashable:
    """Equal for points that differ only in their SRAM size; one worker evaluates them faster than several."""
    return (model, layers, *(value for name, value in values.items() if name != "sram_bytes"))


@dataclass(slots=True)
class GroupMemory:
    """What is known of points that differ only in their SRAM: plans, and by the identity of a plan that is
    kept among these what was measured with it, for the last few."""

    plans: PlanMemory = field(default_factory=PlanMemory)
    entries: OrderedDict[int, tuple[Entry, Measured]] = field(default_factory=OrderedDict)

    def keep(self, plan: SramPlan, entry: Entry, measured: Measured) -> None:
        """Remember what was measured with a plan."""
        self.entries[id(plan)] = entry, measured
        if len(self.entries) > MAX_REMEMBERED:
            self.entries.popitem(last=False)


class Evaluator:
    """Evaluates points of some networks; restores each network once.

    More SRAM than the compiler can use changes only energy and area, so only one machine with so much is
    evaluated, and those figures again for each. The same holds where one plan is the fastest for several
    sizes.
    """

    def __init__(self, blueprints: Mapping[str, Blueprint]) -> None:
        self._networks = {name: blueprint.restore() for name, blueprint in blueprints.items()}
        self._memory: tuple[Hashable, GroupMemory] = None, GroupMemory()  # of the group of points at hand
        self._enough_sram: OrderedDict[Hashable, tuple[int, Entry, Measured]] = OrderedDict()

    def evaluate(self, model: str, values: Mapping[str, Any], layers: bool) -> Entry:
        """The figures of a point. An internal error becomes the point's row and does not stop the sweep."""
        group = sram_group(model, values, layers)
        known = self._enough_sram.get(group)
        if known is not None and values["sram_bytes"] >= known[0]:
            return with_sram(known[1], known[2], values["sram_bytes"])
        enough, entry, measured = self._evaluate(model, values, layers)
        if enough is not None and measured is not None:
            self._enough_sram[group] = (enough, entry, measured)
            if len(self._enough_sram) > MAX_REMEMBERED:
                self._enough_sram.popitem(last=False)
        return entry

    def _evaluate(
        self, model: str, values: Mapping[str, Any], layers: bool
    ) -> tuple[int | None, Entry, Measured | None]:
        try:
            if values["host"] == "riscv":
                return None, prototype_entry(self._networks[model], values, layers), None
            memory = self._group_memory(sram_group(model, values, layers))
            return timing_entry(self._networks[model], values, layers, memory)
        except DlasimError as error:
            return None, Entry(REFUSED, str(error)), None
        except (Exception, MemoryError) as error:
            text = " ".join(str(error).split())
            return (
                None,
                Entry(FAILED, f"internal error, please report it: {type(error).__name__}: {text}"),
                None,
            )

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
    known = memory.entries.get(id(choice.plan))
    if known is not None:
        entry, measured = known
        return choice.sufficient_sram_bytes, with_sram(entry, measured, config.sram_bytes), measured
    program = choice.lower(with_constants=False).program
    measured = Measured(program, config, first_and_steady(program, config)[1], {})
    run_report = report_of(measured)
    entry = Entry(OK, "", row_figures(run_report), layer_rows(run_report) if layers else None)
    memory.keep(choice.plan, entry, measured)
    return choice.sufficient_sram_bytes, entry, measured


def with_sram(entry: Entry, measured: Measured, sram_bytes: int) -> Entry:
    """The entry of a machine that differs only in its SRAM, and runs the same program."""
    larger = measured.with_sram(sram_bytes)
    shown = [figure for figure in RUN_FIGURES if figure.column]
    figures = [
        figure.get(larger) if figure.get and figure.name.startswith(_OF_SRAM) else cell
        for figure, cell in zip(shown, entry.figures, strict=True)
    ]
    if entry.layers is None:
        return replace(entry, figures=figures)
    energies = [energy_digits(layer.energy_nj) for layer in larger.layers]
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
