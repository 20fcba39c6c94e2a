"""The options of the host: what simulates the CPU, how its firmware drives the DLA, and how to debug it."""

from __future__ import annotations

from typing import Any

import click

from dlasim.cli.help_sections import Function, OptionRow, SharedOption, add_options
from dlasim.cli.option_types import Choice, Number
from dlasim.cli.terminal import say

FIRMWARE = (
    OptionRow(
        "--cpu", "cpu", str,
        "CPU core (cycles per instruction): ideal, two_stage, five_stage, or a FILE.toml.  [default: ideal]",
        "CORE",
    ),
    OptionRow(
        "--completion", "completion", Choice(["interrupt", "polling"]),
        "How the firmware detects that a stream has finished.  [default: interrupt]",
    ),
    OptionRow(
        "--submission", "submission", Choice(["queue", "registers"]),
        "How the firmware submits work: whole streams with a doorbell, or single commands.  [default: queue]",
    ),
    OptionRow(
        "--max-instructions", "max_instructions", Number(int, 1),
        "Stop with an error after this many instructions.", "N",
    ),
    OptionRow(
        "--stuck-after", "stuck_after_seconds", Number(float, 0),
        "Stop a guest that waits this long for an event that no device will cause; 0: never.  [default: 10]",
        "SECONDS",
    ),
    OptionRow(
        "--device", "devices", str,
        "Attach a device: FILE.py:CLASS@ADDRESS[,irq=N][,size=BYTES]. Repeatable.", "DEVICE", True,
    ),
)  # fmt: skip
_RTL = (
    OptionRow(
        "--dla", "dla", Choice(["simulator", "rtl"]),
        "The accelerator: the simulator, or the RTL, built with Verilator.  [default: simulator]",
    ),
    OptionRow(
        "--vcd", "vcd", str, "Write the RTL's waveforms to FILE.vcd or FILE.fst; with --dla rtl.", "FILE"
    ),
    OptionRow(
        "--gdb", "gdb_port", Number(int, 0, 65535),
        "Wait for gdb on this port of 127.0.0.1; 0: any free port.", "PORT",
    ),
)  # fmt: skip
DEBUGGING = (
    *_RTL,
    OptionRow(
        "--trace-instructions", "trace_instructions", bool, "Print every instruction on stderr."
    ),
    OptionRow("--trace-mmio", "trace_mmio", bool, "Print every access to a device on stderr."),
)  # fmt: skip


def host_options(function: Function) -> Function:
    """--host, and the options that need it."""
    return click.option(
        "--host",
        cls=SharedOption,
        default="none",
        type=Choice(["none", "riscv"]),
        help="How to simulate the CPU: estimate its cycles, or run real firmware on a RISC-V board.",
    )(add_options(function, FIRMWARE))


def debug_options(function: Function) -> Function:
    """The options for gdb and for traces."""
    return add_options(function, DEBUGGING)


def take_host(given: dict[str, Any], *, is_elf: bool = False) -> tuple[str, dict[str, Any]]:
    """The host and its options that were given; removes what it reads from `given`."""
    host = given.pop("host")
    names = {row.name: row.flag for row in (*FIRMWARE, *DEBUGGING)}
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
