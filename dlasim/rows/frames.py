"""Columns as a data frame of pandas or polars, if one of them is installed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from dlasim.errors import InputError

if TYPE_CHECKING:
    import pandas
    import polars

Columns = Mapping[str, Sequence[Any]]
_WITHOUT = "rows() and column() work without it"


def frame(columns: Columns) -> pandas.DataFrame | polars.DataFrame:
    """A pandas data frame, or a polars one if pandas is not installed."""
    if _import("pandas") is not None:
        return to_pandas(columns)
    if _import("polars") is not None:
        return to_polars(columns)
    raise InputError(f"neither pandas nor polars is installed; {_WITHOUT}")


def to_pandas(columns: Columns) -> pandas.DataFrame:
    """A pandas data frame."""
    made: pandas.DataFrame = _needed("pandas").DataFrame(_typed(columns))
    return made


def to_polars(columns: Columns) -> polars.DataFrame:
    """A polars data frame."""
    made: polars.DataFrame = _needed("polars").DataFrame(_typed(columns), infer_schema_length=None)
    return made


def _typed(columns: Columns) -> dict[str, list[Any]]:
    return {name: _one_type(cells) for name, cells in columns.items()}


def _one_type(cells: Sequence[Any]) -> list[Any]:
    """Convert a mix of int and float to float: a column of a data frame has one type."""
    if {int, float} <= {type(cell) for cell in cells}:
        return [float(cell) if isinstance(cell, int) else cell for cell in cells]
    return list(cells)


def _import(name: str) -> Any:
    """The module of that name; None if it is not installed."""
    try:
        return import_module(name)
    except ImportError:
        return None


def _needed(name: str) -> Any:
    module = _import(name)
    if module is None:
        raise InputError(f"{name} is not installed; {_WITHOUT}")
    return module
