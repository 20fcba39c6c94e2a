"""Variables outside SVDF: TensorFlow's initial value and its state over inferences, on both hosts."""

import numpy as np
import pytest

import dlasim
from dlasim.checking.interpreters import MICRO, litert_interpreter, run
from dlasim.compiler_shim.network.graph import Graph, Operator, Quantization, Tensor
from dlasim.compiler_shim.tflite.writer import write_tflite
from dlasim.errors import InputError
from dlasim.isa.assembly.assembler import assemble
from dlasim.isa.container.writer import write

X = np.arange(-20, 28, dtype=np.int8).reshape(1, 4, 4, 3)
PLACES = [
    {"host": host, "place": place, "sram_bytes": sram, "fusion": fusion}
    for host in ("none", "riscv")
    for place, sram, fusion in (
        ("auto", 524288, "full"), ("dla", 524288, "full"), ("dla", 1024, "none"), ("cpu", 524288, "full"),
    )
]  # fmt: skip


def tensor(name, zero_point=0, dtype="int8", shape=(1, 4, 4, 3), scale=0.1):
    quantization = Quantization((float(np.float32(scale)),), (zero_point,)) if dtype == "int8" else None
    return Tensor(name, shape, dtype, quantization)


def operator(kind, inputs, outputs, number=0, **options):
    return Operator(kind, inputs, outputs, options, f"operator {number}")


def only_read(dtype="int8", zero_point=3):
    tensors = tuple(tensor(name, zero, dtype) for name, zero in (("x", 0), ("s", zero_point), ("y", 0)))
    return Graph("read", tensors, (operator("ADD", (0, 1), (2,)),), (0,), (2,))


def counter(outputs=(2,)):
    """y = x + s, then s = x + y, then z = s: what is read before the update, and what is read after."""
    tensors = tuple(tensor(name, zero) for name, zero in (("x", 0), ("s", 3), ("y", 5), ("z", -7)))
    operators = (
        operator("ADD", (0, 1), (2,), 0),
        operator("ADD", (0, 2), (1,), 1),
        operator("ADD", (1, 1), (3,), 2),
    )
    return Graph("counter", tensors, operators, (0,), outputs)


def viewed():
    """A reshape of the state is a copy of what it was, although that is read after the update."""
    flat = tensor("flat", 3, shape=(1, 48))
    back = tensor("back", 3)
    tensors = (tensor("x"), tensor("s", 3), flat, back, tensor("y", 3), tensor("t", 1))
    operators = (
        operator("RESHAPE", (1,), (2,), 0, new_shape=(1, 48)),
        operator("ADD", (0, 1), (5,), 1),
        operator("ADD", (0, 5), (1,), 2),
        operator("RESHAPE", (2,), (3,), 3, new_shape=(1, 4, 4, 3)),
        operator("ADD", (3, 1), (4,), 4),
    )
    return Graph("viewed", tensors, operators, (0,), (4,))


def own_output():
    """The variable itself is the model's output."""
    tensors = (tensor("x"), tensor("s", 3), tensor("t", 1))
    operators = (operator("ADD", (0, 1), (2,), 0), operator("ADD", (0, 2), (1,), 1))
    return Graph("own", tensors, operators, (0,), (1,))


def pooled_in_place():
    """The next state depends on the neighbours in the old one: nothing may be overwritten too early."""
    tensors = (tensor("x"), tensor("s", 3), tensor("p", 3), tensor("y", 3))
    window = {"filter_height": 3, "filter_width": 3, "stride_h": 1, "stride_w": 1, "padding": "SAME"}
    operators = (
        operator("AVERAGE_POOL_2D", (1,), (2,), 0, **window),
        operator("ADD", (0, 2), (1,), 1),
        operator("ADD", (1, 2), (3,), 2),
    )
    return Graph("pooled", tensors, operators, (0,), (3,))


GRAPHS = [
    only_read(), only_read("int32", 5), counter(), counter((3, 2)), counter((1, 2)), viewed(), own_output(),
    pooled_in_place(),
]  # fmt: skip


@pytest.mark.parametrize("graph", GRAPHS, ids=lambda graph: f"{graph.name}-{graph.outputs}")
def test_state_lasts_as_in_tensorflow(graph, tmp_path):
    """LiteRT keeps the state of one interpreter over inferences; so do both hosts with --repeat."""
    path = tmp_path / "model.tflite"
    path.write_bytes(write_tflite(graph))
    x = X.astype(graph.tensors[0].dtype)
    theirs = litert_interpreter(path.read_bytes())
    for repeat in (1, 2, 3):
        theirs.set_tensor(theirs.get_input_details()[0]["index"], x)
        theirs.invoke()
        expected = [theirs.get_tensor(index) for index in graph.outputs]
        for options in PLACES:
            ours = dlasim.run(path, inputs=[x], repeat=repeat, **options).outputs
            for mine, want in zip(ours, expected, strict=True):
                np.testing.assert_array_equal(mine, want, err_msg=f"{repeat} {options}")


@pytest.mark.parametrize("graph", GRAPHS, ids=lambda graph: f"{graph.name}-{graph.outputs}")
@pytest.mark.parametrize("host", ["none", "riscv"])
def test_verify_compares_variables(graph, host, tmp_path):
    path = tmp_path / "model.tflite"
    path.write_bytes(write_tflite(graph))
    result = dlasim.verify(path, host=host)
    assert result.passed, result


PROGRAM = """
.program "accumulate"
.config arena=16
.tensor x, int8, input, INPUTS, shape=1x4, scale=1, zero_point=0
.tensor s, {type}, variable, ARENA, shape=1x4, scale=1, zero_point={zero}
.tensor y, {type}, output, OUTPUTS, shape=1x4, scale=1, zero_point=0
.layer all, STATE, HOST
.host CONCATENATION, inputs=(s), outputs=(y), attributes=(1)
.host {update}
.endlayer
"""


@pytest.mark.parametrize("host", ["none", "riscv"])
@pytest.mark.parametrize(
    ("dtype", "zero", "update", "expected"),
    [
        ("int8", -5, "BINARY, inputs=(x, s), outputs=(s), attributes=(5, 0, 0)", [-5, 7]),
        ("int16", 9, "CAST, inputs=(x), outputs=(s)", [0, 7]),
        ("int32", 9, "CAST, inputs=(x), outputs=(s)", [0, 7]),
    ],
)
def test_a_program_written_by_hand(dtype, zero, update, expected, host, tmp_path):
    path = tmp_path / "program.bin"
    source = PROGRAM.format(type=dtype, zero=zero, update=update)
    path.write_bytes(write(assemble(source)))
    x = np.full((1, 4), 7, np.int8)
    found = [dlasim.run(path, inputs=[x], repeat=n, host=host).outputs[0].ravel()[0] for n in (1, 2)]
    assert found == expected


def test_a_zero_point_that_no_variable_can_hold_is_refused(tmp_path):
    source = PROGRAM.format(type="int8", zero=300, update="CAST, inputs=(x), outputs=(s)")
    path = tmp_path / "program.bin"
    path.write_bytes(write(assemble(source)))
    expected = r"its variable s is int8, so its zero point must be from -128 to 127 \(it is 300\)"
    with pytest.raises(InputError, match=expected):
        dlasim.run(path)


def test_the_reference_begins_afresh_with_each_input():
    """It keeps TFLite Micro's interpreter, and with it the variables."""
    graph = counter()
    model = write_tflite(graph)
    first, again = (run(MICRO, model, [X], len(graph.tensors)) for _ in range(2))
    assert first is not None
    assert again is not None
    assert all(np.array_equal(first[index], again[index]) for index in first)
