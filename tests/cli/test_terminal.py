"""Names that others chose neither steer the terminal nor end a line, whatever shows them."""

from __future__ import annotations

import io
import json
import os
import pty
import re
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from dlasim import api
from dlasim.cli import main
from dlasim.cli.terminal import is_colored
from dlasim.compiler_shim.dlag.dlag_writer import write_graph
from dlasim.compiler_shim.files.importing import prepare
from dlasim.compiler_shim.forms.partition import partition
from dlasim.compiler_shim.network.graph import Graph
from dlasim.compiler_shim.tflite.reader import read_model
from dlasim.compiler_shim.tflite.writer import write_tflite
from dlasim.isa import container
from dlasim.isa.program import Program
from dlasim.sweeps.evaluation.progress import Progress
from dlasim.system import status_line
from tests.tflite.one_operator import random_graph

ROOT = Path(__file__).parents[2]
FILE = "a\x1b[2J\x07\u202eb.tflite"
EVIL = "a\x1b[2J\x1b]0;owned\x07\x9b31m\u202e\r\nb[/]"


def named(graph: Graph) -> Graph:
    tensors = tuple(replace(tensor, name=EVIL + str(number)) for number, tensor in enumerate(graph.tensors))
    return replace(graph, name=EVIL, tensors=tensors)


def evil_program(program: Program) -> Program:
    layers = tuple(replace(layer, name=EVIL, operator=EVIL) for layer in program.layers)
    tensors = tuple(replace(tensor, name=EVIL) for tensor in program.tensors)
    return replace(program, name=EVIL, layers=layers, tensors=tensors)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    graph = named(random_graph("CONV_2D", 0))
    (tmp_path / "m.tflite").write_bytes(write_tflite(graph))
    prepared = replace(prepare(read_model(write_tflite(graph)), "model"), name=EVIL)
    (tmp_path / "m.dlag").write_bytes(write_graph(prepared, partition(prepared)))
    program = api.compile(tmp_path / "m.tflite").program
    (tmp_path / "m.bin").write_bytes(container.write(evil_program(program)))
    (tmp_path / FILE).write_bytes(write_tflite(graph))
    (tmp_path / "study.toml").write_text(
        f'name = "{escaped()}"\nmodels = [{{file = "m.tflite", label = "{escaped()}"}}]\n[[cases]]\n'
        f'name = "{escaped()}"\n[axes]\npes = [32, 64]\n'
    )
    symbols = (ROOT / "firmware" / "prebuilt" / "firmware.elf").read_bytes()
    (tmp_path / "m.elf").write_bytes(symbols.replace(b"\0main\0", b"\0\x1b[2J\0"))
    return tmp_path


def escaped() -> str:
    return "".join(f"\\u{ord(letter):04x}" for letter in EVIL)


def call(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments], prog_name="dlasim")


def assert_harmless(result: Result) -> None:
    shown = result.stdout + result.stderr
    assert shown
    assert "internal error" not in shown
    assert [line for line in shown.split("\n") if not line.replace("\t", " ").isprintable()] == []


@pytest.mark.parametrize("name", ["m.tflite", "m.dlag", "m.bin", "evil.tflite"])
@pytest.mark.parametrize(
    "command",
    [
        ("run",), ("run", "--timing-only"), ("run", "--host", "riscv", "--timing-only"), ("explain",),
        ("run", "--input", "missing.npy"), ("run", "--pes", 32, "--parallel", "8x4"),
        ("disasm", "--annotate"), ("compile", "-o", "out.bin"), ("run", "--json", "--timing-only"),
    ],
    ids=lambda command: " ".join(map(str, command)),
)  # fmt: skip
def test_whatever_shows_a_model(folder: Path, monkeypatch, command: tuple, name: str) -> None:
    monkeypatch.chdir(folder)
    file = FILE if name.startswith("evil") else name
    result = call(command[0], file, *command[1:])
    assert_harmless(result)
    if result.exit_code:
        assert result.stderr.count("\n") == 1


def test_races_and_faults(folder: Path) -> None:
    program = container.read_file(folder / "m.bin")
    words = program.commands.copy()
    words[:] = words[-1]  # ends at once: nothing is written
    words[0] = 0xFF
    (folder / "fault.bin").write_bytes(container.write(replace(program, commands=words)))
    result = call("run", folder / "fault.bin")
    assert result.exit_code == 1
    assert "faulted" in result.stderr
    assert result.stderr.count("\n") == 1
    assert_harmless(result)


def test_a_study_and_its_charts(folder: Path) -> None:
    result = call("sweep", folder / "study.toml", "--out", folder / "out", "--jobs", 1)
    assert result.exit_code == 0, result.stderr
    assert_harmless(result)
    assert_harmless(call("plot", folder / "out"))


def test_symbols_of_firmware(folder: Path) -> None:
    result = call("run", folder / "m.elf")
    assert_harmless(result)


@pytest.mark.filterwarnings("error")
def test_progress_takes_any_label(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = FakeTerminal()
    monkeypatch.setattr(status_line, "_QUIET_SECONDS", 0.0)
    monkeypatch.setattr("sys.stderr", stream)
    with Progress(2, 0) as progress:
        progress.add(1, EVIL)
    shown = stream.getvalue()
    assert shown.startswith("\r\x1b[K1 of 2 points, ")
    assert "owned\x07" not in shown
    assert shown.endswith("\r\x1b[K")


def test_commands_say_everything_at_one_place() -> None:
    for module in (ROOT / "dlasim" / "cli").glob("*.py"):
        found = re.findall(r"click\.s?echo\(|\bprint\(", module.read_text(encoding="utf-8"))
        assert not found or module.name in ("terminal.py", "compiled_code.py"), module.name


def colored(monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], *arguments: object) -> Result:
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    return call(*arguments)


def test_colours_mark_errors_files_and_heads(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    force = {"FORCE_COLOR": "1"}
    shown = colored(
        monkeypatch, force, "run", folder / "m.tflite", "--timing-only", "--report", folder / "r.json"
    )
    assert "\x1b[32m\x1b[1mwrote\x1b[0m " in shown.stderr
    heads = [line for line in shown.stdout.split("\n") if line.startswith("\x1b[1m")]
    assert len(heads) == 3, "of the tables of layers, kinds and units"
    assert [line for line in shown.stdout.split("\n") if line.startswith("\x1b[2m─")]
    failed = colored(monkeypatch, force, "run", folder / "missing.tflite")
    assert failed.stderr.startswith("\x1b[31m\x1b[1mdlasim:\x1b[0m ")
    escapes = re.findall(r"\x1b[^m]*m", shown.stdout + shown.stderr + failed.stderr)
    assert set(escapes) <= {f"\x1b[{code}m" for code in (0, 1, 2, 31, 32)}, "a name from the file among them"


@pytest.mark.parametrize("environment", [{}, {"NO_COLOR": "1"}, {"NO_COLOR": "1", "FORCE_COLOR": "1"}])
def test_pipes_and_no_color_are_plain(
    folder: Path, monkeypatch: pytest.MonkeyPatch, environment: dict[str, str]
) -> None:
    for arguments in (("run", folder / "m.tflite", "--timing-only"), ("run", folder / "missing.tflite")):
        shown = colored(monkeypatch, environment, *arguments)
        assert "\x1b" not in shown.stdout + shown.stderr


def test_a_terminal_has_colours_unless_it_is_dumb(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = pty.openpty()
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    with os.fdopen(theirs, "w") as terminal:
        for kind in ("xterm", "dumb"):
            monkeypatch.setenv("TERM", kind)
            assert is_colored(terminal) == (kind == "xterm")
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setenv("NO_COLOR", "1")
        assert not is_colored(terminal)
    os.close(ours)


@pytest.mark.parametrize("command", ["compile", "asm", "plot", "report", "model"])
def test_what_a_command_wrote_is_told_as_json(folder: Path, command: str) -> None:
    (folder / "halt.s").write_text(
        '.program "halt"\n.config pes=64 parallel=output sram=4KiB\n.stream\n    HALT\n'
    )
    if command in ("plot", "report"):
        call("run", folder / "m.tflite", "--timing-only", "--report", folder / "run.json")
    arguments = {
        "compile": (folder / "m.tflite", "-o", folder / "new.bin"),
        "asm": (folder / "halt.s", "-o", folder / "new.bin"),
        "plot": (folder / "run.json", "-o", folder / "new.png"),
        "report": (folder / "run.json", "-o", folder / "new.html"),
        "model": ("mnist", "-o", folder / "new.tflite"),
    }[command]
    shown = call(command, *arguments, "--json")
    assert shown.exit_code == 0, shown.stderr
    printed = json.loads(shown.stdout)
    written = Path(printed["output"])
    assert written == arguments[-1]
    assert printed.get("bytes", written.stat().st_size) == written.stat().st_size
    if command == "compile":
        program = container.read_file(written)
        assert (printed["words"], printed["streams"]) == (len(program.commands), len(program.streams))
        assert [layer["unit"] for layer in printed["layers"]] == ["dla"] * len(program.layers)
    if command == "plot":
        assert printed["kind"] == "utilization"


class FakeTerminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_long_model_says_what_it_does(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """After a second on a terminal, in one line that is erased; never in a pipe."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))  # where no model was built before
    operators: list[str] = []
    api.model("mnist", tmp_path / "mnist.tflite", on_operator=operators.append)
    assert operators[:2] == ["conv_0", "pool_0"]
    for quiet_seconds, stream in ((0.0, FakeTerminal()), (60.0, FakeTerminal()), (0.0, io.StringIO())):
        monkeypatch.setattr(status_line, "_QUIET_SECONDS", quiet_seconds)
        monkeypatch.setattr("sys.stderr", stream)
        line = status_line.StatusLine()
        line.show("measuring a\x1b[2J")
        line.clear()
        shown = stream.getvalue()
        if quiet_seconds or not stream.isatty():
            assert shown == ""
        else:
            assert shown.startswith("\r\x1b[Kmeasuring a")
            assert shown.endswith("\r\x1b[K")
            assert "\x1b[2J" not in shown
