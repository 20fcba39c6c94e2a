"""A study: models, parameters, and the points that result from combining them."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from typing import Any

from dlasim.dataclass import dataclass
from dlasim.errors import InputError, one_of
from dlasim.sim.configuration.parameter_names import is_part
from dlasim.sim.configuration.sizes import size_text
from dlasim.sim.physical.technology import technology_files
from dlasim.sweeps.definition.axes import (
    FILE_PARAMETERS,
    Parameter,
    catalogue,
    effective_values,
    machine_base,
    resolve,
)
from dlasim.sweeps.definition.conditions import Condition
from dlasim.sweeps.definition.goals import NO_GOALS, Goals, Limit
from dlasim.sweeps.definition.models import Source
from dlasim.vp import HOSTS
from dlasim.vp.riscv.costs import load_costs

FORMATS = ("png", "svg", "pdf")  # of charts
WORKLOAD = "workload"  # stands for the model in the row of all networks together


@dataclass(frozen=True, slots=True)
class Point:
    """A row of the table to be: its number, case and model, and the value of every parameter.

    `refusal` says why the parameters contradict each other, if they do. Points of the same `machine` differ
    only in their model.
    """

    number: int
    case: str
    model: str
    values: Mapping[str, Any]
    refusal: str = ""
    machine: int = 0

    @property
    def label(self) -> str:
        """As the paper labels its bars: `512K 64 O`."""
        return machine_label(self.values)


def machine_label(values: Mapping[str, Any]) -> str:
    """A machine by its SRAM, PEs and mode."""
    mode = {"input": "I", "output": "O"}.get(values["parallel"], values["parallel"])
    return f"{size_text(values['sram_bytes'])} {values['pes']} {mode}"


@dataclass(frozen=True, slots=True)
class Case:
    """A named set of parameter values that are used together."""

    name: str
    values: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ChartOrder:
    """A chart that a study requests: its kind, its file name, and settings for this kind."""

    kind: str
    file: str
    settings: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Study:
    """All combinations of models, cases and axes, except those that the conditions exclude."""

    name: str
    models: tuple[Source, ...]
    axes: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    fixed: Mapping[str, Any] = field(default_factory=dict)
    cases: tuple[Case, ...] = (Case("", {}),)
    conditions: tuple[Condition, ...] = ()
    layers: bool = False
    goals: Goals = NO_GOALS
    together: bool = False  # whether several models are a workload even without rates and goals
    title: str = ""
    charts: tuple[ChartOrder, ...] = ()
    columns: tuple[str, ...] = ()  # what the command prints of points
    path: str = ""  # of the file that it was read from

    def check(self) -> None:
        """Reject values that are wrong in every point."""
        if not self.models:
            raise InputError(f"study {self.name} has no models; list them under models = [...]")
        labels = [model.label for model in self.models]
        if len(set(labels)) < len(labels):
            raise InputError(f"study {self.name}: two models are called {max(labels, key=labels.count)}")
        if self.is_workload and WORKLOAD in labels:
            raise InputError(f"study {self.name}: {WORKLOAD} is the name of all networks together; give the "
                             "network another label")  # fmt: skip
        self.goals.check_models(labels)
        for name in ("preset", "host", "cpu"):
            for value in self._values_of(name):
                self._check_choice(name, value)
        for parameter in catalogue().values():
            for value in _extremes(parameter, self._values_of(parameter.name)):
                self._check_alone(parameter.name, value)
        cores = [value for value in self._values_of("cpu") if value]
        if cores and not self.runs_on_board:
            raise InputError(f"study {self.name}: cpu = {cores[0]!r} has no effect without host = riscv")

    def files(self) -> list[str]:
        """Every file that the study or its points are read from."""
        machines = [
            name for key in FILE_PARAMETERS for name in self._values_of(key) if name.endswith(".toml")
        ]
        bases = [file for name in self._values_of("technology") for file in technology_files(name)]
        return [
            file for file in (self.path, *(model.path for model in self.models), *machines, *bases) if file
        ]

    @property
    def swept(self) -> list[str]:
        """The axes with several values, in the order of the columns."""
        return [name for name in (*catalogue(), *self.parts) if len(set(self.axes.get(name, ()))) > 1]

    @property
    def parts(self) -> list[str]:
        """The parts of tables that some point gives, such as `memories.flash.bandwidth`."""
        given = (self.axes, self.fixed, *(case.values for case in self.cases))
        return list(dict.fromkeys(name for values in given for name in values if is_part(name)))

    @property
    def is_workload(self) -> bool:
        """Whether all networks run on one machine, so that their sums are rows, too."""
        is_asked = self.together or bool(self.goals) or any(model.demands for model in self.models)
        return len(self.models) > 1 and is_asked

    @property
    def all_goals(self) -> Goals:
        """The goals, with the deadlines of networks, and no more work than there is time for."""
        implied = [
            f"{model.label}: milliseconds <= {model.deadline_ms:g}"
            for model in self.models
            if model.deadline_ms
        ]
        if any(model.rate for model in self.models):
            implied.append("load <= 1")
        return Goals(
            (*self.goals.limits, *(Limit(text, self.name) for text in implied)), self.goals.objectives
        )

    @property
    def runs_on_board(self) -> bool:
        """Whether some points run on the board, which needs the weights."""
        return "riscv" in self._values_of("host")

    @property
    def numerics(self) -> list[str]:
        """The arithmetics that points have, other than the usual one."""
        return self._values_of("numerics")

    def points(self) -> Iterator[Point]:
        """All points in order: models vary slowest, or in a workload fastest; the last axis varies fastest
        of all. Excluded points get no number."""
        number = 0
        for model, machine, case, values in self._combinations():
            point = make_point(number, case, model.label, values, machine)
            if self.keeps(point):
                number += 1
                yield point

    def _combinations(self) -> Iterator[tuple[Source, int, str, dict[str, Any]]]:
        """Each model on each machine, which has a number, a case and values."""
        if self.is_workload:
            for machine, (case, values) in enumerate(self._machines()):
                yield from ((model, machine, case, values) for model in self.models)
            return
        for model in self.models:
            yield from ((model, machine, *chosen) for machine, chosen in enumerate(self._machines()))

    def _machines(self) -> Iterator[tuple[str, dict[str, Any]]]:
        for case in self.cases:
            names = [name for name in self.axes if name not in case.values]
            for chosen in itertools.product(*(self.axes[name] for name in names)):
                values = {**self.fixed, **case.values, **dict(zip(names, chosen, strict=True))}
                if values.get("host") != "riscv" and "cpu" in values:
                    core = values.pop("cpu")  # it has no effect there: keep the points of the first core only
                    if "cpu" in names and core != self.axes["cpu"][0]:
                        continue
                yield case.name, values

    def keeps(self, point: Point) -> bool:
        """Whether the conditions hold for a point."""
        if not self.conditions:
            return True
        values = {**point.values, "case": point.case, "model": point.model}
        return all(condition.holds(values) for condition in self.conditions)

    def _values_of(self, name: str) -> list[Any]:
        sources = (self.fixed, *(case.values for case in self.cases))
        return [*self.axes.get(name, ()), *(values[name] for values in sources if name in values)]

    def _check_choice(self, name: str, value: str) -> None:
        if name == "preset":
            machine_base(value)
        elif name == "cpu":
            if value:
                load_costs(value)
        elif value not in HOSTS:
            raise InputError(f"study {self.name}: host must be {one_of(HOSTS)} (got {value!r})")

    def _check_alone(self, name: str, value: Any) -> None:
        if name == "memories" and (self._values_of("buses") or self._values_of("preset")):
            return  # which may describe a bus that a memory names
        try:
            resolve({name: value})
        except InputError as error:
            raise InputError(f"study {self.name}: {error}") from None


def _extremes(parameter: Parameter, values: list[Any]) -> Iterable[Any]:
    """The values that need checking by themselves: of whole numbers, only the smallest and the largest."""
    return {min(values), max(values)} if values and parameter.kind is int else values


def make_point(number: int, case: str, model: str, values: Mapping[str, Any], machine: int) -> Point:
    """The point of a model on the machine with these parameters; the others have their defaults."""
    try:
        return Point(number, case, model, effective_values(*resolve(values), values), machine=machine)
    except InputError as error:
        return Point(number, case, model, _as_given(values), str(error), machine)


def _as_given(values: Mapping[str, Any]) -> dict[str, Any]:
    """The value of every parameter, although they contradict each other."""
    base = machine_base(str(values.get("preset", "")))
    return {
        name: values.get(name, getattr(base, name) if parameter.group == "machine" else parameter.default)
        for name, parameter in catalogue().items()
    } | {name: value for name, value in values.items() if is_part(name)}
