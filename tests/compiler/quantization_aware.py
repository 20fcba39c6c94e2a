"""A uint8 network as TensorFlow 1 made them by quantization-aware training, with random weights."""

from __future__ import annotations

from typing import Any

import numpy as np

SHAPE = (1, 16, 16, 3)


def quantization_aware_network(tf: Any) -> bytes:
    """Convolutions, a residual sum, a CONCATENATION of two scales, pools and a classifier."""
    v1 = tf.compat.v1
    rng = np.random.default_rng(0)
    limited = tf.quantization.fake_quant_with_min_max_args

    def weights(*shape: int) -> Any:
        values = rng.normal(0, 0.3, shape).astype(np.float32)
        return limited(tf.constant(values), float(values.min()), 1.3 * float(values.max()))

    def biased(x: Any, channels: int) -> Any:
        return tf.nn.bias_add(x, tf.constant(rng.normal(0, 0.1, channels).astype(np.float32)))

    with tf.Graph().as_default() as graph, v1.Session(graph=graph) as session:
        image = v1.placeholder(tf.float32, SHAPE, name="image")
        x = tf.nn.conv2d(limited(image, -1, 1), weights(3, 3, 3, 8), 2, "SAME")
        x = limited(tf.nn.relu6(biased(x, 8)), 0, 6)
        y = tf.nn.depthwise_conv2d(x, weights(3, 3, 8, 1), [1, 1, 1, 1], "SAME")
        y = limited(tf.nn.relu6(biased(y, 8)), 0, 6)
        y = limited(biased(tf.nn.conv2d(y, weights(1, 1, 8, 8), 1, "SAME"), 8), -4, 4.5)
        x = limited(tf.concat([limited(x + y, -4, 9), y], 3), -4, 9)
        x = limited(tf.nn.avg_pool2d(tf.nn.max_pool2d(x, 2, 2, "VALID"), 3, 1, "SAME"), -4, 9)
        x = limited(biased(tf.matmul(tf.reshape(x, (1, 256)), weights(256, 10)), 10), -12, 12)
        output = limited(tf.nn.softmax(x), 0, 1)
        converter = v1.lite.TFLiteConverter.from_session(session, [image], [output])
        converter.inference_type = tf.uint8
        converter.quantized_input_stats = {"image": (128.0, 127.0)}
        return bytes(converter.convert())
