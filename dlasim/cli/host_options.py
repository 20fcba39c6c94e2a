"""The options of the host: what simulates the CPU, how its firmware drives the DLA, and how to debug it."""

from __future__ import annotations

from typing import Any

import click

from dlasim.cli.help_sections import Function, SharedOption, add_options, option
from dlasim.cli.option_types import Choice, Number
from dlasim.cli.terminal import say

ENGINE = option("--engine", "Kernels: compiled (fast) or the readable reference.",
    kind=Choice(["auto", "fast", "reference"]), default="auto")  # fmt: skip
FIRMWARE = (
    option("--cpu", "CPU core (cycles per instruction): ideal, two_stage, five_stage, or a FILE.toml.  "
        "[default: ideal]", "CORE"),
    option("--completion", "How the firmware detects that a stream has finished.  [default: interrupt]",
        kind=Choice(["interrupt", "polling"])),
    option("--submission", "How the firmware submits work: whole streams with a doorbell, or single "
        "commands.  [default: queue]", kind=Choice(["queue", "registers"])),
    option("--max-instructions", "Stop with an error after this many instructions.", "N",
        kind=Number(int, 1)),
    option("--stuck-after", "Stop a guest that waits this long for an event that no device will cause; 0: "
        "never.  [default: 10]", "SECONDS", kind=Number(float, 0), name="stuck_after_seconds"),
    option("--device", "Attach a device: FILE.py:CLASS@ADDRESS[,irq=N][,size=BYTES]. Repeatable.", "DEVICE",
        name="devices", is_repeatable=True),
)  # fmt: skip
DEBUGGING = (
    option("--dla", "The accelerator: the simulator, or the RTL, built with Verilator.  [default: simulator]",
        kind=Choice(["simulator", "rtl"])),
    option("--vcd", "Write the RTL's waveforms to FILE.vcd or FILE.fst; with --dla rtl.", "FILE"),
    option("--gdb", "Wait for gdb on this port of 127.0.0.1; 0: any free port.", "PORT",
        kind=Number(int, 0, 65535), name="gdb_port"),
    option("--trace-instructions", "Print every instruction on stderr.", kind=bool),
    option("--trace-mmio", "Print every access to a device on stderr.", kind=bool),
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
    chosen = {name: value for name, value in chosen.items() if value not in (None, ()) and value is not False}
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
