"""What each layer costs as node data of Model Explorer, Google's viewer of model graphs, which lays them over
the graph: a file for each figure, whose keys are the tensors that layers write."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dlasim.compiler_shim.calls.nodes import DlaNode, PlacedNetwork
from dlasim.errors import InputError
from dlasim.sim.reports.figures import LAYER_FIGURES
from dlasim.system.fileio import atomic_write

if TYPE_CHECKING:
    from dlasim.compiler_shim.lowering.lower import Lowered

# White to a dark orange: a legend is not needed, and texts stay black.
_GRADIENT = [{"stop": 0, "bgColor": "#ffffff"}, {"stop": 1, "bgColor": "#e69f00"}]
_COLORS = {"dla": "#9ad0f5", "cpu": "#e69f00"}
_NAMES = [
    figure.column or figure.name for figure in LAYER_FIGURES if figure.unit != "text" or figure.name == "unit"
]


def overlay_files(folder: str | Path) -> dict[str, Path]:
    """The files by figure."""
    return {name: Path(folder) / f"{name}.json" for name in _NAMES}


def write_overlay(
    folder: str | Path, layers: Sequence[Mapping[str, Any]], lowered: Lowered | None
) -> list[Path]:
    """Write a file for each figure; `layers` are rows with the columns of figures."""
    if lowered is None:
        raise InputError("an overlay needs a model; a program does not have the tensors of its layers")
    tensors, files = _tensors(lowered.network), overlay_files(folder)
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot create the folder {folder}: {error.strerror}") from None
    for name, path in files.items():
        results = {
            tensors[number]: _result(row[name]) for number, row in enumerate(layers) if number in tensors
        }
        gradient = {} if name == "unit" else {"gradient": _GRADIENT}
        atomic_write(path, json.dumps({"results": results, **gradient}, indent=1) + "\n")
    return list(files.values())


def _result(value: Any) -> dict[str, Any]:
    return {"value": value, "bgColor": _COLORS[value]} if value in _COLORS else {"value": value}


def _tensors(network: PlacedNetwork) -> dict[int, str]:
    """By layer the model's tensor that it completes."""
    found = {}
    for node in network.nodes:
        for output in (node.output,) if isinstance(node, DlaNode) else node.call.outputs:
            value: int | None = output
            while value is not None and value >= network.tensor_count:
                value = network.values[value].alias
            if value is not None:
                found[node.layer] = network.values[value].name
    return found
