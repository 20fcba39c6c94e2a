"""The option types that commands share."""

from __future__ import annotations

import click
import pytest

from dlasim.cli.options import GRID, SIZE


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
def test_what_is_no_size_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(click.BadParameter, match=r"512KiB"):
        SIZE.convert(text, None, None)


@pytest.mark.parametrize(("text", "grid"), [("input", "input"), ("OUTPUT", "output"), ("8X16", "8x16")])
def test_grids(text: str, grid: str) -> None:
    assert GRID.convert(text, None, None) == grid


@pytest.mark.parametrize("text", ["", "both", "8x", "8x8x8", "-1x2"])
def test_what_is_no_grid_is_refused_with_the_choices(text: str) -> None:
    with pytest.raises(click.BadParameter, match=r"input, output, or a grid"):
        GRID.convert(text, None, None)
