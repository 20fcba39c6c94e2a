"""The options of the machine and of the compiler, which several commands share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click

from dlasim.cli.help_sections import SharedOption
from dlasim.cli.option_types import GRID, REAL, SIZE, TEXT, WHOLE, Choice
from dlasim.cli.terminal import say

F = TypeVar("F", bound=Callable[..., Any])

# option, parameter of DlaConfig, type, help
MACHINE: tuple[tuple[str, str, Any, str], ...] = (
    ("--pes", "pes", WHOLE, "Processing elements: multiply-accumulates per cycle."),
    ("--sram", "sram_bytes", SIZE, "Size of the accelerator's SRAM, such as 512KiB."),
    (
        "--parallel",
        "parallel",
        GRID,
        "Channels processed in parallel; a grid such as 8x8 (or 8x8x4, of 4 pixels) also sets --pes.",
    ),
    ("--sram-bandwidth", "sram_bandwidth", WHOLE, "Bytes per cycle of each SRAM port, or `unlimited`."),
    ("--sram-ports", "sram_ports", WHOLE, "SRAM ports, which MAC, VECTOR and both DMA units share."),
    (
        "--sram-dma-ports",
        "sram_dma_ports",
        WHOLE,
        "1: each DMA unit has an SRAM port of its own; 0: they share those of the other units.",
    ),
    ("--sram-banks", "sram_banks", WHOLE, "SRAM banks; each serves one port per cycle."),
    ("--line-buffer", "line_buffer_bytes", SIZE, "Size of the buffer for input lines, or `unlimited`."),
    ("--weight-buffer", "weight_buffer_bytes", SIZE, "Size of the buffer for weights, or `unlimited`."),
    ("--accumulators", "accumulators", WHOLE, "Accumulators of each output lane, or `unlimited`."),
    (
        "--mac-step-group",
        "mac_step_group",
        WHOLE,
        "Steps of an output (taps, slices of input channels) that the array takes together.",
    ),
    (
        "--mac-handover",
        "mac_handover",
        Choice(["results", "blocks"]),
        "Whether `results` leave the array one by one, or `blocks` of pixels enter and leave it whole.",
    ),
    ("--mac-weights", "mac_weights", WHOLE, "Weights per cycle that reach the array, or `unlimited`."),
    ("--mac-results", "mac_results", REAL, "Results per cycle that leave the MAC unit, or `unlimited`."),
    (
        "--vector-requantizations",
        "vector_requantizations",
        REAL,
        "Requantizations per cycle of the VECTOR unit, or `unlimited`.",
    ),
    (
        "--vector-divisions",
        "vector_divisions",
        REAL,
        "Divisions per cycle of the VECTOR unit, for averages, or `unlimited`.",
    ),
    ("--dma-bandwidth", "dma_bandwidth", WHOLE, "Bytes per cycle in each direction, or `unlimited`."),
    (
        "--dma-shared-bandwidth",
        "dma_shared_bandwidth",
        WHOLE,
        "Bytes per cycle in both directions together, or `unlimited`.",
    ),
    ("--dma-latency", "dma_latency", WHOLE, "Cycles before a transfer's first byte."),
    ("--dma-burst", "dma_burst_bytes", SIZE, "Size of a DMA burst."),
    ("--dma-burst-overhead", "dma_burst_overhead", WHOLE, "Cycles lost per burst."),
    ("--vector-lanes", "vector_lanes", WHOLE, "Elements per cycle of the vector unit; 0: as many as PEs."),
    ("--issue-cycles", "issue_cycles", WHOLE, "Cycles per instruction word."),
    ("--queue-depth", "queue_depth", WHOLE, "Operations that each unit holds, including the running one."),
    ("--compute-overlap", "compute_overlap", WHOLE, "1: MAC and VECTOR work side by side; 0: in turns."),
    ("--clock", "clock_mhz", REAL, "Clock in MHz."),
    (
        "--timing",
        "timing",
        Choice(["full", "macs", "zero"]),
        "What takes time: everything, only multiply-accumulates, or nothing.",
    ),
    (
        "--technology",
        "technology",
        TEXT,
        "Energy constants: 45nm, 45nm-flash, or a FILE.toml that replaces some of them.",
    ),
)
COMPILE: tuple[tuple[str, str, Any, str], ...] = (
    (
        "--fusion",
        "fusion",
        Choice(["none", "requant", "full"]),
        "What to fuse: nothing, the steps of a layer, or also layers, keeping tensors in SRAM.",
    ),
    (
        "--requant",
        "requant",
        Choice(["dla", "cpu"]),
        "Where to scale the int32 sums of convolutions to int8; with cpu, the DLA stores the sums with bias.",
    ),
    (
        "--depthwise",
        "depthwise",
        Choice(["cpu", "emulated", "native"]),
        "Run depthwise layers on the CPU, with OP_CONV, or with their own instruction.",
    ),
    (
        "--tiling",
        "tiling",
        Choice(["output-channel", "auto"]),
        "How to tile layers: along output channels, or whichever way is cheapest.",
    ),
    (
        "--place",
        "place",
        Choice(["auto", "cpu", "dla"]),
        "Where to run operators that both CPU and DLA support: where it is faster, or always on one of them.",
    ),
)
DLA_OPS_TEXT = "TFLite operators that may run on the DLA, such as CONV_2D,ADD."


def machine_options(function: F) -> F:
    """--config, --preset, and an option for each parameter of the machine."""
    function = click.option(
        "--set",
        "more",
        cls=SharedOption,
        multiple=True,
        metavar="NAME=VALUE",
        help="Set any other parameter, such as mac_fill=8 or memories.flash.bandwidth=0.5.",
    )(function)
    function = _shared(MACHINE)(function)
    return config_option(preset_option("NAME")(function))


def _shared(table: tuple[tuple[str, str, Any, str], ...]) -> Callable[[F], F]:
    """Add the options of a table, in its order."""

    def decorate(function: F) -> F:
        for option, name, kind, text in reversed(table):
            function = click.option(
                option,
                name,
                cls=SharedOption,
                type=kind,
                default=None,
                help=text,
            )(function)
        return function

    return decorate


def config_option(function: F) -> F:
    """--config."""
    return click.option(
        "--config",
        "config_file",
        cls=SharedOption,
        default=None,
        metavar="FILE.toml",
        help="Read the machine from a file.",
    )(function)


def preset_option(metavar: str) -> Callable[[F], F]:
    """--preset; the name `list` prints the presets."""
    return click.option(
        "--preset",
        cls=_PresetOption,
        default=None,
        metavar=metavar,
        is_eager=True,  # so that `--preset list` needs no model
        help="Use a predefined machine; `--preset list` shows all.",
    )


class _PresetOption(SharedOption):
    """Prints the presets if the name is `list`, as JSON with `--json`."""

    def handle_parse_result(
        self, ctx: click.Context, opts: Mapping[str, Any], args: list[str]
    ) -> tuple[Any, list[str]]:
        """As in click, except for `list`."""
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
    from dlasim.sim.config import preset, preset_names, preset_summary
    from dlasim.sim.sizes import UNLIMITED
    from dlasim.tables import size, table

    lines = [["preset", "PEs", "parallel", "SRAM", "DMA B/cycle", "clock", "description"]]
    for known in preset_names():
        machine = preset(known)
        lines.append([
            known, str(machine.pes), machine.parallel, size(machine.sram_bytes),
            str(machine.dma_bandwidth or UNLIMITED), f"{machine.clock_mhz:g} MHz", preset_summary(known),
        ])  # fmt: skip
    return table(lines, "lrlrrrl")


def compile_options(function: F) -> F:
    """The options of the compiler."""
    function = _shared(COMPILE)(function)
    return click.option(
        "--dla-ops",
        cls=SharedOption,
        default=None,
        metavar="OP,OP…",
        help=DLA_OPS_TEXT,
    )(function)


def take_machine(given: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """What --config or --preset names (None for neither), and the overrides by other options.

    Removes what it reads from `given`.
    """
    from dlasim.errors import InputError
    from dlasim.sim import config

    path, name = given.pop("config_file"), given.pop("preset")
    changes = {parameter: given.pop(parameter) for _, parameter, _, _ in MACHINE}
    _take_more(given.pop("more"), changes)
    if path and name:
        raise InputError("--config and --preset exclude each other; give only one of them")
    if path:
        config.load_file(path)  # so that what is wrong with it is said before anything else
    elif name:
        config.preset(name)
    return Path(path) if path else name, {key: value for key, value in changes.items() if value is not None}


def _take_more(items: tuple[str, ...], changes: dict[str, Any]) -> None:
    """Add what --set gives to the changes."""
    from dlasim.errors import InputError

    if not items:
        return
    from dlasim.sim import config

    for item in items:
        name, sign, text = (part.strip() for part in item.partition("="))
        if not sign:
            raise InputError(f"--set must be NAME=VALUE (got {item!r})")
        name = config.ALIASES.get(name, name)
        if changes.get(name) is not None:
            raise InputError(f"--set {item}: {name} is given twice")
        changes[name] = config.read_value(name, text)


def take_compile(given: dict[str, Any]) -> dict[str, Any]:
    """The options of the compiler that were given; removes what it reads from `given`."""
    changes = {parameter: given.pop(parameter) for _, parameter, _, _ in COMPILE}
    changes["dla_ops"] = given.pop("dla_ops")
    return {key: value for key, value in changes.items() if value is not None}
