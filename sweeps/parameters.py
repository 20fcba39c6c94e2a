"""What a sweep can span: every parameter of the machine and of compiling, and who runs the host's part.

Names are those of DlaConfig and CompileOptions; a few have the shorter name of the command line too.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from dlasim.compiler_shim.options import CompileOptions
from dlasim.errors import InputError, suggestion
from dlasim.sim import config
from dlasim.sim.config import DlaConfig

ALIASES = {"sram": "sram_bytes", "dma_burst": "dma_burst_bytes", "clock": "clock_mhz"}
HOSTS = ("none", "riscv")
DEFAULT_CPU = "ideal"
_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter: its name, the type of its values, and what it belongs to."""

    name: str
    kind: type
    group: str  # machine, compile or study
    default: Any

    @property
    def is_size(self) -> bool:
        """Whether values may be written as 512KiB."""
        return self.name.endswith("_bytes")


@cache
def catalogue() -> Mapping[str, Parameter]:
    """Every parameter by its name, in the order of the columns."""
    types = {"int": int, "float": float, "str": str}
    found = [
        Parameter("preset", str, "study", ""),
        Parameter("host", str, "study", "none"),
        Parameter("cpu", str, "study", ""),
    ]
    for field in dataclasses.fields(DlaConfig):
        if field.name != "name":
            found.append(Parameter(field.name, types[str(field.type)], "machine", field.default))
    for field in dataclasses.fields(CompileOptions):
        default = "" if field.default is None else field.default
        found.append(Parameter(field.name, str, "compile", default))
    return {parameter.name: parameter for parameter in found}


def find(name: str, origin: str) -> Parameter:
    """The parameter of that name; `origin` says in errors where the name was met."""
    known = catalogue()
    real = ALIASES.get(name, name)
    if real not in known:
        names = (*known, *ALIASES)
        hint = f"{suggestion(name, names)} (allowed: {', '.join(names)})"
        raise InputError(f"{origin}: unknown parameter {name!r}{hint}")
    return known[real]


def parse(parameter: Parameter, raw: Any, origin: str) -> Any:
    """A value as a study or a flag writes it, in the parameter's type; its range is checked by its owner."""
    if parameter.kind is str:
        return _text(parameter, raw, origin)
    if isinstance(raw, str):
        raw = _number(parameter, raw.strip(), origin)
    whole = isinstance(raw, int) and not isinstance(raw, bool)
    if parameter.kind is float and (whole or isinstance(raw, float)):
        return float(raw)
    if whole:
        return raw
    raise InputError(f"{origin}: {parameter.name} = {raw!r} is not a {_wanted(parameter)}")


def size(text: str) -> int | None:
    """Bytes written as 512KiB, 512K or 65536; None where it is no size."""
    digits = text.rstrip("iBKMGbkmg")
    unit = text[len(digits) :].upper().removesuffix("B").removesuffix("I")
    if not (digits.isascii() and digits.isdigit() and len(digits) < 19) or (unit and unit not in _UNITS):
        return None
    return int(digits) * _UNITS.get(unit, 1)


def resolve(values: Mapping[str, Any]) -> tuple[DlaConfig, CompileOptions]:
    """The machine and the options that these parameters make; InputError where they contradict."""
    known = catalogue()
    base = machine_base(str(values.get("preset", "")))
    machine = {name: value for name, value in values.items() if known[name].group == "machine"}
    options = {name: value for name, value in values.items() if known[name].group == "compile"}
    if "dla_ops" in options:
        named = options["dla_ops"]
        options["dla_ops"] = frozenset(named.split("+")) if named else None
    return base.replace(**machine), CompileOptions(**options)


@cache
def machine_base(preset: str) -> DlaConfig:
    """The machine that a preset, or a file of one's own, describes; the default for none."""
    if not preset:
        return DlaConfig()
    return config.load_file(preset) if preset.endswith(".toml") else config.preset(preset)


def settled(machine: DlaConfig, options: CompileOptions, values: Mapping[str, Any]) -> dict[str, Any]:
    """Every parameter with its value, in the order of the columns."""
    return {name: _settled(parameter, machine, options, values) for name, parameter in catalogue().items()}


def _settled(
    parameter: Parameter, machine: DlaConfig, options: CompileOptions, values: Mapping[str, Any]
) -> Any:
    if parameter.group == "machine":
        return getattr(machine, parameter.name)
    if parameter.group == "study":
        return values.get(parameter.name) or study_default(parameter, values)
    value = getattr(options, parameter.name)
    if isinstance(value, frozenset):
        return "+".join(sorted(value))
    return "" if value is None else value


def study_default(parameter: Parameter, values: Mapping[str, Any]) -> Any:
    """What a parameter that no machine has is where nothing is said: a board has a core."""
    on_board = parameter.name == "cpu" and values.get("host") == "riscv"
    return DEFAULT_CPU if on_board else parameter.default


def _text(parameter: Parameter, raw: Any, origin: str) -> str:
    if parameter.name == "dla_ops" and isinstance(raw, list):
        raw = "+".join(map(str, raw))
    if not isinstance(raw, str):
        raise InputError(f"{origin}: {parameter.name} = {raw!r} is not text")
    text = raw.strip()
    if parameter.name == "dla_ops":
        return "+".join(sorted(name.strip().upper() for name in text.split("+") if name.strip()))
    return text.lower() if parameter.name == "parallel" else text


def _number(parameter: Parameter, text: str, origin: str) -> int | float:
    if parameter.is_size and (found := size(text)) is not None:
        return found
    try:
        return float(text) if parameter.kind is float else int(text)
    except ValueError:
        raise InputError(f"{origin}: {parameter.name} = {text!r} is not a {_wanted(parameter)}") from None


def _wanted(parameter: Parameter) -> str:
    if parameter.is_size:
        return "size such as 512KiB or 65536"
    return "number" if parameter.kind is float else "whole number"
