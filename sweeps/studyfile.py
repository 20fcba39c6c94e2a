"""Reads a study from its TOML file; `docs/sweeps.md` describes the format."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from dlasim.errors import InputError
from dlasim.fileio import parse_toml, read_toml
from dlasim.sweeps import values
from dlasim.sweeps.conditions import Condition
from dlasim.sweeps.models import source
from dlasim.sweeps.parameters import catalogue, find, parse
from dlasim.sweeps.study import FORMATS, Case, ChartOrder, Study

_KEYS = ("name", "title", "models", "fixed", "axes", "cases", "where", "layers", "charts", "page")
MORE_NAMES = ("case", "model")  # what a condition may ask besides parameters


def read_study(path: str | Path) -> Study:
    """The study in a file."""
    return replace(_study(read_toml(path), str(path), Path(path).parent, Path(path).stem), path=str(path))


def shipped_names() -> tuple[str, ...]:
    """The studies that ship."""
    folder = files("dlasim.sweeps").joinpath("studies")
    return tuple(sorted(item.name[:-5] for item in folder.iterdir() if item.name.endswith(".toml")))


def shipped_study(name: str) -> Study:
    """A study that ships, by name."""
    text = files("dlasim.sweeps").joinpath("studies", f"{name}.toml").read_text(encoding="utf-8")
    return parse_study(text, f"study {name}", Path(), name)


def parse_study(text: str, origin: str, folder: Path, name: str) -> Study:
    """The study that a TOML text describes; relative paths count from `folder`."""
    return _study(parse_toml(text, origin), origin, folder, name)


def _study(table: Mapping[str, Any], origin: str, folder: Path, name: str) -> Study:
    unknown = set(table) - set(_KEYS)
    if unknown:
        raise InputError(f"{origin}: unknown key {min(unknown)!r} (allowed: {', '.join(_KEYS)})")
    fixed, axes = _fixed(_table(table, "fixed", origin), folder, origin), _axes(table, folder, origin)
    twice = set(fixed) & set(axes)
    if twice:
        raise InputError(f"{origin}: {min(twice)} is fixed and an axis: give it once")
    study = Study(
        name=str(table.get("name", name)),
        models=tuple(source(item, folder, origin) for item in _list(table, "models", origin)),
        axes=axes,
        fixed=fixed,
        cases=tuple(_cases(table, folder, origin)) or (Case("", {}),),
        conditions=tuple(conditions(_list(table, "where", origin), origin)),
        layers=_flag(table, "layers", origin),
        title=str(table.get("title", "")),
        charts=tuple(_charts(table, origin)),
        page=str(table.get("page", "")),
    )
    study.check()
    return study


def conditions(texts: Iterable[Any], origin: str) -> list[Condition]:
    """Conditions on points; all of them must hold."""
    names = (*catalogue(), *MORE_NAMES)
    return [Condition(str(text), names, origin) for text in texts]


def _list(table: Mapping[str, Any], key: str, origin: str) -> list[Any]:
    value = table.get(key, [])
    if isinstance(value, str):
        return [value]
    if not isinstance(value, list):
        raise InputError(f"{origin}: {key} = {value!r} is not a list")
    return value


def _flag(table: Mapping[str, Any], key: str, origin: str) -> bool:
    value = table.get(key, False)
    if not isinstance(value, bool):
        raise InputError(f"{origin}: {key} = {value!r} is neither true nor false")
    return value


def _table(table: Mapping[str, Any], key: str, origin: str) -> Mapping[str, Any]:
    value = table.get(key, {})
    if not isinstance(value, dict):
        raise InputError(f"{origin}: {key} = {value!r} is not a table")
    return value


def _fixed(table: Mapping[str, Any], folder: Path, origin: str) -> dict[str, Any]:
    found = {}
    for name, raw in table.items():
        parameter = find(name, origin)
        found[parameter.name] = _placed(parameter.name, parse(parameter, raw, origin), folder)
    return found


def _axes(table: Mapping[str, Any], folder: Path, origin: str) -> dict[str, tuple[Any, ...]]:
    found = {}
    for name, raw in _table(table, "axes", origin).items():
        parameter = find(name, origin)
        axis = values.from_toml(parameter, raw, origin)
        found[parameter.name] = tuple(_placed(parameter.name, value, folder) for value in axis)
    return found


def _placed(name: str, value: Any, folder: Path) -> Any:
    """A machine or a core of one's own lies beside the study."""
    return str(folder / value) if name in ("preset", "cpu") and value.endswith(".toml") else value


def _cases(table: Mapping[str, Any], folder: Path, origin: str) -> Iterable[Case]:
    names = set()
    for number, entry in enumerate(_list(table, "cases", origin), start=1):
        if not isinstance(entry, dict):
            raise InputError(f"{origin}: case {number} is not a table of parameters")
        given = dict(entry)
        name = str(given.pop("name", number))
        if name in names:
            raise InputError(f"{origin}: two cases are called {name}")
        names.add(name)
        yield Case(name, _fixed(given, folder, origin))


def _charts(table: Mapping[str, Any], origin: str) -> Iterable[ChartOrder]:
    for entry in _list(table, "charts", origin):
        if not isinstance(entry, dict) or not {"kind", "file"} <= set(entry):
            raise InputError(f"{origin}: a chart is a table with kind and file, not {entry!r}")
        settings = {key: value for key, value in entry.items() if key not in ("kind", "file")}
        yield ChartOrder(str(entry["kind"]), _chart_file(str(entry["file"]), origin), settings)


def _chart_file(name: str, origin: str) -> str:
    """A name in the sweep's folder: a study of somebody else's must not write anywhere else."""
    if Path(name).name != name or Path(name).suffix.lower().lstrip(".") not in FORMATS or "\0" in name:
        endings = ", ".join(f".{ending}" for ending in FORMATS)
        raise InputError(
            f"{origin}: a chart's file is a name without folders that ends in {endings}, not {name!r}"
        )
    return name
