"""mypy and a REPL know the API: misspelled keywords are found, names are completed."""

from __future__ import annotations

import dataclasses
import os
import rlcompleter
import subprocess
import sys
from pathlib import Path
from typing import get_type_hints

import pytest

import dlasim
from dlasim import choices
from dlasim.compiler_shim.options import CompileOptions
from dlasim.sim.config import ALIASES, DlaConfig

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
"""
WRONG = [3, 4, 5, 6, 7, 8, 9, 10, 14]


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
    assert set(dlasim.__all__) <= set(dir(dlasim))
    assert "TYPE_CHECKING" not in dir(dlasim)
    assert set(dlasim.__all__) <= completions("dlasim.", {"dlasim": dlasim})


def test_a_repl_completes_a_result() -> None:
    result = dlasim.run("mnist", timing_only=True)
    offered = completions("result.", {"result": result})
    assert {"outputs", "report", "cycles", "layers", "plot", "trace"} <= offered
