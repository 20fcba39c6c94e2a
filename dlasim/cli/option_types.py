"""Option types that several commands share; a wrong value is an error that names the flag and the value."""

from __future__ import annotations

from typing import Any, NoReturn

import click

from dlasim.errors import InputError, one_of
from dlasim.sim.configuration.config import PARALLEL_FORM, parse_grid
from dlasim.sim.configuration.machine_table import PARAMETERS
from dlasim.sim.configuration.sizes import SIZE_FORM, UNLIMITED, parse_size

_MAX_VALUE_LENGTH = 60

# click.ParamType is generic in newer releases only; a subscript would fail with older ones.


class _Value(click.ParamType):  # type: ignore[type-arg]
    def refuse(
        self, wanted: str, value: str, param: click.Parameter | None, ctx: click.Context | None
    ) -> NoReturn:
        """Fail with `--flag must be … (got …)`."""
        flag = param.opts[0] if param is not None else "the value"
        shown = value[:_MAX_VALUE_LENGTH] if _is_number(value) else repr(value[:_MAX_VALUE_LENGTH])
        raise click.UsageError(f"{flag} {wanted} (got {shown})", ctx)


class Number(_Value):
    """A number from `low` to `high`; without `high` it is at least `low`, without both it is any number."""

    def __init__(self, kind: type[int] | type[float], low: float | None = None, high: float | None = None):
        self.name = "N" if kind is int else "X"
        self._kind, self._low, self._high = kind, low, high

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The number."""
        try:
            number = self._kind(value)
        except ValueError:
            self.refuse(f"must be a {'whole ' if self._kind is int else ''}number", value, param, ctx)
        if self._low is not None and not number >= self._low:
            self.refuse(self._limits(), value, param, ctx)
        if self._high is not None and not number <= self._high:
            self.refuse(self._limits(), value, param, ctx)
        return number

    def _limits(self) -> str:
        return (
            f"must be at least {self._low}"
            if self._high is None
            else f"must be from {self._low} to {self._high}"
        )


class MachineNumber(Number):
    """A parameter of DlaConfig, which knows its limits."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The number; 0 for `unlimited` where that is a value."""
        if _is_unlimited(value, param):
            return 0
        number = super().convert(value, param, ctx)
        _check_range(self, number, value, param, ctx)
        return number


class Choice(click.Choice):  # type: ignore[type-arg]
    """One of several words."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The word."""
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter:
            flag = param.opts[0] if param is not None else "the value"
            wanted = one_of(map(str, self.choices))
            raise click.UsageError(
                f"{flag} must be {wanted} (got {value[:_MAX_VALUE_LENGTH]!r})", ctx
            ) from None


class Size(_Value):
    """Bytes: `512KiB`, `512K` or `512KB`, `1MiB`, `1G` or a plain number; K is always 1024."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number of bytes."""
        if isinstance(value, int):
            return value
        if _is_unlimited(value, param):
            return 0
        size = parse_size(value)
        if size is None:
            self.refuse(f"must be {SIZE_FORM}", value, param, ctx)
        _check_range(self, size, value, param, ctx)
        return size


class Grid(_Value):
    """How processing elements are divided between channels: `input`, `output`, or a grid such as `8x16`."""

    name = "input|output|ICxOC[xP]"

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        """As it is typed; click would write it in capitals."""
        return self.name

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The mode as the configuration takes it."""
        text = value.strip().lower()
        if text in ("input", "output"):
            return text
        try:
            inputs, outputs, pixels = parse_grid(text)
            return f"{inputs}x{outputs}" + (f"x{pixels}" if pixels > 1 else "")
        except InputError:
            self.refuse(f"must be {PARALLEL_FORM}", value, param, ctx)


def _is_unlimited(value: Any, param: click.Parameter | None) -> bool:
    """Whether a parameter that may be unlimited is."""
    if not isinstance(value, str) or param is None or param.name not in PARAMETERS:
        return False
    return value.strip().lower() == UNLIMITED and PARAMETERS[param.name].may_be_unlimited


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _check_range(
    kind: _Value, number: float, value: Any, param: click.Parameter | None, ctx: click.Context | None
) -> None:
    limits = (
        PARAMETERS[param.name].outside(number, True) if param is not None and param.name in PARAMETERS else ""
    )
    if limits:
        kind.refuse(limits, value, param, ctx)


SIZE = Size()
GRID = Grid()
WHOLE = MachineNumber(int)
REAL = MachineNumber(float)
TEXT = click.STRING
