"""The messages of an ONNX file that dlasim reads, and what a tensor's type number means."""

from __future__ import annotations

from dlasim.compiler_shim.onnx.protobuf_wire import Schema, WireField


def _field(name: str, kind: str = "int") -> WireField:
    return WireField(name, kind)


def _many(name: str, kind: str = "int") -> WireField:
    return WireField(name, kind, is_repeated=True)


MESSAGES: Schema = {
    "Model": {1: _field("ir_version"), 7: _field("graph", "Graph"), 8: _many("opset_import", "OperatorSet")},
    "OperatorSet": {1: _field("domain", "text"), 2: _field("version")},
    "Graph": {
        1: _many("node", "Node"),
        2: _field("name", "text"),
        5: _many("initializer", "Tensor"),
        11: _many("input", "ValueInfo"),
        12: _many("output", "ValueInfo"),
        15: _many("sparse_initializer", "Sparse"),
    },
    "Node": {
        1: _many("input", "text"),
        2: _many("output", "text"),
        3: _field("name", "text"),
        4: _field("op_type", "text"),
        5: _many("attribute", "Attribute"),
        7: _field("domain", "text"),
    },
    "Attribute": {
        1: _field("name", "text"),
        2: _field("f", "float"),
        3: _field("i"),
        4: _field("s", "bytes"),
        5: _field("t", "Tensor"),
        6: _field("g", "Sparse"),
        7: _many("floats", "float"),
        8: _many("ints"),
        9: _many("strings", "bytes"),
        20: _field("type"),
    },
    "Tensor": {
        1: _many("dims"),
        2: _field("data_type"),
        4: _many("float_data", "float"),
        5: _many("int32_data"),
        7: _many("int64_data"),
        8: _field("name", "text"),
        9: _field("raw_data", "bytes"),
        10: _many("double_data", "double"),
        11: _many("uint64_data"),
        13: _many("external_data", "Entry"),
        14: _field("data_location"),
    },
    "Entry": {1: _field("key", "text"), 2: _field("value", "text")},
    "Sparse": {},  # that there is one is all that dlasim asks
    "ValueInfo": {1: _field("name", "text"), 2: _field("type", "Type")},
    "Type": {1: _field("tensor_type", "TensorType")},
    "TensorType": {1: _field("elem_type"), 2: _field("shape", "Shape")},
    "Shape": {1: _many("dim", "Dimension")},
    "Dimension": {1: _field("dim_value"), 2: _field("dim_param", "text")},
}
DTYPES = {
    1: "float32", 2: "uint8", 3: "int8", 4: "uint16", 5: "int16", 6: "int32", 7: "int64", 9: "bool",
    10: "float16", 11: "float64", 12: "uint32", 13: "uint64",
}  # fmt: skip
HALF_BYTES = {21: "uint8", 22: "int8"}  # of 4 bits, two to a byte, and the type that holds them here
OTHER_TYPES = {8: "string", 14: "complex64", 15: "complex128", 16: "bfloat16", 17: "float8"}
EXTERNAL = 1  # data_location
