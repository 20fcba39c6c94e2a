"""Reads a study from its TOML file; `docs/sweeps.md` describes the format."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from dlasim.errors import InputError, one_of, unknown
from dlasim.sim.configuration.machine_table import PARAMETERS
from dlasim.sim.reports.figures import RUN_FIGURES, columns
from dlasim.sweeps.definition import values
from dlasim.sweeps.definition.axes import FILE_PARAMETERS, catalogue, find, parse
from dlasim.sweeps.definition.conditions import Condition
from dlasim.sweeps.definition.goals import read_goals
from dlasim.sweeps.definition.models import source
from dlasim.sweeps.definition.study import FORMATS, Case, ChartOrder, Study
from dlasim.system.fileio import parse_toml, read_toml

_KEYS = (
    "name", "title", "models", "fixed", "axes", "cases", "where", "limits", "minimize", "layers", "charts",
    "columns",
)  # fmt: skip
MORE_NAMES = ("case", "model")  # names that conditions may use in addition to parameters


def read_study(path: str | Path) -> Study:
    """Read the study in a file."""
    return replace(_study(read_toml(path), str(path), Path(path).parent, Path(path).stem), path=str(path))


def shipped_names() -> tuple[str, ...]:
    """The names of the predefined studies."""
    folder = files("dlasim.sweeps").joinpath("studies")
    return tuple(sorted(item.name[:-5] for item in folder.iterdir() if item.name.endswith(".toml")))


def shipped_study(name: str) -> Study:
    """The predefined study of that name."""
    text = files("dlasim.sweeps").joinpath("studies", f"{name}.toml").read_text(encoding="utf-8")
    return parse_study(text, f"study {name}", Path(), name)


def parse_study(text: str, origin: str, folder: Path, name: str) -> Study:
    """Parse the TOML text of a study; relative paths start from `folder`."""
    return _study(parse_toml(text, origin), origin, folder, name)


def _study(table: Mapping[str, Any], origin: str, folder: Path, name: str) -> Study:
    unexpected = set(table) - set(_KEYS)
    if unexpected:
        raise InputError(f"{origin}: {unknown('key', min(unexpected), _KEYS)}")
    fixed, axes = _fixed(_table(table, "fixed", origin), folder, origin), _axes(table, folder, origin)
    twice = set(fixed) & set(axes)
    if twice:
        raise InputError(f"{origin}: {min(twice)} is both under fixed and under axes; keep one")
    shown = tuple(map(str, _list(table, "columns", origin)))
    if wrong := [name for name in shown if name not in columns(RUN_FIGURES)]:
        raise InputError(f"{origin}: columns: {unknown('figure', wrong[0], columns(RUN_FIGURES))}")
    study = Study(
        name=str(table.get("name", name)),
        models=tuple(source(item, folder, origin) for item in _list(table, "models", origin)),
        axes=axes,
        fixed=fixed,
        cases=tuple(_cases(table, folder, origin)) or (Case("", {}),),
        conditions=tuple(conditions(_list(table, "where", origin), origin)),
        layers=_flag(table, "layers", origin),
        goals=read_goals(_list(table, "limits", origin), _list(table, "minimize", origin), origin),
        title=str(table.get("title", "")),
        charts=tuple(_charts(table, origin)),
        columns=shown,
    )
    study.check()
    return study


def conditions(texts: Iterable[Any], origin: str) -> list[Condition]:
    """Parse conditions on points."""
    names = (*catalogue(), *MORE_NAMES)
    return [Condition(str(text), names, origin) for text in texts]


def _list(table: Mapping[str, Any], key: str, origin: str) -> list[Any]:
    value = table.get(key, [])
    if isinstance(value, str):
        return [value]
    if not isinstance(value, list):
        raise InputError(f"{origin}: {key} must be a list (got {value!r})")
    return value


def _flag(table: Mapping[str, Any], key: str, origin: str) -> bool:
    value = table.get(key, False)
    if not isinstance(value, bool):
        raise InputError(f"{origin}: {key} must be true or false (got {value!r})")
    return value


def _table(table: Mapping[str, Any], key: str, origin: str) -> Mapping[str, Any]:
    value = table.get(key, {})
    if not isinstance(value, dict):
        raise InputError(f"{origin}: {key} must be a table (got {value!r})")
    return value


def _fixed(table: Mapping[str, Any], folder: Path, origin: str) -> dict[str, Any]:
    found = {}
    for name, raw in table.items():
        parameter = find(name, origin)
        found[parameter.name] = _resolved(parameter.name, parse(parameter, raw, origin), folder, origin)
    return found


def _axes(table: Mapping[str, Any], folder: Path, origin: str) -> dict[str, tuple[Any, ...]]:
    found = {}
    for name, raw in _table(table, "axes", origin).items():
        parameter = find(name, origin)
        axis = values.from_toml(parameter, raw, origin)
        found[parameter.name] = tuple(_resolved(parameter.name, value, folder, origin) for value in axis)
    return found


def _resolved(name: str, value: Any, folder: Path, origin: str) -> Any:
    """Paths of the user's machines, cores and technologies are relative to the study's folder."""
    if name in PARAMETERS:
        PARAMETERS[name].refuse_zero(f"{origin}: {name}", value)
    return str(folder / value) if name in FILE_PARAMETERS and value.endswith(".toml") else value


def _cases(table: Mapping[str, Any], folder: Path, origin: str) -> Iterable[Case]:
    names = set()
    for number, entry in enumerate(_list(table, "cases", origin), start=1):
        if not isinstance(entry, dict):
            raise InputError(f"{origin}: case {number} must be a table of parameters")
        given = dict(entry)
        name = str(given.pop("name", number))
        if name in names:
            raise InputError(f"{origin}: two cases are called {name}; rename one")
        names.add(name)
        yield Case(name, _fixed(given, folder, origin))


def _charts(table: Mapping[str, Any], origin: str) -> Iterable[ChartOrder]:
    for entry in _list(table, "charts", origin):
        if not isinstance(entry, dict) or not {"kind", "file"} <= set(entry):
            raise InputError(f"{origin}: a chart must be a table with kind and file (got {entry!r})")
        settings = {key: value for key, value in entry.items() if key not in ("kind", "file")}
        yield ChartOrder(str(entry["kind"]), _chart_file(str(entry["file"]), origin), settings)


def _chart_file(name: str, origin: str) -> str:
    """A file name in the sweep's folder; a study from elsewhere must not write outside it."""
    if Path(name).name != name or Path(name).suffix.lower().lstrip(".") not in FORMATS or "\0" in name:
        endings = one_of(f".{ending}" for ending in FORMATS)
        raise InputError(
            f"{origin}: a chart's file must be a name without folders that ends in {endings} (got {name!r})"
        )
    return name
