"""A sweep and compiled routines: compiled first where that pays, used where they are, never in its way."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dlasim.cache import cache_folder
from dlasim.sweeps import compiled
from dlasim.sweeps.progress import Progress
from tests.hardening.commands import listen_to_ctrl_c
from tests.native.processes import wait_until_gone

AXES = ["--pes", "16..256:12", "--sram", "16KiB..128KiB", "--parallel", "input,output"]
FEW = ["--pes", "16,100", "--sram", "16KiB,64KiB"]
ROOT = Path(__file__).parents[2]
EAGER = """
import sys
from dlasim.sweeps import compiled
compiled.BUILD_SECONDS = compiled.LOAD_SECONDS = 0.0
compiled.is_shipped = lambda routine: False  # as on another system
from dlasim.cli import main
main(sys.argv[1:])
"""
USUAL = "import sys; from dlasim.cli import main; main(sys.argv[1:])"


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache without objects."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return cache_folder()


def sweep(
    model: Path, out: Path, *more: str, program: str = EAGER, **variables: str
) -> subprocess.Popen[str]:
    """A sweep, by default one that compiles however few its points are."""
    command = [sys.executable, "-P", "-c", program, "sweep", str(model), *AXES, "--out", str(out), *more]
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
    printed = process.communicate()[1]
    return process.returncode, printed.splitlines()


def builds(process: subprocess.Popen[str]) -> list[int]:
    """The processes that build for it."""
    listed = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    return [int(pid) for pid in listed if b"dlasim.native.build" in Path(f"/proc/{pid}/cmdline").read_bytes()]


def wait_for_builds(process: subprocess.Popen[str]) -> list[int]:
    found: list[int] = []
    while len(found) < len(compiled.ROUTINES):
        assert process.poll() is None, "the sweep ended before it built anything"
        found = builds(process)
        time.sleep(0.01)
    return found


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_an_interrupted_sweep_ends_its_builds(
    model: Path, empty_cache: Path, tmp_path: Path, jobs: str
) -> None:
    process = sweep(model, tmp_path / "out", "--jobs", jobs)
    found = wait_for_builds(process)
    process.send_signal(signal.SIGINT)
    code, said = finish(process)
    assert code == 130
    assert len(said) == 1
    assert wait_until_gone(found)
    assert list(empty_cache.iterdir()) == []


def test_a_broken_compiler_costs_one_line(model: Path, empty_cache: Path, tmp_path: Path) -> None:
    (tmp_path / "llvmlite.py").write_text("raise ImportError('out of order')")
    path = os.pathsep.join([str(tmp_path), str(ROOT)])
    code, said = finish(sweep(model, tmp_path / "out", *FEW, "--jobs", "2", PYTHONPATH=path))
    assert code == 0
    assert [line for line in said if "out of order" in line] == said[-1:]
    assert len(said) == 2


def test_compiled_rows_are_plain_rows(model: Path, empty_cache: Path, tmp_path: Path) -> None:
    """Built by a sweep, from its cache, or without a cache: then the workers get the code from the sweep."""
    (tmp_path / "file").touch()
    nowhere = {"XDG_CACHE_HOME": str(tmp_path / "file"), "TMPDIR": str(tmp_path / "file")}
    program = f"import tempfile; tempfile.tempdir = {str(tmp_path / 'file')!r}\n{EAGER}"
    without = sweep(model, tmp_path / "without", *FEW, "--jobs", "2", program=program, **nowhere)
    assert len(wait_for_builds(without)) == len(compiled.ROUTINES)
    code, said = finish(without)
    assert code == 0
    assert len(said) == 1
    assert finish(sweep(model, tmp_path / "plain", *FEW, "--jobs", "1", program=USUAL))[0] == 0
    assert list(empty_cache.glob("*.o")) == []
    for jobs in ("1", "2"):
        assert finish(sweep(model, tmp_path / jobs, *FEW, "--jobs", jobs))[0] == 0
        assert len(list(empty_cache.glob("*.o"))) == len(compiled.ROUTINES)
    rows = (tmp_path / "plain" / "results.csv").read_bytes()
    for name in ("without", "1", "2"):
        assert (tmp_path / name / "results.csv").read_bytes() == rows


def test_finished_points_build_nothing(model: Path, empty_cache: Path, tmp_path: Path) -> None:
    assert finish(sweep(model, tmp_path / "out", *FEW, "--jobs", "1", program=USUAL))[0] == 0
    for left in empty_cache.iterdir():
        left.unlink()
    assert finish(sweep(model, tmp_path / "out", *FEW, "--jobs", "2"))[0] == 0
    assert list(empty_cache.iterdir()) == []


@pytest.mark.parametrize(
    ("points", "nodes", "processes", "is_cached", "expected"),
    [
        (1, 30, 1, True, False),
        (24, 30, 1, False, False),
        (24, 30, 1, True, True),
        (24, 30, 16, True, False),  # each process would load it
        (50, 30, 2, False, False),
        (1_014, 30, 2, False, True),
        (1_014, 2, 2, False, False),
    ],
)
def test_points_and_nodes_decide(
    monkeypatch: pytest.MonkeyPatch, points: int, nodes: int, processes: int, is_cached: bool, expected: bool
) -> None:
    monkeypatch.setattr(compiled, "is_shipped", lambda routine: False)
    monkeypatch.setattr(compiled, "_is_cached", lambda: is_cached)
    saved = compiled.saved_seconds([nodes] * points)
    assert compiled.is_worth_compiling(saved, processes) == expected


def test_what_ships_is_not_compiled() -> None:
    assert not compiled.is_worth_compiling(1e9, 1)


def test_compiling_is_shown(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")  # the bar draws as on a terminal
    monkeypatch.setenv("COLUMNS", "200")
    with Progress(2, 0, visible=True) as progress:
        with progress.status("compiling this and that"):
            assert "compiling this and that" in capsys.readouterr().err
        progress.add(5, "one")
    assert "compiling" not in capsys.readouterr().err.splitlines()[-1]


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
