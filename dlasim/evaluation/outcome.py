"""What an evaluation found: a row for each input, and shares of right answers with their uncertainty."""

from __future__ import annotations

import math
from dataclasses import field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dlasim.dataclass import dataclass
from dlasim.errors import InputError

COLUMNS = ("name", "label", "predicted", "rank", "float_predicted", "float_rank", "digest")
_FIVE = 5  # of so few classes the right one is always among the five highest
_NORMAL_95 = 1.96  # standard deviations on each side that hold 95 % of a normal distribution


@dataclass(frozen=True, slots=True)
class Prediction:
    """The class that a network chose, and the place of the right one: 0 is first, -1 unknown."""

    predicted: int
    rank: int


def predict(scores: NDArray[Any], label: int | None) -> Prediction:
    """From the scores of all classes; of equal scores the first class wins."""
    flat = scores.ravel().astype(np.float64)
    chosen = int(np.argmax(flat))
    if label is None:
        return Prediction(chosen, -1)
    if not 0 <= label < len(flat):
        raise InputError(f"label {label} is none of the {len(flat)} classes; --label-offset shifts labels")
    ahead = (flat > flat[label]).sum() + (flat[:label] == flat[label]).sum()
    return Prediction(chosen, int(ahead))


@dataclass(frozen=True, slots=True)
class Row:
    """One input."""

    name: str
    label: int | None
    fixed: Prediction
    real: Prediction | None
    digest: str

    def cells(self) -> list[Any]:
        """As a row of the table."""
        real = ("", "") if self.real is None else (self.real.predicted, self.real.rank)
        label = "" if self.label is None else self.label
        return [self.name, label, self.fixed.predicted, self.fixed.rank, *real, self.digest]


def row_of(cells: list[str]) -> Row:
    """A row from its cells. Raises ValueError."""
    name, label, predicted, rank, real_predicted, real_rank, digest = cells
    real = Prediction(int(real_predicted), int(real_rank)) if real_predicted else None
    return Row(name, int(label) if label else None, Prediction(int(predicted), int(rank)), real, digest)


@dataclass(slots=True)
class Evaluation:
    """The result of `dlasim.evaluate`.

    `top(k)` is the share of inputs whose label is among the k highest outputs, `float_top(k)` the same for
    the network in float, `agreement` the share of inputs for which both choose the same class. `scores` are
    what the `metric` said of each input.
    """

    model: str
    rows: list[Row] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    float_model: str | None = None
    seconds: float = 0.0
    evaluated: int = 0  # now; the other rows were in the table already
    classes: int = 0

    @property
    def has_labels(self) -> bool:
        """Whether the right classes are known."""
        return bool(self.rows) and all(row.label is not None for row in self.rows)

    @property
    def tops(self) -> tuple[int, ...]:
        """The counts that are worth a line."""
        return (1, 5) if self.classes > _FIVE else (1,)

    def top(self, count: int = 1) -> float:
        """The share of inputs whose label is among the `count` highest outputs."""
        return self._share([0 <= row.fixed.rank < count for row in self.rows])

    def float_top(self, count: int = 1) -> float:
        """The same for the network in float."""
        return self._share([row.real is not None and 0 <= row.real.rank < count for row in self.rows])

    @property
    def agreement(self) -> float:
        """The share of inputs for which the network in float chooses the same class."""
        same = [row.real is not None and row.real.predicted == row.fixed.predicted for row in self.rows]
        return self._share(same)

    @property
    def score(self) -> float:
        """The mean of the metric."""
        return sum(self.scores) / len(self.scores) if self.scores else math.nan

    def interval(self, share: float) -> tuple[float, float]:
        """Where a share lies with 95 % confidence, as so many inputs tell it: Wilson's interval."""
        count, spread = len(self.rows), _NORMAL_95**2
        if not count:
            return 0.0, 1.0
        middle = share + spread / (2 * count)
        half = _NORMAL_95 * math.sqrt(share * (1 - share) / count + spread / (4 * count**2))
        return (middle - half) / (1 + spread / count), (middle + half) / (1 + spread / count)

    def as_dict(self) -> dict[str, Any]:
        """As JSON."""
        tops = self.tops
        found: dict[str, Any] = {"model": self.model, "inputs": len(self.rows), "seconds": self.seconds}
        if self.has_labels:
            found["top"] = {str(count): self.top(count) for count in tops}
            found["interval_95"] = {str(count): self.interval(self.top(count)) for count in tops}
        if self.float_model is not None:
            found |= {"float_model": self.float_model, "agreement": self.agreement}
            if self.has_labels:
                found["float_top"] = {str(count): self.float_top(count) for count in tops}
        return found | ({"score": self.score} if self.scores else {})

    def _share(self, hits: list[bool]) -> float:
        return sum(hits) / len(hits) if hits else math.nan
