"""mypy and a REPL know the API: misspelled keywords are found, names are completed."""

from __future__ import annotations

import dataclasses
import importlib.util
import os
import rlcompleter
import subprocess
import sys
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, NotRequired, get_args, get_origin, get_type_hints, is_typeddict

import pytest

import dlasim
from dlasim import choices
from dlasim.compiler_shim.options import CompileOptions
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.configuration.parameter_names import ALIASES
from dlasim.sim.reports.report_types import LayerRow, Report, SweepRow

USES = """\
import dlasim

dlasim.run("resnet8", pess=3)
dlasim.run("resnet8", pes="many")
dlasim.compile("resnet8", fusion="all")
dlasim.verify("resnet8", host="riscv", host_options={"cpuu": "ideal"})
dlasim.explain("resnet8", deptwise="cpu")
dlasim.sweep("resnet8", pse=[1, 2])
dlasim.run("resnet8", inputs=3)
dlasim.model("resnet8", sead=3)
dlasim.run("resnet8", pes=64, sram="64KiB", dla_ops=["CONV_2D"], host_options={"cpu": "ideal"})
dlasim.sweep("resnet8", pes=[1, 2], sram="1KiB..4KiB", parallel=("input", "8x8"), clock=500)
total: int = dlasim.run("resnet8").cycles
name: str = dlasim.run("resnet8").cycles
report = dlasim.run("resnet8").report
read: int = report["dma_bytes"]["read"] + report["layers"][0]["dma_bytes"]["read"]
report["dma_bytes"]["red"]
report["cycles"]["total"].upper()
layer: str = dlasim.run("resnet8").layers[0]["operator"]
dlasim.run("resnet8").layers[0]["cylces"]
best = dlasim.sweep(["resnet8", "mnist"], pes=[1, 2], where="pes > 1").best()
best["cycles_total"]
assert best is not None
cycles: int = best["cycles_total"] + best["sram_bytes"]
best["cycles_totl"]
dlasim.run("resnet8", [1, 2])
table: dlasim.SweepResult = dlasim.sweep("resnet8")
table.to_polars().colums
frame = table.frame()
"""
WRONG = [3, 4, 5, 6, 7, 8, 9, 10, 14, 17, 18, 20, 22, 25, 26, 28]


def test_mypy_finds_wrong_keywords_and_values(tmp_path: Path) -> None:
    pytest.importorskip("mypy", reason="mypy belongs to the development tools")
    (tmp_path / "uses.py").write_text(USES)
    root = Path(dlasim.__file__).parents[1]
    options = ["--follow-imports=silent", "--ignore-missing-imports", "--no-error-summary"]
    mypy = [sys.executable, "-P", "-m", "mypy"]
    command = [*mypy, "--cache-dir", str(tmp_path / "cache"), *options, "uses.py"]
    # mypy finds what is installed by itself, and refuses to be told where that is.
    path = {} if root.name == "site-packages" else {"MYPYPATH": str(root)}
    done = subprocess.run(
        command, cwd=tmp_path, env=os.environ | path, capture_output=True, text=True, check=False
    )
    found = {int(line.split(":")[1]) for line in done.stdout.splitlines() if ": error:" in line}
    assert sorted(found) == WRONG, done.stdout + done.stderr
    assert 'Unexpected keyword argument "pess" for "run"; did you mean "pes"?' in done.stdout


def test_the_keywords_are_those_of_machine_and_compiler() -> None:
    fields = {field.name for kind in (DlaConfig, CompileOptions) for field in dataclasses.fields(kind)}
    assert set(choices.Choices.__annotations__) == fields - {"name"} | set(ALIASES)
    study = {"preset", "host", "cpu"}
    assert set(choices.Axes.__annotations__) == set(choices.Choices.__annotations__) | study
    hints = get_type_hints(choices.Choices)
    assert hints["fusion"].__args__ == ("none", "requant", "full")


def completions(text: str, names: dict[str, object]) -> set[str]:
    """What a REPL offers after this text."""
    completer = rlcompleter.Completer(names)
    found = []
    while (word := completer.complete(text, len(found))) is not None:
        found.append(word)
    return {word.rstrip("()").removeprefix(text) for word in found}


def test_a_repl_completes_the_package() -> None:
    command = """if True:
        import dlasim, rlcompleter
        completer = rlcompleter.Completer({"dlasim": dlasim})
        print(completer.complete("dlasim.swe", 0), completer.complete("dlasim.DlaC", 0))
    """
    done = subprocess.run([sys.executable, "-P", "-c", command], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["dlasim.sweep(", "dlasim.DlaConfig("]
    assert {name for name in dir(dlasim) if not name.startswith("__")} == set(dlasim.__all__)
    assert set(dlasim.__all__) <= completions("dlasim.", {"dlasim": dlasim})


def test_a_repl_completes_a_result() -> None:
    result = dlasim.run("mnist", timing_only=True)
    offered = completions("result.", {"result": result})
    assert {"outputs", "report", "cycles", "layers", "plot", "trace"} <= offered


def misfits(value: Any, kind: Any, path: str) -> list[str]:
    """Where a value is not of a type: a number, text, or lists, dictionaries and TypedDicts of such."""
    if get_origin(kind) is NotRequired:
        (kind,) = get_args(kind)
    if kind is Any:
        return []
    if get_origin(kind) is UnionType:
        tries = [misfits(value, one, path) for one in get_args(kind)]
        return [] if [] in tries else tries[0]
    if is_typeddict(kind):
        hints = get_type_hints(kind, include_extras=True)
        needed = [name for name, one in hints.items() if get_origin(one) is not NotRequired]
        missing = [name for name in needed if name not in value and kind.__total__]
        found = [f"{path}.{name} is missing" for name in missing]
        found += [f"{path}.{name} has no type" for name in value if name not in hints]
        parts = [(name, hints[name], value[name]) for name in value if name in hints]
        return found + [text for name, one, part in parts for text in misfits(part, one, f"{path}.{name}")]
    if get_origin(kind) is dict:
        (_, one) = get_args(kind)
        return [text for name, part in value.items() for text in misfits(part, one, f"{path}.{name}")]
    if get_origin(kind) is list:
        (one,) = get_args(kind)
        return [text for part in value for text in misfits(part, one, f"{path}[]")]
    allowed = {float: (float, int), NoneType: (NoneType,), bool: (bool,), int: (int,), str: (str,)}[kind]
    fits = isinstance(value, allowed) and not (isinstance(value, bool) and kind is not bool)
    return [] if fits else [f"{path} is {value!r}, not {kind.__name__}"]


@pytest.mark.parametrize(
    "options",
    [
        {"timing_only": True},
        {},
        {"host": "riscv", "depthwise": "cpu", "place": "cpu"},
        {"preset": "ethos-u55-128", "repeat": 2},
    ],
    ids=str,
)
def test_reports_have_their_types(options: dict[str, Any]) -> None:
    options = dict(options)
    result = dlasim.run("ds_cnn", options.pop("preset", None), **options)
    assert misfits(result.report, Report, "report") == []
    assert [misfits(layer, LayerRow, "layer") for layer in result.layers] == [[]] * len(result.layers)
    assert set(result.layers.columns) == set(LayerRow.__annotations__)


def test_a_report_of_assembly_has_its_type() -> None:
    example = Path(__file__).parents[2] / "examples" / "relu.s"
    assert misfits(dlasim.run(example).report, Report, "report") == []


@pytest.mark.parametrize("host", ["none", "riscv"])
def test_rows_have_their_types(host: str) -> None:
    found = dlasim.sweep("mnist", pes=[16, 32], host=host, layers=True, jobs=1)
    assert misfits(found.best(), SweepRow, "row") == []
    assert misfits(found.layers.best("cycles"), SweepRow, "row") == []
    assert set(found.columns) | set(found.layers.columns) == set(SweepRow.__annotations__)


def test_the_types_of_reports_name_what_is_not_there() -> None:
    report = dlasim.run("mnist", timing_only=True).report
    wrong = {**report, "macs": "many", "cycles": {"total": 1.5}, "more": 1}
    said = misfits(wrong, Report, "report")
    assert {
        "report.more has no type",
        "report.macs is 'many', not int",
        "report.cycles.dla is missing",
    } <= set(said)
    assert "report.cycles.total is 1.5, not int" in said


def test_no_function_has_the_name_of_a_module():
    """Importing `dlasim.token_rates`, as the command `tokens` did, hid the function of that name."""
    assert [name for name in dlasim.__all__ if importlib.util.find_spec(f"dlasim.{name}")] == []
