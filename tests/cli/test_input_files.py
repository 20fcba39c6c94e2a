"""A file that a command is given is opened once, whatever it is and whatever is done with it."""

from __future__ import annotations

import os
import shutil
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import dlasim
from dlasim.cli import main
from dlasim.compiler_shim.files.input_file import InputKind, open_input

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
_opened: list[str] = []
_watched: list[str] = []


def _note(event: str, arguments: tuple[object, ...]) -> None:
    """A hook of the interpreter, which can never be removed: it notes nothing unless a test watches."""
    if event == "open" and _watched and isinstance(arguments[0], str | os.PathLike):
        _opened.append(os.fspath(arguments[0]))


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A network in each form."""
    folder = tmp_path_factory.mktemp("inputs")
    dlasim.model("mnist", folder / "m.tflite")
    for name in ("m.dlag", "m.bin", "m.elf"):
        assert invoke("compile", folder / "m.tflite", "-o", folder / name) == 0
    network = dlasim.GraphBuilder("once", rounding="once")
    image = network.input("image", (1, 4, 4, 3), scale=0.1)
    weights = network.constant("weights", np.ones((2, 1, 1, 3), np.int8), scale=0.1)
    network.save(folder / "once.dlag", [network.operator("CONV_2D", [image, weights], scale=0.1)])
    shutil.copy(EXAMPLES / "relu.s", folder / "m.s")
    (folder / "own.elf").write_bytes((folder / "m.elf").read_bytes().replace(b"DLAPROG\0", b"DLAPROX\0"))
    return folder


@pytest.fixture(autouse=True)
def watching() -> Iterator[None]:
    if _note not in _hooks:
        sys.addaudithook(_note)
        _hooks.append(_note)
    yield
    _watched.clear()


_hooks: list[object] = []


def invoke(*arguments: object) -> int:
    return CliRunner().invoke(main, [str(each) for each in arguments]).exit_code


@pytest.mark.parametrize(
    ("command", "name"),
    [
        *(("run", f"m.{ending}") for ending in ("tflite", "dlag", "bin", "elf", "s")),
        ("run", "own.elf"),
        *((command, f"m.{ending}") for command in ("inspect", "explain") for ending in ("tflite", "dlag")),
        *(("compile", f"m.{ending}") for ending in ("tflite", "dlag")),
        ("verify", "once.dlag"),
    ],
)
def test_opened_once(files: Path, tmp_path: Path, command: str, name: str) -> None:
    path = str(files / name)
    more = ("-o", tmp_path / "program.bin") if command == "compile" else ()
    _opened.clear()
    _watched.append(path)
    code = invoke(command, path, *more)
    assert code == (1 if name == "own.elf" else 0)  # without its program, the firmware gives up
    assert _opened.count(path) == 1


def test_a_model_from_a_pipe(files: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "model.tflite"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes((files / "m.tflite").read_bytes()))
    writer.start()
    assert dlasim.run(pipe, timing_only=True).report["program"] == "mnist"
    writer.join()


def test_kinds(files: Path) -> None:
    """By the content where it has a mark, and by the name where it has none."""
    expected = {
        "m.tflite": InputKind.TFLITE,
        "m.dlag": InputKind.DLAG,
        "m.bin": InputKind.PROGRAM,
        "m.elf": InputKind.ELF,
        "m.s": InputKind.ASSEMBLY,
    }
    for name, kind in expected.items():
        assert open_input(files / name).kind is kind
        if kind is not InputKind.ASSEMBLY:
            (files / "m.txt").write_bytes((files / name).read_bytes())
            assert open_input(files / "m.txt").kind is kind
    (files / "M.ONNX").write_bytes(b"")
    assert open_input(files / "M.ONNX").kind is InputKind.ONNX


def test_one_opened_file_serves_all(files: Path) -> None:
    file = open_input(files / "m.tflite")
    assert open_input(file) is file
    assert dlasim.compile(file).program.name == dlasim.compile(files / "m.tflite").program.name
