"""Pipes, sockets, devices and folders where a file is expected: read by a rule, or refused at once."""

from __future__ import annotations

import errno
import json
import os
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from dlasim.cli import main
from dlasim.errors import InputError, RunError
from dlasim.inputs import load_npy, save_npy
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sweeps.definition.axes import find, parse
from dlasim.system import pipes
from dlasim.system.fileio import atomic_write, parse_toml, read_file

SECONDS = 60  # of a hang


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipes, "_PATIENCE_SECONDS", 0.05)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A model, and something of each kind that is no file."""
    folder = tmp_path_factory.mktemp("special")
    assert CliRunner().invoke(main, ["model", "mnist", "-o", str(folder / "m.tflite")]).exit_code == 0
    os.mkfifo(folder / "pipe")
    (folder / "folder").mkdir()
    (folder / "device").symlink_to("/dev/zero")
    with socket.socket(socket.AF_UNIX) as bound:
        before = Path.cwd()
        os.chdir(folder)  # a socket's path has at most 108 bytes
        bound.bind("socket")
        os.chdir(before)
        yield folder


READING = [
    ["run", "{}.tflite"],
    ["run", "{}.onnx"],
    ["inspect", "{}.dlag"],
    ["run", "{}.s"],
    ["run", "{}.elf"],
    ["disasm", "{}.bin"],
    ["run", "m.tflite", "--input", "{}.npy"],
    ["run", "m.tflite", "--input", "{}.png"],
    ["run", "m.tflite", "--input", "{}.wav"],
    ["run", "m.tflite", "--config", "{}.toml"],
    ["run", "m.tflite", "--top", "1", "--labels", "{}.txt"],
    ["run", "m.tflite", "--technology", "{}.toml"],
    ["run", "m.tflite", "--host", "riscv", "--cpu", "{}.toml"],
    ["run", "m.tflite", "--host", "riscv", "--device", "{}.py:Device@0x70000000"],
    ["sweep", "{}.toml"],
    ["plot", "{}.csv"],
    ["report", "{}.json", "-o", "page.html"],
]


@pytest.mark.parametrize("kind", ["pipe", "socket", "device", "folder"])
@pytest.mark.parametrize("arguments", READING, ids=" ".join)
def test_nothing_to_read_is_one_line_at_once(
    folder: Path, kind: str, arguments: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    named = [argument.format(kind) for argument in arguments]
    place = Path(next(name.partition(":")[0] for name in named if name.startswith(kind)))
    if not place.is_symlink():
        place.symlink_to(kind)
    began = time.monotonic()
    result = CliRunner().invoke(main, named)
    assert time.monotonic() - began < SECONDS
    assert result.exit_code == 2, result.output
    assert isinstance(result.exception, SystemExit)
    assert "internal error" not in result.output
    assert result.output.strip().count("\n") == 0
    assert place.name in result.output


@pytest.mark.parametrize("arguments", [["--report"], ["--trace"], ["--html"]], ids=" ".join)
def test_a_pipe_that_nobody_reads_is_not_written_to(folder: Path, arguments: list[str]) -> None:
    result = CliRunner().invoke(
        main, ["run", str(folder / "m.tflite"), *arguments, str(folder / "pipe")], catch_exceptions=False
    )
    assert result.exit_code == 2, result.output
    assert "pipe: it is a pipe that no process reads" in result.output


def test_a_pipe_that_must_not_be_written_says_so(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> int:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(pipes.os, "open", refuse)  # a superuser may write to all
    with pytest.raises((InputError, RunError), match=r"cannot write .*pipe: Permission denied"):
        atomic_write(folder / "pipe", b"report")


def test_what_a_shell_substitutes_is_read_and_written(tmp_path: Path) -> None:
    """`<(command)` and `>(command)`: pipes whose other end is open already."""
    reading, writing = os.pipe()
    os.write(writing, save_npy(np.arange(5)))
    os.close(writing)
    assert load_npy(f"/dev/fd/{reading}").tolist() == [0, 1, 2, 3, 4]
    os.close(reading)
    reading, writing = os.pipe()
    atomic_write(f"/dev/fd/{writing}", b"report")
    os.close(writing)
    assert os.read(reading, 100) == b"report"
    os.close(reading)
    with subprocess.Popen(["sh", "-c", "sleep 0.3; echo slow"], stdout=subprocess.PIPE) as slow:
        assert slow.stdout is not None
        assert read_file(f"/dev/fd/{slow.stdout.fileno()}") == b"slow\n"


def test_a_writer_that_writes_nothing(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=lambda: (tmp_path / "pipe").write_bytes(b""))
    writer.start()
    with pytest.raises(InputError, match="no process writes to"):
        read_file(tmp_path / "pipe")
    writer.join()


# --- numbers that are no numbers of a machine ---


@pytest.mark.parametrize(
    "digits",
    ["0x" + "f" * 4000, "0b" + "1" * 70_000, str(1 << 64), str(-(1 << 63) - 1)],
    ids=("hexadecimal", "binary", "above", "below"),
)
def test_integers_of_toml_have_64_bits(digits: str) -> None:
    for text in (f"pes = {digits}", f"[memories.flash]\nlatency = {digits}", f"x = [[1, {digits}]]"):
        with pytest.raises(
            InputError, match=r"an integer must be from -2\^63 to 2\^63 - 1 \(got one of [\d,]+ bits\)"
        ) as caught:
            parse_toml(text, "m.toml")
        assert len(str(caught.value)) < 150
    assert parse_toml(f"x = {(1 << 63) - 1}\ny = {-(1 << 63)}", "m.toml")["x"] == (1 << 63) - 1


@pytest.mark.parametrize(
    "text", [".".join("a" * 5000) + " = 1", f"a = {'[' * 5000}{']' * 5000}"], ids=("tables", "arrays")
)
def test_toml_that_nests_deeply_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"m.toml: its tables or arrays nest too deeply"):
        parse_toml(text, "m.toml")


def test_a_configuration_with_a_huge_integer_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "m.toml"
    path.write_text("pes = 0x" + "f" * 4000)
    result = CliRunner().invoke(main, ["run", "mnist", "--config", str(path)])
    assert result.exit_code == 2
    assert result.output.splitlines()[-1].endswith(
        "m.toml: pes: an integer must be from -2^63 to 2^63 - 1 (got one of 16,000 bits)"
    )


@pytest.mark.parametrize("value", [1 << 20_000, -(1 << 20_000)], ids=("above", "below"))
def test_huge_integers_of_the_python_api(value: int) -> None:
    for name in ("pes", "sram_bytes", "mac_results", "clock_mhz"):
        with pytest.raises(InputError, match=f"{name} must have at most 64 bits"):
            DlaConfig().replace(**{name: value})
        with pytest.raises(InputError, match=f"study s: {name} must have at most 64 bits"):
            parse(find(name, "study s"), value, "study s")


def test_more_instructions_than_any_board_runs(tmp_path: Path) -> None:
    result = CliRunner().invoke(
        main, ["run", "mnist", "--host", "riscv", "--json", "--max-instructions", "9" * 400]
    )
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["cycles"]["total"] > 0
