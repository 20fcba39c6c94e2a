"""Pooling, reduction, and operators along one dimension."""

from __future__ import annotations

import numpy as np

from dlasim.compiler_shim.operators.bound import HostCall, Site
from dlasim.compiler_shim.operators.windows import window_attributes
from dlasim.sim.numerics import mean_multiplier, softmax_table


def pool(site: Site) -> list[HostCall]:
    """AVERAGE_POOL_2D and MAX_POOL_2D."""
    site.types(site.input(), "int8")
    height, width = site.option("filter_height", 1), site.option("filter_width", 1)
    return [
        site.call(
            site.operator.kind,
            site.operator.inputs,
            **window_attributes(site, height, width),
            filter_height=height,
            filter_width=width,
            **site.clamp(),
        )
    ]


def mean(site: Site) -> list[HostCall]:
    """MEAN over constant axes."""
    values, output = site.input(), site.output()
    site.types(values, "int8")
    axes = {site.axis(axis, len(values.shape)) for axis in site.integers(1)}
    count = 1
    for axis in axes:
        count *= values.shape[axis]
    multiplier, shift = mean_multiplier(site.scale(values) / site.scale(output), count)
    return [
        site.call(
            "MEAN",
            site.operator.inputs[:1],
            axis_mask=sum(1 << axis for axis in axes),
            input_zero_point=site.zero_point(values),
            output_zero_point=site.zero_point(output),
            output_multiplier=multiplier,
            output_shift=shift,
        )
    ]


def softmax(site: Site) -> list[HostCall]:
    """SOFTMAX."""
    values, output = site.input(), site.output()
    site.types(values, "int8")
    site.types(output, "int8")
    found = (site.scale(output), site.zero_point(output))
    site.require(found == (1 / 256, -128), f"output has scale and zero point {found}, not (1/256, -128)")
    table = softmax_table(float(np.float32(site.option("beta", 1.0))), site.scale(values))
    return [site.call("SOFTMAX", (site.operator.inputs[0], site.new_constant("exponentials", table)))]


def arg_max(site: Site) -> list[HostCall]:
    """ARG_MAX."""
    values = site.input()
    site.types(values, "int8", "int32", "int64", "float32")
    site.types(site.output(), "int32", "int64")
    axes = site.integers(1)
    site.require(len(axes) == 1, f"{len(axes)} axes, one expected")
    return [site.call("ARG_MAX", site.operator.inputs[:1], axis=site.axis(axes[0], len(values.shape)))]
