"""A decoder of two layers of real size, as TensorFlow's converter exports it, against TFLite Micro.

Its caches are inputs that come back as outputs, and DYNAMIC_UPDATE_SLICE writes a row of each. The converter
computes that in float32, between DEQUANTIZE and QUANTIZE.
"""

from __future__ import annotations

import os

import numpy as np
import pytest

import dlasim
from tests.oracle import run_tflite_micro

WIDTH, HEADS, GROUPS, HEAD, INNER, CONTEXT, LAYERS, CLASSES = 576, 9, 3, 64, 1536, 16, 2, 1000
CACHES = [f"{name}_{layer}" for layer in range(LAYERS) for name in ("keys", "values")]
NAMES = ["token", "position", *CACHES]
TOKENS = np.random.default_rng(1).normal(0, 1, (CONTEXT, 1, WIDTH)).astype(np.float32)


def decoder(tf):
    """A step: RMSNorm, attention of three heads to each row of keys and of values, SiLU gates, and logits."""
    from tensorflow.compiler.tf2xla.ops.gen_xla_ops import xla_dynamic_update_slice

    rng = np.random.default_rng(0)

    def linear(x, size):
        weights = rng.normal(0, x.shape[-1] ** -0.5, (x.shape[-1], size))
        return tf.matmul(x, tf.constant(weights.astype(np.float32)))

    def norm(x):
        return x * tf.math.rsqrt(tf.reduce_mean(x * x, -1, keepdims=True) + 1e-5)

    def append(cache, row, position):
        row = tf.reshape(row, (GROUPS, 1, HEAD))
        return xla_dynamic_update_slice(input=cache, update=row, indices=tf.stack([0, position[0], 0]))

    @tf.function(
        input_signature=[
            tf.TensorSpec((1, WIDTH), name="token"),
            tf.TensorSpec((1,), tf.int32, name="position"),
            *[tf.TensorSpec((GROUPS, CONTEXT, HEAD), name=name) for name in CACHES],
        ]
    )
    def step(x, position, *caches):
        new, mask = {}, tf.where(tf.range(CONTEXT)[None, None] <= position[0], 0.0, -8.0)
        for layer in range(LAYERS):
            seen = norm(x)
            query = tf.reshape(linear(seen, HEADS * HEAD), (GROUPS, HEADS // GROUPS, HEAD))
            keys, values = (
                append(cache, linear(seen, GROUPS * HEAD), position)
                for cache in caches[2 * layer : 2 * layer + 2]
            )
            new[f"new_keys_{layer}"], new[f"new_values_{layer}"] = keys, values
            scores = tf.matmul(query, keys, transpose_b=True) * HEAD**-0.5 + mask
            mixed = tf.matmul(tf.nn.softmax(scores), values)
            x += linear(tf.reshape(mixed, (1, HEADS * HEAD)), WIDTH)
            seen = norm(x)
            gate = linear(seen, INNER)
            x += linear(gate * tf.sigmoid(gate) * linear(seen, INNER), WIDTH)
        return new | {"logits": linear(norm(x), CLASSES)}

    return step


def samples(step):
    """All tokens, each with the caches of the one before; the last one twice, so that the caches that come in
    have the range of those that go out."""
    caches = [np.zeros((GROUPS, CONTEXT, HEAD), np.float32) for _ in CACHES]
    for place in (*range(CONTEXT), CONTEXT - 1):
        given = [TOKENS[place], np.array([place], np.int32), *caches]
        yield dict(zip(NAMES, given, strict=True))
        found = step(*given)
        caches = [found[f"new_{name}"].numpy() for name in CACHES]


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """The model, and the names of its tensors by those of the function's arguments and results."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    tf = pytest.importorskip("tensorflow", reason="TensorFlow is not installed, which converts")
    folder = tmp_path_factory.mktemp("decoder")
    module, step = tf.Module(), decoder(tf)
    module.step = step
    tf.saved_model.save(module, str(folder / "saved"), signatures=step.get_concrete_function())
    converter = tf.lite.TFLiteConverter.from_saved_model(str(folder / "saved"))
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    converter.representative_dataset = lambda: samples(step)
    converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
    converter.inference_input_type = converter.inference_output_type = tf.int8
    path = folder / "decoder.tflite"
    path.write_bytes(converter.convert())
    runner = tf.lite.Interpreter(str(path)).get_signature_runner()
    return path, runner.get_input_details(), runner.get_output_details()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("host", ["none", "riscv"])
def test_steps_are_those_of_tflite_micro(exported, host) -> None:
    """Logits and caches of each, with the caches of the one before."""
    path, inputs, outputs = exported
    carry = {outputs[f"new_{name}"]["name"]: inputs[name]["name"] for name in CACHES}
    session = dlasim.Session(path, carry=carry, host=host)
    given = {
        name: np.full(each["shape"], each["quantization"][1], each["dtype"]) for name, each in inputs.items()
    }
    order = sorted(inputs, key=lambda name: inputs[name]["index"])
    scale, zero = inputs["token"]["quantization"]
    for place in range(6):
        given["token"] = np.clip(np.round(TOKENS[place] / scale) + zero, -128, 127).astype(np.int8)
        given["position"] = np.array([place], np.int32)
        expected = run_tflite_micro(path, [given[name] for name in order])
        step = session.step({inputs[name]["name"]: given[name] for name in ("token", "position")})
        found = dict(zip([tensor.name for tensor in session.program.outputs], step.outputs, strict=True))
        for name, each in outputs.items():
            np.testing.assert_array_equal(found[each["name"]], expected[each["index"]], err_msg=name)
        given |= {name: expected[outputs[f"new_{name}"]["index"]] for name in CACHES}


@pytest.mark.filterwarnings("ignore")
def test_every_tensor_is_that_of_its_reference(exported) -> None:
    assert dlasim.verify(exported[0]).passed
