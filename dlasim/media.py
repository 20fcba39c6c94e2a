"""Reads pictures and sounds as inputs of a model."""

from __future__ import annotations

import io
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dlasim.dataclass import dataclass
from dlasim.errors import InputError, printable
from dlasim.installation import extra_command
from dlasim.isa.program import TensorDescriptor
from dlasim.system.fileio import read_file
from dlasim.system.quiet import quiet

PICTURES = (".png", ".jpg", ".jpeg", ".bmp")
SOUNDS = (".wav",)
AUTO, IMAGENET = "auto", "imagenet"
NORMALIZE_FORM = "auto, imagenet, or LOW,HIGH such as -1,1"
_MODES = {1: "L", 3: "RGB"}  # by the number of channels
# Mean and spread of ImageNet's red, green and blue, for values from 0 to 1.
_MEAN, _SPREAD = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])
_SAMPLE_TYPES = {1: "u1", 2: "<i2", 4: "<i4"}  # by the bytes of a sample


@dataclass(frozen=True, slots=True)
class InputRange:
    """What the lowest and highest value of a file become; `auto` uses the range of the input's type."""

    low: float = 0.0
    high: float = 0.0
    kind: str = AUTO

    def apply(self, values: NDArray[Any], tensor: TensorDescriptor) -> NDArray[Any]:
        """Values from 0 to 1 as the real numbers that the model takes."""
        if self.kind == IMAGENET:
            if values.shape[-1] != len(_MEAN):
                raise InputError(f"input {printable(tensor.name)}: imagenet normalizes three channels")
            normalized: NDArray[Any] = (values - _MEAN) / _SPREAD
            return normalized
        low, high = _type_range(tensor) if self.kind == AUTO else (self.low, self.high)
        return low + values * (high - low)


def parse_range(text: str) -> InputRange:
    """The range that a text such as `-1,1` names."""
    if text in (AUTO, IMAGENET):
        return InputRange(kind=text)
    try:
        low, high = (float(part) for part in text.split(","))
    except ValueError:
        raise InputError(f"normalize must be {NORMALIZE_FORM} (got {text!r})") from None
    if not (np.isfinite(low) and np.isfinite(high)):
        raise InputError(f"normalize must be {NORMALIZE_FORM} (got {text!r})")
    return InputRange(low, high, "range")


def is_media(path: str | Path) -> bool:
    """Whether the name is that of a picture or a sound."""
    return Path(path).suffix.lower() in (*PICTURES, *SOUNDS)


def read_media(path: str | Path, tensor: TensorDescriptor, input_range: InputRange) -> NDArray[Any]:
    """The picture or sound as real numbers of the input's shape."""
    read = _read_sound if Path(path).suffix.lower() in SOUNDS else _read_picture
    return input_range.apply(read(path, tensor), tensor)


def _type_range(tensor: TensorDescriptor) -> tuple[float, float]:
    dtype = np.dtype(tensor.type.name)
    if dtype.kind not in "iu" or not tensor.scale > 0:
        raise InputError(
            f"input {printable(tensor.name)} is {dtype} without a scale: normalize must be LOW,HIGH: 0,1"
        )
    limits = np.iinfo(dtype)
    return (limits.min - tensor.zero_point) * tensor.scale, (limits.max - tensor.zero_point) * tensor.scale


def _read_picture(path: str | Path, tensor: TensorDescriptor) -> NDArray[Any]:
    """The pixels from 0 to 1, scaled to the input's height and width."""
    if len(tensor.shape) != 4 or tensor.shape[0] != 1 or tensor.shape[3] not in _MODES:
        raise InputError(
            f"input {printable(tensor.name)}: a picture ({path}) needs shape [1, height, width, 1 or 3], "
            f"but the input has {list(tensor.shape)}"
        )
    _, height, width, channels = tensor.shape
    try:
        from PIL import Image
    except ImportError:
        raise InputError(f"{path}: pictures need Pillow; run {extra_command('media')}") from None
    data = io.BytesIO(read_file(path))
    try:
        with quiet():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(data) as picture:
                pixels = picture.convert(_MODES[channels]).resize((width, height), Image.Resampling.BILINEAR)
    except Exception as error:  # a damaged file can raise almost anything
        text = _line(error).replace(f" {data!r}", "")
        raise InputError(f"{path} is not a valid picture: {text}") from None
    return np.asarray(pixels, np.float64).reshape(tensor.shape) / 255


def _read_sound(path: str | Path, tensor: TensorDescriptor) -> NDArray[Any]:
    """The samples from 0 (lowest) to 1; several channels are averaged."""
    import wave

    data = io.BytesIO(read_file(path))
    try:
        with wave.open(data, "rb") as file:
            width, channels, count = file.getsampwidth(), file.getnchannels(), file.getnframes()
            frames = file.readframes(count)
        samples = np.frombuffer(frames, _SAMPLE_TYPES[width]).reshape(-1, channels)
    except Exception as error:  # a damaged file can raise almost anything
        raise InputError(f"{path} is not a WAV file of 8, 16 or 32 bits: {_line(error)}") from None
    needed = int(np.prod(tensor.shape))
    if len(samples) != needed:
        raise InputError(
            f"input {printable(tensor.name)} takes {needed:,} samples {list(tensor.shape)}, "
            f"but {path} has {len(samples):,}"
        )
    limits = np.iinfo(samples.dtype)
    span = limits.max - limits.min
    values: NDArray[Any] = (samples.mean(axis=1).reshape(tensor.shape) - limits.min) / span
    return values


def _line(error: Exception) -> str:
    return printable(" ".join(str(error).split())) or type(error).__name__
