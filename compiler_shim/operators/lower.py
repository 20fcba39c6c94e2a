"""Which rule makes host calls of which TFLite operator."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from dlasim.compiler_shim.graph import Graph, Operator
from dlasim.compiler_shim.operators import convolution, elementwise, lookup, movement, pooling, strided
from dlasim.compiler_shim.operators.bound import HostCall, Site

Rule = Callable[[Site], list[HostCall]]

_RULES: Mapping[str, Rule] = {
    **dict.fromkeys(lookup.LOOKUP_KINDS, lookup.lookup),
    "ABS": elementwise.absolute,
    "ADD": elementwise.arithmetic,
    "ARG_MAX": pooling.arg_max,
    "AVERAGE_POOL_2D": pooling.pool,
    "CAST": elementwise.cast,
    "CONCATENATION": movement.concatenation,
    "CONV_2D": convolution.convolution,
    "DEPTHWISE_CONV_2D": convolution.depthwise,
    "DEQUANTIZE": elementwise.dequantize,
    "DIV": elementwise.plain,
    "EXPAND_DIMS": strided.reshape,
    "FLOOR_DIV": elementwise.plain,
    "FULLY_CONNECTED": convolution.fully_connected,
    "GATHER": movement.gather,
    "GATHER_ND": movement.gather_nd,
    "MAXIMUM": elementwise.extremum,
    "MAX_POOL_2D": pooling.pool,
    "MEAN": pooling.mean,
    "MINIMUM": elementwise.extremum,
    "MUL": elementwise.arithmetic,
    "NEG": elementwise.negative,
    "PACK": movement.pack,
    "PAD": movement.pad,
    "PADV2": movement.pad,
    "PRELU": elementwise.prelu,
    "QUANTIZE": elementwise.quantize,
    "RESHAPE": strided.reshape,
    "RESIZE_BILINEAR": movement.resize_bilinear,
    "RESIZE_NEAREST_NEIGHBOR": movement.resize_nearest,
    "SLICE": strided.slice_,
    "SOFTMAX": pooling.softmax,
    "SPLIT": strided.split,
    "SPLIT_V": strided.split_v,
    "SQRT": elementwise.square_root,
    "SQUEEZE": strided.reshape,
    "STRIDED_SLICE": strided.strided_slice,
    "SUB": elementwise.arithmetic,
    "SVDF": convolution.svdf,
    "TILE": strided.tile,
    "TRANSPOSE": strided.transpose,
    "TRANSPOSE_CONV": convolution.transpose_convolution,
    "UNPACK": strided.unpack,
}
HOST_KINDS = frozenset(_RULES)


def lower_host(operator: Operator, graph: Graph) -> list[HostCall]:
    """The host calls that compute the operator, in order; an InputError where there are none that can."""
    site = Site(operator, graph)
    rule = _RULES.get(operator.kind)
    if rule is None:
        site.refuse("the operator is not supported")
    return rule(site)
