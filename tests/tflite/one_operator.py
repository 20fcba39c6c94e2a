"""Random networks of one operator each, with every operator that the writer knows."""

from collections.abc import Callable

from dlasim.compiler_shim.network.graph import Graph
from tests.tflite.builders import elementwise, movement, reduction, weighted
from tests.tflite.maker import Maker

BUILDERS: dict[str, Callable[[Maker], Graph]] = {
    "ABS": elementwise.unary("ABS"),
    "ADD": elementwise.binary("ADD", Maker.activation),
    "ARG_MAX": reduction.arg_max,
    "AVERAGE_POOL_2D": weighted.pool("AVERAGE_POOL_2D"),
    "BATCH_MATMUL": weighted.batch_matmul,
    "BATCH_TO_SPACE_ND": movement.batch_to_space,
    "BROADCAST_TO": movement.broadcast_to,
    "CAST": elementwise.cast,
    "CEIL": elementwise.float_unary("CEIL"),
    "CONCATENATION": movement.concatenation,
    "CONV_2D": weighted.conv_2d,
    "CUMSUM": reduction.cumsum,
    "DEPTHWISE_CONV_2D": weighted.depthwise_conv_2d,
    "DEPTH_TO_SPACE": movement.depth_to_space,
    "DEQUANTIZE": elementwise.dequantize,
    "DIV": elementwise.division("DIV"),
    "DYNAMIC_UPDATE_SLICE": movement.dynamic_update_slice,
    "ELU": elementwise.unary("ELU"),
    "EMBEDDING_LOOKUP": movement.embedding_lookup,
    "EQUAL": elementwise.comparison("EQUAL"),
    "EXP": elementwise.unary("EXP"),
    "EXPAND_DIMS": movement.expand_dims,
    "FLOOR": elementwise.float_unary("FLOOR"),
    "FLOOR_DIV": elementwise.division("FLOOR_DIV"),
    "FLOOR_MOD": elementwise.plain_pair("FLOOR_MOD"),
    "FULLY_CONNECTED": weighted.fully_connected,
    "GATHER": movement.gather,
    "GATHER_ND": movement.gather_nd,
    "GELU": elementwise.gelu,
    "GREATER": elementwise.comparison("GREATER"),
    "GREATER_EQUAL": elementwise.comparison("GREATER_EQUAL"),
    "HARD_SWISH": elementwise.unary("HARD_SWISH"),
    "L2_NORMALIZATION": elementwise.l2_normalization,
    "LEAKY_RELU": elementwise.leaky_relu,
    "LESS": elementwise.comparison("LESS"),
    "LESS_EQUAL": elementwise.comparison("LESS_EQUAL"),
    "LOG": elementwise.unary("LOG"),
    "LOGICAL_AND": elementwise.logical("LOGICAL_AND"),
    "LOGICAL_NOT": elementwise.logical("LOGICAL_NOT"),
    "LOGICAL_OR": elementwise.logical("LOGICAL_OR"),
    "LOGISTIC": elementwise.unary("LOGISTIC", elementwise.SOFTMAX_OUTPUT),
    "MAXIMUM": elementwise.binary("MAXIMUM", lambda make: {}, same_scale=True),
    "MAX_POOL_2D": weighted.pool("MAX_POOL_2D"),
    "MEAN": reduction.mean,
    "MINIMUM": elementwise.binary("MINIMUM", lambda make: {}, same_scale=True),
    "MIRROR_PAD": movement.mirror_pad,
    "MUL": elementwise.binary("MUL", Maker.activation),
    "NEG": elementwise.neg,
    "NOT_EQUAL": elementwise.comparison("NOT_EQUAL"),
    "ONE_HOT": elementwise.one_hot,
    "PACK": movement.pack,
    "PAD": movement.pad,
    "PADV2": movement.padv2,
    "POW": elementwise.power,
    "PRELU": elementwise.prelu,
    "QUANTIZE": elementwise.unary("QUANTIZE"),
    "REDUCE_ALL": reduction.reduction("REDUCE_ALL", "bool"),
    "REDUCE_ANY": reduction.reduction("REDUCE_ANY", "bool"),
    "REDUCE_MAX": reduction.reduction("REDUCE_MAX"),
    "REDUCE_MIN": reduction.reduction("REDUCE_MIN"),
    "REDUCE_PROD": reduction.reduction("REDUCE_PROD", "int32"),
    "RELU": elementwise.unary("RELU"),
    "RELU6": elementwise.relu6,
    "RELU_N1_TO_1": elementwise.unary("RELU_N1_TO_1"),
    "RESHAPE": movement.reshape,
    "RESIZE_BILINEAR": movement.resize("RESIZE_BILINEAR"),
    "RESIZE_NEAREST_NEIGHBOR": movement.resize("RESIZE_NEAREST_NEIGHBOR"),
    "REVERSE_V2": movement.reverse,
    "ROUND": elementwise.float_unary("ROUND"),
    "RSQRT": elementwise.rsqrt,
    "SELECT": elementwise.select("SELECT"),
    "SELECT_V2": elementwise.select("SELECT_V2"),
    "SHAPE": movement.shape_of,
    "SLICE": movement.slice_,
    "SOFTMAX": elementwise.unary("SOFTMAX", elementwise.SOFTMAX_OUTPUT, beta=1.0),
    "SPACE_TO_BATCH_ND": movement.space_to_batch,
    "SPACE_TO_DEPTH": movement.space_to_depth,
    "SPLIT": movement.split,
    "SPLIT_V": movement.split_v,
    "SQRT": elementwise.sqrt,
    "SQUARE": elementwise.float_unary("SQUARE"),
    "SQUARED_DIFFERENCE": elementwise.binary("SQUARED_DIFFERENCE", lambda make: {}),
    "SQUEEZE": movement.squeeze,
    "STRIDED_SLICE": movement.strided_slice,
    "SUB": elementwise.binary("SUB", Maker.activation),
    "SUM": reduction.reduction("SUM"),
    "SVDF": weighted.svdf,
    "TANH": elementwise.unary("TANH", elementwise.TANH_OUTPUT),
    "TILE": movement.tile,
    "TOPK_V2": reduction.top_k,
    "TRANSPOSE": movement.transpose,
    "TRANSPOSE_CONV": weighted.transpose_conv,
    "UNIDIRECTIONAL_SEQUENCE_LSTM": weighted.lstm,
    "UNPACK": movement.unpack,
    "WHERE": movement.where,
}
# Further forms of some, which another reference has.
FORMS: dict[str, Callable[[Maker], Graph]] = {
    "CUMSUM": reduction.cumsum_int8,
    "DIV": elementwise.quotient,
    "REDUCE_PROD": reduction.product_int8,
}

# Whose kernels LiteRT alone has.
NOT_IN_TFLITE_MICRO = {
    "CUMSUM",
    "EXP",
    "FLOOR_DIV",
    "FLOOR_MOD",
    "GELU",
    "LOG",
    "NEG",
    "ONE_HOT",
    "POW",
    "REDUCE_ANY",
    "REDUCE_PROD",
    "RELU_N1_TO_1",
    "SELECT",
    "SPACE_TO_BATCH_ND",  # which TFLite Micro pads with 0, whatever the zero point
    "SQRT",
    "TILE",
    "TOPK_V2",
    "WHERE",
}

# Whose kernels TFLite Micro alone has: LiteRT's set of reference kernels lacks them, or in int8 (SUM) gives
# the same number everywhere. Its LSTM needs a scale of an intermediate tensor, which Micro does not read.
NOT_IN_LITERT = {"CEIL", "DEPTH_TO_SPACE", "ELU", "ROUND", "SUM", "UNIDIRECTIONAL_SEQUENCE_LSTM"}


def random_graph(kind: str, seed: int) -> Graph:
    """A network of one operator of this kind with random shapes, options, quantization and constants."""
    return BUILDERS[kind](Maker(seed))


def random_form(kind: str, seed: int) -> Graph:
    """The same in the operator's further form."""
    return FORMS[kind](Maker(seed))


def random_lstm(seed: int, time_major: bool) -> Graph:
    return weighted.lstm(Maker(seed), time_major)
