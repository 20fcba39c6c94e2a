"""Finds points whose parameters contradict each other before anything runs, and says where each came from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dlasim.dataclass import dataclass
from dlasim.sweeps.definition.axes import find
from dlasim.sweeps.definition.study import Point, Study

_NAMES = ("parallel", "pes")  # the parameters that can contradict each other


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
