"""Element-wise operators of one or two inputs that are not tables."""

from __future__ import annotations

import numpy as np

from dlasim.compiler_shim.graph import Tensor
from dlasim.compiler_shim.operators.activations import ACTIVATIONS, float_range, integer_range
from dlasim.compiler_shim.operators.bound import HostCall, Site
from dlasim.compiler_shim.operators.lookup import lookup, table_call
from dlasim.isa.host_ops import ADD_LEFT_SHIFT, BinaryFunction, UnaryFunction, float_word
from dlasim.sim.numerics import INT8_MAX, INT8_MIN, limit, quantize_multiplier, requant


def arithmetic(site: Site) -> list[HostCall]:
    """ADD, SUB and MUL: rescaled where they are int8, else plain."""
    if site.output().dtype != "int8":
        return plain(site)
    for position in (0, 1):
        site.types(site.input(position), "int8")
    return [_product(site) if site.operator.kind == "MUL" else _sum(site)]


def _sum(site: Site) -> HostCall:
    scales = [site.scale(site.input(position)) for position in (0, 1)]
    common = 2 * max(scales)
    output_scale = common / ((1 << ADD_LEFT_SHIFT) * site.scale(site.output()))
    return site.call(
        site.operator.kind,
        site.operator.inputs,
        **_zero_points(site),
        **_multiplier("input1_", scales[0] / common),
        **_multiplier("input2_", scales[1] / common),
        **_multiplier("output_", output_scale),
        **site.clamp(),
    )


def _product(site: Site) -> HostCall:
    scale = site.scale(site.input(0)) * site.scale(site.input(1)) / site.scale(site.output())
    return site.call(
        "MUL",
        site.operator.inputs,
        **_zero_points(site),
        **_multiplier("output_", scale),
        **site.clamp(),
    )


def _zero_points(site: Site) -> dict[str, int]:
    return {
        "input1_zero_point": site.zero_point(site.input(0)),
        "input2_zero_point": site.zero_point(site.input(1)),
        "output_zero_point": site.zero_point(site.output()),
    }


def _multiplier(prefix: str, real: float) -> dict[str, int]:
    multiplier, shift = quantize_multiplier(real)
    return {f"{prefix}multiplier": multiplier, f"{prefix}shift": shift}


def prelu(site: Site) -> list[HostCall]:
    """PRELU."""
    values, alpha, output = site.input(0), site.input(1), site.output()
    for tensor in (values, alpha, output):
        site.types(tensor, "int8")
    scale_in, scale_out = site.scale(values), site.scale(output)
    return [
        site.call(
            "PRELU",
            site.operator.inputs,
            input_zero_point=site.zero_point(values),
            alpha_zero_point=site.zero_point(alpha),
            output_zero_point=site.zero_point(output),
            **_multiplier("positive_", scale_in / scale_out),
            **_multiplier("negative_", scale_in * site.scale(alpha) / scale_out),
        )
    ]


def extremum(site: Site) -> list[HostCall]:
    """MAXIMUM and MINIMUM: TFLite compares the integers as they are."""
    first, second, output = site.input(0), site.input(1), site.output()
    site.same_types(first, second, output)
    site.types(output, "int8", "int32", "int64", "float32")
    function = BinaryFunction[site.operator.kind]
    return [site.call("BINARY", site.operator.inputs, function=function, clamp_min=0, clamp_max=0)]


def plain(site: Site) -> list[HostCall]:
    """Arithmetic of float32 and integers that are no steps of a scale."""
    output = site.output()
    site.same_types(site.input(0), site.input(1), output)
    site.types(output, "int32", "int64", "float32")
    return [
        site.call(
            "BINARY",
            site.operator.inputs,
            function=BinaryFunction[site.operator.kind],
            **_plain_clamp(site, output),
        )
    ]


def _plain_clamp(site: Site, output: Tensor) -> dict[str, int]:
    activation = site.option("fused_activation_function", "NONE")
    site.require(activation in ACTIVATIONS, f"fused activation {activation} is not supported")
    if output.dtype == "float32":
        # FLOOR_DIV has no activation, and lets infinities pass.
        infinite = site.operator.kind == "FLOOR_DIV"
        least, greatest = (-np.inf, np.inf) if infinite else float_range(activation)
        return {"clamp_min": float_word(least), "clamp_max": float_word(greatest)}
    site.require(output.dtype == "int32" or activation == "NONE", f"int64 with fused {activation}")
    bounds = integer_range(activation)
    return {"clamp_min": bounds[0], "clamp_max": bounds[1]}


def square_root(site: Site) -> list[HostCall]:
    """SQRT: a table where it is int8."""
    site.types(site.input(), "int8", "float32")
    return lookup(site) if site.input().dtype == "int8" else [_unary(site, UnaryFunction.SQRT)]


def negative(site: Site) -> list[HostCall]:
    """NEG."""
    site.types(site.input(), "float32", "int32")
    return [_unary(site, UnaryFunction.NEG)]


def absolute(site: Site) -> list[HostCall]:
    """ABS: a table where it is int8."""
    site.types(site.input(), "int8", "float32", "int32")
    return lookup(site) if site.input().dtype == "int8" else [_unary(site, UnaryFunction.ABS)]


def _unary(site: Site, function: UnaryFunction) -> HostCall:
    site.same_types(site.input(), site.output())
    return site.call("UNARY", site.operator.inputs, function=function)


def quantize(site: Site) -> list[HostCall]:
    """QUANTIZE: from float32, or a table from one 8-bit quantization to another."""
    values, output = site.input(), site.output()
    site.types(values, "float32", "int8", "uint8")
    if values.dtype == "float32":
        site.types(output, "int8", "uint8", "int16")
        scale, zero_point = site.scale(output), site.zero_point(output)
        return [site.call("QUANTIZE", site.operator.inputs, scale=scale, zero_point=zero_point)]
    site.types(output, "int8", "uint8")
    lowest = np.iinfo(values.dtype).min
    centred = np.arange(lowest, lowest + 256) - site.zero_point(values)
    scaled = requant(centred, *quantize_multiplier(site.scale(values) / site.scale(output)))
    # A uint8 result is an int8 one with everything 128 lower.
    offset = 128 if output.dtype == "uint8" else 0
    table = limit(scaled, site.zero_point(output) - offset, INT8_MIN, INT8_MAX)
    return [table_call(site, (table.astype(np.int16) + offset).astype(output.dtype))]


def dequantize(site: Site) -> list[HostCall]:
    """DEQUANTIZE: a table of float32 for 8-bit inputs."""
    values = site.input()
    site.types(values, "int8", "uint8", "int16")
    site.types(site.output(), "float32")
    scale, zero_point = site.scale(values), site.zero_point(values)
    if values.dtype not in ("int8", "uint8"):
        return [site.call("DEQUANTIZE", site.operator.inputs, scale=scale, zero_point=zero_point)]
    lowest = np.iinfo(values.dtype).min
    steps = np.arange(lowest, lowest + 256) - zero_point
    return [table_call(site, (scale * steps).astype(np.float32))]


def cast(site: Site) -> list[HostCall]:
    """CAST."""
    types = ("int8", "int32", "float32", "bool", "int64", "uint8", "int16")
    site.types(site.input(), *types)
    site.types(site.output(), *types)
    return [site.call("CAST", site.operator.inputs)]
