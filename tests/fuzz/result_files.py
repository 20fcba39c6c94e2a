"""Reports, tables of sweeps and technologies as others may have written them."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

from dlasim.compiler_shim import compile as shim
from dlasim.compiler_shim.files.importing import prepare
from dlasim.compiler_shim.forms.partition import partition
from dlasim.compiler_shim.options import CompileOptions
from dlasim.compiler_shim.tflite.reader import read_model
from dlasim.compiler_shim.tflite.writer import write_tflite
from dlasim.isa.program import Program
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.execution.runner import Simulation
from dlasim.sim.reports.report import report
from dlasim.sweeps.charts import fitting_kind
from dlasim.sweeps.definition.study_builder import build_study
from dlasim.sweeps.evaluation.sweep import Settings, run_study
from dlasim.sweeps.page.sources import page_of
from dlasim.sweeps.results.report_file import open_table
from tests.fuzz.harness import Target
from tests.tflite.one_operator import random_graph

TECHNOLOGIES = Path(__file__).parents[2] / "sim" / "physical" / "technologies"
MACHINE = DlaConfig(sram_bytes=16_384)


@cache
def _program() -> Program:
    model = read_model(write_tflite(random_graph("CONV_2D", 0)))
    return shim.lower_for(partition(prepare(model, "m")), MACHINE, CompileOptions()).program


def _report(machine: DlaConfig) -> dict[str, object]:
    return report(_program(), machine, Simulation(_program(), machine, None).run([]))


def _technology_seeds() -> Sequence[bytes]:
    written = b"""base = "45nm"
constants.mac_pj = {value = 1.5, uncertainty = 0.5, source = "measured"}
memories.flash = {read_pj_per_byte = 4.0, write_pj_per_byte = 4.0, uncertainty = 1.0, source = "data sheet"}
regions.CONSTANTS = "flash"
"""
    return [written, *(file.read_bytes() for file in sorted(TECHNOLOGIES.glob("*.toml")))]


def _check_technology(path: Path) -> None:
    json.dumps(_report(MACHINE.replace(technology=str(path))), allow_nan=False)


def _report_seeds() -> Sequence[bytes]:
    return [json.dumps(_report(MACHINE), indent=1).encode()]


def _check_report(path: Path) -> None:
    """What `dlasim report` and `dlasim plot` do with a report, but for drawing."""
    page_of([str(path)])
    page_of([str(path), str(path)])
    fitting_kind(open_table(path), None)


@cache
def _table_seeds() -> Sequence[bytes]:
    with tempfile.TemporaryDirectory() as folder:
        study = build_study(["mnist"], {"pes": "16,64", "sram": "16KiB,32KiB"}, [], False)
        return [run_study(study, Settings(Path(folder), jobs=1, visible=False)).result.path.read_bytes()]


def _check_table(path: Path) -> None:
    """What `dlasim report` and `dlasim plot` do with a table, but for drawing."""
    page_of([str(path)])
    page_of([str(path)], "pes == 16")
    found = open_table(path)
    fitting_kind(found, None)
    list(found.rows())


def targets(through_file: Callable[[str, Callable[[Path], object]], Callable[[bytes], None]]) -> list[Target]:
    """The targets; `through_file` makes a check of bytes from one of a path."""
    return [
        Target("technology", _technology_seeds, through_file(".toml", _check_technology), is_text=True),
        Target("report", _report_seeds, through_file(".json", _check_report), is_text=True),
        Target("table", _table_seeds, through_file(".csv", _check_table), is_text=True),
    ]
