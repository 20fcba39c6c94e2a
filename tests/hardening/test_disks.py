"""Disks that are full or cannot be written, under a cache, a home and a temporary folder."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hardening.commands import COMPILING, QUICK_PLANS, call


class Disk:
    """A file system of 64 KiB in memory."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir()
        self._mount("-t", "tmpfs", "-o", "size=64k,mode=0755", "tmpfs")

    def _mount(self, *arguments: str) -> None:
        command = ["mount", *arguments, str(self.path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"this system does not let the tests mount a disk: {done.stderr.strip()}")

    def fill(self) -> None:
        with (self.path / "ballast").open("wb", buffering=0) as file, contextlib.suppress(OSError):
            while file.write(bytes(4096)):
                pass

    def protect(self) -> None:
        self._mount("-o", "remount,ro")

    def unmount(self) -> None:
        subprocess.run(["umount", "--lazy", str(self.path)], check=True)


@pytest.fixture(params=["full", "read-only"])
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """A disk that takes nothing any more; a folder for caches is there where there was room."""
    if os.geteuid() != 0:
        pytest.skip("only root can mount a disk")
    made = Disk(tmp_path / "disk")
    try:
        (made.path / "cache" / "dlasim").mkdir(parents=True, mode=0o700)
        made.fill() if request.param == "full" else made.protect()
        yield made.path
    finally:
        made.unmount()


def environment(disk: Path, tmp_path: Path) -> dict[str, str]:
    """Where everything that is kept, and everything temporary, would go to the disk."""
    places = {"HOME": str(disk), "XDG_CACHE_HOME": str(disk / "cache"), "TMPDIR": str(disk)}
    return os.environ | places


def test_a_run(disk: Path, model: Path, tmp_path: Path) -> None:
    process = call("run", model, environment=environment(disk, tmp_path), cwd=disk)
    assert process.returncode == 0, process.stderr
    assert "total" in process.stdout
    assert process.stderr == ""


@pytest.mark.slow
def test_a_run_that_compiles(disk: Path, model: Path, tmp_path: Path) -> None:
    process = subprocess.run(
        [*COMPILING, "run", str(model)],
        env=environment(disk, tmp_path), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert process.returncode == 0, process.stderr
    assert process.stderr == ""


def test_a_sweep_of_a_built_in_network(disk: Path, tmp_path: Path) -> None:
    """Which the cache would keep as a file."""
    out = tmp_path / "out"
    arguments = ("sweep", "mnist", "--pes", "1..64:2", "--jobs", "2", *QUICK_PLANS, "--out", out)
    process = call(*arguments, environment=environment(disk, tmp_path))
    assert process.returncode == 0, process.stderr
    assert (out / "results.csv").read_text().count(",ok,") == 32


def test_a_chart_and_the_doctor(disk: Path, model: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert call("sweep", model, "--pes", "32", "--out", out).returncode == 0
    for arguments in (("plot", out), ("doctor",)):
        process = call(*arguments, environment=environment(disk, tmp_path))
        assert process.returncode == 0, process.stderr


def test_a_planted_link_for_a_temporary_cache(model: Path, tmp_path: Path) -> None:
    """Where the home cannot be used: nothing behind the link is read, written or removed."""
    victim, temporary = tmp_path / "victim", tmp_path / "tmp"
    victim.mkdir(mode=0o700)
    temporary.mkdir()
    names = {f"module-{number:020x}.o" for number in range(50)}
    for name in names:
        (victim / name).write_bytes(b"object")
    (temporary / f"dlasim-cache-{os.geteuid()}").symlink_to(victim)
    places = {"HOME": "/proc/nowhere", "XDG_CACHE_HOME": "", "TMPDIR": str(temporary)}
    for arguments in (
        ("run", model),
        ("sweep", model, "--pes", "1..64:2", "--jobs", "2", *QUICK_PLANS, "--out", tmp_path / "out"),
    ):
        process = call(*arguments, environment=os.environ | places)
        assert process.returncode == 0, process.stderr
    assert {path.name for path in victim.iterdir()} == names
