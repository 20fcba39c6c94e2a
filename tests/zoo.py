"""The real models that tests may be given in the folder DLASIM_MODEL_ZOO."""

from pathlib import Path


def int8_models(zoo: Path) -> list[Path]:
    """Networks of int8 throughout; the folder `more` has other types."""
    return [path for path in sorted(zoo.glob("*/*.tflite")) if path.parent.name != "more"]


def other_models(zoo: Path) -> list[Path]:
    """Networks with uint8, int16 or floats."""
    return sorted(zoo.glob("more/*.tflite"))
