"""Where the docs say how to make an int8 network of a file that dlasim does not run, by the file's format."""

from __future__ import annotations

import os
from pathlib import Path

from dlasim.dataclass import dataclass
from dlasim.errors import InputError


@dataclass(frozen=True, slots=True)
class Format:
    """A format of trained networks: the endings of its files, and the recipe for it."""

    name: str
    endings: tuple[str, ...]
    section: str


def as_page_shows(*sections: str) -> str:
    """Where to read how to quantize a network, as the end of a message."""
    names = " or ".join(f'"{section}"' for section in sections)
    return f'with `dlasim quantize`, as the page "Get an int8 network" shows under {names}'


KERAS, ONNX, PYTORCH = "From Keras", "From ONNX", "From PyTorch"
_FORMATS = (
    Format("a Keras model", (".keras", ".h5", ".hdf5"), KERAS),
    Format("a TensorFlow model", (".pb",), KERAS),
    Format("a PyTorch file", (".pt", ".pth", ".pt2", ".ckpt"), PYTORCH),
)
_SAVED_MODEL = "saved_model.pb"  # the file that every folder of a SavedModel has


def refuse_other_formats(path: str | Path) -> None:
    """Name the recipe for a file, or the folder of a SavedModel, that another framework writes."""
    text = str(path).lower()
    found = next((format for format in _FORMATS if text.endswith(format.endings)), None)
    if found is not None and os.path.isfile(path):
        _refuse(path, found.name, found.section)
    if os.path.isdir(path) and os.path.isfile(os.path.join(path, _SAVED_MODEL)):
        _refuse(path, "a SavedModel", KERAS)


def _refuse(path: str | Path, name: str, section: str) -> None:
    raise InputError(f"{path} is {name}; dlasim runs int8 networks: quantize it {as_page_shows(section)}")
