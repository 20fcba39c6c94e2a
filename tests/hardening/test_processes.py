"""Whole commands in a hostile world: each ends in one clear line and leaves no broken file."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

DLASIM = (sys.executable, "-m", "dlasim")
EXAMPLE = Path(__file__).parents[2] / "examples" / "relu.s"
FULL = Path("/dev/full")
SIZE_LIMIT = 2048

needs_full = pytest.mark.skipif(not FULL.exists(), reason="this system has no /dev/full")


def call(
    *arguments: str | Path, environment: Mapping[str, str] | None = None, **more: object
) -> subprocess.CompletedProcess[str]:
    """A command run to its end."""
    return subprocess.run(  # type: ignore[call-overload,no-any-return]
        [*DLASIM, *map(str, arguments)], capture_output=True, text=True, check=False, env=environment, **more
    )


def assert_one_line(process: subprocess.CompletedProcess[str], code: int, expected: str) -> None:
    """That the command failed as it should."""
    assert process.returncode == code, process.stderr
    assert len(process.stderr.splitlines()) == 1, process.stderr
    assert expected in process.stderr
    assert "internal error" not in process.stderr


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small network."""
    path = tmp_path_factory.mktemp("model") / "mnist.tflite"
    assert call("model", "mnist", "-o", path).returncode == 0
    return path


# --- nowhere to write ---


@needs_full
@pytest.mark.parametrize(
    "arguments",
    [
        ("model", "mnist", "-o", FULL),
        ("compile", "MODEL", "-o", FULL),
        ("compile", "MODEL", "-o", "OUT/p.bin", "--save-graph", FULL),
        ("run", "MODEL", "--timing-only", "--report", FULL),
        ("run", "MODEL", "--timing-only", "--trace", FULL),
        ("asm", EXAMPLE, "-o", FULL),
        ("disasm", "PROGRAM", "-o", FULL),
    ],
    ids=lambda arguments: " ".join(Path(part).name for part in arguments),
)
def test_a_full_disk(arguments: Sequence[str | Path], model: Path, tmp_path: Path) -> None:
    program = tmp_path / "relu.bin"
    assert call("asm", EXAMPLE, "-o", program).returncode == 0
    places = {"MODEL": model, "PROGRAM": program, "OUT/p.bin": tmp_path / "p.bin"}
    process = call(*(places.get(str(part), part) for part in arguments))
    assert_one_line(process, 1, "cannot write /dev/full: No space left on device")
    assert os.listdir(tmp_path) == ["relu.bin"]


@needs_full
@pytest.mark.parametrize(
    "arguments", [("run", "--timing-only"), ("run", "--timing-only", "--json"), ("explain",)]
)
def test_a_full_disk_behind_standard_output(arguments: Sequence[str], model: Path) -> None:
    with FULL.open("w") as full:
        process = subprocess.run(
            [*DLASIM, arguments[0], str(model), *arguments[1:]],
            stdout=full, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
    assert_one_line(process, 1, "No space left on device")


@pytest.mark.parametrize("old", [None, b"what was there before"])
def test_a_disk_that_fills_up_while_writing(old: bytes | None, model: Path, tmp_path: Path) -> None:
    output = tmp_path / "program.bin"
    if old is not None:
        output.write_bytes(old)

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (SIZE_LIMIT, SIZE_LIMIT))

    process = call("compile", model, "-o", output, preexec_fn=limit)
    assert_one_line(process, 1, "File too large")
    assert output.exists() == (old is not None)
    assert old is None or output.read_bytes() == old
    assert len(os.listdir(tmp_path)) == int(old is not None)


@pytest.mark.parametrize("output", ["missing/p.bin", "file/p.bin", "."])
def test_a_place_that_is_none(output: str, model: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    assert_one_line(call("compile", model, "-o", tmp_path / output), 2, "cannot write ")


def test_outputs_where_a_file_is(model: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    assert_one_line(call("run", model, "--output", tmp_path / "file"), 2, "file")


# --- caches and homes ---


def without_home(**more: str) -> dict[str, str]:
    return {k: v for k, v in os.environ.items() if k not in ("HOME", "XDG_CACHE_HOME")} | more


@pytest.mark.slow
def test_a_cache_that_cannot_be_made_is_replaced(model: Path, tmp_path: Path) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    shared = {"TMPDIR": str(temporary)}
    process = call("run", model, environment=without_home(XDG_CACHE_HOME="/proc/dlasim", **shared))
    assert process.returncode == 0, process.stderr
    (folder,) = temporary.iterdir()
    assert folder.stat().st_mode & 0o777 == 0o700


# --- Ctrl-C ---


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
def test_an_interrupt(arguments: Sequence[str], model: Path, tmp_path: Path) -> None:
    if arguments[0] == "verify":
        pytest.importorskip("tflite_micro")
    places = {"MODEL": str(model), "OUT": str(tmp_path / "out"), "OUT.json": str(tmp_path / "out.json")}
    process = subprocess.Popen(
        [*DLASIM, *(places.get(part, part) for part in arguments)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    wait_for_work(process)
    os.killpg(process.pid, signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    assert errors.splitlines() == ["dlasim: interrupted"]
    assert process.returncode == 130
    assert output == "" or "riscv" in arguments  # the guest's console is shown as it is written
    assert os.listdir(tmp_path) == []


def wait_for_work(process: subprocess.Popen[str], seconds: float = 2.0) -> None:
    """Until the process has used so much of a processor: start-up is over then."""
    ticks = os.sysconf("SC_CLK_TCK")
    for _ in range(600):
        assert process.poll() is None, process.communicate()
        fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
        if (int(fields[11]) + int(fields[12])) / ticks > seconds:
            return
        time.sleep(0.1)
    raise AssertionError("the process does not work")


@pytest.mark.slow
def test_an_interrupt_while_kernels_are_compiled(model: Path, tmp_path: Path) -> None:
    process = subprocess.Popen(
        [*DLASIM, "run", str(model)], env={**os.environ, "XDG_CACHE_HOME": str(tmp_path)},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    time.sleep(3)
    os.killpg(process.pid, signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    assert (process.returncode, errors.splitlines(), output) == (130, ["dlasim: interrupted"], "")
    assert not [file for file in tmp_path.rglob("*") if file.is_file()]


# --- readers that leave ---


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


# --- two at once ---


@pytest.mark.slow
def test_two_first_runs_share_one_cache(model: Path, tmp_path: Path) -> None:
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    together = [
        subprocess.Popen(
            [*DLASIM, "run", str(model), "--json"], env=environment, stdout=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    outputs = [process.communicate(timeout=300)[0] for process in together]
    assert [process.returncode for process in together] == [0, 0]
    assert all('"cycles"' in output for output in outputs)
    assert {file.suffix for file in (tmp_path / "dlasim").rglob("*") if file.is_file()} == {".o"}


@pytest.mark.slow
def test_a_damaged_kernel_is_built_anew(model: Path, tmp_path: Path) -> None:
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    assert call("run", model, environment=environment).returncode == 0
    (kernel,) = (tmp_path / "dlasim").glob("kernels-*.o")
    whole = kernel.read_bytes()
    kernel.write_bytes(whole[: len(whole) // 2])
    assert call("run", model, environment=environment).returncode == 0
    assert kernel.stat().st_size == len(whole)
