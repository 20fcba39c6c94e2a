"""A TOSA file as the graph that every later pass works on."""

from __future__ import annotations

from dlasim.compiler_shim.files.input_file import AnyInput
from dlasim.compiler_shim.tflite.reader import ReadModel
from dlasim.compiler_shim.tosa.tosa_bits import BITS
from dlasim.compiler_shim.tosa.tosa_converter import Handler, TosaConverter
from dlasim.compiler_shim.tosa.tosa_elementwise import ELEMENTWISE
from dlasim.compiler_shim.tosa.tosa_movement import MOVEMENT
from dlasim.compiler_shim.tosa.tosa_products import PRODUCTS
from dlasim.compiler_shim.tosa.tosa_reader import TosaModel, read_tosa
from dlasim.compiler_shim.tosa.tosa_schema import DOUBLE_ROUND, SINGLE_ROUND

TOSA_HANDLERS: dict[str, Handler] = {**BITS, **ELEMENTWISE, **MOVEMENT, **PRODUCTS}
_ROUNDED_BITS = 31  # cut off with one rounding either way


def read_tosa_model(path: AnyInput) -> ReadModel:
    """As a .tflite file is read."""
    return ReadModel(convert_tosa(path).run(), frozenset())


def convert_tosa(path: AnyInput) -> TosaConverter:
    """The converter of a file, which tells what it has placed once it has run."""
    model = read_tosa(path)
    return TosaConverter(model, str(path), TOSA_HANDLERS, _rounds_once(model))


def _rounds_once(model: TosaModel) -> bool:
    """Whether most RESCALEs for which it makes a difference round once."""
    counts = dict.fromkeys((SINGLE_ROUND, DOUBLE_ROUND), 0)
    for operator in model.operators:
        mode = operator.attributes.get("rounding_mode") if operator.kind == "RESCALE" else None
        if mode in counts and len(operator.inputs) > 2:
            shifts = model.constants.get(operator.inputs[2])
            counts[mode] += shifts is not None and bool((shifts > _ROUNDED_BITS).any())
    return counts[SINGLE_ROUND] >= counts[DOUBLE_ROUND]
