"""How parameters are named: in full, in short as on the command line, and parts of tables with dots."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dlasim.errors import InputError, unknown
from dlasim.sim.configuration.machine_table import PARAMETERS
from dlasim.sim.configuration.parameters import MachineParameter

TABLES = ("memories", "buses")  # parameters that are tables, with parts such as memories.flash.bandwidth
# The names of the command line, which are shorter.
ALIASES = {
    "sram": "sram_bytes",
    "line_buffer": "line_buffer_bytes",
    "weight_buffer": "weight_buffer_bytes",
    "dma_burst": "dma_burst_bytes",
    "clock": "clock_mhz",
}


def full_names(changes: Mapping[str, Any]) -> dict[str, Any]:
    """The changes with the names of the fields; an unknown name, or two for one field, is an error."""
    found: dict[str, Any] = {}
    for given, value in changes.items():
        name = ALIASES.get(given, given)
        if name != "name" and name not in PARAMETERS and not is_part(name):
            raise InputError(unknown("parameter", given, ("name", *PARAMETERS, *ALIASES)))
        if name in found:
            raise InputError(f"{name} is given twice, also as {given}")
        found[name] = value
    return found


def is_part(name: str) -> bool:
    """Whether this is the name of a part of a table: `memories.flash.bandwidth`, `buses.axi`."""
    return name.partition(".")[0] in TABLES and "." in name


def parameter_of(name: str) -> MachineParameter:
    """The row of a parameter, or of a part of a table; an unknown name is an error."""
    if is_part(name):
        from dlasim.sim.configuration.memory_tables import part_of

        return part_of(name)
    if name not in PARAMETERS:
        raise InputError(unknown("parameter", name, (*PARAMETERS, *ALIASES)))
    return PARAMETERS[name]


def read_value(name: str, text: str) -> Any:
    """The value of a parameter that a text gives; DlaConfig checks its range."""
    return parameter_of(name).read(name, text)
