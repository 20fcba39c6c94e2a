"""MEAN, SUM and REDUCE as pools: the reduced dimensions are a window of an image.

Dimensions that are not adjacent are brought together by copies first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import prod
from types import SimpleNamespace

import numpy as np

from dlasim.compiler_shim.calls.copies import copy_into
from dlasim.compiler_shim.calls.nodes import DlaNode, Pair, Shape, Value
from dlasim.compiler_shim.calls.views import View, dense
from dlasim.compiler_shim.forms.products import INT8_RANGE, mean_by_product
from dlasim.compiler_shim.forms.rules import Candidate, as_image, reduced_extents
from dlasim.compiler_shim.forms.translate import flat_image
from dlasim.isa.host_op_rows import ReduceFunction
from dlasim.isa.instruction_rows import PoolMode


def mean(candidate: Candidate) -> list[DlaNode] | None:
    """MEAN over any dimensions."""
    together = _brought_together(candidate)
    if together is None:
        return None
    candidate, nodes = together
    at, (outer, reduced, channels) = candidate.attributes, reduced_extents(candidate)
    if channels == 1 < reduced and candidate.inputs[0].dtype == "int8":
        return [*nodes, mean_by_product(candidate, outer, reduced)]
    registers = {
        "IN_ZP": at.input_zero_point, "OUT_ZP": at.output_zero_point, "OUT_MULT": at.output_multiplier,
        "OUT_SHIFT": at.output_shift, **INT8_RANGE,
    }  # fmt: skip
    return [*nodes, _pool(candidate, PoolMode.MEAN, registers)]


def extremum_of_many(candidate: Candidate) -> list[DlaNode] | None:
    """REDUCE that is MAX; MIN is the same between two tables that turn the order round."""
    together = _brought_together(candidate)
    if together is None:
        return None
    candidate, nodes = together
    if candidate.attributes.function == ReduceFunction.MAX:
        return [*nodes, _pool(candidate, PoolMode.MAX, INT8_RANGE)]
    table = Value("complement", (256,), "int8", data=np.arange(127, -129, -1).astype(np.int8))
    number = candidate.add(table)
    source, result = candidate.inputs[0], candidate.outputs[0]
    turned = replace(source, name=f"{result.name}/complement", data=None, alias=None, view=None)
    greatest = replace(result, name=f"{result.name}/greatest", data=None, alias=None, view=None)
    inner = replace(
        candidate,
        inputs=(turned,),
        input_numbers=(candidate.add(turned),),
        output_number=candidate.add(greatest),
    )
    first, last = flat_image(source.shape), flat_image(result.shape)
    return [
        *nodes,
        DlaNode(
            "OP_ACT_LUT", candidate.layer, candidate.input_numbers[:1], inner.input_numbers[0], first, first,
            table=number,
        ),
        _pool(inner, PoolMode.MAX, INT8_RANGE),
        DlaNode(
            "OP_ACT_LUT", candidate.layer, (inner.output_number,), candidate.output_number, last, last,
            table=number,
        ),
    ]  # fmt: skip


def _pool(candidate: Candidate, mode: PoolMode, registers: Mapping[str, int]) -> DlaNode:
    outer, reduced, channels = reduced_extents(candidate)
    shape: Shape = (outer, reduced, channels)
    kernel: Pair = (1, reduced)
    whole, mask = candidate.inputs[0].shape, candidate.attributes.axis_mask
    if outer == 1 and reduced > 1 and mask == 0b0110 and len(whole) == 4:
        shape = as_image(whole)
        kernel = shape[:2]
    return DlaNode(
        "OP_POOL", candidate.layer, candidate.input_numbers[:1], candidate.output_number,
        shape, (outer, 1, channels), kernel=kernel, fields={"mode": mode}, registers=registers,
    )  # fmt: skip


def _brought_together(candidate: Candidate) -> tuple[Candidate, list[DlaNode]] | None:
    """The call with its reduced dimensions side by side, and the copies for that; None where too many."""
    source, mask = candidate.inputs[0], candidate.attributes.axis_mask
    axes = [axis for axis, size in enumerate(source.shape) if mask >> axis & 1 and size > 1]
    if not axes or prod(source.shape[axes[0] : axes[-1] + 1]) == prod(source.shape[axis] for axis in axes):
        return candidate, []
    before = [axis for axis in range(axes[-1]) if axis not in axes]
    order = [*before, *axes, *range(axes[-1] + 1, len(source.shape))]
    shape = tuple(source.shape[axis] for axis in order)
    together = replace(
        source, name=f"{candidate.outputs[0].name}/together", shape=shape, data=None, alias=None, view=None
    )
    number = candidate.add(together)
    strides = dense(source.shape).stride
    view = View(0, shape, tuple(strides[axis] for axis in order))
    target = replace(candidate, outputs=(together,), output_number=number)
    nodes = copy_into(target, 0, view, dense(shape))
    attributes = dict(vars(candidate.attributes))
    attributes["axis_mask"] = ((1 << len(axes)) - 1) << len(before)
    inner = replace(
        candidate, attributes=SimpleNamespace(**attributes), inputs=(together,), input_numbers=(number,)
    )
    return None if nodes is None else (inner, nodes)
