"""Writes networks as PyTorch's exporters do, quantized by onnxruntime: FOLDER/NETWORK.EXPORTER.FORM.onnx.

    python benchmarks/exports/make.py FOLDER [NETWORK ...]

It needs torch, torchvision, onnx, onnxscript and onnxruntime, but no dlasim: `make exports` runs it in an
environment of its own. What exporter or quantizer refuses is written to FOLDER/refused.csv. A run that was
stopped goes on: files that are there, and refusals, are not tried again.
"""

from __future__ import annotations

import csv
import logging
import sys
import tempfile
import warnings
from collections.abc import Container, Iterator
from pathlib import Path
from typing import Any

import onnx
import torch
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process
from torch_networks import NETWORKS, Sample, build

EXPORTERS: dict[str, dict[str, Any]] = {
    "torchscript": {"dynamo": False, "opset_version": 17},
    "dynamo": {"dynamo": True, "external_data": False, "verbose": False},
}
FORMS = {
    "QDQ int8": (QuantFormat.QDQ, QuantType.QInt8),
    "QDQ uint8": (QuantFormat.QDQ, QuantType.QUInt8),
    "QLinear int8": (QuantFormat.QOperator, QuantType.QInt8),
    "QLinear uint8": (QuantFormat.QOperator, QuantType.QUInt8),
}


class _Samples(CalibrationDataReader):  # type: ignore[misc]
    def __init__(self, names: list[str], samples: list[Sample]) -> None:
        self._feeds = iter(
            {name: part.numpy() for name, part in zip(names, sample, strict=True)} for sample in samples
        )

    def get_next(self) -> dict[str, Any] | None:
        return next(self._feeds, None)


def main(arguments: list[str]) -> int:
    """Write what is not there yet."""
    folder, *names = arguments
    Path(folder).mkdir(parents=True, exist_ok=True)
    torch.backends.mha.set_fastpath_enabled(False)  # which the older exporter does not know
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    with (Path(folder) / "refused.csv").open("a+", newline="", encoding="utf-8") as file:
        file.seek(0)
        refused = {row[0] for row in csv.reader(file)}
        for name in names or NETWORKS:
            for exporter in EXPORTERS:
                for row in _write(Path(folder), name, exporter, refused):
                    csv.writer(file).writerow(row)
                    file.flush()
    return 0


def _write(folder: Path, name: str, exporter: str, refused: Container[str]) -> Iterator[tuple[str, str]]:
    """The files of a network from an exporter; those that cannot be made, and why."""
    paths = {form: folder / f"{name}.{exporter}.{form}.onnx" for form in FORMS}
    left = {form: path for form, path in paths.items() if not path.exists() and path.stem not in refused}
    if not left or f"{name}.{exporter}" in refused:
        return
    network, samples = build(name)
    with tempfile.TemporaryDirectory(dir=folder) as temporary:
        plain, prepared, made = (Path(temporary) / f"{part}.onnx" for part in ("float", "prepared", "made"))
        try:
            with torch.no_grad():
                torch.onnx.export(network, samples[0], plain, **EXPORTERS[exporter])
            quant_pre_process(plain, prepared, skip_symbolic_shape=True)
        except Exception as error:  # neither has errors of its own
            yield f"{name}.{exporter}", _line(error)
            return
        inputs = [port.name for port in onnx.load(prepared).graph.input]
        for form, path in left.items():
            style, kind = FORMS[form]
            try:
                quantize_static(
                    prepared, made, _Samples(inputs, samples), quant_format=style,
                    activation_type=kind, weight_type=QuantType.QInt8, per_channel=True,
                )  # fmt: skip
                made.rename(path)  # whole or not at all
            except Exception as error:
                yield path.stem, _line(error)
    print(f"{name}, {exporter}", file=sys.stderr, flush=True)


def _line(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
