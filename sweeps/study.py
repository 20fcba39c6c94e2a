"""A study: which models on which machines, and the points that this spans."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from dlasim.errors import InputError
from dlasim.sim.config import size_text
from dlasim.sweeps.expressions import Expression
from dlasim.sweeps.models import Source
from dlasim.sweeps.parameters import HOSTS, Parameter, catalogue, machine_base, resolve, settled
from dlasim.vp.costs import load_costs

FORMATS = ("png", "svg", "pdf")  # of charts


@dataclass(frozen=True, slots=True)
class Point:
    """One row to be: its number, its case and model, and every parameter's value.

    `refusal` says why these parameters make no machine, if they make none.
    """

    number: int
    case: str
    model: str
    values: Mapping[str, Any]
    refusal: str = ""

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
    """A named set of parameters that go together."""

    name: str
    values: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ChartOrder:
    """A chart that a study asks for: its kind, the file's name, and the settings of that kind."""

    kind: str
    file: str
    settings: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Study:
    """Models x cases x the product of the axes, less what the conditions exclude."""

    name: str
    models: tuple[Source, ...]
    axes: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    fixed: Mapping[str, Any] = field(default_factory=dict)
    cases: tuple[Case, ...] = (Case("", {}),)
    conditions: tuple[Expression, ...] = ()
    layers: bool = False
    title: str = ""
    charts: tuple[ChartOrder, ...] = ()
    page: str = ""
    path: str = ""  # of the file that it was read from

    def check(self) -> None:
        """Refuse what no point could mean."""
        if not self.models:
            raise InputError(f"study {self.name} has no model")
        labels = [model.label for model in self.models]
        if len(set(labels)) < len(labels):
            raise InputError(f"study {self.name}: two models are called {max(labels, key=labels.count)}")
        for name in ("preset", "host", "cpu"):
            for value in self._values_of(name):
                self._check_choice(name, value)
        for parameter in catalogue().values():
            for value in _telling(parameter, self._values_of(parameter.name)):
                self._check_alone(parameter.name, value)
        cores = [value for value in self._values_of("cpu") if value]
        if cores and not self.runs_on_board:
            raise InputError(f"study {self.name}: cpu = {cores[0]!r} changes nothing without host = riscv")

    def files(self) -> list[str]:
        """Every file that the study is read from or that its points read."""
        machines = [
            name for key in ("preset", "cpu") for name in self._values_of(key) if name.endswith(".toml")
        ]
        return [file for file in (self.path, *(model.path for model in self.models), *machines) if file]

    @property
    def swept(self) -> list[str]:
        """The parameters that take several values, cases aside, in the order of the columns."""
        return [name for name in catalogue() if len(set(self.axes.get(name, ()))) > 1]

    @property
    def runs_on_board(self) -> bool:
        """Whether a point needs more of its network than timing does: the weights."""
        return "riscv" in self._values_of("host")

    def points(self) -> Iterator[Point]:
        """Every point, models outermost and the last axis fastest; numbers count those that are kept."""
        number = 0
        for model, case in itertools.product(self.models, self.cases):
            names = [name for name in self.axes if name not in case.values]
            for chosen in itertools.product(*(self.axes[name] for name in names)):
                values = {**self.fixed, **case.values, **dict(zip(names, chosen, strict=True))}
                if values.get("host") != "riscv" and "cpu" in values:
                    core = values.pop("cpu")  # nobody there has one: the first stands for all
                    if "cpu" in names and core != self.axes["cpu"][0]:
                        continue
                point = _point(number, case.name, model.label, values)
                if self._keeps(point):
                    number += 1
                    yield point

    def _keeps(self, point: Point) -> bool:
        if not self.conditions:
            return True
        values = {**point.values, "case": point.case, "model": point.model}
        return all(condition.holds(values) for condition in self.conditions)

    def _values_of(self, name: str) -> list[Any]:
        places = (self.fixed, *(case.values for case in self.cases))
        return [*self.axes.get(name, ()), *(place[name] for place in places if name in place)]

    def _check_choice(self, name: str, value: str) -> None:
        if name == "preset":
            machine_base(value)
        elif name == "cpu":
            if value:
                load_costs(value)
        elif value not in HOSTS:
            raise InputError(f"study {self.name}: host = {value!r} is unknown (allowed: {', '.join(HOSTS)})")

    def _check_alone(self, name: str, value: Any) -> None:
        try:
            resolve({name: value})
        except InputError as error:
            raise InputError(f"study {self.name}: {error}") from None


def _telling(parameter: Parameter, values: list[Any]) -> Iterable[Any]:
    """Those of a parameter's values that can be wrong by themselves: of whole numbers, the ends."""
    return {min(values), max(values)} if values and parameter.kind is int else values


def _point(number: int, case: str, model: str, values: Mapping[str, Any]) -> Point:
    try:
        return Point(number, case, model, settled(*resolve(values), values))
    except InputError as error:
        return Point(number, case, model, _as_given(values), str(error))


def _as_given(values: Mapping[str, Any]) -> dict[str, Any]:
    """Every parameter, though together they make no machine."""
    base = machine_base(str(values.get("preset", "")))
    return {
        name: values.get(name, getattr(base, name) if parameter.group == "machine" else parameter.default)
        for name, parameter in catalogue().items()
    }
