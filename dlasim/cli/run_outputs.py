"""Writes the files that `dlasim run` is asked for, and finds the highest outputs."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dlasim.cli.terminal import say
from dlasim.errors import InputError
from dlasim.overlay import overlay_files
from dlasim.system.fileio import atomic_write, keep_apart

if TYPE_CHECKING:
    from dlasim.result import RunResult


def write(
    result: RunResult, sources: Iterable[str | None], given: dict[str, Any], waveform: str | None = None
) -> None:
    """Write the files that the options name, if all of them are different, and say so. The waveform is
    already written."""
    folder = Path(given["output"] or "")
    names = range(len(result.outputs)) if given["output"] else ()
    arrays = [folder / f"output_{number}.npy" for number in names]
    overlay = overlay_files(given["overlay"]).values() if given["overlay"] else ()
    keep_apart(sources, (*arrays, *overlay, given["report"], given["html"], given["trace"], waveform))
    if arrays:
        _write_outputs(result, arrays, given["dequantize"])
    if given["report"]:
        _write_report(result, given["report"])
        say(f"wrote {given['report']}", err=True)
    if given["html"]:
        result.to_html(given["html"])
        say(f"wrote {given['html']}", err=True)
    if given["overlay"]:
        result.overlay(given["overlay"])
        say(f"wrote {given['overlay']}; open its files in Model Explorer with the model", err=True)
    if given["trace"]:
        result.trace(given["trace"])
        say(f"wrote {given['trace']}; open it at ui.perfetto.dev", err=True)


def _write_outputs(result: RunResult, paths: list[Path], as_real: bool) -> None:
    from dlasim.inputs import save_npy

    paths[0].parent.mkdir(parents=True, exist_ok=True)
    described = result.loaded.program.outputs
    arrays = result.real_outputs if as_real else result.outputs
    for path, array, tensor in zip(paths, arrays, described, strict=True):
        atomic_write(path, save_npy(array))
        say(f"wrote {path}: {tensor.name}, {array.dtype} {list(array.shape)}", err=True)


def _write_report(result: RunResult, path: str) -> None:
    if path.endswith(".csv"):
        from dlasim.sweeps.results.csv_table import write_csv

        layers = result.layers
        write_csv(Path(path), layers.columns, (list(layer.values()) for layer in layers))
    else:
        atomic_write(path, json.dumps(result.report, indent=2) + "\n")


def highest(result: RunResult, count: int, labels: list[str]) -> list[dict[str, Any]]:
    """The highest values of the first output, with their labels if there are any."""
    from dlasim import outputs

    (array, *_), (tensor, *_) = result.real_outputs, result.loaded.program.outputs
    if labels and len(labels) != array.size:
        raise InputError(
            f"output {tensor.name} has {array.size:,} values, but there are {len(labels):,} labels"
        )
    return [
        {"class": number, **({"label": labels[number]} if labels else {}), "value": value}
        for number, value in outputs.highest(array, count)
    ]
