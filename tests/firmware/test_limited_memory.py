"""The board under a limit of address space: one line of ours, or a result."""

import resource
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize("limit_bytes", [1_200_000_000, 1_500_000_000, 1_800_000_000])
def test_a_low_limit_of_address_space_is_one_line(limit_bytes: int, tmp_path: Path) -> None:
    model = tmp_path / "model.tflite"
    dlasim = [sys.executable, "-P", "-m", "dlasim"]
    subprocess.run([*dlasim, "model", "resnet8", "-o", str(model)], check=True, capture_output=True)
    done = subprocess.run(
        [*dlasim, "run", str(model), "--host", "riscv", "--timing-only"],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit_bytes, limit_bytes)),
    )
    lines = done.stderr.splitlines()
    assert len(lines) <= 1
    assert all("address space" in line and "ulimit -v" in line for line in lines)
    assert done.returncode == len(lines)
