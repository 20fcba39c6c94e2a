"""A study from what a command line or a program says, on its own or over a study's file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from dlasim.errors import InputError
from dlasim.sweeps import values
from dlasim.sweeps.models import source
from dlasim.sweeps.parameters import find
from dlasim.sweeps.study import Study
from dlasim.sweeps.studyfile import conditions, read_study, shipped_names, shipped_study


def build_study(
    targets: Sequence[str | Path], axes: Mapping[str, Any], where: Iterable[str] = (), layers: bool = False
) -> Study:
    """Targets are models, or a study (a TOML file or a name of one that ships) and models instead of its own.
    Axes replace a study's own; each is text as a flag has it, a value, or a sequence of values."""
    study = _target_study([str(target) for target in targets])
    told = {}
    for name, raw in axes.items():
        parameter = find(name, "sweep")
        if parameter.name in told:
            raise InputError(f"sweep: {parameter.name} is given twice")
        told[parameter.name] = tuple(_axis(name, raw))
    held = {name for case in study.cases for name in case.values} & set(told)
    if held:
        raise InputError(f"study {study.name}: its cases set {min(held)}, so it cannot be given")
    study = replace(
        study,
        axes={**{name: axis for name, axis in study.axes.items() if name not in told}, **told},
        fixed={name: value for name, value in study.fixed.items() if name not in told},
        conditions=(*study.conditions, *conditions(where, "where")),
        layers=study.layers or layers,
    )
    study.check()
    return study


def _axis(name: str, raw: Any) -> list[Any]:
    parameter = find(name, "sweep")
    if isinstance(raw, str):
        return values.from_text(parameter, raw, "sweep")
    return values.from_toml(parameter, list(raw) if isinstance(raw, range | tuple) else raw, "sweep")


def _target_study(targets: list[str]) -> Study:
    studies = [target for target in targets if target.endswith(".toml") or target in shipped_names()]
    models = tuple(
        source(target, Path(), "sweep", shipped_names()) for target in targets if target not in studies
    )
    if not studies:
        name = models[0].label.partition(":")[0] if len(models) == 1 else "models"
        return Study(name, models)
    path = targets[0]
    if studies != [path]:
        raise InputError(f"{studies[-1]} is a study: give one, before all models, which replace its own")
    study = read_study(path) if path.endswith(".toml") else shipped_study(path)
    return replace(study, models=models) if models else study
