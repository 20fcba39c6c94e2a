"""An installation, used inside a checkout of another version: helpers belong to the installation."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.hardening.commands import QUICK_PLANS

ROOT = Path(__file__).parents[2]
COMMAND = (sys.executable, "-P", "-m", "dlasim")


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """What `pip install .` copies, with sources that are not those of the checkout."""
    folder = tmp_path / "site-packages"
    shutil.copytree(ROOT / "dlasim", folder / "dlasim", ignore=shutil.ignore_patterns("__pycache__"))
    module = folder / "dlasim" / "sim" / "fast_engine" / "staging.py"
    module.write_text(module.read_text() + "# another version\n")
    return folder


def run(installed: Path, command: Sequence[str], cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {
        "PYTHONPATH": str(installed), "XDG_CACHE_HOME": str(installed.parent / "cache"),
    }  # fmt: skip
    return subprocess.run(
        command, cwd=cwd, env=environment, capture_output=True, text=True, check=False, timeout=200
    )


@pytest.mark.parametrize("flags", [["-P"], []], ids=["alone", "checkout first on the path"])
def test_a_helper_has_the_package_of_its_parent(installed: Path, flags: list[str]) -> None:
    (installed / "dlasim" / "probe.py").write_text(
        "import dlasim, os, sys\n"
        "def main(arguments):\n"
        "    print(dlasim.__file__, arguments, os.getcwd() in sys.path, flush=True)\n"
    )
    code = f"import sys; sys.path.insert(0, {str(installed)!r}); from dlasim.system.processes import start; "
    code += "start('dlasim.probe', 'a', 'b c').wait()"
    done = run(installed, [sys.executable, *flags, "-c", code])
    assert done.stdout == f"{installed / 'dlasim' / '__init__.py'} ['a', 'b c'] False\n", done.stderr


def test_a_sweep_inside_the_checkout(installed: Path, model: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    sweep = [*COMMAND, "sweep", str(model), "--pes", "1..64:2", "--jobs", "2", "--out", str(out)]
    sweep += QUICK_PLANS
    done = run(installed, sweep)
    assert done.returncode == 0, done.stderr
    assert (out / "results.csv").read_text().count(",ok,") == 32


@pytest.mark.slow
def test_the_first_run_inside_the_checkout(installed: Path, model: Path) -> None:
    """Its kernels are not those of the checkout, so they are compiled."""
    done = run(installed, [*COMMAND, "run", str(model)])
    assert done.returncode == 0, done.stderr


# --- workers that cannot start ---


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("raise ImportError('no such thing')", "ImportError: no such thing"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "it ended with exit code -9"),
        ("syntax error", "SyntaxError: invalid syntax"),
    ],
)
def test_workers_that_all_die_at_the_start_end_the_sweep(
    installed: Path, model: Path, tmp_path: Path, fault: str, message: str
) -> None:
    """Where each point used to be tried twice with a new worker: 105 seconds for 1,000 points."""
    starter = installed / "dlasim" / "system" / "start.py"
    starter.write_text(f"{fault}\n" + starter.read_text())
    sweep = [*COMMAND, "sweep", str(model), "--pes", "1..1000:1", "--jobs", "2", "--out", str(tmp_path)]
    done = run(installed, sweep, cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr == f"dlasim: cannot start any worker process: {message}\n"


def test_one_worker_that_cannot_start_is_done_without(installed: Path, model: Path, tmp_path: Path) -> None:
    starter = installed / "dlasim" / "system" / "start.py"
    mark = tmp_path / "once"
    mark.mkdir()
    once = f"import os\ntry:\n    os.rmdir({str(mark)!r})\n    os._exit(1)\nexcept OSError:\n    pass\n"
    starter.write_text(once + starter.read_text())
    out = tmp_path / "out"
    sweep = [*COMMAND, "sweep", str(model), "--pes", "1..100:1", "--jobs", "2", "--out", str(out)]
    sweep += QUICK_PLANS
    done = run(installed, sweep)
    assert done.returncode == 0, done.stderr
    assert not mark.exists()
    assert (out / "results.csv").read_text().count(",ok,") == 100


def test_a_folder_that_is_deleted_meanwhile(installed: Path, tmp_path: Path) -> None:
    code = "import os; os.rmdir(os.getcwd()); from dlasim.cli import main; main()"
    (tmp_path / "gone").mkdir()
    done = run(installed, [sys.executable, "-P", "-c", code, "doctor"], cwd=tmp_path / "gone")
    assert "computes layers" in done.stdout, done.stderr
