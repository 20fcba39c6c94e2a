"""The built-in networks: known sizes, real value ranges, and TensorFlow runs them."""

import math
from collections import defaultdict
from contextlib import closing

import numpy as np
import pytest

from dlasim.checking.tensorflow_reference import ReferenceModel
from dlasim.compiler_shim.compile import load_graph
from dlasim.compiler_shim.tflite.reader import read_tflite
from dlasim.compiler_shim.tflite.writer import write_tflite
from dlasim.compiler_shim.topologies import build_topology, calibration, topology_names
from dlasim.compiler_shim.topologies.calibration import calibration_inputs
from dlasim.errors import InputError
from tests.oracle import random_inputs, run_litert_reference, run_tflite_micro
from tests.tflite.comparison import assert_same_graph

SMALL = (
    ("autoencoder", {}),
    ("ds_cnn", {}),
    ("mnist", {}),
    ("mobilenet_v1", {"alpha": 0.25, "resolution": 96}),
    ("mobilenet_v2", {"alpha": 0.35, "resolution": 96}),
    ("resnet8", {}),
)
TRANSFORMERS = (("kwt", {}), ("mobile_bert", {}), ("vit", {}))
LARGE = (("mobilenet_v1", {}), ("mobilenet_v2", {}), ("resnet50", {}))
# Published counts of multiplications: the papers' own, and MLPerf Tiny's for its four networks. Of
# transformers those of dense layers, by their shapes: tokens times (4 width^2 for attention, and more).
MACS = {
    "autoencoder": 264_192,
    "ds_cnn": 2_656_768,
    "kwt": 98 * 40 * 64 + 12 * 99 * (4 * 64**2 + 2 * 64 * 256) + 64 * 12,
    "mobile_bert": 4 * 64 * (2 * 128 * 64 + 4 * 64**2 + 8 * 64 * 256) + 128 * 2,
    "mobilenet_v1": 568_740_352,
    "mobilenet_v2": 300_774_272,
    "resnet50": 3_857_973_248,
    "resnet8": 12_501_632,
    "vit": 64 * 48 * 64 + 4 * 64 * (4 * 64**2 + 2 * 64 * 128) + 64 * 10,
}
LARGE_TENSOR = 1024


def multiplications(graph):
    """Multiply-accumulates of convolutions and dense layers, from the shapes alone."""
    total = 0
    for operator in graph.operators:
        output = graph.tensors[operator.outputs[0]]
        if operator.kind in ("CONV_2D", "FULLY_CONNECTED"):
            total += output.elements * math.prod(graph.tensors[operator.inputs[1]].shape[1:])
        if operator.kind == "DEPTHWISE_CONV_2D":
            total += output.elements * math.prod(graph.tensors[operator.inputs[1]].shape[1:3])
    return total


def trial_inputs(graph):
    """Samples like those of calibration, but others, and the noise that a run without input gets."""
    shape = graph.tensors[graph.inputs[0]].shape
    noise = np.random.default_rng(0).integers(-128, 128, shape, dtype=np.int8)
    samples = [sample[np.newaxis] for sample in calibration_inputs(shape[1:], 12345)[:4]] + [noise]
    return [sample.view(graph.tensors[graph.inputs[0]].dtype) for sample in samples]


def assert_good_ranges(graph, run=run_tflite_micro):
    model = write_tflite(graph)
    products = defaultdict(set)  # of two activations: the scores of one sample lie close together
    for sample in trial_inputs(graph):
        tensors = run(model, [sample])
        for operator in graph.operators:
            if operator.kind == "SOFTMAX":
                continue  # its scale is prescribed, and the shares of most tokens are near 0
            values = tensors[operator.outputs[0]]
            if values.size >= LARGE_TENSOR:
                name = graph.tensors[operator.outputs[0]].name
                # Most squares are close to 0, which is then the least value, and saturates nothing.
                zero = graph.tensors[operator.outputs[0]].quantization.zero_point
                ends = {-128, 127} - ({zero} if operator.kind == "MUL" else set())
                assert np.isin(values, list(ends)).mean() <= 0.05, name
                if operator.kind == "BATCH_MATMUL":
                    products[name].update(np.unique(values).tolist())
                else:
                    assert len(np.unique(values)) >= (16 if operator.kind == "MUL" else 32), name
    for name, values in products.items():
        assert len(values) >= 32, name


def test_all_are_here():
    assert set(topology_names()) == {name for name, _ in (*SMALL, *TRANSFORMERS, *LARGE)} | {"smollm2"}


def one_sample(shape, seed):
    return calibration_inputs(shape, seed)[:1]


@pytest.mark.parametrize("name", MACS)
def test_multiplications_are_the_published_ones(name, monkeypatch):
    monkeypatch.setattr(calibration, "calibration_inputs", one_sample)  # shapes do not depend on their number
    assert multiplications(build_topology(name)) == MACS[name]


@pytest.mark.parametrize(("name", "options"), SMALL)
def test_tensorflow_runs_them_and_both_runtimes_agree(name, options):
    graph = build_topology(name, **options)
    model = write_tflite(graph)
    inputs = random_inputs(model)
    micro, reference = run_tflite_micro(model, inputs), run_litert_reference(model, inputs)
    for operator in graph.operators:
        if operator.kind == "FULLY_CONNECTED":
            break  # LiteRT computes these in double, and everything after follows
        index = operator.outputs[0]
        np.testing.assert_array_equal(micro[index], reference[index])
    assert len(np.unique(micro[graph.outputs[0]])) > 1


@pytest.mark.parametrize(("name", "options"), SMALL)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_activations_use_their_bits_and_hardly_saturate(name, options, seed):
    assert_good_ranges(build_topology(name, seed=seed, **options))


@pytest.mark.parametrize(("name", "options"), TRANSFORMERS)
def test_transformers_use_their_bits_too(name, options):
    """TFLite Micro lacks an operator of each; LiteRT computes that one."""

    def run(model, inputs):
        with closing(ReferenceModel(model, len(graph.tensors))) as reference:
            return reference.run(inputs).tensors

    graph = build_topology(name, **options)
    assert_good_ranges(graph, run)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "options"), LARGE)
def test_full_size_activations_use_their_bits_and_hardly_saturate(name, options):
    assert_good_ranges(build_topology(name, **options))


@pytest.mark.slow
@pytest.mark.parametrize(("name", "options"), LARGE)
def test_tensorflow_runs_the_full_size(name, options):
    test_tensorflow_runs_them_and_both_runtimes_agree(name, options)


@pytest.mark.parametrize(("name", "options"), [*SMALL, *TRANSFORMERS])
def test_files_read_back_and_import_as_they_were_built(name, options, tmp_path):
    graph = build_topology(name, **options)
    path = tmp_path / "network.tflite"
    path.write_bytes(write_tflite(graph))
    assert_same_graph(read_tflite(path), graph)
    assert_same_graph(load_graph(path), graph)


def test_the_seed_decides_everything():
    first, again, other = (write_tflite(build_topology("mnist", seed=seed)) for seed in (3, 3, 4))
    assert first == again
    assert first != other


@pytest.mark.parametrize("name", ["mnist", "resnet8", "ds_cnn"])
def test_the_precision_of_the_sums_does_not_matter(name, monkeypatch):
    """Exact sums are why a network does not depend on the machine: float64 must give the same file."""
    expected = write_tflite(build_topology(name))
    monkeypatch.setattr("dlasim.compiler_shim.topologies.arithmetic._EXACT_FLOAT32", 0)
    assert write_tflite(build_topology(name)) == expected


def test_weights_are_quantized_per_channel_and_use_their_range():
    graph = build_topology("resnet8")
    for operator in graph.operators:
        if operator.kind == "CONV_2D":
            weights = graph.tensors[operator.inputs[1]]
            assert len(weights.quantization.scales) == weights.shape[0]
            assert (np.abs(weights.data).max(axis=(1, 2, 3)) == 127).all()
            assert len(np.unique(np.asarray(weights.quantization.scales))) > weights.shape[0] // 2


def test_width_resolution_and_classes_are_obeyed():
    graph = build_topology("mobilenet_v2", alpha=0.5, resolution=64, classes=17)
    assert graph.tensors[graph.inputs[0]].shape == (1, 64, 64, 3)
    assert graph.tensors[graph.outputs[0]].shape == (1, 17)
    widths = [graph.tensors[operator.outputs[0]].shape[-1] for operator in graph.operators]
    assert widths[0] == 16
    assert 1280 in widths


@pytest.mark.parametrize(
    ("name", "options", "expected"),
    [
        ("alexnet", {}, "unknown network 'alexnet'; known are autoencoder"),
        ("resnet8", {"alpha": 1.0}, "resnet8 has no alpha"),
        ("mnist", {"resolution": 28}, "mnist has no resolution"),
        ("autoencoder", {"classes": 3}, "autoencoder has no classes"),
        ("mobilenet_v1", {"alpha": 0.0}, "alpha must be from 0.1 to 2.0"),
        ("mobilenet_v1", {"alpha": float("nan")}, "alpha must be from 0.1 to 2.0"),
        ("mobilenet_v1", {"resolution": 8}, "resolution must be from 32 to 512"),
        ("mnist", {"classes": 1}, "classes must be from 2 to 65536"),
        ("mnist", {"seed": -1}, r"seed must be from 0 to 9223372036854775807 \(got -1\)"),
    ],
)
def test_what_is_not_there_is_refused(name, options, expected):
    with pytest.raises(InputError, match=expected):
        build_topology(name, **options)
