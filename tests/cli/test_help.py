"""Help reads well, and what was mistyped is found again."""

from __future__ import annotations

from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from dlasim.cli import COMMANDS, main
from dlasim.sim.config import DlaConfig

NAMES = [name for section in COMMANDS.values() for name in section]


def call(*arguments: str) -> str:
    """What a command says, on either channel."""
    return CliRunner().invoke(main, list(arguments), prog_name="dlasim", terminal_width=100).output


@pytest.mark.parametrize("name", NAMES)
def test_every_command_has_examples_that_are_its_own(name: str) -> None:
    examples = call(name, "--help").partition("Examples:")[2]
    assert examples.count(f"dlasim {name}") >= 2


@pytest.mark.parametrize("name", NAMES)
def test_every_option_has_a_help_text(name: str) -> None:
    command = main.get_command(click.Context(main), name)
    assert command is not None
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert parameter.help, parameter.opts
            assert parameter.help.partition("  [default:")[0].endswith("."), parameter.help


@pytest.mark.parametrize("name", ["run", "compile", "verify", "explain"])
def test_shared_options_stand_apart_with_the_defaults_of_the_machine(name: str) -> None:
    shown = call(name, "--help")
    own, machine, compiling = (shown.index(f"\n{title}:\n") for title in ("Options", "Machine", "Compiling"))
    assert own < machine < compiling
    default = next(line for line in shown.splitlines() if line.lstrip().startswith("--dma-latency"))
    assert default.endswith(f"[default: {DlaConfig().dma_latency}]")


def test_the_same_option_means_the_same_everywhere() -> None:
    seen: dict[str, str | None] = {}
    for name in ("run", "compile", "verify", "explain"):
        command = main.get_command(click.Context(main), name)
        assert command is not None
        for parameter in command.params:
            if isinstance(parameter, click.Option) and parameter.opts[0] not in ("-o", "--json"):
                assert seen.setdefault(parameter.opts[0], parameter.help) == parameter.help


@pytest.mark.parametrize(
    ("command", "mistyped", "meant"),
    [
        ("run", "resnt8.tflite", "did you mean resnet8.tflite?"),
        ("disasm", "progam.bin", "did you mean program.bin?"),
        ("asm", "relu.asm", "did you mean relu.s?"),
        ("run", "mobilenet_v1.tflite", "`dlasim model mobilenet_v1 -o mobilenet_v1.tflite` writes"),
    ],
)
def test_a_mistyped_file_is_found(
    command: str, mistyped: str, meant: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("resnet8.tflite", "program.bin", "relu.s"):
        (tmp_path / name).write_bytes(b"")
    monkeypatch.chdir(tmp_path)
    shown = call(command, mistyped)
    assert meant in shown
    assert len(shown.splitlines()) == 1


def test_a_mistyped_configuration_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "machine.toml").write_text("pes = 1\n")
    monkeypatch.chdir(tmp_path)
    assert "did you mean machine.toml?" in call("run", "x.tflite", "--config", "machne.toml")


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (("run", "x", "--timing-onyl"), "--timing-only"),
        (("run", "x", "--paralel", "input"), "--parallel"),
        (("isa", "OP_CNV"), "OP_CONV"),
        (("model", "resnet"), "resnet8"),
        (("run", "x", "--preset", "nvdla"), "nvdla-small"),
        (("run", "x", "--fusion", "ful"), "full"),
        (("explan",), "explain"),
    ],
)
def test_a_mistyped_name_is_found(arguments: tuple[str, ...], meant: str) -> None:
    shown = call(*arguments)
    assert meant in shown
    assert len(shown.splitlines()) == 1
