"""An ONNX file as the graph that every later pass works on."""

from __future__ import annotations

import numpy as np

from dlasim.compiler_shim.files.input_file import AnyInput
from dlasim.compiler_shim.onnx.onnx_arithmetic import ARITHMETIC
from dlasim.compiler_shim.onnx.onnx_assumed import with_assumed_scales
from dlasim.compiler_shim.onnx.onnx_conversions import CONVERSIONS
from dlasim.compiler_shim.onnx.onnx_converter import Converted, Converter, Handler
from dlasim.compiler_shim.onnx.onnx_convolution import CONVOLUTIONS
from dlasim.compiler_shim.onnx.onnx_einsum import refuse_einsum
from dlasim.compiler_shim.onnx.onnx_float import IN_FLOAT32
from dlasim.compiler_shim.onnx.onnx_movement import MOVEMENT, pad_in_float32
from dlasim.compiler_shim.onnx.onnx_norms import IN_INTEGERS, NORMALIZATIONS
from dlasim.compiler_shim.onnx.onnx_picking import PICKING
from dlasim.compiler_shim.onnx.onnx_pooling import POOLS
from dlasim.compiler_shim.onnx.onnx_reader import read_onnx
from dlasim.compiler_shim.onnx.onnx_real_windows import REAL_WINDOWS
from dlasim.compiler_shim.onnx.onnx_recurrent import RECURRENT
from dlasim.compiler_shim.onnx.onnx_resizing import REAL_RESIZING, RESIZING
from dlasim.compiler_shim.tflite.reader import ReadModel

IN_REAL: dict[str, Handler] = {
    **NORMALIZATIONS, **REAL_WINDOWS, **REAL_RESIZING, **RECURRENT, **IN_FLOAT32, "Pad": pad_in_float32,
}  # fmt: skip
HANDLERS: dict[str, Handler] = {
    **CONVERSIONS,
    **CONVOLUTIONS,
    **POOLS,
    **ARITHMETIC,
    **MOVEMENT,
    **PICKING,
    **RESIZING,
    **IN_INTEGERS,
    "Einsum": refuse_einsum,
}


def convert(path: AnyInput, assumes_int8: bool = False) -> Converted:
    """The network in a file in dlasim's operators, with the names that its tensors have in the file.

    One that `assumes_int8` is a float network with stand-in scales.
    """
    with np.errstate(all="ignore"):  # a file's floats may be anything, signaling NaNs too
        model = read_onnx(path)
        model = with_assumed_scales(model, str(path)) if assumes_int8 else model
        return Converter(model, str(path), HANDLERS, IN_REAL).run()


def read_onnx_model(path: AnyInput, assumes_int8: bool = False) -> ReadModel:
    """As a .tflite file is read."""
    return ReadModel(convert(path, assumes_int8).graph, frozenset())
