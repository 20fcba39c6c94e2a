"""The option types that commands share, and what the commands say about wrong values."""

from __future__ import annotations

import click
import pytest
from click.testing import CliRunner

from dlasim.cli import main
from dlasim.cli.option_types import GRID, SIZE


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("65536", 65536),
        ("512KiB", 524288),
        ("512k", 524288),
        ("64KB", 65536),
        ("1M", 1 << 20),
        ("2GiB", 2 << 30),
        ("100B", 100),
        (" 1MiB ", 1 << 20),
        ("0", 0),
    ],
)
def test_sizes(text: str, size: int) -> None:
    assert SIZE.convert(text, None, None) == size


@pytest.mark.parametrize("text", ["", "K", "12X", "-1", "1.5M", "1 000", "0x10", "1KiBB", "¹K", "1" * 30])
def test_a_wrong_size_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(click.UsageError, match=r"512KiB"):
        SIZE.convert(text, None, None)


@pytest.mark.parametrize(("text", "grid"), [("input", "input"), ("OUTPUT", "output"), ("8X16", "8x16")])
def test_grids(text: str, grid: str) -> None:
    assert GRID.convert(text, None, None) == grid


@pytest.mark.parametrize("text", ["", "both", "8x", "8x8x8x8", "-1x2"])
def test_a_wrong_grid_is_refused_with_the_choices(text: str) -> None:
    with pytest.raises(click.UsageError, match=r"input, output, or a grid"):
        GRID.convert(text, None, None)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("run mnist --report=", "--report must not be empty"),
        ("compile mnist --output=", "--output must not be empty"),
        ("run mnist --input= --input x.npy", "--input must not be empty"),
        ("sweep mnist --jobs 0", "--jobs must be from 1 to 4096 (got 0)"),
        ("sweep mnist --jobs many", "--jobs must be a whole number (got 'many')"),
        ("evaluate x --inputs x --jobs 5000", "--jobs must be from 1 to 4096 (got 5000)"),
        ("confirm x --top 1000001", "--top must be from 1 to 1000000 (got 1000001)"),
        ("run x --repeat 0", "--repeat must be from 1 to 1000000 (got 0)"),
        ("run x --pes 0", "--pes must be from 1 to 1048576 (got 0)"),
        ("run x --pes 1e3", "--pes must be a whole number (got 1e3)"),
        ("run x --pes " + "9" * 5000, "--pes must be a whole number (got " + "9" * 60 + ")"),
        ("run x --sram 15", "--sram must be from 16 to 2147483648 (got 15)"),
        ("run x --sram many", "--sram must be a size such as 512KiB, 1M or 65536 (got 'many')"),
        ("run x --dma-bandwidth 0", "--dma-bandwidth must be from 1 to 1048576, or unlimited (got 0)"),
        ("run x --line-buffer 0", "--line-buffer must be from 1 to 2147483648, or unlimited (got 0)"),
        ("run x --set mac_results=0", "mac_results must be from 0.01 to 1048576, or unlimited (got 0.0)"),
        ("run x --set buses.axi=0", "buses.axi must be from 0.001 to 1048576, or unlimited (got 0.0)"),
        ("sweep mnist --accumulators 0,8", "accumulators must be from 1 to 1048576, or unlimited (got 0)"),
        ("run x --dma-burst 0", "--dma-burst must be from 1 to 1048576 (got 0)"),
        ("run x --clock 0", "--clock must be from 0.001 to 100000 (got 0)"),
        ("run x --clock nan", "--clock must be from 0.001 to 100000 (got nan)"),
        (
            "run x --parallel 8x",
            "--parallel must be input, output, or a grid such as 8x16 or 8x8x4 (got '8x')",
        ),
        ("run x --host riscv --max-instructions 0", "--max-instructions must be at least 1 (got 0)"),
        ("run x --host riscv --stuck-after -1", "--stuck-after must be at least 0 (got -1)"),
        ("run x --host riscv --stuck-after nan", "--stuck-after must be at least 0 (got nan)"),
        ("verify x --seed -1", "--seed must be at least 0 (got -1)"),
        ("verify x --runs -1", "--runs must be from 0 to 1000000 (got -1)"),
        ("run x --fusion ful", "--fusion must be none, requant or full (got 'ful')"),
        ("run x --preset papr", "unknown preset 'papr'; did you mean paper?"),
    ],
)
def test_a_wrong_value_names_the_flag_and_what_it_must_be(arguments: str, message: str) -> None:
    result = CliRunner().invoke(main, arguments.split(), prog_name="dlasim")
    assert result.exit_code == 2
    assert message in result.stderr
    assert len(result.stderr.splitlines()) == 1
