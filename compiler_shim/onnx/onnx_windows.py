"""Operators with weights, and pooling."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dlasim.compiler_shim.network.graph import Quantization, label
from dlasim.compiler_shim.onnx.onnx_converter import Converter
from dlasim.compiler_shim.onnx.onnx_reader import OnnxNode
from dlasim.compiler_shim.onnx.onnx_values import OnnxActivation, RefusedError, channels_last
from dlasim.compiler_shim.operators.windows import padding_before
from dlasim.dataclass import dataclass
from dlasim.errors import one_of, printable

_LOWEST = -128
_AUTO_PADS = ("NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER")


@dataclass(frozen=True, slots=True)
class Windows:
    """Where windows lie, along rows and columns."""

    kernel: tuple[int, int]
    stride: tuple[int, int]
    dilation: tuple[int, int]
    before: tuple[int, int]
    after: tuple[int, int]
    is_same: bool  # TensorFlow's padding of this name

    @property
    def is_padded(self) -> bool:
        """Whether some window reaches over the edge."""
        return any(self.before + self.after)


def windows(node: OnnxNode, kernel: Sequence[int], sizes: Sequence[int]) -> Windows:
    """The windows over an image of this height and width; one dimension counts as columns."""
    at, spread = node.attributes, len(kernel)
    if spread not in (1, 2):
        raise RefusedError(f"windows of {spread} dimensions; only 1 or 2 are supported")
    strides, dilations = at.get("strides", (1,) * spread), at.get("dilations", (1,) * spread)
    pads = at.get("pads", (0,) * 2 * spread)
    if (len(strides), len(dilations), len(pads)) != (spread, spread, 2 * spread) or len(sizes) != spread:
        raise RefusedError(f"strides, dilations and pads do not fit a window of {spread} dimensions")
    auto = at.get("auto_pad", "NOTSET") or "NOTSET"
    if auto not in _AUTO_PADS:
        raise RefusedError(f"auto_pad must be {one_of(_AUTO_PADS)} (got {label(printable(auto))})")
    if auto != "NOTSET" and any(pads):
        raise RefusedError(f"auto_pad is {auto}, but it has pads {list(pads)[:8]}, too")
    if (
        min(*kernel, *strides, *dilations) < 1
        or min(pads) < 0
        or max(*kernel, *strides, *dilations, *pads) > 1 << 15
    ):
        raise RefusedError("a window, stride, dilation or padding is out of range")
    axes = [
        _axis(at, place, size, (span - 1) * dilation + 1, stride, (pads[place], pads[place + spread]))
        for place, (size, span, stride, dilation) in enumerate(
            zip(sizes, kernel, strides, dilations, strict=True)
        )
    ]
    if spread == 1:
        axes.insert(0, (0, 0, True))
    ones = (1,) * (2 - spread)
    return Windows(
        _pair((*ones, *kernel)), _pair((*ones, *strides)), _pair((*ones, *dilations)),
        (axes[0][0], axes[1][0]), (axes[0][1], axes[1][1]), axes[0][2] and axes[1][2],
    )  # fmt: skip


def _pair(values: Sequence[int]) -> tuple[int, int]:
    return int(values[0]), int(values[1])


def _axis(
    at: object, place: int, size: int, span: int, stride: int, pads: tuple[int, int]
) -> tuple[int, int, bool]:
    """Padding that windows reach, before and after, along one dimension; and whether SAME has it, too."""
    assert isinstance(at, dict)
    auto = at.get("auto_pad", "NOTSET") or "NOTSET"
    if auto in ("SAME_UPPER", "SAME_LOWER"):
        count = -(-size // stride)
        whole = max(0, (count - 1) * stride + span - size)
        before = whole // 2 if auto == "SAME_UPPER" else whole - whole // 2
    else:
        before, after = pads if auto == "NOTSET" else (0, 0)
        room = size + before + after - span
        if room < 0:
            raise RefusedError("its window is larger than its padded input")
        count = (-(-room // stride) if at.get("ceil_mode") else room // stride) + 1
        if at.get("ceil_mode") and (count - 1) * stride >= size + before:
            count -= 1  # the last window would begin behind the image
    after = max(0, (count - 1) * stride + span - size - before)
    is_same = count == -(-size // stride) and before == padding_before("SAME", size, span, stride)
    return before, after, is_same


def square(converter: Converter, value: OnnxActivation, name: str) -> tuple[OnnxActivation, bool]:
    """The value as an image of rows and columns, and whether it had columns only."""
    value = converter.image(value, name)
    if len(value.shape) == 4:
        return value, False
    if len(value.shape) != 3:
        raise RefusedError(f"its input has {len(value.shape)} dimensions; images have 3 or 4")
    batch, channels, columns = value.shape
    number = converter.reshape(value, (batch, 1, columns, channels), f"{name}/image")
    shape = (batch, channels, 1, columns)
    return OnnxActivation(number, shape, channels_last(4), value.quantization), True


def finished(
    converter: Converter, node: OnnxNode, number: int, quantization: Quantization, is_line: bool
) -> OnnxActivation:
    batch, rows, columns, channels = converter.builder.shape(number)
    result = OnnxActivation(number, (batch, channels, rows, columns), channels_last(4), quantization)
    if not is_line:
        return result
    number = converter.reshape(result, (batch, columns, channels), f"{node.outputs[0]}/line")
    return OnnxActivation(number, (batch, channels, columns), channels_last(3), quantization)


def written_padding(
    converter: Converter, value: OnnxActivation, found: Windows, name: str, filler: int | None
) -> int:
    """The image with the padding written out; `filler` is the number to pad with, if not the zero point."""
    pads = [[0, 0], [found.before[0], found.after[0]], [found.before[1], found.after[1]], [0, 0]]
    amounts = converter.builder.constant(f"{name[:60]}/pads", np.array(pads, np.int32))
    if filler is None:
        return converter.emit("PAD", [value.number, amounts], value.quantization, f"{name}/padded")
    number = converter.eight_bits(f"{name}/filler", np.full(1, filler, np.int8), value.quantization)
    return converter.emit("PADV2", [value.number, amounts, number], value.quantization, f"{name}/padded")
