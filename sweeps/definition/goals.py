"""What a machine must keep to, and what it should take little of: limits and objectives of any figure.

A limit is a condition on the row of a machine, `milliseconds < 10`; of a workload, on the row of all networks
together, or with a network's name before it on this network's: `resnet8: milliseconds < 4`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

from dlasim.dataclass import dataclass
from dlasim.errors import InputError, suggestion
from dlasim.sim.reports.figures import RUN_FIGURES, columns, is_number
from dlasim.sweeps.charts.measures import SHORT, Measure, describe
from dlasim.sweeps.definition.axes import catalogue
from dlasim.sweeps.definition.conditions import Condition

DEMAND_COLUMNS = ("load", "power_mw")  # of a workload: the share of time that is busy, and energy per second
_COMPARISON = re.compile(r"\s*(\w+)\s*(<=|>=|<|>)\s*([^<>=]+)")
_LEAST_EXCESS = 1e-9  # of a row at a limit that excludes its edge
Values = Mapping[str, Any]


class Limit:
    """A condition on a machine's figures."""

    def __init__(self, text: str, origin: str) -> None:
        head, colon, rest = text.rpartition(": ")
        self.text = " ".join(text.split())
        self.model = head.strip() if colon else ""  # empty: the row of the machine
        body = rest if colon else text
        self.condition = Condition(body, _names(), origin, SHORT)
        self._sides = _COMPARISON.fullmatch(body)

    @cached_property
    def edge(self) -> tuple[str, str, float] | None:
        """The column, the sign and the number of a limit such as `milliseconds < 10`; None of any other."""
        if self._sides is None:
            return None
        _, sign, text = self._sides.groups()
        try:
            value = Condition(text, (), "limit").value({})
        except InputError:
            return None  # two columns, for example
        (column,) = self.condition.names
        return (column, sign, value) if is_number(value) else None

    def allows(self, values: Values) -> bool:
        """Whether a row with figures is within."""
        missing = next((name for name in self.condition.names if values.get(name) is None), None)
        if missing is not None:
            whose = values.get("model", "a row")
            raise InputError(f"the limit {self.text!r} needs {missing}, which {whose} does not have")
        return self.condition.holds(values)

    def excess(self, values: Values) -> float:
        """How far a row is outside, as a share of the limit; 0 within."""
        if self.allows(values):
            return 0.0
        if self.edge is None or not self.edge[2]:
            return 1.0
        name, _, bound = self.edge
        return max(abs(float(values[name]) - bound) / abs(bound), _LEAST_EXCESS)

    def surely_fails(self, least: Values) -> bool:
        """Whether no machine is within whose figures are at least these."""
        if self.model or self.edge is None or self.edge[1] not in ("<", "<="):
            return False
        return least.get(self.edge[0]) is not None and not self.condition.holds(least)


@dataclass(frozen=True)
class Goals:
    """Limits, and objectives: figures of which less is better."""

    limits: tuple[Limit, ...] = ()
    objectives: tuple[Measure, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.limits or self.objectives)

    def check_models(self, labels: Collection[str]) -> None:
        """Refuse a limit on a network that there is not."""
        for limit in self.limits:
            if limit.model and limit.model not in labels:
                raise InputError(f"limit {limit.text!r}: no network is called {limit.model!r}; there "
                                 f"{'is' if len(labels) == 1 else 'are'} {', '.join(labels)}")  # fmt: skip

    def broken(self, machine: Values, networks: Mapping[str, Values] | None = None) -> list[Limit]:
        """The limits that a machine does not keep to, from its row and those of its networks."""
        rows = _by_name(machine, networks)
        return [limit for limit in self.limits if limit.model in rows and not limit.allows(rows[limit.model])]

    def excess(self, machine: Values, networks: Mapping[str, Values] | None = None) -> float:
        """How far a machine is outside its limits, all together."""
        rows = _by_name(machine, networks)
        return sum(limit.excess(rows[limit.model]) for limit in self.limits if limit.model in rows)

    def costs(self, machine: Values) -> list[float]:
        """Its objectives."""
        return [float(machine[one.name]) for one in self.objectives]


def _by_name(machine: Values, networks: Mapping[str, Values] | None) -> Mapping[str, Values]:
    """The rows that limits are about: of the machine below no name, of each network below its own."""
    return {"": machine, **(networks or {str(machine.get("model")): machine})}


NO_GOALS = Goals()


def read_goals(limits: Iterable[Any], objectives: Iterable[Any], origin: str) -> Goals:
    """The goals that a study or flags give as text; `energy,area` are two objectives."""
    names = [name.strip() for text in objectives for name in str(text).split(",")]
    found = dict.fromkeys(_objective(name, origin) for name in names)
    return Goals(tuple(Limit(str(text), origin) for text in limits), tuple(found))


def as_texts(given: str | Sequence[str]) -> Sequence[str]:
    """What Python callers give as one text or as several."""
    return [given] if isinstance(given, str) else given


def joined(first: Goals, second: Goals) -> Goals:
    """The limits of both; the objectives of the second, if it has any."""
    return Goals((*first.limits, *second.limits), second.objectives or first.objectives)


def _objective(name: str, origin: str) -> Measure:
    known = _names()
    real = name if name in known else SHORT.get(name, name)
    if real not in known or real in _words():
        raise InputError(f"{origin}: {name!r} is no figure to minimize{suggestion(name, (*known, *SHORT))}")
    found = describe(real)
    if found.more_is_better:
        raise InputError(f"{origin}: cannot minimize {real}, of which more is better; set a limit, such as "
                         f"'{real} > 0.5'")  # fmt: skip
    return found


def _words() -> set[str]:
    return {name for name, parameter in catalogue().items() if parameter.kind is str}


def _names() -> Sequence[str]:
    return (*columns(RUN_FIGURES), *DEMAND_COLUMNS, *catalogue())
