"""Standard input, output and error that are closed, full, or end before the command does."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.hardening.commands import DLASIM, QUICK_PLANS, assert_one_line, call


@pytest.mark.parametrize(
    "arguments",
    [
        ("isa",),
        ("isa", "--format", "json"),
        ("doctor",),
        ("run", "MODEL", "--json"),
        ("explain", "MODEL"),
        ("model", "--list"),
        ("run", "--help"),
    ],
    ids=" ".join,
)
def test_a_reader_that_leaves(arguments: Sequence[str], model: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    process = subprocess.run(
        [*DLASIM, *(str(model) if part == "MODEL" else part for part in arguments)],
        stdout=write, stderr=subprocess.PIPE, text=True, check=False,
    )  # fmt: skip
    os.close(write)
    assert process.stderr == ""
    assert process.returncode == 141


def without(*closed: int) -> dict[str, object]:
    """How a shell's `<&-`, `>&-` and `2>&-` start a command."""

    def close() -> None:
        for number in closed:
            os.close(number)

    return {"preexec_fn": close}


@pytest.mark.parametrize(
    ("arguments", "closed"),
    [
        (("isa", "OP_CONV"), (0,)),
        (("isa", "OP_CONV"), (1,)),
        (("isa", "OP_CONV"), (2,)),
        (("run", "MODEL", "--timing-only", "--report", "OUT"), (1,)),
        (("run", "MODEL", "--host", "riscv", "--report", "OUT"), (0, 1, 2)),
        (("sweep", "MODEL", "--pes", "16..256:8", "--jobs", "2", *QUICK_PLANS, "--out", "OUT"), (0, 1, 2)),
    ],
)
def test_closed_streams(
    arguments: Sequence[str], closed: tuple[int, ...], model: Path, tmp_path: Path
) -> None:
    places = {"MODEL": model, "OUT": tmp_path / "out"}
    process = call(*(places.get(part, part) for part in arguments), **without(*closed))
    assert process.returncode == 0, process.stderr
    assert len(process.stderr.splitlines()) <= 1, process.stderr
    assert bool(process.stdout) == (1 not in closed)
    assert (tmp_path / "out").exists() == ("OUT" in arguments)


def test_closed_error_output_keeps_the_exit_code() -> None:
    process = call("isa", "NOTHING", **without(2))
    assert (process.returncode, process.stdout, process.stderr) == (2, "", "")


@pytest.mark.parametrize("locale", ["C", "POSIX"])
def test_a_terminal_that_knows_ascii_alone(locale: str, model: Path, tmp_path: Path) -> None:
    plain = {"LC_ALL": locale, "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    for arguments in (("isa",), ("run", model, "--timing-only"), ("sweep", "--help")):
        process = call(*arguments, environment={**os.environ, **plain})
        assert (process.returncode, process.stderr) == (0, "")
        assert process.stdout
    assert_one_line(call("run", tmp_path / "é", environment={**os.environ, **plain}), 2, "No such file")
