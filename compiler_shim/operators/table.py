"""The table of TFLite operators: all that dlasim knows of one stands in its row.

The two functions that a row names are side by side in the module of its family: the shapes of its outputs,
and its calls of host operators. `isa/host_ops.py` says what these compute, `dla_forms.py` which of them the
DLA runs. Loading the table checks that a row names nothing that does not exist.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from dlasim.compiler_shim.dla_forms import DLA_FORMS
from dlasim.compiler_shim.operators import (
    convolution,
    elementwise,
    lookup,
    matmul,
    movement,
    pooling,
    strided,
)
from dlasim.compiler_shim.operators.definition import CLASSES, OperatorDefinition, Options, Trait
from dlasim.compiler_shim.operators.fields import SchemaField, enum_field, flag, positive
from dlasim.isa import host_ops

FOLDS, VIEW, REARRANGES = Trait.FOLDS, Trait.VIEW, Trait.REARRANGES
CONVERTS, CONVOLVES, HAS_16_BITS = Trait.CONVERTS, Trait.CONVOLVES, Trait.HAS_16_BITS

_ACTIVATION = enum_field("fused_activation_function", "ActivationFunctionType")
_PADDING = enum_field("padding", "Padding")
_STRIDES = (positive("stride_w"), positive("stride_h"))
_DILATIONS = (positive("dilation_w_factor", 1), positive("dilation_h_factor", 1))
_BIAS_TYPE = enum_field("quantized_bias_type", "TensorType")
_HYBRID = flag("asymmetric_quantize_inputs")
_POOL_OPTIONS = Options(
    "Pool2DOptions", (_PADDING, *_STRIDES, positive("filter_width"), positive("filter_height"), _ACTIVATION)
)
_COPIES = ("OP_POOL",)
_EXTREMUM_OPTIONS = Options("MaximumMinimumOptions")

ROWS = (
    OperatorDefinition(
        "ABS",
        "x -> x",
        elementwise.same_shape,
        elementwise.absolute,
        ("LUT", "UNARY"),
        dla=("OP_ACT_LUT",),
        options=Options("AbsOptions"),
        version=2,
        traits=FOLDS,
    ),
    OperatorDefinition(
        "ADD",
        "x x -> x",
        elementwise.broadcast_shape,
        elementwise.arithmetic,
        ("LUT", "ADD", "BINARY"),
        dla=("OP_ACT_LUT", "OP_E_ADD", "OP_MAT_MUL"),
        options=Options("AddOptions", (_ACTIVATION, flag("pot_scale_int16", True))),
        version=2,
        traits=FOLDS,
        name_words=("add",),
    ),
    OperatorDefinition(
        "ARG_MAX",
        "* i -> i",
        pooling.arg_max_shape,
        pooling.arg_max,
        ("ARG_MAX",),
        options=Options("ArgMaxOptions", (enum_field("output_type", "TensorType"),)),
        version=2,
    ),
    OperatorDefinition(
        "AVERAGE_POOL_2D",
        "q -> q",
        pooling.pool_shape,
        pooling.pool,
        ("AVERAGE_POOL_2D",),
        dla=("OP_POOL",),
        options=_POOL_OPTIONS,
        version=2,
    ),
    OperatorDefinition(
        "BATCH_MATMUL",
        "q q -> q",
        matmul.batch_matmul_shape,
        matmul.batch_matmul,
        ("BATCH_MATMUL",),
        dla=("OP_MAT_MUL",),
        options=Options(
            "BatchMatMulOptions", (flag("adj_x"), flag("adj_y"), flag("asymmetric_quantize_inputs"))
        ),
        version=2,
        macs=matmul.batch_matmul_macs,
        name_words=("MatMul", "einsum"),
    ),
    OperatorDefinition(
        "CAST",
        "* -> *",
        elementwise.same_shape,
        elementwise.cast,
        ("CAST",),
        options=Options(
            "CastOptions",
            (enum_field("in_data_type", "TensorType"), enum_field("out_data_type", "TensorType")),
        ),
        traits=FOLDS | CONVERTS,
    ),
    OperatorDefinition(
        "CONCATENATION",
        "x+ -> x",
        movement.concatenation_shape,
        movement.concatenation,
        ("CONCATENATION",),
        dla=_COPIES,
        options=Options("ConcatenationOptions", (SchemaField("axis"), _ACTIVATION)),
        version=2,
        traits=FOLDS,
    ),
    OperatorDefinition(
        "CONV_2D",
        "q q b? -> q",
        convolution.convolution_shape,
        convolution.convolution,
        ("CONV_2D",),
        dla=("OP_CONV", "OP_CONV_RELU"),
        options=Options("Conv2DOptions", (_PADDING, *_STRIDES, _ACTIVATION, *_DILATIONS, _BIAS_TYPE)),
        version=3,
        traits=CONVOLVES,
        macs=convolution.dense_macs,
        name_words=("BiasAdd", "Conv2D", "convolution"),
    ),
    OperatorDefinition(
        "DEPTHWISE_CONV_2D",
        "q q b? -> q",
        convolution.depthwise_shape,
        convolution.depthwise,
        ("DEPTHWISE_CONV_2D",),
        dla=("OP_DEPTH_CONV",),
        options=Options(
            "DepthwiseConv2DOptions",
            (_PADDING, *_STRIDES, positive("depth_multiplier"), _ACTIVATION, *_DILATIONS),
        ),
        version=3,
        traits=CONVOLVES,
        macs=convolution.depthwise_macs,
        name_words=("BiasAdd", "depthwise"),
        dla_note="OP_CONV, one channel at a time, with `--depthwise emulated`",
    ),
    OperatorDefinition(
        "DEQUANTIZE",
        "* -> *",
        elementwise.same_shape,
        elementwise.dequantize,
        ("LUT", "DEQUANTIZE"),
        options=Options("DequantizeOptions"),
        version=2,
        traits=FOLDS | CONVERTS,
    ),
    OperatorDefinition(
        "DIV",
        "x x -> x",
        elementwise.broadcast_shape,
        elementwise.plain,
        ("BINARY",),
        options=Options("DivOptions", (_ACTIVATION,)),
        traits=FOLDS,
    ),
    OperatorDefinition(
        "EXPAND_DIMS",
        "x i -> x",
        strided.expand_dims_shape,
        strided.reshape,
        ("STRIDED_COPY",),
        dla=_COPIES,
        options=Options("ExpandDimsOptions"),
        traits=FOLDS | VIEW | REARRANGES,
    ),
    OperatorDefinition(
        "FLOOR_DIV",
        "x x -> x",
        elementwise.broadcast_shape,
        elementwise.plain,
        ("BINARY",),
        options=Options("FloorDivOptions"),
        traits=FOLDS,
    ),
    OperatorDefinition(
        "FULLY_CONNECTED",
        "q q b? -> q",
        convolution.fully_connected_shape,
        convolution.fully_connected,
        ("FULLY_CONNECTED",),
        dla=("OP_MAT_MUL",),
        options=Options(
            "FullyConnectedOptions",
            (
                _ACTIVATION,
                enum_field("weights_format", "FullyConnectedOptionsWeightsFormat"),
                flag("keep_num_dims"),
                _HYBRID,
                _BIAS_TYPE,
            ),
        ),
        version=4,
        macs=convolution.dense_macs,
        name_words=("BiasAdd", "MatMul"),
    ),
    OperatorDefinition(
        "GATHER",
        "x i -> x",
        movement.gather_shape,
        movement.gather,
        ("GATHER",),
        options=Options("GatherOptions", (SchemaField("axis"), SchemaField("batch_dims"))),
        version=2,
        traits=FOLDS,
    ),
    OperatorDefinition(
        "GATHER_ND",
        "x i -> x",
        movement.gather_nd_shape,
        movement.gather_nd,
        ("GATHER_ND",),
        options=Options("GatherNdOptions"),
        version=2,
    ),
    OperatorDefinition(
        "GELU",
        "q -> q",
        elementwise.same_shape,
        lookup.gelu,
        ("LUT",),
        dla=("OP_ACT_LUT",),
        options=Options("GeluOptions", (flag("approximate"),)),
        version=2,
    ),
    OperatorDefinition(
        "HARD_SWISH",
        "q -> q",
        elementwise.same_shape,
        lookup.hard_swish,
        ("LUT",),
        dla=("OP_ACT_LUT",),
        options=Options("HardSwishOptions"),
    ),
    OperatorDefinition(
        "LEAKY_RELU",
        "q -> q",
        elementwise.same_shape,
        lookup.leaky_relu,
        ("LUT",),
        dla=("OP_ACT_LUT",),
        options=Options("LeakyReluOptions", (SchemaField("alpha", "float32", 0.0),)),
        version=2,
    ),
    OperatorDefinition(
        "LOGISTIC",
        "q -> q",
        elementwise.same_shape,
        lookup.logistic,
        ("LUT",),
        dla=("OP_ACT_LUT",),
        version=2,
    ),
    OperatorDefinition(
        "MAXIMUM",
        "x x -> x",
        elementwise.broadcast_shape,
        elementwise.extremum,
        ("BINARY",),
        dla=("OP_C_MAX", "OP_MAT_MUL"),
        options=_EXTREMUM_OPTIONS,
        version=2,
        traits=FOLDS,
    ),
    OperatorDefinition(
        "MAX_POOL_2D",
        "q -> q",
        pooling.pool_shape,
        pooling.pool,
        ("MAX_POOL_2D",),
        dla=("OP_POOL",),
        options=_POOL_OPTIONS,
        version=2,
    ),
    OperatorDefinition(
        "MEAN",
        "q i -> q",
        pooling.mean_shape,
        pooling.mean,
        ("MEAN",),
        dla=("OP_POOL", "OP_MAT_MUL"),
        options=Options("ReducerOptions", (flag("keep_dims"),)),
        version=2,
    ),
    OperatorDefinition(
        "MINIMUM",
        "x x -> x",
        elementwise.broadcast_shape,
        elementwise.extremum,
        ("BINARY",),
        dla=("OP_C_MIN", "OP_MAT_MUL"),
        options=_EXTREMUM_OPTIONS,
        version=2,
        traits=FOLDS,
    ),
    OperatorDefinition(
        "MUL",
        "x x -> x",
        elementwise.broadcast_shape,
        elementwise.arithmetic,
        ("LUT", "MUL", "BINARY"),
        dla=("OP_ACT_LUT", "OP_E_MUL", "OP_MAT_MUL"),
        options=Options("MulOptions", (_ACTIVATION,)),
        version=2,
        traits=FOLDS,
        name_words=("mul",),
    ),
    OperatorDefinition(
        "NEG",
        "x -> x",
        elementwise.same_shape,
        elementwise.negative,
        ("UNARY",),
        options=Options("NegOptions"),
    ),
    OperatorDefinition(
        "PACK",
        "x+ -> x",
        movement.pack_shape,
        movement.pack,
        ("CONCATENATION",),
        dla=_COPIES,
        options=Options("PackOptions", (positive("values_count"), SchemaField("axis"))),
        version=2,
        traits=FOLDS,
    ),
    OperatorDefinition(
        "PAD",
        "x i -> x",
        movement.pad_shape,
        movement.pad,
        ("PAD",),
        dla=_COPIES,
        options=Options("PadOptions"),
        version=2,
        traits=FOLDS,
    ),
    OperatorDefinition(
        "PADV2",
        "x i x -> x",
        movement.pad_shape,
        movement.pad,
        ("PAD",),
        dla=_COPIES,
        options=Options("PadV2Options"),
        version=2,
    ),
    OperatorDefinition(
        "PRELU",
        "q q -> q",
        elementwise.prelu_shape,
        elementwise.prelu,
        ("PRELU",),
    ),
    OperatorDefinition(
        "QUANTIZE",
        "* -> *",
        elementwise.same_shape,
        elementwise.quantize,
        ("LUT", "QUANTIZE"),
        dla=("OP_ACT_LUT",),
        options=Options("QuantizeOptions"),
        traits=FOLDS | CONVERTS,
    ),
    OperatorDefinition(
        "RELU",
        "q -> q",
        elementwise.same_shape,
        lookup.relu,
        ("LUT",),
        dla=("OP_ACT_LUT",),
        version=2,
    ),
    OperatorDefinition(
        "RELU6",
        "q -> q",
        elementwise.same_shape,
        lookup.relu6,
        ("LUT",),
        dla=("OP_ACT_LUT",),
        version=2,
    ),
    OperatorDefinition(
        "RELU_N1_TO_1",
        "q -> q",
        elementwise.same_shape,
        lookup.relu_n1_to_1,
        ("LUT",),
        dla=("OP_ACT_LUT",),
    ),
    OperatorDefinition(
        "RESHAPE",
        "x i? -> x",
        strided.reshape_shape,
        strided.reshape,
        ("STRIDED_COPY",),
        dla=_COPIES,
        options=Options("ReshapeOptions", (SchemaField("new_shape", "[int32]"),)),
        traits=FOLDS | VIEW | REARRANGES,
    ),
    OperatorDefinition(
        "RESIZE_BILINEAR",
        "q i -> q",
        movement.resize_shape,
        movement.resize_bilinear,
        ("RESIZE_BILINEAR",),
        options=Options(
            "ResizeBilinearOptions", (None, None, flag("align_corners"), flag("half_pixel_centers"))
        ),
        version=2,
    ),
    OperatorDefinition(
        "RESIZE_NEAREST_NEIGHBOR",
        "x i -> x",
        movement.resize_shape,
        movement.resize_nearest,
        ("RESIZE_NEAREST",),
        dla=_COPIES,
        options=Options("ResizeNearestNeighborOptions", (flag("align_corners"), flag("half_pixel_centers"))),
        version=2,
    ),
    OperatorDefinition(
        "RSQRT",
        "q -> q",
        elementwise.same_shape,
        lookup.inverse_square_root,
        ("LUT",),
        dla=("OP_ACT_LUT",),
        version=2,
    ),
    OperatorDefinition(
        "SHAPE",
        "* -> i",
        movement.shape_shape,
        None,
        (),
        options=Options("ShapeOptions", (enum_field("out_type", "TensorType"),)),
        traits=REARRANGES,
    ),
    OperatorDefinition(
        "SLICE",
        "x i i -> x",
        strided.slice_shape,
        strided.slice_,
        ("STRIDED_COPY",),
        dla=_COPIES,
        options=Options("SliceOptions"),
        version=2,
        traits=FOLDS,
    ),
    OperatorDefinition(
        "SOFTMAX",
        "q -> q",
        elementwise.same_shape,
        pooling.softmax,
        ("SOFTMAX",),
        options=Options("SoftmaxOptions", (SchemaField("beta", "float32", 0.0, usual=1.0),)),
        version=2,
    ),
    OperatorDefinition(
        "SPLIT",
        "i x -> x+",
        strided.split_shape,
        strided.split,
        ("STRIDED_COPY",),
        dla=_COPIES,
        options=Options("SplitOptions", (positive("num_splits"),)),
        version=2,
        traits=FOLDS,
    ),
    OperatorDefinition(
        "SPLIT_V",
        "x i i -> x+",
        strided.split_v_shape,
        strided.split_v,
        ("STRIDED_COPY",),
        dla=_COPIES,
        options=Options("SplitVOptions", (positive("num_splits"),)),
        version=2,
        traits=FOLDS,
    ),
    OperatorDefinition(
        "SQRT",
        "x -> x",
        elementwise.same_shape,
        elementwise.square_root,
        ("LUT", "UNARY"),
        dla=("OP_ACT_LUT",),
    ),
    OperatorDefinition(
        "SQUARED_DIFFERENCE",
        "q q -> q",
        elementwise.broadcast_shape,
        elementwise.squared_difference,
        ("SQUARED_DIFFERENCE",),
        options=Options("SquaredDifferenceOptions"),
        version=2,
    ),
    OperatorDefinition(
        "SQUEEZE",
        "x -> x",
        strided.squeeze_shape,
        strided.reshape,
        ("STRIDED_COPY",),
        dla=_COPIES,
        options=Options("SqueezeOptions", (SchemaField("squeeze_dims", "[int32]"),)),
        traits=FOLDS | VIEW | REARRANGES,
    ),
    OperatorDefinition(
        "STRIDED_SLICE",
        "x i i i -> x",
        strided.strided_slice_shape,
        strided.strided_slice,
        ("STRIDED_COPY",),
        dla=_COPIES,
        options=Options(
            "StridedSliceOptions",
            (
                SchemaField("begin_mask"),
                SchemaField("end_mask"),
                SchemaField("ellipsis_mask"),
                SchemaField("new_axis_mask"),
                SchemaField("shrink_axis_mask"),
                flag("offset"),
            ),
        ),
        version=2,
        traits=FOLDS,
    ),
    OperatorDefinition(
        "SUB",
        "x x -> x",
        elementwise.broadcast_shape,
        elementwise.arithmetic,
        ("LUT", "SUB", "BINARY"),
        dla=("OP_ACT_LUT", "OP_E_SUB", "OP_MAT_MUL"),
        options=Options("SubOptions", (_ACTIVATION, flag("pot_scale_int16", True))),
        version=2,
        traits=FOLDS,
        name_words=("sub",),
    ),
    OperatorDefinition(
        "SVDF",
        "q q * b? * -> q",
        convolution.svdf_shape,
        convolution.svdf,
        ("SVDF",),
        options=Options("SVDFOptions", (SchemaField("rank"), _ACTIVATION, _HYBRID)),
        version=3,
        traits=HAS_16_BITS,
    ),
    OperatorDefinition(
        "TANH",
        "q -> q",
        elementwise.same_shape,
        lookup.tanh,
        ("LUT",),
        dla=("OP_ACT_LUT",),
        version=2,
    ),
    OperatorDefinition(
        "TILE",
        "x i -> x",
        strided.tile_shape,
        strided.tile,
        ("STRIDED_COPY",),
        dla=_COPIES,
        options=Options("TileOptions"),
    ),
    OperatorDefinition(
        "TRANSPOSE",
        "x i -> x",
        strided.transpose_shape,
        strided.transpose,
        ("STRIDED_COPY",),
        dla=_COPIES,
        options=Options("TransposeOptions"),
        version=2,
        traits=FOLDS | REARRANGES,
    ),
    OperatorDefinition(
        "TRANSPOSE_CONV",
        "i q q b? -> q",
        convolution.transpose_convolution_shape,
        convolution.transpose_convolution,
        ("TRANSPOSE_CONV",),
        dla=("OP_CONV", "OP_CONV_RELU"),
        options=Options("TransposeConvOptions", (_PADDING, *_STRIDES, _ACTIVATION, _BIAS_TYPE)),
        version=3,
        macs=convolution.transpose_macs,
        name_words=("BiasAdd", "conv2d_transpose", "conv_transpose"),
    ),
    OperatorDefinition(
        "UNPACK",
        "x -> x+",
        strided.unpack_shape,
        strided.unpack,
        ("STRIDED_COPY",),
        dla=_COPIES,
        options=Options("UnpackOptions", (SchemaField("num"), SchemaField("axis"))),
        version=2,
        traits=FOLDS,
    ),
)


def by_name(rows: Sequence[OperatorDefinition]) -> Mapping[str, OperatorDefinition]:
    """The rows by name, once each is known to agree with itself and with the tables that it refers to."""
    named = {row.name: row for row in rows}
    assert len(named) == len(rows), "two operators share a name"
    tables = {row.options.table: row.options for row in rows}
    for row in rows:
        assert row.options == tables[row.options.table], f"{row.options.table} has two descriptions"
        _check_forms(row)
        classes = set(re.sub(r"[ ?+>*-]", "", row.operands))
        assert classes <= CLASSES.keys(), f"{row.name}: {classes} are not all classes of operands"
    return named


def _check_forms(row: OperatorDefinition) -> None:
    """A row names host operators if and only if it can be lowered, and instructions that these can become."""
    assert bool(row.host) == (row.lower is not None), f"{row.name}: host operators, or no lowering"
    unknown = set(row.host) - host_ops.BY_NAME.keys()
    assert not unknown, f"{row.name}: no host operator is called {unknown}"
    possible = {name for host in row.host if host in DLA_FORMS for name in DLA_FORMS[host].mnemonics}
    assert set(row.dla) <= possible, f"{row.name}: its host operators do not become {row.dla}"


OPERATORS = by_name(ROWS)


def has_trait(kind: str, traits: Trait) -> bool:
    """Whether an operator is known, and has one of these traits at least."""
    return kind in OPERATORS and bool(OPERATORS[kind].traits & traits)
