"""Ctrl-C at any moment: one line, exit code 130, no file, and nothing that runs on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from dlasim.errors import RunError
from dlasim.sweeps.evaluation import local
from dlasim.system import interrupts
from dlasim.system.processes import interrupts_held, start
from tests.hardening.commands import COMPILING, interrupt, session, started, wait_for_work


@pytest.mark.parametrize(
    "arguments",
    [
        ("run", "MODEL", "--repeat", "1000000", "--output", "OUT", "--report", "OUT.json"),
        ("run", "MODEL", "--repeat", "1000000", "--timing-only", "--report", "OUT.json"),
        ("run", "MODEL", "--repeat", "1000000", "--host", "riscv", "--report", "OUT.json"),
        ("verify", "MODEL", "--runs", "100000"),
    ],
    ids=lambda arguments: " ".join(arguments[:1] + arguments[2:5]),
)
def test_while_it_works(arguments: Sequence[str], model: Path, tmp_path: Path) -> None:
    if arguments[0] == "verify":
        pytest.importorskip("tflite_micro", reason="tflite-micro is not installed: nothing to verify with")
    places = {"MODEL": str(model), "OUT": str(tmp_path / "out"), "OUT.json": str(tmp_path / "out.json")}
    with started(*(places.get(part, part) for part in arguments)) as process:
        wait_for_work(process, 1.2)
        output, errors = interrupt(process)
        assert errors.splitlines() == ["dlasim: interrupted"]
        assert process.returncode == 130
        assert output == "" or "riscv" in arguments  # the guest's console is shown as it is written
        assert os.listdir(tmp_path) == []
        assert session(process.pid) == []


# An interrupt in the middle of `exec` makes CPython end by the signal, whatever exit code it is told.
SHELLS_130 = (130, -signal.SIGINT)


@pytest.mark.parametrize("seconds", [0.12, 0.2, 0.3, 0.45, 0.7, 1.0])
def test_while_a_sweep_and_its_workers_start(seconds: float, model: Path, tmp_path: Path) -> None:
    axes = ("--pes", "1..1000:1", "--sram", "64KiB..1GiB")
    with started("sweep", model, *axes, "--jobs", "2", "--out", tmp_path / "out") as process:
        wait_for_work(process, seconds)
        output, errors = interrupt(process)
        assert (errors.splitlines(), output) == (["dlasim: interrupted"], "")
        assert process.returncode in SHELLS_130
        assert not [path for path in tmp_path.rglob("*") if path.is_file() and path.parent.name != "cache"]
        assert session(process.pid) == []


@pytest.mark.parametrize("handler", [signal.default_int_handler, interrupts.interrupt])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGALRM])
@pytest.mark.parametrize("is_received_here", [True, False])
def test_while_a_worker_starts(
    is_received_here: bool, number: int, handler: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Just before the sweep knows of the second one. The alarm raises again what was lost; any thread may
    receive a signal, and the main thread raises it."""
    processes: list[subprocess.Popen[bytes]] = []
    done = threading.Event()
    receiver = threading.main_thread() if is_received_here else threading.Thread(target=done.wait)

    def start_and_interrupt(*arguments: str, **options: Any) -> subprocess.Popen[bytes]:
        processes.append(start(*arguments, **options))
        if len(processes) == 2:
            signal.pthread_kill(receiver.ident or 0, number)
            time.sleep(0.05)
        return processes[-1]

    monkeypatch.setattr("dlasim.system.processes.start", start_and_interrupt)
    if not is_received_here:
        receiver.start()
    before = {signal.SIGALRM: signal.signal(signal.SIGALRM, interrupts.interrupt)}
    before[signal.SIGINT] = signal.signal(signal.SIGINT, handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            local.Workers(3)
        assert signal.getsignal(signal.SIGINT) is handler
    finally:
        interrupts.end()
        done.set()
        for replaced, earlier in before.items():
            signal.signal(replaced, earlier)
    assert [process.poll() for process in processes] == [-signal.SIGKILL] * 2
    assert signal.pthread_sigmask(signal.SIG_BLOCK, []) == set()


def test_before_an_error() -> None:
    """Where a worker cannot be started, for example."""

    def fail() -> None:
        with interrupts_held():
            os.kill(os.getpid(), signal.SIGINT)
            raise RunError("too late")

    with pytest.raises(KeyboardInterrupt):
        fail()


@pytest.mark.parametrize("during", ["import", "command"])
def test_while_a_class_is_made(during: str) -> None:
    """Python says RuntimeError then, whose cause is the interrupt."""
    lines = [
        "class Field:",
        "    def __set_name__(self, *_): raise KeyboardInterrupt",
        "def interrupted(*_, **__):",
        "    class Record: field = Field()",
        "import dlasim.cli, dlasim.cli.group, dlasim.__main__",
        "dlasim.cli.main = interrupted" if during == "import" else "dlasim.cli.main._run = interrupted",
        "dlasim.__main__.main()",
    ]
    assert_interrupted(lines)


def test_in_a_finalizer() -> None:
    """Whose exceptions Python ignores."""
    lines = [
        "import time",
        "class Finalized:",
        "    def __del__(self): raise KeyboardInterrupt",
        "def work(*_, **__):",
        "    Finalized()",
        "    time.sleep(60)",
        "import dlasim.cli, dlasim.__main__",
        "dlasim.cli.main = work",
        "dlasim.__main__.main()",
    ]
    assert_interrupted(lines)


def test_in_numpy() -> None:
    """Which ignores what a look-up of an attribute raises. Ctrl-C is raised again, but not in a clean-up."""
    lines = [
        "import numpy, os, signal, time",
        "class Kind(type):",
        "    def __getattr__(self, name):",
        "        os.kill(os.getpid(), signal.SIGINT)",
        "        raise AttributeError(name)",
        "class Operand(metaclass=Kind): pass",
        "def work(*_, **__):",
        "    numpy.arange(3) == Operand()",
        "    try:",
        "        time.sleep(60)",
        "    finally:",
        "        time.sleep(0.5)",
        "        print('cleaned up')",
        "import dlasim.cli, dlasim.__main__",
        "dlasim.cli.main = work",
        "dlasim.__main__.main()",
    ]
    assert_interrupted(lines, "cleaned up\n")


def test_just_before_the_end() -> None:
    """The alarm that would raise a lost interrupt again does not kill Python while it ends."""
    lines = [
        "import sys, time, types",
        "class Finalized:",
        "    def __del__(self): raise KeyboardInterrupt",
        "class Late:",
        "    def __del__(self, sleep=time.sleep): sleep(0.3)",
        "def work(*_, **__):",
        "    sys.modules['late'] = types.ModuleType('late')",
        "    sys.modules['late'].late = Late()",
        "    Finalized()",
        "import dlasim.cli, dlasim.__main__",
        "dlasim.cli.main = work",
        "dlasim.__main__.main()",
    ]
    assert ended(lines) == (0, "", "")


def assert_interrupted(lines: Sequence[str], output: str = "") -> None:
    """That Python ends as it should."""
    assert ended(lines) == (130, output, "dlasim: interrupted\n")


def ended(lines: Sequence[str]) -> tuple[int, str, str]:
    """The exit code of a program, and what it printed."""
    command = [sys.executable, "-c", "\n".join(lines)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=50)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.slow
def test_while_kernels_are_compiled(model: Path, tmp_path: Path) -> None:
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    with started("run", model, environment=environment, command=COMPILING) as process:
        time.sleep(3)
        output, errors = interrupt(process)
        assert (process.returncode, errors.splitlines(), output) == (130, ["dlasim: interrupted"], "")
        assert not [file for file in tmp_path.rglob("*") if file.is_file()]
