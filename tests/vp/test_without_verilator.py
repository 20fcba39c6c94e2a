"""Without Verilator: one line says what is missing and how to get it."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.rtl import builder


def test_tests_are_skipped_with_a_reason(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(pytest.skip.Exception) as caught:
        builder.needs_verilator()
    assert str(caught.value).startswith("verilator is not installed: ")
    assert "apt-get install verilator" in str(caught.value)


@pytest.mark.parametrize("target", ["rtl", "rtl-all"])
def test_make_says_what_is_missing(target: str, tmp_path: Path) -> None:
    make = shutil.which("make")
    assert make is not None
    (tmp_path / "sh").symlink_to("/bin/sh")
    command = [make, "-s", "--old-file=.venv/ready-rtl", target, "VENV=.venv"]
    environment = {"PATH": str(tmp_path)}
    done = subprocess.run(
        command, cwd=builder.ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    line, *rest = done.stderr.splitlines()
    assert line.startswith("verilator is not installed: ")
    assert len(rest) == 1, "and make's own line about its target"
