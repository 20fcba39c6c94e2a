"""The options that choose who plays the CPU, and how its firmware works."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])

_CHOICES: tuple[tuple[str, str, Any, str], ...] = (
    ("--cpu", "cpu", str, "Costs of its instructions: ideal, two_stage, five_stage, or a FILE.toml."),
    (
        "--completion",
        "completion",
        click.Choice(["interrupt", "polling"]),
        "How its firmware learns of a stream's end.",
    ),
    (
        "--submission",
        "submission",
        click.Choice(["queue", "registers"]),
        "How its firmware gives work to the DLA: streams by doorbell, or command by command.",
    ),
    ("--max-instructions", "max_instructions", click.IntRange(1), "Give up after so many instructions."),
)


def host_options(function: F) -> F:
    """--host, and what only matters with one."""
    for option, name, kind, text in reversed(_CHOICES):
        function = click.option(option, name, type=kind, default=None, help=text)(function)
    return click.option(
        "--host",
        default="none",
        type=click.Choice(["none", "riscv"]),
        help="Who plays the CPU: an estimate, or a simulated RISC-V board with real firmware.",
    )(function)


def take_host(given: dict[str, Any], *, is_elf: bool = False) -> tuple[str, dict[str, Any]]:
    """The host, and the options of it that were given; removes what it reads from `given`."""
    host = given.pop("host")
    chosen = {name: given.pop(name) for _, name, _, _ in _CHOICES}
    chosen = {name: value for name, value in chosen.items() if value is not None}
    if chosen and host == "none" and not is_elf:
        option = next(option for option, name, _, _ in _CHOICES if name in chosen)
        raise click.UsageError(f"{option} needs --host riscv")
    return host, chosen
