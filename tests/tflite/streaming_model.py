"""A streaming model: a variable kept as a resource, which CALL_ONCE may give its first values."""

from __future__ import annotations

from typing import Any

import numpy as np

from dlasim.compiler_shim.operators.fields import enum_numbers
from dlasim.compiler_shim.tflite.encoding import encode

KINDS = ("ADD", "VAR_HANDLE", "READ_VARIABLE", "ASSIGN_VARIABLE", "CALL_ONCE", "RESHAPE")
SHAPE = (1, 4, 4, 3)
X = np.arange(-20, 28, dtype=np.int8).reshape(SHAPE)
ZERO_POINT = 3


def tensor(name: str, zero_point: int = ZERO_POINT, buffer: int = 0, shape: Any = SHAPE) -> dict[str, Any]:
    quantization = {"scale": [0.1], "zero_point": [zero_point]}
    types = enum_numbers("TensorType")
    return {
        "name": name,
        "shape": shape,
        "type": types["int8"],
        "buffer": buffer,
        "quantization": quantization,
    }


def handle(name: str) -> dict[str, Any]:
    return {"name": name, "shape": (1,), "type": enum_numbers("TensorType")["resource"], "buffer": 0}


def operator(kind: str, inputs: Any, outputs: Any, table: str = "", **options: Any) -> dict[str, Any]:
    found = {"opcode_index": KINDS.index(kind), "inputs": inputs, "outputs": outputs}
    if table:
        found |= {"builtin_options_type": enum_numbers("BuiltinOptions")[table], "builtin_options": options}
    return found


def var_handle(output: int, name: str = "state") -> dict[str, Any]:
    return operator("VAR_HANDLE", [], [output], "VarHandleOptions", container="", shared_name=name)


def streaming_model(initial: np.ndarray | None, assigns: bool = True) -> bytes:
    """y = x + state, which becomes y where it is assigned."""
    operators = [
        var_handle(3),
        operator("READ_VARIABLE", [3], [1]),
        operator("ADD", [0, 1], [2], "AddOptions"),
    ]
    if initial is not None:
        operators.insert(0, operator("CALL_ONCE", [], [], "CallOnceOptions", init_subgraph_index=1))
    if assigns:
        operators.append(operator("ASSIGN_VARIABLE", [3, 2], []))
    tensors = [tensor("x", 0), tensor("s"), tensor("y"), handle("h")]
    subgraphs = [{"name": "main", "tensors": tensors, "inputs": [0], "outputs": [2], "operators": operators}]
    if initial is not None:
        first = [tensor("initial", buffer=1, shape=initial.shape), handle("h")]
        ones = [var_handle(1), operator("ASSIGN_VARIABLE", [1, 0], [])]
        subgraphs.append({"name": "first", "tensors": first, "inputs": [], "outputs": [], "operators": ones})
    numbers = enum_numbers("BuiltinOperator")
    codes = [
        {"deprecated_builtin_code": min(numbers[kind], 127), "builtin_code": numbers[kind], "version": 1}
        for kind in KINDS
    ]
    data = b"" if initial is None else initial.tobytes()
    buffers = [{}, {"data": np.frombuffer(data, np.uint8)}] if data else [{}]
    whole = {"version": 3, "operator_codes": codes, "subgraphs": subgraphs, "buffers": buffers}
    return encode("Model", whole, 1 << 16)
