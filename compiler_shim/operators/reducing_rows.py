"""Rows of operators that sum, compare or order many elements: products, windows, reductions."""

from __future__ import annotations

from dlasim.compiler_shim.operators import (
    convolution,
    detection,
    elementwise,
    lstm,
    matmul,
    pooling,
    reduction,
)
from dlasim.compiler_shim.operators.definition import Trait, alike, row
from dlasim.compiler_shim.operators.fields import ACTIVATION, SchemaField, enum_field, flag, positive

_PADDING = enum_field("padding", "Padding")
_STRIDES = (positive("stride_w"), positive("stride_h"))
_DILATIONS = (positive("dilation_w_factor", 1), positive("dilation_h_factor", 1))
_BIAS_TYPE = enum_field("quantized_bias_type", "TensorType")
_HYBRID = flag("asymmetric_quantize_inputs")
_POOL = (_PADDING, *_STRIDES, positive("filter_width"), positive("filter_height"), ACTIVATION)
OWN_NORMALIZATION = "NORMALIZATION"  # dlasim's own, of rows, with factors and offsets: those of ONNX
_KEEP = flag("keep_dims")

ROWS = (
    row("ARG_MAX", "* i -> i", pooling.arg_max_shape, pooling.arg_max,
        "ARG_MAX CAST", "OP_POOL OP_E_SUB OP_C_MIN OP_DEPTH_CONV OP_E32_ADD OP_MAT_MUL",
        enum_field("output_type", "TensorType"), version=2, traits=Trait.STEPWISE),
    row("AVERAGE_POOL_2D", "a -> a", pooling.pool_shape, pooling.pool,
        "AVERAGE_POOL_2D POOL_16", "OP_POOL", *_POOL, table="Pool2DOptions", version=2),
    row("BATCH_MATMUL", "a a -> a", matmul.batch_matmul_shape, matmul.batch_matmul,
        "BATCH_MATMUL BATCH_MATMUL_16", "OP_MAT_MUL", flag("adj_x"), flag("adj_y"), _HYBRID,
        table="BatchMatMulOptions", version=2, macs=matmul.batch_matmul_macs,
        name_words=("MatMul", "einsum")),
    row("CONV_2D", "a q b? -> a", convolution.convolution_shape, convolution.convolution,
        "CONV_2D CONV_2D_16", "OP_CONV OP_CONV_RELU OP_DEPTH_CONV",
        _PADDING, *_STRIDES, ACTIVATION, *_DILATIONS, _BIAS_TYPE, table="Conv2DOptions", version=3,
        traits=Trait.CONVOLVES, macs=convolution.dense_macs,
        name_words=("BiasAdd", "Conv2D", "convolution")),
    row("CUMSUM", "x i -> x", elementwise.same_shape, reduction.cumulative_sum,
        "CUMULATIVE_SUM", "", flag("exclusive"), flag("reverse")),
    row("DEPTHWISE_CONV_2D", "a q b? -> a", convolution.depthwise_shape, convolution.depthwise,
        "DEPTHWISE_CONV_2D CONV_2D_16", "OP_DEPTH_CONV OP_CONV",
        _PADDING, *_STRIDES, positive("depth_multiplier"), ACTIVATION, *_DILATIONS,
        table="DepthwiseConv2DOptions", version=3, traits=Trait.CONVOLVES, macs=convolution.depthwise_macs,
        name_words=("BiasAdd", "depthwise"),
        dla_note="OP_CONV, one channel at a time, with `--depthwise emulated`"),
    row("DETECTION_POSTPROCESS", "* * * -> * * * *", detection.detection_shape, detection.detection,
        "LUT DECODE_BOXES SUPPRESS_BOXES", "", SchemaField("max_detections"),
        SchemaField("max_classes_per_detection"), SchemaField("detections_per_class", default=100),
        flag("use_regular_nms"), SchemaField("nms_score_threshold", "float32", 0.0),
        SchemaField("nms_iou_threshold", "float32", 0.0), SchemaField("num_classes"),
        *(SchemaField(f"{side}_scale", "float32", 0.0) for side in "yxhw"),
        table="DetectionPostProcess", flexible=True),
    row("FULLY_CONNECTED", "a q b? -> a", convolution.fully_connected_shape, convolution.fully_connected,
        "FULLY_CONNECTED FULLY_CONNECTED_16 MATRIX_SUMS REQUANT", "OP_MAT_MUL", ACTIVATION,
        enum_field("weights_format", "FullyConnectedOptionsWeightsFormat"), flag("keep_num_dims"), _HYBRID,
        _BIAS_TYPE, version=4, traits=Trait.STEPWISE, macs=convolution.dense_macs,
        name_words=("BiasAdd", "MatMul")),
    row("L2_NORMALIZATION", "q -> q", elementwise.same_shape, reduction.l2_normalization,
        "L2_NORMALIZATION", "", ACTIVATION, table="L2NormOptions", version=2),
    row(OWN_NORMALIZATION, "q x x -> q", elementwise.same_shape, reduction.normalization,
        "NORMALIZE", "", SchemaField("epsilon", "float32", 0.0), flag("is_centred", True),
        positive("repeat", 1), table="Normalization", flexible=True),
    row("MAX_POOL_2D", "a -> a", pooling.pool_shape, pooling.pool,
        "MAX_POOL_2D POOL_16", "OP_POOL", *_POOL, table="Pool2DOptions", version=2),
    row("MEAN", "a i -> a", pooling.mean_shape, pooling.mean,
        "MEAN MEAN_16", "OP_POOL OP_MAT_MUL", _KEEP, table="ReducerOptions", version=2),
    row("REDUCE_MAX", "x i -> x", pooling.mean_shape, reduction.reduction,
        "REDUCE", "OP_POOL", _KEEP, table="ReducerOptions", version=2),
    row("REDUCE_MIN", "x i -> x", pooling.mean_shape, reduction.reduction,
        "REDUCE", "OP_POOL OP_ACT_LUT", _KEEP, table="ReducerOptions", version=2),
    row("REDUCE_PROD", "x i -> x", pooling.mean_shape, reduction.reduction,
        "REDUCE PRODUCT", "", _KEEP, table="ReducerOptions", version=2),
    row("SOFTMAX", "r -> r", elementwise.same_shape, pooling.softmax,
        "SOFTMAX SOFTMAX_16 SOFTMAX_FLOAT", "OP_SOFTMAX OP_E16_SOFTMAX",
        SchemaField("beta", "float32", 0.0, usual=1.0), version=2),
    row("SUM", "x i -> x", pooling.mean_shape, reduction.sum_,
        "MEAN MEAN_16 REDUCE", "OP_POOL OP_MAT_MUL", _KEEP, table="ReducerOptions", version=2),
    row("SVDF", "q q s b? s -> q", convolution.svdf_shape, convolution.svdf,
        "SVDF", "OP_MAT_MUL OP_ACT_LUT OP_DEPTH_CONV OP_E16_ADD OP_E16_MUL OP_E32_SHIFT OP_E32_ADD OP_POOL "
        "OP_REQUANT", SchemaField("rank"), ACTIVATION, _HYBRID, table="SVDFOptions", version=3, states=(4,)),
    row("TOPK_V2", "x i -> x i", reduction.top_k_shape, reduction.top_k,
        "TOP_K", table="TopKV2Options", version=2),
    row("TRANSPOSE_CONV", "i q a b? -> a", convolution.transpose_convolution_shape,
        convolution.transpose_convolution, "TRANSPOSE_CONV TRANSPOSE_CONV_16", "OP_CONV OP_CONV_RELU",
        _PADDING, *_STRIDES, ACTIVATION, _BIAS_TYPE, version=3, macs=convolution.transpose_macs,
        name_words=("BiasAdd", "conv2d_transpose", "conv_transpose")),
    row("UNIDIRECTIONAL_SEQUENCE_LSTM", "q q q q q q q q q *? *? *? b b b b *? *? q h *? *? *? *? -> q",
        lstm.lstm_shape, lstm.lstm,
        "MATRIX_SUMS RESCALE LSTM_CELL STRIDED_COPY CONCATENATION",
        "OP_MAT_MUL OP_POOL OP_E16_ADD OP_E16_MUL OP_E16_SIGMOID OP_E32_SHIFT OP_REQUANT",
        ACTIVATION, SchemaField("cell_clip", "float32", 0.0), SchemaField("proj_clip", "float32", 0.0),
        flag("time_major"), _HYBRID, flag("diagonal_recurrent_tensors"),
        table="UnidirectionalSequenceLSTMOptions",
        traits=Trait.STEPWISE, macs=lstm.lstm_macs, states=lstm.STATES),
    row("WHERE", "* -> *", reduction.where_shape, None, ""),
    *alike("REDUCE_ALL REDUCE_ANY", "c i -> c", pooling.mean_shape, reduction.reduction,
        "REDUCE", "", _KEEP, table="ReducerOptions"),
)  # fmt: skip
