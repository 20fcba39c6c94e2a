"""A sweep where no machine code ships: it compiles what it uses, or says in one line why it cannot."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dlasim.compiler_shim.lowering.addresses.weight_encoder import ENCODE
from dlasim.machine_code import CLASSES, EXECUTIONS, ROUTINES, SUMS
from dlasim.system.cache import cache_folder
from tests.hardening.commands import COMPILING, listen_to_ctrl_c
from tests.native.processes import wait_until_gone

FEW = ["--pes", "16,100", "--sram", "16KiB,64KiB"]
ROOT = Path(__file__).parents[2]


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache without objects."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return cache_folder()


def sweep(
    model: Path, out: Path, command: tuple[str, ...] = COMPILING, path: str = str(ROOT)
) -> subprocess.Popen[str]:
    """A sweep in one process."""
    return subprocess.Popen(
        [*command, "sweep", str(model), *FEW, "--jobs", "1", "--out", str(out)],
        env=os.environ | {"PYTHONPATH": path},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=listen_to_ctrl_c,
    )


def finish(process: subprocess.Popen[str]) -> tuple[int, list[str]]:
    """Its exit code, and the lines that it said."""
    printed = process.communicate()[1]
    return process.returncode, printed.splitlines()


def wait_for_build(process: subprocess.Popen[str]) -> list[int]:
    """The processes that build for it."""
    while True:
        assert process.poll() is None, "the sweep ended before it built anything"
        listed = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        found = [
            int(pid) for pid in listed if b"dlasim.native.build" in Path(f"/proc/{pid}/cmdline").read_bytes()
        ]
        if found:
            return found
        time.sleep(0.01)


def test_an_interrupted_sweep_ends_its_build(model: Path, empty_cache: Path, tmp_path: Path) -> None:
    process = sweep(model, tmp_path / "out")
    found = wait_for_build(process)
    process.send_signal(signal.SIGINT)
    code, said = finish(process)
    assert code == 130
    assert len(said) == 1
    assert wait_until_gone(found)


def test_a_broken_compiler_costs_one_line(model: Path, empty_cache: Path, tmp_path: Path) -> None:
    (tmp_path / "llvmlite.py").write_text("raise ImportError('out of order')")
    code, said = finish(sweep(model, tmp_path / "out", path=os.pathsep.join([str(tmp_path), str(ROOT)])))
    assert code == 0
    assert said[0].startswith("dlasim runs without machine code, slowly: ")
    assert said[0].endswith("out of order")
    assert len(said) == 2
    shipped = (sys.executable, "-P", "-m", "dlasim")
    assert finish(sweep(model, tmp_path / "shipped", shipped))[0] == 0
    rows = [(tmp_path / name / "results.csv").read_bytes() for name in ("out", "shipped")]
    assert rows[0] == rows[1]


def test_compiled_rows_are_those_of_what_ships(model: Path, empty_cache: Path, tmp_path: Path) -> None:
    assert finish(sweep(model, tmp_path / "here"))[0] == 0
    not_needed = {CLASSES, SUMS, EXECUTIONS, ENCODE}  # by a board, or for compressed weights
    assert len(list(empty_cache.glob("*.o"))) == len(set(ROUTINES) - not_needed)
    shipped = (sys.executable, "-P", "-m", "dlasim")
    assert finish(sweep(model, tmp_path / "shipped", shipped))[0] == 0
    rows = [(tmp_path / name / "results.csv").read_bytes() for name in ("here", "shipped")]
    assert rows[0] == rows[1]


def test_one_machine_loads_no_compiler(model: Path) -> None:
    program = f"""
import sys, dlasim
dlasim.run({str(model)!r}, timing_only=True)
for _ in range(4):
    dlasim.compile({str(model)!r})
print("llvmlite" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-P", "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
