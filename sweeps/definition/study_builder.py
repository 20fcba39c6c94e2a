"""Builds a study from its TOML file, which `docs/sweeps.md` describes, or from the arguments of the command
line or of `dlasim.sweep`; and finds points whose parameters contradict each other before anything runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from dlasim.dataclass import dataclass
from dlasim.errors import InputError, one_of, unknown
from dlasim.sim.reports.figures import RUN_FIGURES, columns
from dlasim.sweeps.definition import values
from dlasim.sweeps.definition.axes import FILE_PARAMETERS, catalogue, find, parse
from dlasim.sweeps.definition.conditions import Condition
from dlasim.sweeps.definition.goals import NO_GOALS, Goals, joined, read_goals
from dlasim.sweeps.definition.models import source
from dlasim.sweeps.definition.study import FORMATS, Case, ChartOrder, Point, Study
from dlasim.system.fileio import parse_toml, read_toml

_KEYS = (
    "name", "title", "models", "fixed", "axes", "cases", "where", "limits", "minimize", "layers", "charts",
    "columns",
)  # fmt: skip
MORE_NAMES = ("case", "model")  # names that conditions may use in addition to parameters
_NAMES = ("parallel", "pes")  # the parameters that can contradict each other


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
        found[parameter.name] = _resolved(parameter.name, parse(parameter, raw, origin), folder)
    return found


def _axes(table: Mapping[str, Any], folder: Path, origin: str) -> dict[str, tuple[Any, ...]]:
    found = {}
    for name, raw in _table(table, "axes", origin).items():
        parameter = find(name, origin)
        axis = values.from_toml(parameter, raw, origin)
        found[parameter.name] = tuple(_resolved(parameter.name, value, folder) for value in axis)
    return found


def _resolved(name: str, value: Any, folder: Path) -> Any:
    """Paths of the user's machines, cores and technologies are relative to the study's folder."""
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


def build_study(
    targets: Sequence[str | Path],
    axes: Mapping[str, Any],
    where: Iterable[str] = (),
    layers: bool = False,
    flags: Mapping[str, str] | None = None,
    goals: Goals = NO_GOALS,
) -> Study:
    """Build a study from models, or from a study and models that replace its own.

    A target is a model, a TOML file or the name of a predefined study. `axes` replace the study's; each is
    text as for a flag, a value, or a sequence of values. `flags` says how the user gave each, for errors.
    """
    study = _assembled(targets, axes, where, goals)
    study = replace(study, layers=study.layers or layers)
    study.check()
    found = find_contradictions(study, flags or {name: f"the keyword {name}" for name in axes})
    if found.impossible == found.points > 0:
        raise InputError(f"all points have contradictory parameters; the first: {found.reason}")
    return study


def build_search(
    targets: Sequence[str | Path], axes: Mapping[str, Any], where: Iterable[str] = (), goals: Goals = NO_GOALS
) -> Study:
    """The same for a search, whose space may have more points than could ever be listed. Without a parameter
    of several values it has those of `default_space.toml`, but for what is given."""
    study = _assembled(targets, axes, where, goals)
    if all(len(values) == 1 for values in study.axes.values()):
        given = {**study.fixed, **study.axes}
        if "pes" in given:
            given["parallel"] = given["pes"]  # a grid says how many
        space = {find(name, "").name: _axis(name, values) for name, values in _default_space().items()}
        more = {name: tuple(values) for name, values in space.items() if name not in given}
        study = replace(study, axes={**study.axes, **more})
    study.check()
    return study


def _default_space() -> Mapping[str, Any]:
    text = files("dlasim.sweeps").joinpath("default_space.toml").read_text(encoding="utf-8")
    return parse_toml(text, "default_space.toml")


def _assembled(
    targets: Sequence[str | Path], axes: Mapping[str, Any], where: Iterable[str], goals: Goals
) -> Study:
    """The study with axes, conditions and goals, unchecked."""
    study = target_study([str(target) for target in targets])
    given = {}
    for name, raw in axes.items():
        parameter = find(name, "sweep")
        if parameter.name in given:
            raise InputError(f"sweep: {parameter.name} is given twice")
        given[parameter.name] = tuple(_axis(name, raw))
    in_cases = {name for case in study.cases for name in case.values} & set(given)
    if in_cases:
        raise InputError(f"study {study.name}: its cases set {min(in_cases)}, which cannot be changed here")
    return replace(
        study,
        axes={**{name: axis for name, axis in study.axes.items() if name not in given}, **given},
        fixed={name: value for name, value in study.fixed.items() if name not in given},
        conditions=(*study.conditions, *conditions(where, "where")),
        goals=joined(study.goals, goals),
    )


def _axis(name: str, raw: Any) -> list[Any]:
    parameter = find(name, "sweep")
    if isinstance(raw, str):
        return values.from_text(parameter, raw, "sweep")
    return values.from_toml(parameter, list(raw) if isinstance(raw, range | tuple) else raw, "sweep")


def target_study(targets: list[str]) -> Study:
    """The study that targets name: models, or a study and models that replace its own."""
    studies = [target for target in targets if target.endswith(".toml") or target in shipped_names()]
    models = tuple(
        source(target, Path(), "sweep", shipped_names()) for target in targets if target not in studies
    )
    if not studies:
        name = models[0].label.partition(":")[0] if len(models) == 1 else "models"
        return Study(name, models)
    path = targets[0]
    if studies != [path]:
        raise InputError(f"{studies[-1]} is a study: give only one, before all models (they replace its own)")
    study = read_study(path) if path.endswith(".toml") else shipped_study(path)
    return replace(study, models=models) if models else study


@dataclass(frozen=True, slots=True)
class Contradictions:
    """How many of the points of a model cannot exist, and why the first cannot."""

    points: int
    impossible: int
    reason: str = ""

    @property
    def note(self) -> str:
        """One line for the user; empty if all points can exist."""
        if not self.impossible:
            return ""
        share = f"{self.impossible:,} of {self.points:,} points"
        return f"{share} have contradictory parameters; the first: {self.reason}"


def find_contradictions(study: Study, given: Mapping[str, str]) -> Contradictions:
    """`given` says how the user gave the parameters that replace the study's, as `pes: --pes`."""
    points = impossible = 0
    reason = ""
    for point in replace(study, models=study.models[:1]).points():
        points += 1
        if point.refusal:
            impossible += 1
            reason = reason or point.refusal + _origins(study, given, point)
    return Contradictions(points, impossible, reason)


def _origins(study: Study, given: Mapping[str, str], point: Point) -> str:
    named = {find(name, "sweep").name: origin for name, origin in given.items()}
    if not all(name in point.refusal for name in _NAMES):
        return ""
    origins = ", ".join(f"{name} from {_origin(study, named, point, name)}" for name in _NAMES)
    return f" ({origins})"


def _origin(study: Study, given: Mapping[str, str], point: Point, name: str) -> str:
    in_case: Mapping[str, Any] = next(case.values for case in study.cases if case.name == point.case)
    if name in given:
        return given[name]
    if name in in_case:
        return f"case {point.case} of {study.path or study.name}"
    if name in study.axes or name in study.fixed:
        return study.path or f"study {study.name}"
    preset = str(point.values["preset"])
    kind = "" if preset.endswith(".toml") else "preset "
    return f"{kind}{preset}" if preset else "the default"
