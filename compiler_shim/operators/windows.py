"""Sliding windows: strides, and where the first window begins."""

from __future__ import annotations

from dlasim.compiler_shim.operators.bound import Site


def padding_before(padding: str, size: int, window: int, stride: int) -> int:
    """Rows or columns before the first; SAME puts the odd one after the last. `window` includes dilation."""
    if padding == "VALID":
        return 0
    windows = -(-size // stride)
    return max(0, (windows - 1) * stride + window - size) // 2


def window_attributes(site: Site, height: int, width: int) -> dict[str, int]:
    """Strides and padding of an operator whose filter has this height and width, without dilation."""
    shape, padding = site.input().shape, site.option("padding", "SAME")
    site.require(padding in ("SAME", "VALID"), f"padding {padding}, SAME or VALID are allowed")
    site.require(len(shape) == 4, f"input has shape {list(shape)}, not NHWC")
    rows, columns = site.option("stride_h", 1), site.option("stride_w", 1)
    height = (height - 1) * site.option("dilation_h_factor", 1) + 1
    width = (width - 1) * site.option("dilation_w_factor", 1) + 1
    return {
        "stride_height": rows,
        "stride_width": columns,
        "pad_top": padding_before(padding, shape[1], height, rows),
        "pad_left": padding_before(padding, shape[2], width, columns),
    }
