"""Sliding windows: strides, and where the first window begins."""

from __future__ import annotations

from dlasim.compiler_shim.operators.bound import BoundOperator, Shape


def padding_before(padding: str, size: int, window: int, stride: int) -> int:
    """Rows or columns before the first; SAME puts the odd one after the last. `window` includes dilation."""
    if padding == "VALID":
        return 0
    windows = -(-size // stride)
    return max(0, (windows - 1) * stride + window - size) // 2


def window_attributes(op: BoundOperator, height: int, width: int) -> dict[str, int]:
    """Strides and padding of an operator whose filter has this height and width, without dilation."""
    shape, padding = op.input().shape, op.option("padding")
    op.require(padding in ("SAME", "VALID"), f"padding must be SAME or VALID (got {padding})")
    op.require(len(shape) == 4, f"input has shape {list(shape)}, not NHWC")
    rows, columns = op.option("stride_h"), op.option("stride_w")
    height = (height - 1) * op.options.get("dilation_h_factor", 1) + 1
    width = (width - 1) * op.options.get("dilation_w_factor", 1) + 1
    return {
        "stride_height": rows,
        "stride_width": columns,
        "pad_top": padding_before(padding, shape[1], height, rows),
        "pad_left": padding_before(padding, shape[2], width, columns),
    }


def _windows(op: BoundOperator, size: int, window: int, stride: int) -> int:
    op.require(stride >= 1, f"the stride must be at least 1 (got {stride})")
    if op.option("padding") == "SAME":
        return -(-size // stride)
    return -(-(size - window + 1) // stride)


def dilated(op: BoundOperator, window: int, axis: str) -> int:
    """How many pixels a window of so many taps spans with the operator's dilation along an axis."""
    factor = op.option(f"dilation_{axis}_factor")
    op.require(factor >= 1, f"the dilation must be at least 1 (got {factor})")
    return int((window - 1) * factor + 1)


def window_grid(op: BoundOperator, shape: Shape, height: int, width: int) -> Shape:
    """The shape that windows of a size give over an image, without channels."""
    rows = _windows(op, shape[1], height, op.option("stride_h"))
    columns = _windows(op, shape[2], width, op.option("stride_w"))
    return (shape[0], rows, columns)


def transposed_attributes(op: BoundOperator) -> dict[str, int]:
    """Strides and padding of TRANSPOSE_CONV, which is padded as the convolution from its output to its input
    would be."""
    weights, output, padding = op.input(1), op.output(), op.option("padding")
    height, width = op.option("stride_h"), op.option("stride_w")
    return {
        "stride_height": height,
        "stride_width": width,
        "pad_top": padding_before(padding, output.shape[1], weights.shape[1], height),
        "pad_left": padding_before(padding, output.shape[2], weights.shape[2], width),
    }
