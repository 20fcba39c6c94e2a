"""The parameters of a sweep: those of the machine and of the compiler, the host and its CPU.

Names are those of DlaConfig and CompileOptions; a few also have the shorter name of the command line.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Collection, Mapping
from functools import cache, lru_cache
from typing import Any

from dlasim.compiler_shim.options import CompileOptions
from dlasim.dataclass import dataclass
from dlasim.errors import InputError, unknown
from dlasim.sim.configuration import machine_files
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.configuration.machine_table import PARAMETERS
from dlasim.sim.configuration.memory_tables import as_text
from dlasim.sim.configuration.parameter_names import ALIASES, TABLES, is_part, parameter_of, read_value
from dlasim.sim.configuration.parameters import check_word
from dlasim.system.fileio import FileStamp, file_stamp

DEFAULT_CPU = "ideal"
FILE_PARAMETERS = ("preset", "cpu", "technology")  # a name that ends in .toml is a file


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter: its name, the type of its values, and its group."""

    name: str
    kind: type
    group: str  # machine, compile or study
    default: Any

    @property
    def is_size(self) -> bool:
        """Whether values may be sizes such as 512KiB."""
        return self.name.endswith("_bytes")


@cache
def catalogue() -> Mapping[str, Parameter]:
    """All parameters by name, in the order of the columns."""
    found = [
        Parameter("preset", str, "study", ""),
        Parameter("host", str, "study", "none"),
        Parameter("cpu", str, "study", ""),
    ]
    for name, row in PARAMETERS.items():
        found.append(Parameter(name, row.kind, "machine", row.default))
    for field in dataclasses.fields(CompileOptions):
        default = "" if field.default is None else field.default
        found.append(Parameter(field.name, str, "compile", default))
    return {parameter.name: parameter for parameter in found}


def find(name: str, origin: str) -> Parameter:
    """The parameter of that name; errors start with `origin`."""
    known = catalogue()
    real = ALIASES.get(name, name)
    if is_part(real):
        return _part(real, origin)
    if real not in known:
        raise InputError(f"{origin}: {unknown('parameter', name, (*known, *ALIASES))}")
    return known[real]


def _part(name: str, origin: str) -> Parameter:
    """A part of a table of the machine, such as `memories.flash.bandwidth`."""
    try:
        return Parameter(name, parameter_of(name).kind, "machine", "")
    except InputError as error:
        raise InputError(f"{origin}: {error}") from None


def names_in(columns: Collection[str]) -> list[str]:
    """The parameters among the columns of a table; parts of a table stand for it."""
    parts = [name for name in columns if is_part(name)]
    whole = {part.partition(".")[0] for part in parts}
    return [*(name for name in catalogue() if name in columns and name not in whole), *parts]


def is_parameter(name: str) -> bool:
    """Whether a column is a parameter's."""
    return name in catalogue() or is_part(name)


def parse(parameter: Parameter, raw: Any, origin: str) -> Any:
    """Convert a value of a study or a flag to the parameter's type; DlaConfig checks its range."""
    if parameter.name in TABLES and isinstance(raw, Mapping):
        return as_text(raw)
    if parameter.kind is str:
        return _text(parameter, raw, origin)
    if isinstance(raw, str):
        return _number(parameter, raw, origin)
    check_word(f"{origin}: {parameter.name}", raw)
    whole = isinstance(raw, int) and not isinstance(raw, bool)
    if parameter.kind is float and (whole or isinstance(raw, float)):
        return float(raw)
    if whole:
        return raw
    wanted = parameter_of(parameter.name).wanted
    raise InputError(f"{origin}: {parameter.name} must be {wanted} (got {raw!r})")


def resolve(values: Mapping[str, Any]) -> tuple[DlaConfig, CompileOptions]:
    """The machine and the options with these parameters; InputError if they contradict each other."""
    known = catalogue()
    base = machine_base(str(values.get("preset", "")))
    groups: dict[str, dict[str, Any]] = {"machine": {}, "compile": {}, "study": {}}
    for name, value in values.items():
        groups[known[name].group if name in known else "machine"][name] = value
    options = groups["compile"]
    if "dla_ops" in options:
        named = options["dla_ops"]
        options["dla_ops"] = frozenset(named.split("+")) if named else None
    return base.replace(**groups["machine"]), CompileOptions(**options)


def toml_files(values: Mapping[str, Any]) -> dict[str, str]:
    """The parameters that name a file."""
    given = {name: str(values.get(name, "")) for name in FILE_PARAMETERS}
    return {name: value for name, value in given.items() if value.endswith(".toml")}


def with_absolute_files(values: Mapping[str, Any]) -> dict[str, Any]:
    """The same parameters for a process that runs in another folder."""
    return {**values, **{name: os.path.abspath(file) for name, file in toml_files(values).items()}}


def machine_base(preset: str) -> DlaConfig:
    """The machine of a preset or of a TOML file; the default machine if `preset` is empty."""
    return _machine_base(preset, file_stamp(preset))


@lru_cache(maxsize=64)
def _machine_base(preset: str, _stamp: FileStamp) -> DlaConfig:
    if not preset:
        return DlaConfig()
    return machine_files.load_file(preset) if preset.endswith(".toml") else machine_files.preset(preset)


def effective_values(
    machine: DlaConfig, options: CompileOptions, values: Mapping[str, Any]
) -> dict[str, Any]:
    """All parameters with their values, in the order of the columns."""
    found = {name: _effective(parameter, machine, options, values) for name, parameter in catalogue().items()}
    return found | {name: value for name, value in values.items() if is_part(name)}


def _effective(
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
    """The default of a parameter of the study: a board has a core, an estimate has none."""
    on_board = parameter.name == "cpu" and values.get("host") == "riscv"
    return DEFAULT_CPU if on_board else parameter.default


def _text(parameter: Parameter, raw: Any, origin: str) -> str:
    if parameter.name == "dla_ops" and isinstance(raw, list):
        raw = "+".join(map(str, raw))
    if not isinstance(raw, str):
        raise InputError(f"{origin}: {parameter.name} must be text (got {raw!r})")
    text = raw.strip()
    if parameter.name.endswith(".regions"):
        return text.upper()
    if parameter.name == "dla_ops":
        return "+".join(sorted(name.strip().upper() for name in text.split("+") if name.strip()))
    return text.lower() if parameter.name == "parallel" else text


def _number(parameter: Parameter, text: str, origin: str) -> Any:
    try:
        return read_value(parameter.name, text)
    except InputError as error:
        raise InputError(f"{origin}: {error}") from None
