"""Writes TOSA files operator by operator, and runs Arm's reference model on them."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dlasim.checking.arm_reference import PROGRAM, reference_outputs
from dlasim.compiler_shim.tflite.encoding import encode
from dlasim.compiler_shim.tosa.tosa_schema import DTYPES, OPERATORS, TOSA

Array = Any
SINGLE, INEXACT, DOUBLE = 1, 2, 3
NUMBERS = {name: number for number, name in DTYPES.items()}
REFERENCE = shutil.which(PROGRAM) or ""
needs_reference = pytest.mark.skipif(
    not REFERENCE, reason="no tosa_reference_model: pip install tosa-tools, in a venv of its own"
)


class TosaMaker:
    """A network under construction. Tensors are known by name."""

    def __init__(self, mode: int = DOUBLE) -> None:
        self.mode = mode
        self.tensors: dict[str, dict[str, Any]] = {}
        self.shapes: list[dict[str, Any]] = []
        self.operators: list[dict[str, Any]] = []
        self.inputs: list[str] = []
        self.outputs: list[str] = []

    def tensor(self, shape: Sequence[int], dtype: str, data: Array = None) -> str:
        name = f"t{len(self.tensors)}"
        values: dict[str, Any] = {"name": name, "shape": list(shape), "type": NUMBERS[dtype]}
        if data is not None:
            values["data"] = np.frombuffer(np.ascontiguousarray(data).tobytes(), np.uint8)
        self.tensors[name] = values
        return name

    def shape_of(self, name: str) -> list[int]:
        return list(self.tensors[name]["shape"])

    def dtype_of(self, name: str) -> str:
        return DTYPES[self.tensors[name]["type"]]

    def input(self, shape: Sequence[int], dtype: str = "int8") -> str:
        self.inputs.append(self.tensor(shape, dtype))
        return self.inputs[-1]

    def constant(self, data: Array, dtype: str) -> str:
        array = np.asarray(data, dtype)
        name = self.tensor(array.shape, dtype, array)
        self._add("CONST", [], [name], {})
        return name

    def sizes(self, values: Sequence[int]) -> str:
        name = f"s{len(self.shapes)}"
        data = np.frombuffer(np.array(values, "<i8").tobytes(), np.uint8)
        self.shapes.append({"name": name, "rank": len(values), "data": data})
        self._add("CONST_SHAPE", [], [name], {})
        return name

    def op(
        self, kind: str, inputs: Sequence[str], shape: Sequence[int], dtype: str, **attributes: Any
    ) -> str:
        name = self.tensor(shape, dtype)
        self._add(kind, inputs, [name], attributes)
        return name

    def _add(self, kind: str, inputs: Sequence[str], outputs: Sequence[str], attributes: Any) -> None:
        number = OPERATORS.index(kind)
        fields = {field.name for field in TOSA.tables[kind] if field is not None}
        more = {"nan_mode": 1} if "nan_mode" in fields else {}
        more |= {"acc_type": NUMBERS["int32"]} if "acc_type" in fields else {}
        values: dict[str, Any] = {"op": number, "inputs": list(inputs), "outputs": list(outputs)}
        values |= {"attribute_type": number, "attribute": attributes | more}
        self.operators.append(values)

    # --- with shapes worked out ---

    def rescale(
        self,
        name: str,
        factors: float | Sequence[float],
        points: tuple[int, int] = (0, 0),
        dtype: str = "int8",
        unsigned: tuple[bool, bool] = (False, False),
    ) -> str:
        reals = np.atleast_1d(np.asarray(factors, np.float64))
        mantissas, exponents = np.frexp(reals)
        multipliers, shifts = np.rint(np.ldexp(mantissas, 31)).astype(np.int64), 31 - exponents
        full = multipliers == 1 << 31
        multipliers, shifts = multipliers >> full, shifts - full
        inputs = [
            name, self.constant(multipliers, "int32"), self.constant(shifts, "int8"),
            self.constant([points[0]], self.dtype_of(name)), self.constant([points[1]], dtype),
        ]  # fmt: skip
        return self.op(
            "RESCALE", inputs, self.shape_of(name), dtype, scale32=True, rounding_mode=self.mode,
            per_channel=len(reals) > 1, input_unsigned=unsigned[0], output_unsigned=unsigned[1],
        )  # fmt: skip

    def clamp(self, name: str, low: int, high: int) -> str:
        dtype = self.dtype_of(name)
        ends = [np.frombuffer(np.array([end], dtype).tobytes(), np.uint8) for end in (low, high)]
        return self.op("CLAMP", [name], self.shape_of(name), dtype, min_val=ends[0], max_val=ends[1])

    def convolution(
        self, name: str, weights: Array, bias: Array, point: int, pad: Sequence[int] = (0, 0, 0, 0),
        stride: Sequence[int] = (1, 1), dilation: Sequence[int] = (1, 1), depthwise: bool = False,
    ) -> str:  # fmt: skip
        batch, height, width, _ = self.shape_of(name)
        kernel = weights.shape[:2] if depthwise else weights.shape[1:3]
        channels = weights.shape[2] * weights.shape[3] if depthwise else weights.shape[0]
        rows, columns = (
            (size + before + after - (span - 1) * step - 1) // jump + 1
            for size, before, after, span, step, jump in zip(
                (height, width), pad[::2], pad[1::2], kernel, dilation, stride, strict=True
            )
        )
        inputs = [
            name, self.constant(weights, "int8"), self.constant(bias, "int32"),
            self.constant([point], "int8"), self.constant([0], "int8"),
        ]  # fmt: skip
        return self.op(
            "DEPTHWISE_CONV2D" if depthwise else "CONV2D", inputs, [batch, rows, columns, channels], "int32",
            pad=pad, stride=stride, dilation=dilation,
        )  # fmt: skip

    def pair(self, kind: str, one: str, other: str, dtype: str = "int32", cut: int = 0) -> str:
        shape = np.broadcast_shapes(tuple(self.shape_of(one)), tuple(self.shape_of(other)))
        inputs = [one, other] + ([self.constant([cut], "int8")] if kind == "MUL" else [])
        return self.op(kind, inputs, shape, dtype)

    def added(
        self, one: str, other: str, scales: tuple[float, float, float], points: tuple[int, int, int]
    ) -> str:
        """ADD as TensorFlow's converter lowers it."""
        most = 2 * max(scales[:2])
        first = self.rescale(one, scales[0] / most * (1 << 20), (points[0], 0), "int32")
        second = self.rescale(other, scales[1] / most * (1 << 20), (points[1], 0), "int32")
        total = self.pair("ADD", first, second)
        return self.rescale(total, most / (scales[2] * (1 << 20)), (0, points[2]))

    def reshape(self, name: str, shape: Sequence[int]) -> str:
        return self.op("RESHAPE", [name, self.sizes(shape)], shape, self.dtype_of(name))

    def cut(self, name: str, begin: Sequence[int], shape: Sequence[int]) -> str:
        inputs = [name, self.sizes(begin), self.sizes(shape)]
        return self.op("SLICE", inputs, shape, self.dtype_of(name))

    def save(self, path: Path, *outputs: str) -> Path:
        self.outputs = list(outputs)
        block = {
            "name": "main", "operators": self.operators, "tensors": list(self.tensors.values()),
            "inputs": self.inputs, "outputs": self.outputs, "shapes": self.shapes,
        }  # fmt: skip
        graph = {
            "version": {"major": 1, "minor": 0, "patch": 0, "draft": False},
            "regions": [{"name": "main", "blocks": [block]}],
        }
        path.write_bytes(encode("TosaGraph", graph, 1 << 16, TOSA))
        return path


def reference(path: Path, maker: TosaMaker, inputs: Sequence[Array]) -> list[Array]:
    """What Arm's reference model computes."""
    return reference_outputs(REFERENCE, path.read_bytes(), path.parent, (maker.inputs, maker.outputs), inputs)
