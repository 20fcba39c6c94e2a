"""The part of the TFLite schema that dlasim understands, as one table for reader and writer.

A field's place in its tuple is its slot in the flatbuffer; None holds the place of one that is not read.
"""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

FILE_IDENTIFIER = b"TFL3"
MODEL_VERSION = 3
SCALARS = {
    "bool": "?",
    "int8": "b",
    "uint8": "B",
    "int32": "i",
    "uint32": "I",
    "int64": "q",
    "uint64": "Q",
    "float32": "f",
}


@dataclass(frozen=True, slots=True)
class Field:
    """One field: a scalar, "string", "union", a table's name, or a vector "[...]" of scalars or tables.

    `default` is what an absent field means in a file, `usual` what an option left out of a Graph means.
    An integer with an `enum` is known by the name it has there.
    """

    name: str
    kind: str = "int32"
    default: int | float | bool = 0
    usual: int | float | bool | None = None
    enum: str = ""

    @property
    def is_vector(self) -> bool:
        """Whether the field holds a vector."""
        return self.kind.startswith("[")

    @property
    def item(self) -> str:
        """The kind of the field, or of its elements where it is a vector."""
        return self.kind.strip("[]")


def _enum(name: str, enum: str) -> Field:
    return Field(name, "int8", enum=enum)


def _flag(name: str, default: bool = False) -> Field:
    return Field(name, "bool", default)


def _positive(name: str, default: int = 0) -> Field:
    return Field(name, "int32", default, usual=1)


_ACTIVATION = _enum("fused_activation_function", "ActivationFunctionType")
_PADDING = _enum("padding", "Padding")
_STRIDES = (_positive("stride_w"), _positive("stride_h"))
_DILATIONS = (_positive("dilation_w_factor", 1), _positive("dilation_h_factor", 1))
_BIAS_TYPE = _enum("quantized_bias_type", "TensorType")
_HYBRID = _flag("asymmetric_quantize_inputs")

TABLES: Mapping[str, tuple[Field | None, ...]] = {
    "Model": (
        Field("version", "uint32"),
        Field("operator_codes", "[OperatorCode]"),
        Field("subgraphs", "[SubGraph]"),
        Field("description", "string"),
        Field("buffers", "[Buffer]"),
    ),
    "OperatorCode": (
        Field("deprecated_builtin_code", "int8"),
        Field("custom_code", "string"),
        Field("version", "int32", 1),
        Field("builtin_code", "int32"),
    ),
    "SubGraph": (
        Field("tensors", "[Tensor]"),
        Field("inputs", "[int32]"),
        Field("outputs", "[int32]"),
        Field("operators", "[Operator]"),
        Field("name", "string"),
    ),
    "Tensor": (
        Field("shape", "[int32]"),
        Field("type", "int8"),
        Field("buffer", "uint32"),
        Field("name", "string"),
        Field("quantization", "QuantizationParameters"),
        Field("is_variable", "bool", False),
        Field("sparsity", "SparsityParameters"),
        Field("shape_signature", "[int32]"),
    ),
    "QuantizationParameters": (
        None,
        None,
        Field("scale", "[float32]"),
        Field("zero_point", "[int64]"),
        None,
        None,
        Field("quantized_dimension", "int32"),
    ),
    "SparsityParameters": (),
    "Operator": (
        Field("opcode_index", "uint32"),
        Field("inputs", "[int32]"),
        Field("outputs", "[int32]"),
        Field("builtin_options_type", "uint8"),
        Field("builtin_options", "union"),
    ),
    "Buffer": (
        Field("data", "[uint8]"),
        Field("offset", "uint64"),
        Field("size", "uint64"),
    ),
    "AbsOptions": (),
    "AddOptions": (_ACTIVATION, _flag("pot_scale_int16", True)),
    "ArgMaxOptions": (_enum("output_type", "TensorType"),),
    "CastOptions": (_enum("in_data_type", "TensorType"), _enum("out_data_type", "TensorType")),
    "ConcatenationOptions": (Field("axis"), _ACTIVATION),
    "Conv2DOptions": (_PADDING, *_STRIDES, _ACTIVATION, *_DILATIONS, _BIAS_TYPE),
    "DepthwiseConv2DOptions": (
        _PADDING,
        *_STRIDES,
        _positive("depth_multiplier"),
        _ACTIVATION,
        *_DILATIONS,
    ),
    "DequantizeOptions": (),
    "DivOptions": (_ACTIVATION,),
    "ExpandDimsOptions": (),
    "FloorDivOptions": (),
    "FullyConnectedOptions": (
        _ACTIVATION,
        _enum("weights_format", "FullyConnectedOptionsWeightsFormat"),
        _flag("keep_num_dims"),
        _HYBRID,
        _BIAS_TYPE,
    ),
    "GatherNdOptions": (),
    "GatherOptions": (Field("axis"), Field("batch_dims")),
    "HardSwishOptions": (),
    "LeakyReluOptions": (Field("alpha", "float32", 0.0),),
    "MaximumMinimumOptions": (),
    "MulOptions": (_ACTIVATION,),
    "NegOptions": (),
    "PackOptions": (_positive("values_count"), Field("axis")),
    "PadOptions": (),
    "PadV2Options": (),
    "Pool2DOptions": (
        _PADDING,
        *_STRIDES,
        _positive("filter_width"),
        _positive("filter_height"),
        _ACTIVATION,
    ),
    "QuantizeOptions": (),
    "ReducerOptions": (_flag("keep_dims"),),
    "ReshapeOptions": (Field("new_shape", "[int32]"),),
    "ResizeBilinearOptions": (None, None, _flag("align_corners"), _flag("half_pixel_centers")),
    "ResizeNearestNeighborOptions": (_flag("align_corners"), _flag("half_pixel_centers")),
    "ShapeOptions": (_enum("out_type", "TensorType"),),
    "SliceOptions": (),
    "SoftmaxOptions": (Field("beta", "float32", 0.0, usual=1.0),),
    "SplitOptions": (_positive("num_splits"),),
    "SplitVOptions": (_positive("num_splits"),),
    "SqueezeOptions": (Field("squeeze_dims", "[int32]"),),
    "StridedSliceOptions": (
        Field("begin_mask"),
        Field("end_mask"),
        Field("ellipsis_mask"),
        Field("new_axis_mask"),
        Field("shrink_axis_mask"),
        _flag("offset"),
    ),
    "SubOptions": (_ACTIVATION, _flag("pot_scale_int16", True)),
    "SVDFOptions": (Field("rank"), _ACTIVATION, _HYBRID),
    "TileOptions": (),
    "TransposeConvOptions": (_PADDING, *_STRIDES, _ACTIVATION, _BIAS_TYPE),
    "TransposeOptions": (),
    "UnpackOptions": (Field("num"), Field("axis")),
}


@dataclass(frozen=True, slots=True)
class OperatorKind:
    """An operator that can be written: its options table ("" for none), int8 version and operands.

    `operands` names the types of inputs and outputs in order, "q q b? -> q": see `Signature`.
    """

    options: str
    version: int
    operands: str

    @property
    def signature(self) -> Signature:
        """What `operands` says."""
        return _signature(self.operands)


@dataclass(frozen=True, slots=True)
class Signature:
    """Classes of an operator's inputs and outputs: q int8, b int32, i an index type, x one type for all
    that have it, * any. A "?" marks an operand that may be left out, "+" one that may be repeated."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]

    @property
    def fewest_inputs(self) -> int:
        """Inputs that must be there."""
        return sum(not operand.endswith("?") for operand in self.inputs)

    @property
    def most_inputs(self) -> int:
        """Inputs that may be there."""
        return _MANY if self.inputs[-1].endswith("+") else len(self.inputs)

    @property
    def many_outputs(self) -> bool:
        """Whether there may be more than one output."""
        return self.outputs[-1].endswith("+")

    def is_optional(self, position: int) -> bool:
        """Whether the input at this position may be left out."""
        return position < len(self.inputs) and self.inputs[position].endswith("?")

    def class_of_input(self, position: int) -> str:
        """The class of the input at this position."""
        return self.inputs[min(position, len(self.inputs) - 1)][0]


_MANY = 1 << 31


@functools.cache
def _signature(operands: str) -> Signature:
    inputs, outputs = operands.split("->")
    return Signature(tuple(inputs.split()), tuple(outputs.split()))


OPERATORS: Mapping[str, OperatorKind] = {
    "ABS": OperatorKind("AbsOptions", 2, "x -> x"),
    "ADD": OperatorKind("AddOptions", 2, "x x -> x"),
    "ARG_MAX": OperatorKind("ArgMaxOptions", 2, "* i -> i"),
    "AVERAGE_POOL_2D": OperatorKind("Pool2DOptions", 2, "q -> q"),
    "CAST": OperatorKind("CastOptions", 1, "* -> *"),
    "CONCATENATION": OperatorKind("ConcatenationOptions", 2, "x+ -> x"),
    "CONV_2D": OperatorKind("Conv2DOptions", 3, "q q b? -> q"),
    "DEPTHWISE_CONV_2D": OperatorKind("DepthwiseConv2DOptions", 3, "q q b? -> q"),
    "DEQUANTIZE": OperatorKind("DequantizeOptions", 2, "* -> *"),
    "DIV": OperatorKind("DivOptions", 1, "x x -> x"),
    "EXPAND_DIMS": OperatorKind("ExpandDimsOptions", 1, "x i -> x"),
    "FLOOR_DIV": OperatorKind("FloorDivOptions", 1, "x x -> x"),
    "FULLY_CONNECTED": OperatorKind("FullyConnectedOptions", 4, "q q b? -> q"),
    "GATHER": OperatorKind("GatherOptions", 2, "x i -> x"),
    "GATHER_ND": OperatorKind("GatherNdOptions", 2, "x i -> x"),
    "HARD_SWISH": OperatorKind("HardSwishOptions", 1, "q -> q"),
    "LEAKY_RELU": OperatorKind("LeakyReluOptions", 2, "q -> q"),
    "LOGISTIC": OperatorKind("", 2, "q -> q"),
    "MAXIMUM": OperatorKind("MaximumMinimumOptions", 2, "x x -> x"),
    "MAX_POOL_2D": OperatorKind("Pool2DOptions", 2, "q -> q"),
    "MEAN": OperatorKind("ReducerOptions", 2, "q i -> q"),
    "MINIMUM": OperatorKind("MaximumMinimumOptions", 2, "x x -> x"),
    "MUL": OperatorKind("MulOptions", 2, "x x -> x"),
    "NEG": OperatorKind("NegOptions", 1, "x -> x"),
    "PACK": OperatorKind("PackOptions", 2, "x+ -> x"),
    "PAD": OperatorKind("PadOptions", 2, "x i -> x"),
    "PADV2": OperatorKind("PadV2Options", 2, "x i x -> x"),
    "PRELU": OperatorKind("", 1, "q q -> q"),
    "QUANTIZE": OperatorKind("QuantizeOptions", 1, "* -> *"),
    "RELU": OperatorKind("", 2, "q -> q"),
    "RELU6": OperatorKind("", 2, "q -> q"),
    "RELU_N1_TO_1": OperatorKind("", 1, "q -> q"),
    "RESHAPE": OperatorKind("ReshapeOptions", 1, "x i? -> x"),
    "RESIZE_BILINEAR": OperatorKind("ResizeBilinearOptions", 2, "q i -> q"),
    "RESIZE_NEAREST_NEIGHBOR": OperatorKind("ResizeNearestNeighborOptions", 2, "x i -> x"),
    "SHAPE": OperatorKind("ShapeOptions", 1, "* -> i"),
    "SLICE": OperatorKind("SliceOptions", 2, "x i i -> x"),
    "SOFTMAX": OperatorKind("SoftmaxOptions", 2, "q -> q"),
    "SPLIT": OperatorKind("SplitOptions", 2, "i x -> x+"),
    "SPLIT_V": OperatorKind("SplitVOptions", 2, "x i i -> x+"),
    "SQRT": OperatorKind("", 1, "x -> x"),
    "SQUEEZE": OperatorKind("SqueezeOptions", 1, "x -> x"),
    "STRIDED_SLICE": OperatorKind("StridedSliceOptions", 2, "x i i i -> x"),
    "SUB": OperatorKind("SubOptions", 2, "x x -> x"),
    "SVDF": OperatorKind("SVDFOptions", 3, "q q * b? * -> q"),
    "TANH": OperatorKind("", 2, "q -> q"),
    "TILE": OperatorKind("TileOptions", 1, "x i -> x"),
    "TRANSPOSE": OperatorKind("TransposeOptions", 2, "x i -> x"),
    "TRANSPOSE_CONV": OperatorKind("TransposeConvOptions", 3, "i q q b? -> q"),
    "UNPACK": OperatorKind("UnpackOptions", 2, "x -> x+"),
}


@functools.cache
def enum_names(enum: str) -> Mapping[int, str]:
    """The names of a schema enum by number; tensor types are named as NumPy names them."""
    members = vars(getattr(_module(enum), enum))
    names = {number: name for name, number in members.items() if isinstance(number, int)}
    return {number: name.lower() for number, name in names.items()} if enum == "TensorType" else names


@functools.cache
def enum_numbers(enum: str) -> Mapping[str, int]:
    """The numbers of a schema enum by name."""
    return {name: number for number, name in enum_names(enum).items()}


def _module(name: str) -> ModuleType:
    """A module of the package `tflite` without the package, which would load its hundreds of modules."""
    package = importlib.util.find_spec("tflite")
    assert package is not None
    assert package.submodule_search_locations is not None
    path = Path(package.submodule_search_locations[0]) / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"tflite.{name}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
