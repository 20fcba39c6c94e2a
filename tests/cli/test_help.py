"""Help reads well, and what was mistyped is found again."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from dlasim.cli import COMMANDS, main
from dlasim.cli.help_sections import SECTIONS, in_sections
from dlasim.sim.configuration.config import DlaConfig

NAMES = [name for section in COMMANDS.values() for name in section]


def call(*arguments: str) -> str:
    """What a command says, on either channel."""
    return CliRunner().invoke(main, list(arguments), prog_name="dlasim", terminal_width=100).output


@pytest.mark.parametrize("name", NAMES)
def test_every_command_has_examples_that_are_its_own(name: str) -> None:
    examples = call(name, "--help").partition("Examples:")[2]
    assert examples.count(f"dlasim {name}") >= 2


@pytest.mark.parametrize("name", [*NAMES, ""])
def test_a_terminal_of_80_columns_suffices(name: str) -> None:
    shown = CliRunner().invoke(main, [*([name] if name else []), "--help"], terminal_width=80).output
    assert max(map(len, shown.splitlines())) <= 80


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
    titles = [title for title in SECTIONS if f"\n{title}:\n" in shown]
    assert {"Most used", "Machine", "DMA", "Compiling"} <= set(titles)
    assert titles == sorted(titles, key=lambda title: shown.index(f"\n{title}:\n"))
    default = next(line for line in shown.splitlines() if line.lstrip().startswith("--dma-latency"))
    assert default.endswith(f"[default: {DlaConfig().dma_latency}]")


def options(name: str) -> list[click.Option]:
    command = main.get_command(click.Context(main), name)
    assert command is not None
    return [each for each in command.get_params(click.Context(command)) if isinstance(each, click.Option)]


@pytest.mark.parametrize("name", NAMES)
def test_the_help_has_every_option_once(name: str) -> None:
    shown = call(name, "--help")
    for option in options(name):
        assert (
            len(re.findall(rf"^  (?:-\w, )?(?:--[\w-]+(?:, |/))*{option.opts[-1]}\b(?!-)", shown, re.M)) == 1
        )
    placed = [option.name for some in dict(in_sections(options(name))).values() for option in some]
    assert sorted(placed) == sorted(option.name for option in options(name))


@pytest.mark.parametrize("name", ["run", "compile", "verify", "explain", "sweep"])
def test_the_ten_that_matter_come_first(name: str) -> None:
    first = dict(in_sections(options(name)))["Most used"]
    assert len(first) <= 10
    assert {"--preset", "--pes", "--parallel", "--sram"} <= {each.opts[-1] for each in first}


def test_the_table_of_sections_names_no_option_that_does_not_exist() -> None:
    known = {text for name in NAMES for option in options(name) for text in option.opts}
    assert [name for names in SECTIONS.values() for name in names if name not in known] == []


def test_the_page_has_the_sections_of_the_help() -> None:
    page = (Path(__file__).parents[2] / "docs" / "cli.md").read_text(encoding="utf-8")
    run = page.partition("### dlasim run\n")[2].partition("\n### ")[0]
    titles = re.findall(r"^\| (.+) \| \|$", run, re.MULTILINE)
    assert titles == [title for title, _ in in_sections(options("run"))]


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


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("run", "text.txt"), "should read TFL3; models are .tflite, .onnx, .tosa and .dlag files"),
        (("plot", "binary"), "binary is not a CSV table: byte 0 is no text in UTF-8"),
        (("plot", "empty"), "the folder empty has no results.csv: expected that of a sweep"),
        (
            ("plot", "report.json", "--kind", "roofline", "--set", "figures=cycles"),
            "; the kind pareto has it",
        ),
        (
            ("plot", "report.json", "--kind", "timeline", "--set", "end=soon"),
            "end must be a number (got 'soon')",
        ),
        (("sweep", "mnist", "--pes", "64..16"), "a range must ascend"),
        (("run", "mnist", "--config", "text.txt"), "text.txt is not valid TOML"),
        (("run", "mnist", "--cpu", "ideal"), "--cpu needs --host riscv"),
    ],
)
def test_a_usual_mistake_is_one_line_that_says_what_to_do(
    arguments: tuple[str, ...], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("text.txt").write_text("hello, this is no model\n")
    Path("binary").write_bytes(b"\xff\xfe\x00")
    Path("empty").mkdir()
    if "report.json" in arguments:
        assert "wrote report.json" in call("run", "mnist", "--timing-only", "--report", "report.json")
    shown = call(*arguments)
    assert said in shown
    assert len(shown.splitlines()) == 1
