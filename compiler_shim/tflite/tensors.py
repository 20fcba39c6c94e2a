"""Tensors of a TFLite file: shapes, types, quantization and constant data, each checked."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from dlasim.compiler_shim.files.constant_budget import ConstantBudget
from dlasim.compiler_shim.files.half_bytes import unpack_int4
from dlasim.compiler_shim.network.graph import MAX_DIMENSIONS, Graph, Quantization, Tensor, label
from dlasim.compiler_shim.operators.fields import enum_names
from dlasim.compiler_shim.tflite.decoding import Values
from dlasim.errors import InputError, printable

_INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
_DTYPES = frozenset((*_INTEGERS, "bool", "float16", "float32", "float64", "complex64", "complex128"))
_INT4 = "int4"  # in the file; here it is int8
_MAX_TENSOR_BYTES = (1 << 31) - 1


class TensorReader:
    """Makes Tensors of a file's tables, and notes which are variables and which have dynamic dimensions."""

    def __init__(self, buffers: Sequence[Values], file_name: str, file_bytes: int) -> None:
        self._buffers = buffers
        self._budget = ConstantBudget(file_bytes)
        self._file_name = file_name
        self._open_dimensions: dict[int, tuple[int, ...]] = {}
        self.variables: set[int] = set()

    @property
    def open_shapes(self) -> frozenset[int]:
        """Tensors with a dynamic dimension."""
        return frozenset(self._open_dimensions)

    def tensor(self, index: int, values: Values) -> Tensor:
        """The tensor that the file has at this index."""
        name = printable(values["name"] or "") or f"tensor_{index}"
        where = f"{self._file_name}: tensor {index} ({label(name)})"
        if values["sparsity"] is not None:
            raise InputError(f"{where}: its data is stored sparse; only dense tensors are supported")
        dtype = _dtype(values["type"], where)
        shape = self._shape(index, values, where)
        unpacked = "int8" if dtype == _INT4 else dtype
        sizes = filter(None, shape)  # a 0 among them makes no shape that NumPy takes of the others
        if math.prod(sizes) * np.dtype(unpacked).itemsize > _MAX_TENSOR_BYTES:
            raise InputError(f"{where}: shape {list(shape)} of {dtype} is larger than 2 GiB")
        quantization = _quantization(values["quantization"], shape, unpacked, where)
        data = self._data(index, values, shape, dtype, where)
        if dtype == _INT4 and data is None:
            raise InputError(f"{where}: tensors of type int4 are supported as constants only")
        return Tensor(name, shape, unpacked, quantization, data)

    def check_inputs(self, graph: Graph) -> None:
        """Rejects inputs with dynamic dimensions other than the batch, the first one."""
        for index in graph.inputs:
            if any(self._open_dimensions.get(index, ())):
                raise InputError(
                    f"{self._file_name}: dimensions {list(self._open_dimensions[index])} of input "
                    f"{label(graph.tensors[index].name)} are dynamic; only the batch (dimension 0) may be "
                    "dynamic. Convert the model with a fixed input shape"
                )

    def _shape(self, index: int, values: Values, where: str) -> tuple[int, ...]:
        shape = [int(size) for size in values["shape"][: MAX_DIMENSIONS + 1]]
        signature = [int(size) for size in values["shape_signature"][: MAX_DIMENSIONS + 1]] or shape
        if len(shape) > MAX_DIMENSIONS:
            raise InputError(f"{where}: it has more than {MAX_DIMENSIONS} dimensions")
        if len(signature) != len(shape):
            raise InputError(f"{where}: shape {shape}, but shape signature {signature}")
        if min(shape + signature, default=0) < -1:
            raise InputError(f"{where}: shape {shape} with signature {signature} has a negative dimension")
        unknown = tuple(axis for axis in range(len(shape)) if -1 in (shape[axis], signature[axis]))
        if unknown:
            self._open_dimensions[index] = unknown
        return tuple(max(size, 1) if axis in unknown else size for axis, size in enumerate(shape))

    def _data(self, index: int, values: Values, shape: tuple[int, ...], dtype: str, where: str) -> Any:
        """The constant data as a view of the file, or None for a tensor that is computed."""
        number = values["buffer"]
        if number >= len(self._buffers):
            raise InputError(f"{where}: there is no buffer {number} (the file has {len(self._buffers)})")
        raw = np.asarray(self._buffers[number]["data"], dtype=np.uint8)
        if values["is_variable"]:
            self.variables.add(index)
        elements = math.prod(shape)
        expected_bytes = -(-elements // 2) if dtype == _INT4 else elements * np.dtype(dtype).itemsize
        # A tensor without elements (the shape of a scalar, say) is known although its buffer is empty.
        if raw.size == 0 < expected_bytes:
            return None
        if values["is_variable"]:
            raise InputError(f"{where}: it is a variable, but has constant data")
        if raw.size != expected_bytes:
            raise InputError(
                f"{where}: {dtype}{list(shape)} takes {expected_bytes} bytes, but its buffer has {raw.size}"
            )
        self._budget.spend(max(elements, expected_bytes), where)
        if dtype == _INT4:
            return unpack_int4(raw, elements).reshape(shape)
        data = raw.view(np.dtype(dtype).newbyteorder("<")).reshape(shape)
        return data if data.flags.aligned else data.copy()


def _dtype(number: int, where: str) -> str:
    dtype = enum_names("TensorType").get(number, f"number {number}")
    if dtype not in _DTYPES and dtype != _INT4:
        raise InputError(f"{where}: tensors of type {dtype} are not supported")
    return dtype


def _quantization(
    values: Values | None, shape: tuple[int, ...], dtype: str, where: str
) -> Quantization | None:
    if values is None or len(values["scale"]) == 0:
        return None
    count = len(values["scale"])
    if len(values["zero_point"]) not in (1, count):
        raise InputError(f"{where}: {count} scales, but {len(values['zero_point'])} zero points")
    axis = _axis(values["quantized_dimension"], count, shape, where)
    scales = tuple(float(scale) for scale in values["scale"])
    zero_points = tuple(int(point) for point in values["zero_point"])
    if not all(math.isfinite(scale) and scale >= 0 for scale in scales):
        raise InputError(f"{where}: its scales must be finite and not negative")
    # Programs hold zero points as int32.
    name = dtype if np.dtype(dtype).kind in "iu" and np.dtype(dtype).itemsize < 4 else "int32"
    limits = np.iinfo(name)
    if zero_points and not (limits.min <= min(zero_points) and max(zero_points) <= limits.max):
        raise InputError(f"{where}: its zero points must be in the range of {name}")
    return Quantization(scales, zero_points * (count // len(zero_points)), axis)


def _axis(axis: int, count: int, shape: tuple[int, ...], where: str) -> int:
    if count == 1:
        return axis if 0 <= axis < len(shape) else 0
    # Old converters give a bias the axis of its weights; there is only one it can mean.
    axis = 0 if len(shape) == 1 else axis
    if not 0 <= axis < len(shape) or shape[axis] != count:
        raise InputError(f"{where}: {count} scales along dimension {axis} of shape {list(shape)}")
    return axis
