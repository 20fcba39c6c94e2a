"""An ONNX file as the graph that every later pass works on."""

from __future__ import annotations

import numpy as np

from dlasim.compiler_shim.input_file import AnyInput
from dlasim.compiler_shim.onnx.onnx_arithmetic import ARITHMETIC
from dlasim.compiler_shim.onnx.onnx_conversions import CONVERSIONS
from dlasim.compiler_shim.onnx.onnx_converter import Converted, Converter, Handler
from dlasim.compiler_shim.onnx.onnx_convolution import CONVOLUTIONS
from dlasim.compiler_shim.onnx.onnx_functions import HANDLED
from dlasim.compiler_shim.onnx.onnx_movement import MOVEMENT
from dlasim.compiler_shim.onnx.onnx_pooling import POOLS
from dlasim.compiler_shim.onnx.onnx_reader import read_onnx
from dlasim.compiler_shim.tflite.reader import ReadModel

HANDLERS: dict[str, Handler] = {**CONVERSIONS, **HANDLED, **CONVOLUTIONS, **POOLS, **ARITHMETIC, **MOVEMENT}


def convert(path: AnyInput) -> Converted:
    """The network in a file in dlasim's operators, with the names that its tensors have in the file."""
    with np.errstate(all="ignore"):  # a file's floats may be anything, signaling NaNs too
        return Converter(read_onnx(path), str(path), HANDLERS).run()


def read_onnx_model(path: AnyInput) -> ReadModel:
    """As a .tflite file is read."""
    return ReadModel(convert(path).graph, frozenset())
