"""Operators that move elements in other ways than a strided copy."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dlasim.compiler_shim.operators.bound import HostCall, Site
from dlasim.isa.host_ops import MAX_RANK, RESIZE_FRACTION_BITS, float_word


def pad(site: Site) -> list[HostCall]:
    """PAD and PADV2; without a value, what surrounds the input means 0."""
    values, output = site.input(), site.output()
    rank = len(values.shape)
    site.require(rank <= MAX_RANK, f"{rank} dimensions, {MAX_RANK} are supported")
    before = site.constant(1).reshape(rank, 2)[:, 0]
    return [
        site.call(
            "PAD",
            site.operator.inputs[:1],
            before=[int(count) for count in before] + [0] * (MAX_RANK - rank),
            value=_pad_value(site) if site.has(2) else _zero(site, output.dtype),
        )
    ]


def _zero(site: Site, dtype: str) -> int:
    return site.zero_point(site.output()) if dtype == "int8" else 0


def _pad_value(site: Site) -> int:
    site.same_types(site.input(2), site.output())
    values = site.constant(2)
    site.require(values.size == 1, f"{values.size} values to pad with, 1 is needed")
    value = values.ravel()[0]
    return float_word(float(value)) if site.output().dtype == "float32" else int(value)


def concatenation(site: Site) -> list[HostCall]:
    """CONCATENATION: TensorFlow too has it on one scale only."""
    output = site.output()
    for position in range(len(site.operator.inputs)) if output.dtype == "int8" else ():
        values = site.input(position)
        found, wanted = ((site.scale(tensor), site.zero_point(tensor)) for tensor in (values, output))
        site.require(found == wanted, f"{values.name} has another scale or zero point than {output.name}")
    return _side_by_side(site, site.option("axis", 0))


def pack(site: Site) -> list[HostCall]:
    """PACK."""
    return _side_by_side(site, site.option("axis", 0))


def _side_by_side(site: Site, axis: int) -> list[HostCall]:
    output = site.output()
    activation = site.option("fused_activation_function", "NONE")
    site.require(activation == "NONE", f"fused activation {activation} is not supported")
    site.same_types(output, *(site.input(position) for position in range(len(site.operator.inputs))))
    return [site.call("CONCATENATION", site.operator.inputs, axis=site.axis(axis, len(output.shape)))]


def gather(site: Site) -> list[HostCall]:
    """GATHER."""
    values, indices = site.input(0), site.input(1)
    site.types(indices, "int32", "int64")
    axis = site.axis(site.option("axis", 0), len(values.shape))
    batch_dims = site.option("batch_dims", 0)
    batch_dims += len(indices.shape) if batch_dims < 0 else 0
    return [site.call("GATHER", site.operator.inputs, axis=axis, batch_dims=batch_dims)]


def gather_nd(site: Site) -> list[HostCall]:
    """GATHER_ND."""
    site.types(site.input(1), "int32", "int64")
    return [site.call("GATHER_ND", site.operator.inputs)]


def resize_nearest(site: Site) -> list[HostCall]:
    """RESIZE_NEAREST_NEIGHBOR."""
    rows, columns = (
        site.new_constant(name, _nearest(site, site.input().shape[axis], site.output().shape[axis]))
        for name, axis in (("rows", 1), ("columns", 2))
    )
    return [site.call("RESIZE_NEAREST", (site.operator.inputs[0], rows, columns))]


def _nearest(site: Site, size: int, count: int) -> NDArray[np.int32]:
    """Where each row or column of the output comes from, computed in float32."""
    align, half = site.option("align_corners", False), site.option("half_pixel_centers", False)
    centre = np.float32(0.5 if half else 0.0)
    if align and count > 1:
        scale = np.float32(size - 1) / np.float32(count - 1)
    else:
        scale = np.float32(size) / np.float32(count)
    positions = (np.arange(count, dtype=np.float32) + centre) * scale
    # They are not negative, so half away from zero is half up; float64 holds the sum exactly.
    whole = np.floor(positions.astype(np.float64) + (0.5 if align else 0.0))
    return np.minimum(whole, size - 1).astype(np.int32)


def resize_bilinear(site: Site) -> list[HostCall]:
    """RESIZE_BILINEAR."""
    site.types(site.input(), "int8")
    both = site.option("align_corners", False) and site.option("half_pixel_centers", False)
    site.require(not both, "align_corners and half_pixel_centers exclude each other")
    rows, columns = (
        site.new_constant(name, _weights(site, site.input().shape[axis], site.output().shape[axis]))
        for name, axis in (("rows", 1), ("columns", 2))
    )
    return [site.call("RESIZE_BILINEAR", (site.operator.inputs[0], rows, columns))]


def _weights(site: Site, size: int, count: int) -> NDArray[np.int32]:
    """Between which rows or columns of the input each of the output lies, in 2^-10ths."""
    one = 1 << RESIZE_FRACTION_BITS
    if site.option("align_corners", False) and count > 1:
        size_in, size_out = size - 1, count - 1
    else:
        size_in, size_out = size, count
    scale = (one * size_in + size_out // 2) // size_out
    positions = np.arange(count, dtype=np.int64) * scale
    if site.option("half_pixel_centers", False):
        positions += scale // 2 - one // 2
    # Before the first centre the position is negative: the fraction then is, too.
    lower = np.clip(positions // one, 0, size - 1)
    upper = np.clip(-(-positions // one), 0, size - 1)
    return np.stack([lower, upper, positions - one * lower], axis=1).astype(np.int32)
