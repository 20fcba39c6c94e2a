"""Nothing in the current folder is imported, whatever it is called and whichever process does the work."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest

from tests.hardening.commands import COMPILING, QUICK_PLANS

ROOT = Path(__file__).parents[2]
SCRIPT = Path(sysconfig.get_path("scripts")) / "dlasim"
TRAP = "import os\nopen(os.environ['TRAP'], 'a').write(__name__ + ' was imported\\n')\nraise SystemExit(3)\n"
OURS = ("numpy", "numba", "llvmlite", "click", "flatbuffers", "tflite", "unicorn", "elftools")
FOREIGN = ("sitecustomize", "usercustomize", "matplotlib", "tflite_micro", "ai_edge_litert", "yaml")
SWEEP = ("sweep", "model.tflite", "--pes", "1..64:2", "--jobs", "2", *QUICK_PLANS, "--out", "out")
COMMANDS = {
    "script": (str(SCRIPT),),
    "module": (sys.executable, "-m", "dlasim"),
    "isolated": (sys.executable, "-I", "-m", "dlasim"),
}


@pytest.fixture(params=COMMANDS)
def command(request: pytest.FixtureRequest) -> Sequence[str]:
    """Each way to start the command."""
    if request.param == "script" and not SCRIPT.exists():
        pytest.skip("the command `dlasim` is not installed in this environment")
    return COMMANDS[request.param]


@pytest.fixture
def hostile(tmp_path: Path, model: Path) -> Path:
    """A model's folder, in which a module of every name that could be imported lies as well."""
    folder = tmp_path / "hostile"
    folder.mkdir()
    for name in {*sys.stdlib_module_names, *OURS, *FOREIGN}:
        (folder / f"{name}.py").write_text(TRAP)
    (folder / ".numba_config.yaml").write_text("disable_jit: 1\nopt: 0\n")
    shutil.copy(model, folder / "model.tflite")
    return folder


@cache
def imported_by_minus_m() -> list[str]:
    """What `python -m` imports before it comes to any code of ours, from the current folder first."""
    code = "import runpy, sys; print(*sys.modules)"
    command = [sys.executable, "-P", "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


def run(command: Sequence[str], hostile: Path, *arguments: str, **variables: str) -> str:
    """What a command prints that was run in the folder."""
    if command == COMMANDS["module"]:
        for name in imported_by_minus_m():
            (hostile / f"{name}.py").unlink(missing_ok=True)
    trap = hostile.parent / "trap"
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | {"TRAP": str(trap)}
    environment |= {"XDG_CACHE_HOME": str(hostile.parent / "cache")} | variables
    done = subprocess.run(
        [*command, *arguments], cwd=hostile, env=environment, capture_output=True, text=True, check=False
    )
    assert not trap.exists(), trap.read_text()
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_first_run(command: Sequence[str], hostile: Path) -> None:
    assert "total" in run(command, hostile, "run", "model.tflite")


def test_the_first_run_with_an_empty_entry_in_the_path(hostile: Path) -> None:
    """`PYTHONPATH=$PYTHONPATH:/somewhere` has one where it was not set; Python takes it for this folder, so
    the command itself cannot start there, but helpers of a command that does not see it must not either."""
    code = "import os; os.environ['PYTHONPATH'] = ':/nowhere'; from dlasim.cli import main; main()"
    printed = run((sys.executable, "-P", "-c", code), hostile, "doctor")
    assert "computes layers" in printed


def test_a_sweep_with_workers(command: Sequence[str], hostile: Path) -> None:
    assert "model" in run(command, hostile, *SWEEP)
    rows = (hostile / "out" / "results.csv").read_text().splitlines()
    assert len(rows) == 33
    assert all(",ok," in row for row in rows[1:])


def test_the_doctor(command: Sequence[str], hostile: Path) -> None:
    assert "computes layers" in run(command, hostile, "doctor")


def test_the_reference_kernels(command: Sequence[str], hostile: Path) -> None:
    pytest.importorskip("tflite_micro", reason="TensorFlow's kernels are not installed")
    assert "bit-exact" in run(command, hostile, "verify", "model.tflite")


@pytest.mark.parametrize("how", ["script", "isolated"])
def test_another_dlasim_in_the_folder(how: str, hostile: Path) -> None:
    """As where somebody works in a checkout, with another version installed."""
    if how == "script" and not SCRIPT.exists():
        pytest.skip("the command `dlasim` is not installed in this environment")
    (hostile / "dlasim").mkdir()
    (hostile / "dlasim" / "__init__.py").write_text(TRAP)
    assert "computes layers" in run(COMMANDS[how], hostile, "doctor")
    run(COMMANDS[how], hostile, *SWEEP)


@pytest.mark.slow
def test_compiling(hostile: Path) -> None:
    run(COMPILING, hostile, "run", "model.tflite")
    assert [file.suffix for file in (hostile.parent / "cache" / "dlasim").iterdir()] == [".o"]
