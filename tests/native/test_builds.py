"""Builds in processes of their own: several at a time, and none outlives, prints or leaves anything."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dlasim.native import library
from tests.native.processes import is_alive, wait_until_gone
from tests.native.tiny import SUMS

PREFACE = """
import os, sys, time
from dlasim.native import library
from tests.native.tiny import SUMS

def children():
    with open(f"/proc/self/task/{os.getpid()}/children") as file:
        return [int(pid) for pid in file.read().split()]
"""
BUILD = "library._start_build(SUMS.unit, '')"


def command(program: str) -> list[str]:
    return [sys.executable, "-P", "-X", "dev", "-c", PREFACE + program]


def run(program: str, **variables: str) -> str:
    """What a program prints, which says nothing else."""
    done = subprocess.run(
        command(program), env=os.environ | variables, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout.strip()


def test_loading_needs_llvmlite_alone(built: Path) -> None:
    said = run("print(SUMS.is_compiled, 'dlasim.native.translator' in sys.modules, children())")
    assert said == "True False []"


def test_what_is_missing_is_built(cache: Path) -> None:
    assert run("print(SUMS.is_compiled, children())") == "True []"
    assert [path.name for path in cache.iterdir()] == [library.file_name(SUMS.unit)]


@pytest.mark.parametrize("seconds", [0.0, 0.3])
def test_a_build_ends_with_its_context(cache: Path, seconds: float) -> None:
    pids = run(f"with {BUILD}: print(*children()); time.sleep({seconds})").split()
    assert len(pids) == 1
    assert not is_alive(int(pids[0]))


@pytest.mark.parametrize("way", [signal.SIGKILL, signal.SIGTERM])
def test_a_build_ends_however_the_process_does(cache: Path, way: signal.Signals) -> None:
    program = command(f"with {BUILD}: print(*children(), flush=True); time.sleep(100)")
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        pids = [int(word) for word in process.stdout.readline().split()]
        assert len(pids) == 1
        process.send_signal(way)
    assert wait_until_gone(pids)
    assert list(cache.glob(".*")) == []


def test_an_interrupted_build_ends(cache: Path) -> None:
    program = """
import threading
def tell():
    while not children():
        time.sleep(0.01)
    print(*children(), flush=True)
threading.Thread(target=tell).start()
library.build(SUMS.unit)
"""
    with subprocess.Popen(
        command(program), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        pids = [int(word) for word in process.stdout.readline().split()]
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        assert process.stderr is not None
        assert process.stderr.read().endswith("KeyboardInterrupt\n")
    assert pids
    assert wait_until_gone(pids)
    assert time.monotonic() - began < 10
    assert list(cache.iterdir()) == []


def test_a_broken_compiler_is_one_line(cache: Path, tmp_path: Path) -> None:
    """The build's own process is the one that cannot load it."""
    (tmp_path / "faulty").mkdir()
    (tmp_path / "faulty" / "llvmlite.py").write_text("raise ImportError('out of order')")
    program = """
os.environ["PYTHONPATH"] = os.pathsep.join([FAULTY, os.environ["PYTHONPATH"]])
sys.path.insert(0, FAULTY)
sys.stderr = sys.stdout
print(SUMS([1, 2], [0] * 4, 2))
"""
    said, result = run(program.replace("FAULTY", repr(str(tmp_path / "faulty")))).splitlines()
    assert said.startswith("dlasim runs without machine code, slowly: ")
    assert said.endswith("out of order")
    assert result == "3"
