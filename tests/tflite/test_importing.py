"""What import accepts, folds and refuses; the refusals on networks made by hand."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dlasim.compiler_shim.compile import load_graph
from dlasim.compiler_shim.files.importing import prepare
from dlasim.compiler_shim.forms.partition import partition
from dlasim.compiler_shim.network.graph import Graph, Operator, Quantization, Tensor
from dlasim.compiler_shim.tflite.encoding import encode
from dlasim.compiler_shim.tflite.reader import ReadModel
from dlasim.compiler_shim.tflite.writer import write_tflite
from dlasim.errors import InputError
from tests.tflite.one_operator import random_graph
from tests.tflite.test_damaged_files import broken, raw_model
from tests.zoo import other_models

SCALED = Quantization((0.5,), (0,))


def import_bytes(model, folder):
    path = folder / "model.tflite"
    path.write_bytes(model)
    return load_graph(path)


def refusal(model, folder):
    with pytest.raises(InputError) as caught:
        import_bytes(model, folder)
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith(str(folder / "model.tflite"))
    return message


def retyped(graph, dtype, *indices):
    """The graph with some of its tensors of another type."""
    tensors = list(graph.tensors)
    for index in indices:
        data = tensors[index].data
        quantization = None if dtype.startswith("float") else tensors[index].quantization
        tensors[index] = replace(
            tensors[index],
            dtype=dtype,
            data=None if data is None else data.astype(dtype),
            quantization=quantization,
        )
    return replace(graph, tensors=tuple(tensors))


def test_a_float_network_is_told_how_to_quantize(tmp_path):
    graph = random_graph("CONV_2D", 0)
    message = refusal(write_tflite(retyped(graph, "float32", 0, 1, 2, 3)), tmp_path)
    assert "operator 0 (CONV_2D): computes in float32;" in message
    assert "full-integer post-training quantization" in message
    assert 'as the page "Get an int8 network" shows under "From Keras" or "From PyTorch"' in message


def test_a_network_with_quantized_weights_only_is_recognized(tmp_path):
    graph = random_graph("CONV_2D", 0)
    message = refusal(write_tflite(retyped(graph, "float32", 0, 2, 3)), tmp_path)
    assert "only its weights are quantized" in message


def test_a_float_operator_in_the_middle_is_named(tmp_path):
    tensors = tuple(
        Tensor(name, (1, 4), dtype, None if dtype == "float32" else SCALED)
        for name, dtype in (("a", "int8"), ("b", "int8"), ("c", "float32"), ("d", "int8"))
    )
    operators = (
        Operator("RELU", (0,), (1,)),
        Operator("TANH", (1,), (2,)),
        Operator("QUANTIZE", (2,), (3,)),
    )
    message = refusal(write_tflite(Graph("mixed", tensors, operators, (0,), (3,))), tmp_path)
    assert "operator 1 (TANH): computes in float32" in message


@pytest.mark.parametrize("end", ["inputs", "outputs"])
@pytest.mark.parametrize("dtype", ["uint64", "uint32", "uint16", "complex128", "float16"])
def test_an_unused_input_or_output_of_an_odd_type_is_refused(end, dtype, tmp_path):
    """No operator reads it, so no rule for operators refuses it; no program can hold it."""
    graph = random_graph("RELU", 0)
    data = None if end == "inputs" else np.zeros((1, 4), dtype)
    odd = Tensor("odd", (1, 4), dtype, None, data)
    numbers = (*getattr(graph, end), len(graph.tensors))
    message = refusal(write_tflite(replace(graph, tensors=(*graph.tensors, odd), **{end: numbers})), tmp_path)
    assert f"{end[:-1]} odd is {dtype}, which is not supported: convert the model without it" in message


def converting(*chain):
    """A network of these operators, each with the type of what it computes."""
    tensors = [Tensor("a", (1, 4), "int8", SCALED)]
    operators = []
    for kind, dtype in chain:
        name = f"{kind.lower()}_{len(operators)}"
        tensors.append(Tensor(name, (1, 4), dtype, SCALED if dtype in ("int8", "uint8") else None))
        operators.append(Operator(kind, (len(tensors) - 2,), (len(tensors) - 1,), {}))
    return Graph("chain", tuple(tensors), tuple(operators), (0,), (len(tensors) - 1,))


def test_uint8_between_converters_stays(tmp_path):
    graph = converting(("QUANTIZE", "uint8"), ("QUANTIZE", "int8"), ("RELU", "int8"))
    found = import_bytes(write_tflite(graph), tmp_path)
    assert [tensor.dtype for tensor in found.tensors] == ["int8", "uint8", "int8", "int8"]


def test_uint8_that_an_operator_reads_becomes_int8(tmp_path):
    graph = converting(("QUANTIZE", "uint8"), ("RELU", "uint8"), ("CAST", "float32"))
    found = import_bytes(write_tflite(graph), tmp_path)
    assert [operator.kind for operator in found.operators] == ["QUANTIZE", "RELU", "QUANTIZE", "CAST"]
    assert [tensor.dtype for tensor in found.tensors] == ["int8", "int8", "uint8", "float32", "int8"]
    assert [tensor.is_unsigned for tensor in found.tensors] == [False, True, False, False, True]
    assert found.tensors[1].quantization.zero_point == -128


def test_a_saved_graph_has_uint8_again(tmp_path):
    graph = converting(("QUANTIZE", "uint8"), ("RELU", "uint8"), ("QUANTIZE", "int8"))
    once = import_bytes(write_tflite(graph), tmp_path)
    again = import_bytes(write_tflite(once), tmp_path)
    assert again.tensors == once.tensors
    assert again.operators == once.operators


def test_uint8_without_a_scale_is_refused(tmp_path):
    graph = retyped(converting(("RELU", "int8")), "uint8", 0)
    tensors = tuple(replace(tensor, quantization=None) for tensor in graph.tensors)
    message = refusal(write_tflite(replace(graph, tensors=tensors)), tmp_path)
    assert "operator 0 (RELU): a is uint8 without a scale" in message


def test_floats_of_int8_results_are_taken(tmp_path):
    graph = converting(("RELU", "int8"), ("DEQUANTIZE", "float32"), ("SQRT", "float32"), ("NEG", "float32"))
    assert len(import_bytes(write_tflite(graph), tmp_path).operators) == 4
    back = converting(("DEQUANTIZE", "float32"), ("ABS", "float32"), ("QUANTIZE", "int8"), ("RELU", "int8"))
    assert len(import_bytes(write_tflite(back), tmp_path).operators) == 4


def test_a_float_input_may_only_be_quantized(tmp_path):
    graph = converting(("QUANTIZE", "int8"), ("DEQUANTIZE", "float32"))
    graph = retyped(graph, "float32", 0)
    assert len(import_bytes(write_tflite(graph), tmp_path).operators) == 2
    abs_ = Operator("ABS", (0,), (3,))
    tensors = (*graph.tensors, Tensor("abs", (1, 4), "float32"))
    graph = replace(graph, tensors=tensors, operators=(*graph.operators, abs_), outputs=(2, 3))
    message = refusal(write_tflite(graph), tmp_path)
    assert "operator 2 (ABS): computes in float32; dlasim runs int8 networks" in message


def test_an_operator_without_a_float_form_is_told_where_to_cut(tmp_path):
    graph = converting(("RELU", "int8"), ("DEQUANTIZE", "float32"), ("TANH", "float32"))
    message = refusal(write_tflite(graph), tmp_path)
    assert "operator 2 (TANH): computes in float32" in message
    assert "quantize it too, or cut the model before it, with dequantize_1 as output" in message


@pytest.mark.parametrize("kind", ["SIN", "CUSTOM[My_Decoder]"])
def test_an_unknown_operator_on_floats_is_told_where_to_cut(kind):
    graph = converting(("DEQUANTIZE", "float32"), (kind, "float32"))
    with pytest.raises(InputError) as caught:
        prepare(ReadModel(graph, frozenset()), "model")
    assert f"({kind}): computes in float32" in str(caught.value)
    assert "of " + kind + ": cut the model before it, with dequantize_0 as output" in str(caught.value)


def test_all_that_cannot_run_is_listed_at_once():
    """Operators that differ in what is wrong: a type, or that nobody knows them."""
    chain = (
        ("HYPOT", "int8"), ("DEQUANTIZE", "float32"), ("TANH", "float32"), ("SIN", "float32"),
        ("ABS", "float32"), ("SIN", "float32"), ("QUANTIZE", "int8"), ("HARD_SWISH", "int8"),
    )  # fmt: skip
    graph = converting(*chain)
    placed = [replace(operator, location=f"operator {i}") for i, operator in enumerate(graph.operators)]
    with pytest.raises(InputError) as caught:
        prepare(ReadModel(replace(graph, operators=tuple(placed)), frozenset()), "model")
    assert str(caught.value) == (
        "model: operator 2 (TANH): computes in float32, in which dlasim has no exact form of TANH: "
        "quantize it too, or cut the model before it, with dequantize_1 as output; "
        "it cannot run these either: operator 3 (SIN) and 1 more of its kind, operator 0 (HYPOT)"
    )


def test_16_bits_are_refused_with_a_reason(tmp_path):
    graph = random_graph("HARD_SWISH", 0)
    tensors = tuple(replace(tensor, quantization=SCALED) for tensor in graph.tensors)
    message = refusal(write_tflite(retyped(replace(graph, tensors=tensors), "int16", 0, 1)), tmp_path)
    assert "is int16, which HARD_SWISH does not support: quantize it as int8" in message


def test_the_states_of_svdf_may_have_16_bits(tmp_path):
    assert import_bytes(write_tflite(random_graph("SVDF", 0)), tmp_path).tensors[4].dtype == "int16"


def test_several_subgraphs_are_refused_naming_the_control_flow(tmp_path):
    model = raw_model()
    codes = [*model["operator_codes"], {"deprecated_builtin_code": 119, "builtin_code": 119}]
    message = refusal(
        encode("Model", model | {"subgraphs": model["subgraphs"] * 2, "operator_codes": codes}, 256), tmp_path
    )
    assert "2 subgraphs" in message
    assert "control flow is not supported: WHILE" in message


@pytest.mark.parametrize(
    ("kind", "changes", "expected"),
    [
        ("CONV_2D", {"stride_h": 0}, "the stride must be at least 1 (got 0)"),
        ("CONV_2D", {"dilation_h_factor": 0}, "the dilation must be at least 1 (got 0)"),
        ("DEPTHWISE_CONV_2D", {"depth_multiplier": 3}, "times multiplier 3"),
        ("AVERAGE_POOL_2D", {"filter_height": 0}, "the filter must be at least 1x1 (got 0x"),
        ("AVERAGE_POOL_2D", {"filter_height": 99, "padding": "VALID"}, "would have shape"),
        ("AVERAGE_POOL_2D", {"stride_w": -1}, "the stride must be at least 1 (got -1)"),
        ("CONCATENATION", {"axis": 4}, "its axis must be from -4 to 3 (got 4)"),
        ("GATHER", {"axis": -9}, "its axis must be from -3 to 2 (got -9)"),
        ("SPLIT", {"num_splits": 7}, "splits"),
        ("UNPACK", {"num": 1}, "num 1 and"),
        ("SQUEEZE", {"squeeze_dims": (2,)}, "are not 1"),
        ("STRIDED_SLICE", {"ellipsis_mask": 3}, "it must have at most 1 ellipses (got 2)"),
        ("SVDF", {"rank": 0}, "rank must divide the number of filters"),
        ("MEAN", {"keep_dims": None}, "declared"),
    ],
)
def test_options_that_cannot_be_are_refused(kind, changes, expected, tmp_path):
    graph = random_graph(kind, 2)
    operator = graph.operators[0]
    if kind == "MEAN":
        changes = {"keep_dims": not operator.options["keep_dims"]}
    changed = replace(operator, options={**operator.options, **changes})
    message = refusal(write_tflite(replace(graph, operators=(changed,))), tmp_path)
    assert f"operator 0 ({kind})" in message
    assert expected in message


@pytest.mark.parametrize("kind", ["PAD", "RESHAPE", "TRANSPOSE", "MEAN", "ARG_MAX", "SLICE", "GATHER"])
def test_parameters_far_out_of_range_are_refused(kind, tmp_path):
    graph = random_graph(kind, 0)
    for value in (-100, 77, 2**31 - 1):
        tensors = tuple(
            replace(tensor, data=np.full_like(tensor.data, value)) if tensor.is_constant else tensor
            for tensor in graph.tensors
        )
        assert f"operator 0 ({kind})" in refusal(write_tflite(replace(graph, tensors=tensors)), tmp_path)


def test_a_parameter_that_is_computed_is_refused(tmp_path):
    graph = random_graph("RESHAPE", 0)
    shape = replace(graph.tensors[1], data=None)
    model = write_tflite(replace(graph, tensors=(graph.tensors[0], shape, *graph.tensors[2:]), inputs=(0, 1)))
    assert "input 1 (shape) must be constant" in refusal(model, tmp_path)


def test_int8_without_a_scale_is_refused(tmp_path):
    assert "int8 without a scale" in refusal(
        broken(("subgraphs", 0, "tensors", 0, "quantization"), None), tmp_path
    )
    zero = {"scale": [0.0], "zero_point": [0]}
    assert "one scale above 0" in refusal(
        broken(("subgraphs", 0, "tensors", 0, "quantization"), zero), tmp_path
    )


def test_shapes_that_contradict_the_operator_are_refused(tmp_path):
    message = refusal(broken(("subgraphs", 0, "tensors", 1, "shape"), [1, 5]), tmp_path)
    assert "its output is declared [1, 5], but its inputs and options give [1, 4]" in message


def test_an_open_batch_is_one(tmp_path):
    model = raw_model()
    for tensor in model["subgraphs"][0]["tensors"]:
        tensor |= {"shape": [1, 4], "shape_signature": [-1, 4]}
    graph = import_bytes(encode("Model", model, 256), tmp_path)
    assert [tensor.shape for tensor in graph.tensors] == [(1, 4), (1, 4)]


def test_unknown_operators_stay_for_a_later_pass_to_refuse(tmp_path):
    codes = [{"deprecated_builtin_code": 66, "builtin_code": 66}]
    assert import_bytes(broken(("operator_codes",), codes), tmp_path).operators[0].kind == "SIN"


def test_real_models_of_other_types_are_taken(model_zoo: Path) -> None:
    """Each operator has a place; tests of uint8, LSTM and networks hold some of them to TensorFlow."""
    for path in other_models(model_zoo):
        if path.stem == "int4_weights":  # its depthwise convolution is one of float32
            with pytest.raises(InputError, match="computes in float32"):
                load_graph(path)
        else:
            assert partition(load_graph(path)).items
