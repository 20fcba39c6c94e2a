"""Ctrl-C at any moment: one line, exit code 130, no file, and nothing that runs on."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

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


@pytest.mark.slow
def test_while_kernels_are_compiled(model: Path, tmp_path: Path) -> None:
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    with started("run", model, environment=environment, command=COMPILING) as process:
        time.sleep(3)
        output, errors = interrupt(process)
        assert (process.returncode, errors.splitlines(), output) == (130, ["dlasim: interrupted"], "")
        assert not [file for file in tmp_path.rglob("*") if file.is_file()]
