"""What matters of a node for cutting it into tiles, whatever the machine: its sizes, which routines read."""

from __future__ import annotations

from functools import lru_cache
from math import gcd, prod

from dlasim.compiler_shim.calls.nodes import DlaNode
from dlasim.compiler_shim.lowering.tiles.tile_records import NodeSizes
from dlasim.isa.instruction_rows import RECORD_BYTES
from dlasim.isa.instructions import BY_MNEMONIC


@lru_cache(maxsize=1 << 14)
def node_sizes(node: DlaNode) -> NodeSizes:
    """The sizes of a node with all of its tensors in memory; found once for all placements that have it."""
    (height, width, channels), in_shape = node.out_shape, node.in_shape
    depth, multiplier = node.depth, 1 if node.is_dense else node.multiplier
    has_whole_pixels = BY_MNEMONIC[node.mnemonic].normalizes_rows  # no tile may have a part of the channels
    weight_bytes = node.weight_bytes_per_channel // depth  # of an output and an input channel
    strides = [(layout.pixel, layout.line) for layout in node.operand_layouts]
    (first_pixel, first_line), *others, (out_pixel, out_line) = strides
    second_pixel, second_line = others[0] if others else (0, 0)
    return NodeSizes(
        height=height,
        width=width,
        channels=channels,
        depth=depth,
        step=channels if has_whole_pixels else multiplier,
        multiplier=multiplier,
        is_dense=int(node.is_dense),
        taps=prod(node.kernel),
        weight_bytes=weight_bytes,
        loaded_weight_bytes=weight_bytes,
        packs_weights=int(node.packs_weights),
        code_parts=node.code_parts,
        record_bytes=RECORD_BYTES if node.records is not None else 0,
        table_bytes=node.table_bytes,
        has_matrix=int(node.matrix is not None),
        input_height=in_shape[0],
        input_width=in_shape[1],
        input_pixel_stride=first_pixel,
        input_line_stride=first_line,
        second_pixel_stride=second_pixel,
        second_line_stride=second_line,
        output_pixel_stride=out_pixel,
        output_line_stride=out_line,
        input_count=len(node.inputs),
        kernel_height=node.kernel[0],
        kernel_width=node.kernel[1],
        dilation_height=node.dilation[0],
        dilation_width=node.dilation[1],
        common_height=gcd(node.stride[0], node.dilation[0]),
        common_width=gcd(node.stride[1], node.dilation[1]),
        stride_height=node.stride[0],
        stride_width=node.stride[1],
        pad_top=node.pad[0],
        window_height=(node.kernel[0] - 1) * node.dilation[0] + 1,
        window_width=(node.kernel[1] - 1) * node.dilation[1] + 1,
        second_has_rows=node.broadcast[0],
        second_has_columns=node.broadcast[1],
        input_bytes=node.in_element_bytes,
        second_bytes=node.in_element_bytes if len(node.inputs) > 1 else 0,
        output_bytes=node.out_element_bytes,
        input_element_bytes=node.in_element_bytes,
        output_element_bytes=node.out_element_bytes,
    )
