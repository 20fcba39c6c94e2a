"""The options of the machine and of the compiler, which several commands share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from dlasim.cli.help_sections import Function, OptionRow, SharedOption, add_options, option, with_options
from dlasim.cli.option_types import GRID, REAL, SIZE, TEXT, WHOLE, Choice
from dlasim.cli.terminal import say, say_table
from dlasim.compiler_shim.options import COMPILER_OPTIONS
from dlasim.sim.configuration.machine_table import PARAMETERS
from dlasim.sim.configuration.parameters import Form, MachineParameter

_FORMS: Mapping[Form, Any] = {Form.SIZE: SIZE, Form.GRID: GRID}
_KINDS: Mapping[type, Any] = {int: WHOLE, float: REAL, str: TEXT}


def _options(rows: Mapping[str, MachineParameter], names: Iterable[str]) -> tuple[OptionRow, ...]:
    """The options of rows that have one: the compiler's do, with their names."""
    found = []
    for name in dict.fromkeys(names):
        row = rows[name]
        kind = Choice(row.choices) if row.choices else _FORMS.get(row.form, _KINDS[row.kind])
        if row.flag or rows is COMPILER_OPTIONS:
            found.append(OptionRow(row.flag or f"--{name}", name, kind, row.text))
    return tuple(found)


_FIRST = ("pes", "sram_bytes", "parallel")  # the axes of a sweep follow each other in this order
MACHINE = _options(PARAMETERS, (*_FIRST, *PARAMETERS))
COMPILE = _options(COMPILER_OPTIONS, COMPILER_OPTIONS)
DLA_OPS_TEXT = "TFLite operators that may run on the DLA, such as CONV_2D,ADD."


def machine_options(function: Function) -> Function:
    """--config, --preset, and an option for each parameter of the machine."""
    return config_option(preset_option("NAME")(add_options(function, (*MACHINE, _SET))))


_SET = option("--set", "Set any other parameter, such as mac_fill=8 or memories.flash.bandwidth=0.5.",
    "NAME=VALUE", name="more", is_repeatable=True)  # fmt: skip
assume_option = with_options(
    option(
        "--assume-int8",
        "Estimate a float network: assume int8 and scales. Results are marked; there are no outputs.",
        kind=bool,
    )
)
config_option = with_options(
    option("--config", "Read the machine from a file.", "FILE.toml", name="config_file")
)


def preset_option(metavar: str) -> Callable[[Function], Function]:
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
            if opts.get("as_json"):
                say(_presets_json())
            else:
                say_table(_presets(), "lrlrrrl")
            ctx.exit()
        return super().handle_parse_result(ctx, opts, args)


def _presets_json() -> str:
    import json

    from dlasim.sim.configuration.machine_files import preset, preset_names, preset_summary

    rows = [{**preset(name).as_dict(), "summary": preset_summary(name)} for name in preset_names()]
    return json.dumps(rows, indent=2)


def _presets() -> list[list[str]]:
    from dlasim.rows.tables import size
    from dlasim.sim.configuration.machine_files import preset, preset_names, preset_summary
    from dlasim.sim.configuration.sizes import UNLIMITED

    lines = [["preset", "PEs", "parallel", "SRAM", "DMA B/cycle", "clock", "description"]]
    for known in preset_names():
        machine = preset(known)
        lines.append([
            known, str(machine.pes), machine.parallel, size(machine.sram_bytes),
            str(machine.dma_bandwidth or UNLIMITED), f"{machine.clock_mhz:g} MHz", preset_summary(known),
        ])  # fmt: skip
    return lines


def compile_options(function: Function) -> Function:
    """The options of the compiler."""
    return add_options(function, (option("--dla-ops", DLA_OPS_TEXT, "OP,OP…"), *COMPILE))


def take_machine(given: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """What --config or --preset names (None for neither), and the overrides by other options.

    Removes what it reads from `given`.
    """
    from dlasim.errors import InputError
    from dlasim.sim.configuration import machine_files

    path, name = given.pop("config_file"), given.pop("preset")
    changes = {parameter: given.pop(parameter) for _, parameter, *_ in MACHINE}
    _take_more(given.pop("more"), changes)
    if path and name:
        raise InputError("--config and --preset exclude each other; give only one of them")
    if path:
        machine_files.load_file(path)  # so that what is wrong with it is said before anything else
    elif name:
        machine_files.preset(name)
    return Path(path) if path else name, {key: value for key, value in changes.items() if value is not None}


def _take_more(items: tuple[str, ...], changes: dict[str, Any]) -> None:
    """Add what --set gives to the changes."""
    from dlasim.errors import InputError

    if not items:
        return
    from dlasim.sim.configuration.parameter_names import ALIASES, read_value

    for item in items:
        name, sign, text = (part.strip() for part in item.partition("="))
        if not sign:
            raise InputError(f"--set must be NAME=VALUE (got {item!r})")
        name = ALIASES.get(name, name)
        if changes.get(name) is not None:
            raise InputError(f"--set {item}: {name} is given twice")
        changes[name] = read_value(name, text)


def take_compile(given: dict[str, Any]) -> dict[str, Any]:
    """The options of the compiler that were given; removes what it reads from `given`."""
    changes = {parameter: given.pop(parameter) for _, parameter, *_ in COMPILE}
    changes["dla_ops"] = given.pop("dla_ops")
    return {key: value for key, value in changes.items() if value is not None}


def input_files(given: Mapping[str, Any]) -> Iterator[str]:
    """Every such file; outputs must not overwrite one of them."""
    for name in ("config_file", "labels", "steps"):
        if given.get(name):
            yield given[name]
    yield from given.get("inputs", ())
    if (given.get("cpu") or "").endswith(".toml"):
        yield given["cpu"]
    if (given.get("technology") or "").endswith(".toml"):
        from dlasim.sim.physical.technology import technology_files

        yield from technology_files(given["technology"])
    for device in given.get("devices", ()):
        yield device.rpartition("@")[0].rpartition(":")[0]  # FILE.py:CLASS@ADDRESS
