"""The options that choose a machine and how to compile for it, the same for every command that takes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click

from dlasim.cli.options import GRID, SIZE
from dlasim.cli.sections import SharedOption
from dlasim.cli.terminal import say

F = TypeVar("F", bound=Callable[..., Any])
_NUMBERS = {int: "N", float: "X"}

# option, parameter of DlaConfig, type, help
MACHINE: tuple[tuple[str, str, Any, str], ...] = (
    ("--pes", "pes", int, "Processing elements: multiply-accumulates per cycle."),
    ("--sram", "sram_bytes", SIZE, "Size of the accelerator's SRAM, such as 512KiB."),
    ("--parallel", "parallel", GRID, "Channels that the PEs take at once; a grid such as 8x8 sets --pes."),
    ("--sram-bandwidth", "sram_bandwidth", int, "Bytes per cycle of each SRAM port; 0 is unlimited."),
    ("--sram-ports", "sram_ports", int, "SRAM ports that one operation can use at once."),
    ("--dma-bandwidth", "dma_bandwidth", int, "Bytes per cycle each way; 0 is unlimited."),
    (
        "--dma-shared-bandwidth",
        "dma_shared_bandwidth",
        int,
        "Bytes per cycle both ways together; 0: no limit.",
    ),
    ("--dma-latency", "dma_latency", int, "Cycles before a transfer's first byte."),
    ("--dma-burst", "dma_burst_bytes", SIZE, "Bytes of a DMA burst."),
    ("--dma-burst-overhead", "dma_burst_overhead", int, "Cycles lost per burst."),
    ("--vector-lanes", "vector_lanes", int, "Elements per cycle of the vector unit."),
    ("--issue-cycles", "issue_cycles", int, "Cycles per instruction word."),
    ("--queue-depth", "queue_depth", int, "Operations that a unit holds."),
    ("--clock", "clock_mhz", float, "Clock in MHz."),
    (
        "--timing",
        "timing",
        click.Choice(["full", "macs", "zero"]),
        "What takes time: everything, multiply-accumulates, nothing.",
    ),
)
COMPILE: tuple[tuple[str, str, Any, str], ...] = (
    (
        "--fusion",
        "fusion",
        click.Choice(["none", "requant", "full"]),
        "What is joined: nothing, a layer's own steps, layers through the SRAM.",
    ),
    (
        "--depthwise",
        "depthwise",
        click.Choice(["cpu", "emulated", "native"]),
        "Depthwise layers: on the CPU, through OP_CONV, by their own instruction.",
    ),
    (
        "--tiling",
        "tiling",
        click.Choice(["output-channel", "auto"]),
        "How layers are cut: along output channels, or as is cheapest.",
    ),
    (
        "--place",
        "place",
        click.Choice(["auto", "cpu", "dla"]),
        "Who runs what both can: the faster, or always this one.",
    ),
)


def machine_options(function: F) -> F:
    """--config, --preset, and an option for each parameter of the machine."""
    function = _shared(MACHINE, "Machine")(function)
    function = preset_option("NAME")(function)
    return click.option(
        "--config",
        "config_file",
        cls=SharedOption,
        section="Machine",
        default=None,
        metavar="FILE.toml",
        help="A machine of your own.",
    )(function)


def _shared(table: tuple[tuple[str, str, Any, str], ...], section: str) -> Callable[[F], F]:
    """The options of a table, in its order."""

    def decorate(function: F) -> F:
        for option, name, kind, text in reversed(table):
            function = click.option(
                option,
                name,
                cls=SharedOption,
                section=section,
                type=kind,
                default=None,
                metavar=_NUMBERS.get(kind),
                help=text,
            )(function)
        return function

    return decorate


def preset_option(metavar: str) -> Callable[[F], F]:
    """--preset, which lists what there is where the name is `list`."""
    return click.option(
        "--preset",
        cls=_PresetOption,
        section="Machine",
        default=None,
        metavar=metavar,
        is_eager=True,  # so that `--preset list` needs no model
        help="A machine that ships; `--preset list` shows them.",
    )


class _PresetOption(SharedOption):
    """Shows the presets as soon as `list` is met, as JSON if `--json` is given too, before or after it."""

    def handle_parse_result(
        self, ctx: click.Context, opts: Mapping[str, Any], args: list[str]
    ) -> tuple[Any, list[str]]:
        """As click has it, but for `list`."""
        if opts.get("preset") == "list" and not ctx.resilient_parsing:
            say(_presets_json() if opts.get("as_json") else _presets_table())
            ctx.exit()
        return super().handle_parse_result(ctx, opts, args)


def _presets_json() -> str:
    import json

    from dlasim.sim.config import preset, preset_names, preset_summary

    rows = [{**preset(name).as_dict(), "summary": preset_summary(name)} for name in preset_names()]
    return json.dumps(rows, indent=2)


def _presets_table() -> str:
    from dlasim.cli.summary import size, table
    from dlasim.sim.config import preset, preset_names, preset_summary

    lines = [["preset", "PEs", "parallel", "SRAM", "DMA B/cycle", "clock", "what it is"]]
    for known in preset_names():
        machine = preset(known)
        lines.append([
            known, str(machine.pes), machine.parallel, size(machine.sram_bytes),
            str(machine.dma_bandwidth or "unlimited"), f"{machine.clock_mhz:g} MHz", preset_summary(known),
        ])  # fmt: skip
    return table(lines, "lrlrrrl")


def compile_options(function: F) -> F:
    """How to lower a model."""
    function = _shared(COMPILE, "Compiling")(function)
    return click.option(
        "--dla-ops",
        cls=SharedOption,
        section="Compiling",
        default=None,
        metavar="OP,OP…",
        help="TFLite operators that may go to the DLA, such as CONV_2D,ADD.",
    )(function)


def take_machine(given: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The base machine that --config or --preset name (None for neither), and the single overrides.

    Removes what it reads from `given`.
    """
    from dlasim.errors import InputError
    from dlasim.sim import config

    path, name = given.pop("config_file"), given.pop("preset")
    changes = {parameter: given.pop(parameter) for _, parameter, _, _ in MACHINE}
    if path and name:
        raise InputError("--config and --preset exclude each other: give one of them")
    base = config.load_file(path) if path else config.preset(name) if name else None
    return base, {key: value for key, value in changes.items() if value is not None}


def take_compile(given: dict[str, Any]) -> dict[str, Any]:
    """The compile options given; removes what it reads from `given`."""
    changes = {parameter: given.pop(parameter) for _, parameter, _, _ in COMPILE}
    operators = given.pop("dla_ops")
    if operators is not None:
        changes["dla_ops"] = frozenset(name.strip().upper() for name in operators.split(",") if name.strip())
    return {key: value for key, value in changes.items() if value is not None}
