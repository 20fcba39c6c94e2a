"""Builds a study from the arguments of the command line or of `dlasim.sweep`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from dlasim.errors import InputError
from dlasim.sweeps.definition import values
from dlasim.sweeps.definition.axes import find
from dlasim.sweeps.definition.contradictions import find_contradictions
from dlasim.sweeps.definition.goals import NO_GOALS, Goals, joined
from dlasim.sweeps.definition.models import source
from dlasim.sweeps.definition.study import Study
from dlasim.sweeps.definition.studyfile import conditions, read_study, shipped_names, shipped_study
from dlasim.system.fileio import parse_toml


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
