"""The options that choose who plays the CPU, how its firmware works, and how closely one watches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from dlasim.cli.sections import SharedOption
from dlasim.cli.terminal import say

F = TypeVar("F", bound=Callable[..., Any])
_SECTION = "The CPU"

# option, parameter, type, help; None where not given
_FIRMWARE: tuple[tuple[str, str, Any, str], ...] = (
    (
        "--cpu",
        "cpu",
        str,
        "What its instructions cost: ideal, two_stage, five_stage, or a FILE.toml.  [default: ideal]",
    ),
    (
        "--completion",
        "completion",
        click.Choice(["interrupt", "polling"]),
        "How its firmware learns of a stream's end.  [default: interrupt]",
    ),
    (
        "--submission",
        "submission",
        click.Choice(["queue", "registers"]),
        "How it gives work to the DLA: streams by doorbell, or command by command.  [default: queue]",
    ),
    ("--max-instructions", "max_instructions", click.IntRange(1), "Give up after so many instructions."),
    (
        "--stuck-after",
        "stuck_after_seconds",
        click.FloatRange(0),
        "End a guest that has waited so long for what no device will do; 0: never.  [default: 10]",
    ),
    (
        "--device",
        "devices",
        str,
        "Attach a device: FILE.py:CLASS@ADDRESS[,irq=N][,size=BYTES]; may be repeated.",
    ),
)
_DEBUGGING: tuple[tuple[str, str, Any, str], ...] = (
    ("--gdb", "gdb_port", click.IntRange(0, 65535), "Wait for gdb on this port of 127.0.0.1; 0: any."),
)
_METAVARS = {
    "cpu": "CORE",
    "max_instructions": "N",
    "stuck_after_seconds": "SECONDS",
    "devices": "DEVICE",
    "gdb_port": "PORT",
}
_REPEATABLE = ("devices",)
_TRACES = (
    ("--trace-instructions", "trace_instructions", "Every instruction on stderr."),
    ("--trace-mmio", "trace_mmio", "Every access to a device on stderr."),
)


def host_options(function: F) -> F:
    """--host, and what only matters with one."""
    function = _with_values(function, _FIRMWARE)
    return click.option(
        "--host",
        cls=SharedOption,
        section=_SECTION,
        default="none",
        type=click.Choice(["none", "riscv"]),
        help="Who plays the CPU: an estimate, or a simulated RISC-V board with real firmware.",
    )(function)


def debug_options(function: F) -> F:
    """A debugger, and traces for the patient."""
    for option, name, text in reversed(_TRACES):
        function = click.option(
            option, name, cls=SharedOption, section=_SECTION, is_flag=True, default=None, help=text
        )(function)
    return _with_values(function, _DEBUGGING)


def _with_values(function: F, table: tuple[tuple[str, str, Any, str], ...]) -> F:
    for option, name, kind, text in reversed(table):
        function = click.option(
            option,
            name,
            cls=SharedOption,
            section=_SECTION,
            type=kind,
            default=None,
            metavar=_METAVARS.get(name),
            multiple=name in _REPEATABLE,
            help=text,
        )(function)
    return function


def take_host(given: dict[str, Any], *, is_elf: bool = False) -> tuple[str, dict[str, Any]]:
    """The host, and the options of it that were given; removes what it reads from `given`."""
    host = given.pop("host")
    tables: tuple[tuple[Any, ...], ...] = (*_FIRMWARE, *_DEBUGGING, *_TRACES)
    names = {name: option for option, name, *_ in tables}
    chosen = {name: given.pop(name) for name in names if name in given}
    chosen = {name: value for name, value in chosen.items() if value is not None and value != ()}
    if chosen and host == "none" and not is_elf:
        raise click.UsageError(f"{names[next(iter(chosen))]} needs --host riscv")
    for name in ("trace_instructions", "trace_mmio"):
        if name in chosen:
            chosen[name] = _to_stderr
    if "gdb_port" in chosen:
        chosen["on_listening"] = _announce_port
    return host, chosen


def _to_stderr(text: str) -> None:
    say(text, err=True)


def _announce_port(port: int) -> None:
    say(f"waiting for gdb; in it: target remote :{port}", err=True)
