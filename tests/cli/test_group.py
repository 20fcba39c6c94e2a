"""The command as a whole: what it loads, and that nothing ends in a traceback."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from dlasim.cli import COMMANDS, main
from dlasim.errors import InputError, RunError

HEAVY = {
    "numpy", "numba", "llvmlite", "matplotlib", "unicorn", "elftools", "flatbuffers", "tflite",
    "tensorflow", "pandas", "polars", "distributed",
}  # fmt: skip
NAMES = [name for section in COMMANDS.values() for name in section]


def call(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments, prog_name="dlasim")


def modules_after(*arguments: str, code: int = 0, **environment: str) -> set[str]:
    """What a command line has loaded by the time it leaves, with this exit code."""
    script = f"""
import sys
sys.argv = ["dlasim", *{arguments!r}]
from dlasim.cli import main
try:
    main()
except SystemExit as done:
    assert (done.code or 0) == {code}, done.code
print("", *sys.modules, sep="\\n", file=sys.stderr)
"""
    environment = {**os.environ, **environment}
    result = subprocess.run(
        [sys.executable, "-P", "-c", script], capture_output=True, text=True, check=True, env=environment
    )
    return set(result.stderr.split())


def failing(monkeypatch: pytest.MonkeyPatch, action: Callable[[], object]) -> Result:
    """What `dlasim doctor` does when its body is `action`."""

    @click.command()
    def command() -> None:
        action()

    monkeypatch.setattr(importlib.import_module("dlasim.cli.doctor"), "command", command)
    return call("doctor")


def raising(error: BaseException) -> Callable[[], object]:
    def action() -> object:
        raise error

    return action


def test_a_run_loads_nothing_that_it_does_not_use() -> None:
    loaded = modules_after("run", "resnet8")
    assert "dlasim.sim.fast_engine.engine" in loaded
    unused = {"bz2", "importlib.resources", "llvmlite", "shutil", "subprocess", "tempfile", "wave", "zipfile"}
    assert not loaded & unused


@pytest.mark.parametrize("arguments", [["--help"], ["--version"]])
def test_help_and_version_load_no_command_and_nothing_heavy(arguments: list[str]) -> None:
    loaded = modules_after(*arguments)
    ours = {name for name in loaded if name.split(".")[0] == "dlasim"}
    assert ours == {
        "dlasim",
        "dlasim.cli",
        "dlasim.cli.group",
        "dlasim.cli.failure",
        "dlasim.cli.terminal",
        "dlasim.errors",
        "dlasim.system",
        "dlasim.system.interrupts",
    }
    assert not loaded & HEAVY


@pytest.mark.parametrize("name", NAMES)
def test_help_of_a_command_loads_nothing_heavy(name: str) -> None:
    loaded = modules_after(name, "--help")
    assert not loaded & (HEAVY | {"importlib.metadata", "email", "asyncio"})
    assert not loaded & {"dlasim.isa.instruction_rows", "dlasim.isa.instructions", "dlasim.api"}


@pytest.mark.parametrize("arguments", [["isa"], ["isa", "OP_CONV"], ["run", "--preset", "list"]])
def test_looking_something_up_loads_nothing_heavy(arguments: list[str]) -> None:
    assert not modules_after(*arguments) & HEAVY


@pytest.mark.parametrize(
    "arguments",
    [
        ["isa", "OP_CNV"],
        ["run", "x", "--timing-onyl"],
        ["run", "x", "--sram", "many"],
        ["run", "x", "--parallel", "8x"],
        ["run", "x", "--preset", "nvdla"],
        ["run", "x", "--config", "missing.toml"],
        ["compile", "x", "-o", "y", "--preset", "nvdla"],
        ["verify", "x", "--cpu", "ideal"],
        ["explain", "x", "--preset", "nvdla"],
        ["sweep", "x", "--set", "pes"],
        ["plot", "x", "--set", "top=a"],
    ],
)
def test_wrong_options_are_told_before_anything_heavy_loads(arguments: list[str]) -> None:
    assert not modules_after(*arguments, code=2) & HEAVY


@pytest.mark.parametrize(
    "words", ["dlasim sw", "dlasim run --pe", "dlasim sweep --dma-", "dlasim plot --kind "]
)
def test_completion_loads_nothing_heavy(words: str) -> None:
    count = str(words.count(" "))
    assert not modules_after(_DLASIM_COMPLETE="bash_complete", COMP_WORDS=words, COMP_CWORD=count) & HEAVY


def test_doctor_looks_at_packages_without_importing_them() -> None:
    assert not modules_after("doctor") & HEAVY


@pytest.mark.parametrize("name", NAMES)
def test_each_command_of_the_table_exists_and_has_help(name: str) -> None:
    result = call(name, "--help")
    assert result.exit_code == 0, result.output
    assert f"Usage: dlasim {name}" in result.stdout


def test_help_lists_each_command_with_its_line() -> None:
    shown = call("--help").stdout
    for section in COMMANDS.values():
        for name, line in section.items():
            assert f"  {name} " in shown
            assert line in shown


def test_no_arguments_show_the_help() -> None:
    assert call().stdout == call("--help").stdout


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["disam"], "unknown command 'disam'; did you mean disasm?"),
        (["zzz"], "unknown command 'zzz'; known are model, quantize, inspect, compile, "),
        (["doctor", "--jsn"], "--json"),
        (["isa", "--format", "xml"], "'xml'"),
    ],
)
def test_wrong_usage_is_one_line_and_exit_2(arguments: list[str], expected: str) -> None:
    result = call(*arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert len(result.stderr.splitlines()) == 1
    assert expected in result.stderr
    assert "--help" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "option"),
    [
        (["compile", "mnist"], "--output"),
        (["quantize", "x.tflite", "--calibrate", "x.npz"], "--output"),
        (["quantize", "x.tflite", "-o", "y.tflite"], "--calibrate"),
        (["evaluate", "mnist"], "--inputs"),
        (["report", "x.json"], "--output"),
    ],
)
def test_an_option_that_a_command_needs_is_asked_for(arguments: list[str], option: str) -> None:
    result = call(*arguments)
    assert result.exit_code == 2
    assert "missing option" in result.stderr
    assert option in result.stderr
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (InputError("pes must be from 1 (got 0)"), 2, "dlasim: pes must be from 1 (got 0)"),
        (RunError("output differs"), 1, "dlasim: output differs"),
        (KeyboardInterrupt(), 130, "dlasim: interrupted"),
        (MemoryError(), 1, "dlasim: out of memory"),
        (PermissionError(13, "Permission denied", "a.bin"), 2, "dlasim: a.bin: Permission denied"),
        (OSError(28, "No space left on device", "a.bin"), 1, "dlasim: a.bin: No space left on device"),
        (ModuleNotFoundError("No module named 'numba'", name="numba"), 1, "dlasim: cannot load numba: "),
        (click.FileError("x", "no such file"), 2, "dlasim: Could not open file 'x': no such file"),
        (
            AssertionError("two\nlines"),
            1,
            "dlasim: internal error, please report it: AssertionError: two lines",
        ),
    ],
)
def test_whatever_is_raised_ends_in_one_line(
    monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int, line: str
) -> None:
    result = failing(monkeypatch, raising(error))
    assert result.exit_code == code
    assert result.stderr.startswith(line)
    assert len(result.stderr.splitlines()) == 1


def test_developers_can_ask_for_the_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    failing(monkeypatch, raising(KeyError("place")))
    result = call("--debug", "doctor")
    assert isinstance(result.exception, KeyError)


def test_an_exit_code_of_a_command_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    assert failing(monkeypatch, lambda: click.get_current_context().exit(1)).exit_code == 1


def test_a_closed_pipe_is_quiet() -> None:
    read, write = os.pipe()
    os.close(read)
    process = subprocess.run(
        [sys.executable, "-P", "-m", "dlasim", "isa", "registers"],
        stdout=write,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(write)
    assert process.stderr == b""
    assert process.returncode == 141


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_disk_is_one_line() -> None:
    with open("/dev/full", "wb") as full:
        process = subprocess.run(
            [sys.executable, "-P", "-m", "dlasim", "isa", "registers"],
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert process.stderr.decode().splitlines() == ["dlasim: No space left on device"]
    assert process.returncode == 1
