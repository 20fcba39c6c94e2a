"""A .tflite file to a Graph, or one InputError that says what is wrong with the file."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dlasim.compiler_shim.files.constant_budget import ConstantBudget
from dlasim.compiler_shim.files.half_bytes import unpack_int4
from dlasim.compiler_shim.files.input_file import AnyInput, open_input
from dlasim.compiler_shim.files.npu_compilers import refuse_compiled
from dlasim.compiler_shim.network.graph import MAX_DIMENSIONS, Graph, Operator, Quantization, Tensor, label
from dlasim.compiler_shim.operators.fields import enum_names
from dlasim.compiler_shim.operators.table import OPERATORS
from dlasim.compiler_shim.tflite.decoding import Decoder, Values
from dlasim.compiler_shim.tflite.operator_options import kind_of, options_of
from dlasim.compiler_shim.tflite.resources import ResourceRemover, has_resources
from dlasim.compiler_shim.tflite.schema import MODEL_VERSION
from dlasim.dataclass import dataclass
from dlasim.errors import InputError, counted, printable

_CONTROL_FLOW = ("IF", "WHILE", "CALL")
# The converter's own name for the only subgraph says nothing about the network.
_NAMELESS = ("", "main")
# The converter reserves the fields with 1 and leaves that in files that do not use them.
_LARGEST_UNUSED_OFFSET = 1
_INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
_DTYPES = frozenset((*_INTEGERS, "bool", "float16", "float32", "float64", "complex64", "complex128"))
_INT4 = "int4"  # in the file; here it is int8
_MAX_TENSOR_BYTES = (1 << 31) - 1


@dataclass(frozen=True, slots=True)
class ReadModel:
    """A graph, which of its tensors have dynamic dimensions (their shapes are guesses), and whether the file
    has data behind the flatbuffer."""

    graph: Graph
    open_shapes: frozenset[int]
    has_outside_data: bool = False


def read_tflite(source: bytes | AnyInput) -> Graph:
    """The one subgraph of a model file, or of its bytes; every option given, defaults included."""
    return read_model(source).graph


def read_model(source: bytes | AnyInput) -> ReadModel:
    """As `read_tflite`, with what an importer must know beyond the graph."""
    data, name = (source, "model") if isinstance(source, bytes) else (open_input(source).data, str(source))
    decoder = Decoder(data, name)
    model = decoder.root("Model")
    refuse_compiled((code["custom_code"] or "" for code in model["operator_codes"]), name)
    has_outside_data = load_outside_data(decoder, model)
    subgraph = _only_subgraph(model, name)
    tensor_reader = TensorReader(model["buffers"], name, len(data))
    tensors = tuple(tensor_reader.tensor(index, values) for index, values in enumerate(subgraph["tensors"]))
    graph = Graph(
        name=_graph_name(subgraph["name"], source),
        tensors=tensors,
        operators=tuple(
            _operator(index, values, model["operator_codes"], len(tensors), name)
            for index, values in enumerate(subgraph["operators"])
        ),
        inputs=_indices(subgraph["inputs"], len(tensors), "the model's inputs", name),
        outputs=_indices(subgraph["outputs"], len(tensors), "the model's outputs", name),
    )
    _check_data_flow(graph, tensor_reader.variables, name)
    tensor_reader.check_inputs(graph)
    return ReadModel(graph, tensor_reader.open_shapes, has_outside_data)


def _graph_name(name: str | None, source: bytes | AnyInput) -> str:
    if name not in (None, *_NAMELESS) or isinstance(source, bytes):
        return printable(name or "")
    return printable(Path(str(source)).stem)


def _only_subgraph(model: Values, name: str) -> Values:
    if model["version"] != MODEL_VERSION:
        raise InputError(
            f"{name}: TFLite schema version {model['version']}; dlasim reads version {MODEL_VERSION}"
        )
    subgraphs = model["subgraphs"]
    if subgraphs and has_resources(model):
        return ResourceRemover(model, name).subgraph()
    if len(subgraphs) == 1:
        return dict(subgraphs[0])
    kinds = {kind_of(code) for code in model["operator_codes"]}
    cause = ", ".join(kind for kind in _CONTROL_FLOW if kind in kinds)
    raise InputError(
        f"{name}: the model has {len(subgraphs)} subgraphs; only one is supported"
        + (f"; control flow is not supported: {cause}" if cause else "")
    )


def _operator(index: int, values: Values, codes: Sequence[Values], tensor_count: int, name: str) -> Operator:
    code = values["opcode_index"]
    if code >= len(codes):
        raise InputError(
            f"{name}: operator {index}: there is no operator code {code} (the file has {len(codes)})"
        )
    kind = kind_of(codes[code])
    where = f"operator {index} ({kind})"
    inputs = _indices(values["inputs"], tensor_count, f"{where}: inputs", name, lowest=-1)
    outputs = _indices(values["outputs"], tensor_count, f"{where}: outputs", name)
    if kind in OPERATORS:
        _check_arity(kind, inputs, outputs, f"{name}: {where}")
    elif not outputs:
        raise InputError(f"{name}: {where}: dlasim has no such operator, and it has no outputs")
    return Operator(kind, inputs, outputs, options_of(kind, values, f"{name}: {where}"), f"operator {index}")


def _check_arity(kind: str, inputs: tuple[int, ...], outputs: tuple[int, ...], where: str) -> None:
    signature = OPERATORS[kind].signature
    if not signature.fewest_inputs <= len(inputs) <= signature.most_inputs:
        raise InputError(f"{where}: it takes {signature.inputs_text} (got {len(inputs)})")
    expected = len(signature.outputs)
    if not outputs or (len(outputs) != expected and not signature.many_outputs):
        wanted = "1 output or more" if signature.many_outputs else counted(expected, "output")
        raise InputError(f"{where}: it has {wanted} (got {len(outputs)})")
    for position, index in enumerate(inputs):
        if index < 0 and not signature.is_optional(position):
            raise InputError(f"{where}: input {position} is missing and not optional")


def _indices(values: Any, count: int, what: str, name: str, lowest: int = 0) -> tuple[int, ...]:
    indices = tuple(int(value) for value in values)
    for index in indices:
        if not lowest <= index < count:
            raise InputError(f"{name}: {what}: there is no tensor {index} (the file has 0 to {count - 1})")
    return indices


def _check_data_flow(graph: Graph, variables: set[int], name: str) -> None:
    """Every tensor has one source, which comes before its readers; a variable's may come after them."""
    if not graph.outputs:
        raise InputError(f"{name}: the model has no outputs")
    if len(set(graph.inputs)) < len(graph.inputs):
        raise InputError(f"{name}: the model's inputs name a tensor twice")
    ready = set(graph.inputs)
    for index, tensor in enumerate(graph.tensors):
        if tensor.is_constant and index in ready:
            raise InputError(f"{name}: input {label(tensor.name)} has constant data")
        if tensor.is_constant or index in variables:
            ready.add(index)
    writable = variables - set(graph.inputs)
    for operator in graph.operators:
        _take_step(graph, operator, ready, writable, f"{name}: {operator.location} ({operator.kind})")
    for index in graph.outputs:
        if index not in ready:
            raise InputError(f"{name}: output {label(graph.tensors[index].name)} is computed by no operator")


def _take_step(graph: Graph, operator: Operator, ready: set[int], writable: set[int], where: str) -> None:
    for index in operator.inputs:
        if index >= 0 and index not in ready:
            raise InputError(
                f"{where}: reads {label(graph.tensors[index].name)} before anything has written it"
            )
    for index in operator.outputs:
        if index in ready and index not in writable:
            raise InputError(f"{where}: writes {label(graph.tensors[index].name)}, which already has a value")
        ready.add(index)
        writable.discard(index)


def load_outside_data(decoder: Decoder, model: Values) -> bool:
    """Fill what is behind the flatbuffer into the tables as if it were there; whether anything is.

    A flatbuffer's own offsets have 32 bits, so writers append what is large: ai-edge-quantizer does so from
    256 KiB on.
    """
    found = [
        _load(decoder, buffer, ("data", "offset", "size"), f"buffer {number}")
        for number, buffer in enumerate(model["buffers"])
    ]
    for subgraph in model["subgraphs"]:
        for number, operator in enumerate(subgraph["operators"]):
            names = ("custom_options", "large_custom_options_offset", "large_custom_options_size")
            found.append(_load(decoder, operator, names, f"operator {number}: custom options"))
    return any(found)


def _load(decoder: Decoder, table: Values, names: tuple[str, str, str], what: str) -> bool:
    data, offset, size_bytes = (table[name] for name in names)
    if offset <= _LARGEST_UNUSED_OFFSET or size_bytes == 0:
        return False
    if len(data):
        raise decoder.bad(f"{what}: its data is both in its table and behind the flatbuffer, at {offset}")
    table[names[0]] = decoder.behind_tables(offset, size_bytes, what)
    return True


class TensorReader:
    """Makes Tensors of a file's tables, and notes which are variables and which have dynamic dimensions."""

    def __init__(self, buffers: Sequence[Values], file_name: str, file_bytes: int) -> None:
        self._buffers = buffers
        self._budget = ConstantBudget(file_bytes)
        self._file_name = file_name
        self._open_dimensions: dict[int, tuple[int, ...]] = {}
        self.variables: set[int] = set()

    @property
    def open_shapes(self) -> frozenset[int]:
        """Tensors with a dynamic dimension."""
        return frozenset(self._open_dimensions)

    def tensor(self, index: int, values: Values) -> Tensor:
        """The tensor that the file has at this index."""
        name = printable(values["name"] or "") or f"tensor_{index}"
        where = f"{self._file_name}: tensor {index} ({label(name)})"
        if values["sparsity"] is not None:
            raise InputError(f"{where}: its data is stored sparse; only dense tensors are supported")
        dtype = _dtype(values["type"], where)
        shape = self._shape(index, values, where)
        unpacked = "int8" if dtype == _INT4 else dtype
        sizes = filter(None, shape)  # a 0 among them makes no shape that NumPy takes of the others
        if math.prod(sizes) * np.dtype(unpacked).itemsize > _MAX_TENSOR_BYTES:
            raise InputError(f"{where}: shape {list(shape)} of {dtype} is larger than 2 GiB")
        quantization = _quantization(values["quantization"], shape, unpacked, where)
        data = self._data(index, values, shape, dtype, where)
        if dtype == _INT4 and data is None:
            raise InputError(f"{where}: tensors of type int4 are supported as constants only")
        return Tensor(name, shape, unpacked, quantization, data)

    def check_inputs(self, graph: Graph) -> None:
        """Rejects inputs with dynamic dimensions other than the batch, the first one."""
        for index in graph.inputs:
            if any(self._open_dimensions.get(index, ())):
                raise InputError(
                    f"{self._file_name}: dimensions {list(self._open_dimensions[index])} of input "
                    f"{label(graph.tensors[index].name)} are dynamic; only the batch (dimension 0) may be "
                    "dynamic. Convert the model with a fixed input shape"
                )

    def _shape(self, index: int, values: Values, where: str) -> tuple[int, ...]:
        shape = [int(size) for size in values["shape"][: MAX_DIMENSIONS + 1]]
        signature = [int(size) for size in values["shape_signature"][: MAX_DIMENSIONS + 1]] or shape
        if len(shape) > MAX_DIMENSIONS:
            raise InputError(f"{where}: it has more than {MAX_DIMENSIONS} dimensions")
        if len(signature) != len(shape):
            raise InputError(f"{where}: shape {shape}, but shape signature {signature}")
        if min(shape + signature, default=0) < -1:
            raise InputError(f"{where}: shape {shape} with signature {signature} has a negative dimension")
        unknown = tuple(axis for axis in range(len(shape)) if -1 in (shape[axis], signature[axis]))
        if unknown:
            self._open_dimensions[index] = unknown
        return tuple(max(size, 1) if axis in unknown else size for axis, size in enumerate(shape))

    def _data(self, index: int, values: Values, shape: tuple[int, ...], dtype: str, where: str) -> Any:
        """The constant data as a view of the file, or None for a tensor that is computed."""
        number = values["buffer"]
        if number >= len(self._buffers):
            raise InputError(f"{where}: there is no buffer {number} (the file has {len(self._buffers)})")
        raw = np.asarray(self._buffers[number]["data"], dtype=np.uint8)
        if values["is_variable"]:
            self.variables.add(index)
        elements = math.prod(shape)
        expected_bytes = -(-elements // 2) if dtype == _INT4 else elements * np.dtype(dtype).itemsize
        # A tensor without elements (the shape of a scalar, say) is known although its buffer is empty.
        if raw.size == 0 < expected_bytes:
            return None
        if values["is_variable"]:
            raise InputError(f"{where}: it is a variable, but has constant data")
        if raw.size != expected_bytes:
            raise InputError(
                f"{where}: {dtype}{list(shape)} takes {expected_bytes} bytes, but its buffer has {raw.size}"
            )
        self._budget.spend(max(elements, expected_bytes), where)
        if dtype == _INT4:
            return unpack_int4(raw, elements).reshape(shape)
        data = raw.view(np.dtype(dtype).newbyteorder("<")).reshape(shape)
        return data if data.flags.aligned else data.copy()


def _dtype(number: int, where: str) -> str:
    dtype = enum_names("TensorType").get(number, f"number {number}")
    if dtype not in _DTYPES and dtype != _INT4:
        raise InputError(f"{where}: tensors of type {dtype} are not supported")
    return dtype


def _quantization(
    values: Values | None, shape: tuple[int, ...], dtype: str, where: str
) -> Quantization | None:
    if values is None or len(values["scale"]) == 0:
        return None
    count = len(values["scale"])
    if len(values["zero_point"]) not in (1, count):
        raise InputError(f"{where}: {count} scales, but {len(values['zero_point'])} zero points")
    axis = _axis(values["quantized_dimension"], count, shape, where)
    scales = tuple(float(scale) for scale in values["scale"])
    zero_points = tuple(int(point) for point in values["zero_point"])
    if not all(math.isfinite(scale) and scale >= 0 for scale in scales):
        raise InputError(f"{where}: its scales must be finite and not negative")
    # Programs hold zero points as int32.
    name = dtype if np.dtype(dtype).kind in "iu" and np.dtype(dtype).itemsize < 4 else "int32"
    limits = np.iinfo(name)
    if zero_points and not (limits.min <= min(zero_points) and max(zero_points) <= limits.max):
        raise InputError(f"{where}: its zero points must be in the range of {name}")
    return Quantization(scales, zero_points * (count // len(zero_points)), axis)


def _axis(axis: int, count: int, shape: tuple[int, ...], where: str) -> int:
    if count == 1:
        return axis if 0 <= axis < len(shape) else 0
    # Old converters give a bias the axis of its weights; there is only one it can mean.
    axis = 0 if len(shape) == 1 else axis
    if not 0 <= axis < len(shape) or shape[axis] != count:
        raise InputError(f"{where}: {count} scales along dimension {axis} of shape {list(shape)}")
    return axis
