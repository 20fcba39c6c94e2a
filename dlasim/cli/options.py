"""Option types that several commands share."""

from __future__ import annotations

from typing import Any

import click

from dlasim.errors import InputError

# click.ParamType is generic in newer releases only; a subscript would fail with older ones.


class Size(click.ParamType):  # type: ignore[type-arg]
    """Bytes: `512KiB`, `512K` or `512KB`, `1MiB`, `1G` or a plain number; K is always 1024."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number of bytes."""
        if isinstance(value, int):
            return value
        from dlasim.sim.config import parse_size

        size = parse_size(value)
        if size is None:
            self.fail(f"{value!r} is not a size (allowed: 512KiB, 1M, 65536; K is 1024)", param, ctx)
        return size


class Grid(click.ParamType):  # type: ignore[type-arg]
    """How processing elements spread over channels: `input`, `output`, or a grid such as `8x16`."""

    name = "input|output|ICxOC"

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        """As it is typed; click would write it in capitals."""
        return self.name

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The mode as the configuration takes it."""
        text = value.strip().lower()
        if text not in ("input", "output"):
            from dlasim.sim.config import parse_grid

            try:
                text = "x".join(map(str, parse_grid(text)))
            except InputError as error:
                self.fail(str(error), param, ctx)
        return text


SIZE = Size()
GRID = Grid()
