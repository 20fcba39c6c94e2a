"""Speed of the engines' MAC instructions compared with LiteRT's kernels, one thread each, in one run.

All sides compute the same layer with per-channel requantization; rounds alternate between them, and the best
round of each counts, so that other work on the machine disturbs the ratios least.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from ai_edge_litert.interpreter import Interpreter, OpResolverType
from numpy.typing import NDArray

from dlasim.compiler_shim.network.graph import Graph, Operator, Quantization, Tensor
from dlasim.compiler_shim.tflite.writer import write_tflite
from dlasim.isa import codec
from dlasim.isa.instruction_rows import Init, Out, Quant
from dlasim.isa.registers import BY_NAME
from dlasim.sim.fast_engine import Engine
from dlasim.sim.fast_engine.loader import best_kind
from dlasim.sim.programs.operation import reset_file
from dlasim.sim.programs.stream import DecodedStream, decode_stream
from dlasim.sim.readable_engine import execute as execute_reference

ROUNDS = 12
ROUND_SECONDS = 0.02
SLOW_SECONDS = 0.05  # what takes longer is measured twice only
Step = Callable[[], object]


@dataclass(frozen=True, slots=True)
class TimedLayer:
    """A layer with SAME padding and stride 1."""

    name: str
    kind: str
    size: int
    inputs: int
    outputs: int
    kernel: int

    @property
    def macs(self) -> int:
        """Multiply-accumulates."""
        deep = 1 if self.kind == "DEPTHWISE_CONV_2D" else self.inputs
        return self.size**2 * self.kernel**2 * self.outputs * deep

    @property
    def weight_shape(self) -> tuple[int, ...]:
        """As TensorFlow lays weights out; the instructions take them the same way."""
        if self.kind == "FULLY_CONNECTED":
            return self.outputs, self.inputs
        if self.kind == "DEPTHWISE_CONV_2D":
            return 1, self.kernel, self.kernel, self.outputs
        return self.outputs, self.kernel, self.kernel, self.inputs


LAYERS = (
    TimedLayer("3x3, 56x56, 64 to 64", "CONV_2D", 56, 64, 64, 3),
    TimedLayer("1x1, 14x14, 512 to 512", "CONV_2D", 14, 512, 512, 1),
    TimedLayer("3x3, 32x32, 16 to 16", "CONV_2D", 32, 16, 16, 3),
    TimedLayer("1x1, 112x112, 32 to 64", "CONV_2D", 112, 32, 64, 1),
    TimedLayer("depthwise 3x3, 112x112x64", "DEPTHWISE_CONV_2D", 112, 64, 64, 3),
    TimedLayer("depthwise 3x3, 14x14x512", "DEPTHWISE_CONV_2D", 14, 512, 512, 3),
    TimedLayer("fully connected, 1024 to 1000", "FULLY_CONNECTED", 1, 1024, 1000, 1),
)


def main() -> None:
    """Print GMAC/s of each side, and the ratio of the fastest engine here to LiteRT."""
    kinds = dict.fromkeys((best_kind(), "portable"))
    engines = {kind: Engine(kind) for kind in kinds}
    sides = ["XNNPACK", "LiteRT ref", *engines, "readable"]
    print(f"{'GMAC/s':<31}" + "".join(f"{side:>11}" for side in sides) + f"{'/ XNNPACK':>11}{'/ ref':>8}")
    for layer in LAYERS:
        steps: dict[str, Step] = {
            "XNNPACK": litert(layer, OpResolverType.AUTO),
            "LiteRT ref": litert(layer, OpResolverType.BUILTIN_REF),
        }
        stream, sram = instruction(layer)
        for name, engine in engines.items():
            steps[name] = partial(engine.prepare(stream).run, sram, [])
        steps["readable"] = partial(execute_reference, stream.operation(0), sram)
        seconds = best_seconds(steps)
        rates = {side: layer.macs / seconds[side] / 1e9 for side in sides}
        ours = rates[best_kind()]
        print(
            f"{layer.name:<31}" + "".join(f"{rates[side]:>11.1f}" for side in sides)
            + f"{ours / rates['XNNPACK']:>11.2f}{ours / rates['LiteRT ref']:>8.1f}"
        )  # fmt: skip


def best_seconds(steps: dict[str, Step]) -> dict[str, float]:
    """The shortest time of one step of each side."""
    counts, best = {}, {}
    for side, step in steps.items():
        step()
        best[side] = timed(step, 1)
        counts[side] = max(1, int(ROUND_SECONDS / best[side]))
    for number in range(ROUNDS):
        for side, step in steps.items():
            if number == 0 or best[side] < SLOW_SECONDS:
                best[side] = min(best[side], timed(step, counts[side]))
    return best


def timed(step: Step, count: int) -> float:
    """Seconds of one of `count` steps."""
    start = time.perf_counter()
    for _ in range(count):
        step()
    return (time.perf_counter() - start) / count


def litert(layer: TimedLayer, resolver: OpResolverType) -> Step:
    """One inference of a model of that layer alone."""
    interpreter = Interpreter(
        model_content=write_tflite(graph(layer)), experimental_op_resolver_type=resolver, num_threads=1
    )
    interpreter.allocate_tensors()
    detail = interpreter.get_input_details()[0]
    values = np.random.default_rng(0).integers(-128, 128, detail["shape"]).astype(np.int8)
    interpreter.set_tensor(detail["index"], values)
    return interpreter.invoke


def graph(layer: TimedLayer) -> Graph:
    """The layer as a network."""
    rng = np.random.default_rng(1)
    dense = layer.kind == "FULLY_CONNECTED"
    shape = (1,) if dense else (1, layer.size, layer.size)
    scale = float(np.float32(0.05))
    scales = (float(np.float32(0.01)),) * (1 if dense else layer.outputs)
    axis = 3 if layer.kind == "DEPTHWISE_CONV_2D" else 0
    weights = rng.integers(-127, 128, layer.weight_shape).astype(np.int8)
    bias = rng.integers(-999, 999, layer.outputs).astype(np.int32)
    zeros = (0,) * len(scales)
    bias_scales = tuple(float(np.float32(scale) * np.float32(s)) for s in scales)
    tensors = (
        Tensor("in", (*shape, layer.inputs), "int8", Quantization((scale,), (3,))),
        Tensor("weights", weights.shape, "int8", Quantization(scales, zeros, axis), weights),
        Tensor("bias", bias.shape, "int32", Quantization(bias_scales, zeros), bias),
        Tensor("out", (*shape, layer.outputs), "int8", Quantization((0.5,), (-3,))),
    )
    options = {
        "CONV_2D": {"padding": "SAME", "stride_h": 1, "stride_w": 1},
        "DEPTHWISE_CONV_2D": {"padding": "SAME", "stride_h": 1, "stride_w": 1, "depth_multiplier": 1},
        "FULLY_CONNECTED": {},
    }[layer.kind]
    return Graph("layer", tensors, (Operator(layer.kind, (0, 1, 2), (3,), options),), (0,), (3,))


def instruction(layer: TimedLayer) -> tuple[DecodedStream, NDArray[np.uint8]]:
    """A stream of one instruction that computes the layer, and SRAM with its operands."""
    in_bytes, out_bytes = (layer.size**2 * channels for channels in (layer.inputs, layer.outputs))
    weight_bytes = int(np.prod(layer.weight_shape))
    weights_at = -(-in_bytes // 64) * 64
    records_at = weights_at + -(-weight_bytes // 64) * 64
    out_at = records_at + -(-12 * layer.outputs // 64) * 64
    sram = np.random.default_rng(2).integers(0, 256, out_at + out_bytes, np.uint8)
    records = np.tile(np.array([100, 1 << 30, -8], "<i4"), layer.outputs)
    sram[records_at : records_at + 12 * layer.outputs] = records.view(np.uint8)
    size, pad = (layer.size, layer.size), layer.kernel // 2
    values: dict[str, int | tuple[int, int]] = {
        "IN_ADDR": 0, "IN_PIXEL_STRIDE": layer.inputs, "IN_ROW_STRIDE": layer.size * layer.inputs,
        "OUT_ADDR": out_at, "OUT_PIXEL_STRIDE": layer.outputs, "OUT_ROW_STRIDE": layer.size * layer.outputs,
        "WEIGHT_ADDR": weights_at, "PARAM_ADDR": records_at, "IN_SIZE": size, "OUT_SIZE": size,
        "IN_CHANNELS": layer.inputs, "OUT_CHANNELS": layer.outputs, "KERNEL": (layer.kernel,) * 2,
        "PAD": (pad, pad), "IN_ZP": 3, "PAD_VALUE": 3,
    }  # fmt: skip
    mnemonic = {"CONV_2D": "OP_CONV", "DEPTHWISE_CONV_2D": "OP_DEPTH_CONV"}.get(layer.kind, "OP_MAT_MUL")
    words = [codec.encode_cfg(name, pattern(name, value)) for name, value in values.items()]
    words.append(codec.encode(mnemonic, init=Init.BIAS, out=Out.INT8, quant=Quant.CHANNEL))
    words.append(codec.encode("HALT"))
    return decode_stream(np.array(words, np.uint64), reset_file(), 0), sram


def pattern(name: str, value: int | tuple[int, int]) -> int:
    """What CFG writes for a number, or for the halves of a packed register."""
    register = BY_NAME[name]
    numbers = value if isinstance(value, tuple) else (value,)
    return register.pack(**{field.name: n for field, n in zip(register.fields, numbers, strict=True)})


if __name__ == "__main__":
    main()
