"""Reads the network of a model file of any format; nothing is checked or resolved yet."""

from __future__ import annotations

from pathlib import Path

from dlasim.compiler_shim.dlag.dlag_layout import MAGIC, is_graph
from dlasim.compiler_shim.dlag.dlag_reader import read_graph_model
from dlasim.compiler_shim.onnx import is_onnx
from dlasim.compiler_shim.recipes import refuse_other_formats
from dlasim.compiler_shim.tflite.reader import ReadModel, read_model
from dlasim.errors import InputError
from dlasim.fileio import read_head
from dlasim.isa import container


def read_network(path: str | Path) -> ReadModel:
    """The network in a .tflite, .onnx or .dlag file."""
    refuse_other_formats(path)
    head = read_head(path, len(MAGIC))
    if container.is_program(head):
        raise InputError(f"{path} is already compiled; give a .tflite, .onnx or .dlag file")
    if str(path).endswith(".s"):
        raise InputError(f"{path} is assembly, not a model; `dlasim run {path}` runs it")
    if is_onnx(path):
        from dlasim.compiler_shim.onnx.onnx_import import read_onnx_model  # few need it

        return read_onnx_model(path)
    return read_graph_model(path) if is_graph(head) else read_model(path)


def is_graph_file(path: str | Path) -> bool:
    """Whether the file is a `.dlag`."""
    return is_graph(read_head(path, len(MAGIC)))
