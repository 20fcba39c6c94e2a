"""dlasim.GraphBuilder: what it builds is the network that TensorFlow's format has, and misuse is one line."""

from pathlib import Path

import numpy as np
import pytest

import dlasim
from dlasim.compiler_shim.compile import load_graph
from dlasim.compiler_shim.topologies import build_topology
from dlasim.errors import InputError


def rebuilt(graph) -> tuple[dlasim.GraphBuilder, list[int]]:
    """The network built again through the public methods, in the order in which it uses its tensors."""
    builder, number = dlasim.GraphBuilder(graph.name), {-1: None}

    def parameters(tensor):
        found = tensor.quantization
        if found is None:
            return {}
        return {"scale": found.scales[0], "zero_point": found.zero_points[0]}

    for index, tensor in enumerate(graph.tensors):
        if index in graph.inputs:
            number[index] = builder.input(tensor.name, tensor.shape, dtype=tensor.dtype, **parameters(tensor))
        elif tensor.is_constant:
            given = {}
            if tensor.quantization is not None:
                found = tensor.quantization
                given = {"scale": found.scales, "zero_point": found.zero_points, "axis": found.axis}
            number[index] = builder.constant(tensor.name, tensor.data, **given)
    for operator in graph.operators:
        inputs = [number[index] for index in operator.inputs]
        first = graph.tensors[operator.outputs[0]]
        outputs = builder.operator_with_outputs(
            operator.kind, inputs, len(operator.outputs), name=first.name, dtype=first.dtype,
            **parameters(first), **operator.options,
        )  # fmt: skip
        number |= zip(operator.outputs, outputs, strict=True)
    return builder, [number[index] for index in graph.outputs]


@pytest.mark.parametrize("name", ["mnist", "resnet8", "ds_cnn", "autoencoder"])
def test_a_network_built_again_computes_the_same(name, tmp_path: Path) -> None:
    original = build_topology(name)
    builder, outputs = rebuilt(original)
    file = builder.save(tmp_path / "again.dlag", outputs)
    graph = load_graph(file)
    assert [operator.kind for operator in graph.operators] == [op.kind for op in original.operators]
    shapes = [[original.tensors[index].shape for index in op.outputs] for op in original.operators]
    assert [[graph.tensors[index].shape for index in op.outputs] for op in graph.operators] == shapes
    wanted, found = dlasim.run(name), dlasim.run(file)
    np.testing.assert_array_equal(wanted.outputs[0], found.outputs[0])
    assert wanted.cycles == found.cycles


def start() -> tuple[dlasim.GraphBuilder, int]:
    builder = dlasim.GraphBuilder()
    return builder, builder.input("x", (1, 4, 4, 8), scale=0.5)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda b, x: b.operator("CONV2D", [x]), "unknown operator 'CONV2D'; did you mean CONV_2D"),
        (lambda b, x: b.operator("ADD", [x]), r"operator 0 \(ADD\): it takes 2 inputs \(got 1\)"),
        (lambda b, x: b.operator("ADD", [x, 7]), "there is no tensor 7"),
        (lambda b, x: b.operator("SOFTMAX", [x], gamma=1), "unknown option 'gamma'"),
        (lambda b, x: b.operator("ADD", [x, x], scale=0.0), "scales must be finite and above 0"),
        (lambda b, x: b.operator("ADD", [x, x], dtype="int7"), "dtype must be int8"),
        (lambda b, x: b.operator("MAX_POOL_2D", [x], scale=0.5, filter_height=9, padding="VALID"),
         "output would have shape"),
        (lambda b, x: b.constant("w", np.zeros((3, 2), np.int8), scale=[1, 1]), "2 scales along axis 0"),
        (lambda b, x: b.constant("w", np.zeros(2, np.int8), scale=[1, 1], zero_point=[0, 0, 0]),
         "3 zero points"),
        (lambda b, x: b.constant("w", np.zeros(2, np.float64)), "dtype must be"),
        (lambda b, x: b.input("y", (1, 0)), "sizes above 0"),
        (lambda b, x: b.save("x.dlag", [9]), "there is no tensor 9"),
    ],
)  # fmt: skip
def test_misuse_is_one_line(call, message) -> None:
    builder, x = start()
    with pytest.raises(InputError, match=message) as caught:
        call(builder, x)
    assert "\n" not in str(caught.value)


def test_a_refused_operator_leaves_nothing_behind() -> None:
    builder, x = start()
    with pytest.raises(InputError):
        builder.operator("RESHAPE", [x], scale=0.5, new_shape=(3,))
    y = builder.operator("RESHAPE", [x], scale=0.5, new_shape=(1, 128))
    assert y == x + 1
    assert len(builder.graph([y]).operators) == 1


def test_several_outputs_and_state() -> None:
    builder, x = start()
    axis = builder.constant("axis", np.int32(3))
    parts = builder.operator_with_outputs("SPLIT", [axis, x], 2, scale=0.5, num_splits=2)
    assert [builder.shape(part) for part in parts] == [(1, 4, 4, 4)] * 2
    state = builder.variable("state", (1, 8), scale=0.25)
    assert builder.shape(state) == (1, 8)


def test_rounding_once_is_kept_and_verified(tmp_path: Path) -> None:
    """5 * 0.25 is 1.25: two roundings make it 2."""
    found = {}
    for rounding in ("twice", "once"):
        builder = dlasim.GraphBuilder("one", rounding=rounding)
        x = builder.input("x", (1, 1), scale=1.0)
        weights = builder.constant("w", np.ones((1, 1), np.int8), scale=0.25)
        y = builder.operator("FULLY_CONNECTED", [x, weights], scale=1.0)
        file = builder.save(tmp_path / f"{rounding}.dlag", [y])
        assert load_graph(file).rounds_once == (rounding == "once")
        found[rounding] = int(dlasim.run(file, inputs=np.full((1, 1), 5, np.int8)).outputs[0].item())
        verified = dlasim.verify(file)
        assert verified.passed
        assert ("dlasim's kernels" in verified.reference) == (rounding == "once")
    assert found == {"twice": 2, "once": 1}


def test_an_unknown_rounding_is_refused() -> None:
    with pytest.raises(InputError, match="rounding must be twice or once"):
        dlasim.GraphBuilder("x", rounding="never")
