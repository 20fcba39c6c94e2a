"""The options of the host: what simulates the CPU, how its firmware drives the DLA, and how to debug it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from dlasim.cli.help_sections import SharedOption
from dlasim.cli.option_types import Choice, Number
from dlasim.cli.terminal import say

F = TypeVar("F", bound=Callable[..., Any])

# option, parameter, type, help
FIRMWARE: tuple[tuple[str, str, Any, str], ...] = (
    (
        "--cpu",
        "cpu",
        str,
        "CPU core (cycles per instruction): ideal, two_stage, five_stage, or a FILE.toml.  [default: ideal]",
    ),
    (
        "--completion",
        "completion",
        Choice(["interrupt", "polling"]),
        "How the firmware detects that a stream has finished.  [default: interrupt]",
    ),
    (
        "--submission",
        "submission",
        Choice(["queue", "registers"]),
        "How the firmware submits work: whole streams with a doorbell, or single commands.  [default: queue]",
    ),
    (
        "--max-instructions",
        "max_instructions",
        Number(int, 1),
        "Stop with an error after this many instructions.",
    ),
    (
        "--stuck-after",
        "stuck_after_seconds",
        Number(float, 0),
        "Stop a guest that waits this long for an event that no device will cause; 0: never.  [default: 10]",
    ),
    (
        "--device",
        "devices",
        str,
        "Attach a device: FILE.py:CLASS@ADDRESS[,irq=N][,size=BYTES]. Repeatable.",
    ),
)
DEBUGGING: tuple[tuple[str, str, Any, str], ...] = (
    (
        "--dla",
        "dla",
        Choice(["simulator", "rtl"]),
        "The accelerator: the simulator, or the RTL, built with Verilator.  [default: simulator]",
    ),
    ("--vcd", "vcd", str, "Write the RTL's waveforms to FILE.vcd or FILE.fst; with --dla rtl."),
    ("--gdb", "gdb_port", Number(int, 0, 65535), "Wait for gdb on this port of 127.0.0.1; 0: any free port."),
)
_METAVARS = {
    "cpu": "CORE",
    "max_instructions": "N",
    "stuck_after_seconds": "SECONDS",
    "devices": "DEVICE",
    "gdb_port": "PORT",
    "vcd": "FILE",
}
_REPEATABLE = ("devices",)
_TRACES = (
    ("--trace-instructions", "trace_instructions", "Print every instruction on stderr."),
    ("--trace-mmio", "trace_mmio", "Print every access to a device on stderr."),
)


def host_options(function: F) -> F:
    """--host, and the options that need it."""
    function = _with_values(function, FIRMWARE)
    return click.option(
        "--host",
        cls=SharedOption,
        default="none",
        type=Choice(["none", "riscv"]),
        help="How to simulate the CPU: estimate its cycles, or run real firmware on a RISC-V board.",
    )(function)


def debug_options(function: F) -> F:
    """The options for gdb and for traces."""
    for option, name, text in reversed(_TRACES):
        function = click.option(option, name, cls=SharedOption, is_flag=True, default=None, help=text)(
            function
        )
    return _with_values(function, DEBUGGING)


def _with_values(function: F, table: tuple[tuple[str, str, Any, str], ...]) -> F:
    for option, name, kind, text in reversed(table):
        function = click.option(
            option,
            name,
            cls=SharedOption,
            type=kind,
            default=None,
            metavar=_METAVARS.get(name),
            multiple=name in _REPEATABLE,
            help=text,
        )(function)
    return function


def take_host(given: dict[str, Any], *, is_elf: bool = False) -> tuple[str, dict[str, Any]]:
    """The host and its options that were given; removes what it reads from `given`."""
    host = given.pop("host")
    tables: tuple[tuple[Any, ...], ...] = (*FIRMWARE, *DEBUGGING, *_TRACES)
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
    say(f"waiting for gdb; connect with: target remote :{port}", err=True)
