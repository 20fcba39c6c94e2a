"""A sweep and compiled routines: built beside it when that pays, used when there, and never in its way."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dlasim.cache import cache_folder
from dlasim.native.routine import routines
from tests.hardening.commands import listen_to_ctrl_c
from tests.native import tiny
from tests.native.processes import wait_until_gone

AXES = ["--pes", "16..256:12", "--sram", "16KiB..128KiB", "--parallel", "input,output"]
FEW = ["--pes", "16,100"]  # a sweep that ends before anything is built
ROOT = Path(__file__).parents[2]
EAGER = """
import sys
from dlasim.native import demand
from dlasim.sweeps import progress
demand.BUILD_SECONDS = progress._EARLY_SECONDS = 0.0
from dlasim.cli import main
from tests.native import tiny  # beside the real ones
main(sys.argv[1:])
"""


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache without objects."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return cache_folder()


def sweep(model: Path, out: Path, *more: str, **variables: str) -> subprocess.Popen[str]:
    """A sweep that thinks of builds at once."""
    command = [sys.executable, "-c", EAGER, "sweep", str(model), *AXES, "--out", str(out), *more]
    return subprocess.Popen(
        command,
        env=os.environ | {"PYTHONPATH": str(ROOT)} | variables,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=listen_to_ctrl_c,
    )


def finish(process: subprocess.Popen[str]) -> tuple[int, list[str]]:
    """Its exit code, and the lines that it said."""
    told = process.communicate()[1]
    return process.returncode, told.splitlines()


def builds(process: subprocess.Popen[str]) -> list[int]:
    """The processes that build for it."""
    listed = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    return [
        int(pid) for pid in listed if b"dlasim.native.beside" in Path(f"/proc/{pid}/cmdline").read_bytes()
    ]


def wait_for_builds(process: subprocess.Popen[str]) -> list[int]:
    found: list[int] = []
    while not found:
        assert process.poll() is None, "the sweep ended before it built anything"
        found = builds(process)
        time.sleep(0.01)
    return found


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_builds_end_with_the_sweep(model: Path, empty_cache: Path, tmp_path: Path, jobs: str) -> None:
    process = sweep(model, tmp_path / "out", "--jobs", jobs)
    found = wait_for_builds(process)
    code, said = finish(process)
    assert code == 0
    assert len(said) == 1
    assert not any(Path(f"/proc/{pid}").exists() for pid in found)
    assert list(empty_cache.glob(".*")) == []


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_builds_end_with_an_interrupted_sweep(
    model: Path, empty_cache: Path, tmp_path: Path, jobs: str
) -> None:
    process = sweep(model, tmp_path / "out", "--jobs", jobs)
    found = wait_for_builds(process)
    process.send_signal(signal.SIGINT)
    code, said = finish(process)
    assert code == 130
    assert len(said) == 1
    assert wait_until_gone(found)  # the sweep may have been about to start one
    assert list(empty_cache.glob(".*")) == []


def test_a_broken_compiler_costs_one_line(model: Path, empty_cache: Path, tmp_path: Path) -> None:
    (tmp_path / "llvmlite.py").write_text("raise ImportError('out of order')")
    path = os.pathsep.join([str(tmp_path), os.getcwd()])
    code, said = finish(sweep(model, tmp_path / "out", "--jobs", "2", PYTHONPATH=path))
    assert code == 0
    assert [line for line in said if "out of order" in line] == said[-1:]
    assert len(said) == 2


def test_compiled_rows_are_plain_rows(model: Path, empty_cache: Path, tmp_path: Path) -> None:
    plain = sweep(model, tmp_path / "plain", *FEW, "--jobs", "1")
    assert finish(plain)[0] == 0
    from dlasim.native import library

    for routine in routines():
        if routine is not tiny.SUMS and not routine.unit.path.exists():
            library.build(routine.unit)
    compiled = sweep(model, tmp_path / "compiled", *FEW, "--jobs", "2")
    assert finish(compiled)[0] == 0
    assert (tmp_path / "plain" / "results.csv").read_bytes() == (
        tmp_path / "compiled" / "results.csv"
    ).read_bytes()


def test_finished_points_build_nothing(model: Path, empty_cache: Path, tmp_path: Path) -> None:
    assert finish(sweep(model, tmp_path / "out", *FEW, "--jobs", "1"))[0] == 0
    for left in empty_cache.iterdir():
        left.unlink()
    assert finish(sweep(model, tmp_path / "out", *FEW, "--jobs", "2"))[0] == 0
    assert list(empty_cache.iterdir()) == []
