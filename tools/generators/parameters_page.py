"""`docs/parameters.md`: every parameter of the machine, from the table."""

from __future__ import annotations

from dlasim.isa.documents.markdown import table
from dlasim.isa.documents.sheets import Cell
from dlasim.sim.configuration.machine_table import PARAMETERS
from dlasim.sim.configuration.parameters import Better, Form, MachineParameter, Rtl
from dlasim.sim.configuration.sizes import UNLIMITED, size_text
from generators.written import prose

_COLUMNS = ("key", "option", "default", "values", "better", "RTL", "area", "meaning")
_BETTER = {Better.LESS: "less", Better.MORE: "more", Better.NEITHER: ""}


def page() -> str:
    """The whole page."""
    lines = [prose("parameters.md")]
    for part in dict.fromkeys(parameter.part for parameter in PARAMETERS.values()):
        own = {name: parameter for name, parameter in PARAMETERS.items() if parameter.part == part}
        lines += [f"## {part}", "", *table(_COLUMNS, map(_cells, own, own.values())), ""]
    return "\n".join(lines)


def _cells(name: str, parameter: MachineParameter) -> list[Cell]:
    return [
        f"`{name}`",
        f"`{parameter.flag}`" if parameter.flag else "",
        f"`{parameter.default_text}`" if parameter.default_text else "",
        _values(parameter),
        _BETTER[parameter.better],
        _rtl(parameter),
        parameter.no_area,
        parameter.text,
    ]


def _values(parameter: MachineParameter) -> str:
    if parameter.choices:
        return ", ".join(f"`{choice}`" for choice in parameter.choices)
    if parameter.form is Form.GRID:
        return "`input`, `output`, `ICxOC`, `ICxOCxP`"
    if parameter.kind is str:
        return "a table" if parameter.form is Form.TABLE else "text"
    limits = f"{_number(parameter, parameter.least)} to {_number(parameter, parameter.high)}"
    return f"{limits}, `{UNLIMITED}`" if parameter.may_be_unlimited else limits


def _number(parameter: MachineParameter, value: float) -> str:
    return size_text(int(value)) if parameter.is_size else f"{value:,}"


def _rtl(parameter: MachineParameter) -> str:
    if parameter.rtl_limit is not None:
        return parameter.rtl_limit.text.removeprefix("must be ")
    return "" if parameter.rtl is Rtl.NONE else "any"
