"""A random network under construction: what operators are drawn from, and the tensors that they need."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from dlasim.compiler_shim.network.graph import Graph, Operator, Quantization, Tensor
from tests.round_scales import round_scale

Shape = tuple[int, ...]
ACTIVATIONS = ("NONE", "NONE", "RELU", "RELU6")
TYPICAL_SPREAD = 50  # of the raw values of an activation
MAX_ELEMENTS = 40_000
MAX_MACS = 1_500_000
LEAST_SCALE = 2.0**-120  # smaller ones, and greater ones than its inverse, soon leave float32
# What the scales of a network of round ones are multiplied by: at times they are tiny or huge.
MAGNITUDES = (*[1.0] * 7, 2.0**-20, 2.0**-10, 2.0**6)


@dataclass(frozen=True)
class Activation:
    """A tensor that later operators may read."""

    index: int
    shape: Shape
    quantization: Quantization


class MisfitError(Exception):
    """An operator that does not fit what there is; another one is drawn."""


class RandomNetwork:
    """A network under construction."""

    def __init__(self, seed: int, most_elements: int = MAX_ELEMENTS, is_line: bool = False) -> None:
        self.rng = np.random.default_rng(seed)
        # From a generator of their own, so that the rest of a seed's network is the same with other scales.
        self.round = np.random.default_rng([seed, 4])
        self.is_round = bool(self.round.random() < 0.6)
        self.magnitude = float(self.round.choice(MAGNITUDES)) if self.is_round else 1.0
        self.most_elements = most_elements
        self.is_line = is_line
        self.tensors: list[Tensor] = []
        self.operators: list[Operator] = []
        self.inputs: list[Activation] = []
        self.activations: list[Activation] = []
        self.pool = [self.fresh_quantization() for _ in range(2)]
        for _ in range(self.choice(1, 1, 1, 2, 3)):
            self.add_input(self.first_shape())

    @property
    def most_macs(self) -> int:
        """Of one operator."""
        return MAX_MACS if self.most_elements == MAX_ELEMENTS else 20 * self.most_elements

    # Drawing

    def number(self, lowest: int, highest: int) -> int:
        return int(self.rng.integers(lowest, highest + 1))

    def choice(self, *values: Any) -> Any:
        return values[self.number(0, len(values) - 1)]

    def chance(self, share: float) -> bool:
        return bool(self.rng.random() < share)

    def size(self, highest: int) -> int:
        """Mostly small, and awkward: ones, odd numbers, powers of two and their neighbours."""
        usual = (
            1, 2, 3, 4, 5, 7, 8, 9, 13, 15, 16, 17, 24,
            31, 32, 33, 48, 63, 64, 65, 96, 100, 127, 128, 130,
        )  # fmt: skip
        fitting = [size for size in usual if size <= highest]
        return self.choice(*fitting) if self.chance(0.7) else self.number(1, highest)

    def first_shape(self) -> Shape:
        if self.is_line:
            return (1, self.number(12, 60), self.number(4, 40), self.choice(1, 3, 8, 13, 16))
        if self.chance(0.12):
            return (self.choice(1, 1, 3), self.size(min(300, self.most_elements // 3)))
        side = 40 if self.most_elements == MAX_ELEMENTS else 9
        height, width = self.size(side), self.size(side)
        if self.most_elements == MAX_ELEMENTS and self.chance(0.05):
            height, width = self.choice((1, 900), (400, 1), (120, 60), (3, 300))
        channels = max(1, min(self.size(130), self.most_elements // (height * width)))
        batch = self.choice(2, 3) if self.chance(0.08) else 1
        return (batch, height, width, channels)

    def scale(self, drawn: float, *bases: float) -> float:
        """A scale as a file holds it: the one drawn, or one near it that makes ties with these others."""
        if not LEAST_SCALE < drawn < 1 / LEAST_SCALE:
            raise MisfitError
        if self.is_round and self.round.random() < 0.85:
            return round_scale(self.round, drawn, bases)
        return float(np.float32(drawn))

    def fresh_quantization(self) -> Quantization:
        scale = self.scale(self.magnitude * self.rng.uniform(0.01, 0.2))
        return Quantization((scale,), (self.choice(0, -128, self.number(-128, 127), self.number(-40, 40)),))

    def any_activation(self, rank: int | None = None) -> Activation:
        """A recent one more often than an old one."""
        known = [one for one in self.activations if rank is None or len(one.shape) == rank]
        if not known:
            raise MisfitError
        if self.is_line:
            return known[-1]
        return known[-1 - min(int(self.rng.geometric(0.5)) - 1, len(known) - 1)]

    # Tensors

    def tensor(self, shape: Shape, quantization: Quantization | None, dtype: str = "int8") -> int:
        self.tensors.append(Tensor(f"t{len(self.tensors)}", shape, dtype, quantization))
        return len(self.tensors) - 1

    def constant(self, data: Any, quantization: Quantization | None = None) -> int:
        data = np.asarray(data)
        data = data.astype(np.int32) if data.dtype == np.int64 else data
        self.tensors.append(Tensor(f"c{len(self.tensors)}", data.shape, data.dtype.name, quantization, data))
        return len(self.tensors) - 1

    def add_input(self, shape: Shape) -> Activation:
        quantization = self.choice(*self.pool)
        one = Activation(self.tensor(shape, quantization), shape, quantization)
        self.inputs.append(one)
        self.activations.append(one)
        return one

    def int8(self, shape: Shape) -> np.ndarray:
        return self.rng.integers(-127, 128, shape, dtype=np.int8)

    def output(self, kind: str, inputs: list[int], shape: Shape, quantization: Quantization,
               options: dict[str, Any]) -> Activation:  # fmt: skip
        if np.prod(shape) > 2 * self.most_elements:
            raise MisfitError
        is_limited = "RELU6" in (kind, options.get("fused_activation_function")) or kind == "RELU_N1_TO_1"
        if is_limited and quantization.scale < 2.0**-28:
            raise MisfitError  # 6 is beyond int32 in steps of that scale: references refuse or overflow
        sources = [self.tensors[place] for place in inputs if place >= 0]
        if any(_steps(source, quantization) >= 2.0**31 for source in sources):
            raise MisfitError  # no reference can shift by so much
        if kind == "SOFTMAX" and sources[0].quantization.scale * options["beta"] <= 2.0**-26:
            raise MisfitError  # TFLite Micro aborts
        index = self.tensor(shape, quantization)
        self.operators.append(
            Operator(kind, tuple(inputs), (index,), options, f"operator {len(self.operators)}")
        )
        one = Activation(index, shape, quantization)
        self.activations.append(one)
        return one

    def weighted(self, count: int, taps: int, source: Activation, output_scale: float) -> tuple[float, ...]:
        """Weight scales with which sums over `taps` products get a usual spread."""
        gain = TYPICAL_SPREAD / (np.sqrt(taps) * TYPICAL_SPREAD * 73)
        gains = gain * self.rng.uniform(0.3, 1.6, count)
        tied = output_scale / source.quantization.scale
        return tuple(self.scale(g * tied, tied) for g in gains)

    def weights(self, shape: Shape, axis: int | None, taps: int, source: Activation,
                output: Quantization, without_bias: float = 0.0) -> list[int]:  # fmt: skip
        """Weights, per channel along an axis or with one scale, and a bias with some probability."""
        count = 1 if axis is None else shape[axis]
        scales = self.weighted(count, taps, source, output.scale)
        weights = self.constant(self.int8(shape), Quantization(scales, (0,) * count, axis or 0))
        if self.chance(without_bias):
            return [weights]
        bias_scales = tuple(float(np.float32(source.quantization.scale) * np.float32(s)) for s in scales)
        channels = shape[0 if axis is None else axis]
        reach = int(60 * 73 * np.sqrt(taps))
        bias = self.rng.integers(-reach, reach + 1, channels).astype(np.int32)
        return [weights, self.constant(bias, Quantization(bias_scales, (0,) * count))]

    def new_quantization(self) -> Quantization:
        """Often one that others have too, so that they can be concatenated."""
        return self.choice(*self.pool) if self.chance(0.5) else self.fresh_quantization()

    def matched(self, one: Activation, quantization: Quantization) -> Activation:
        """The activation with this quantization, by QUANTIZE where it has another."""
        if one.quantization == quantization:
            return one
        return self.output("QUANTIZE", [one.index], one.shape, quantization, {})

    # The whole

    def graph(self, operators: int) -> Graph:
        """The first operators as a network whose outputs are what nothing reads, and at times more."""
        kept = self.operators[:operators]
        read = {index for operator in kept for index in operator.inputs}
        written = [index for operator in kept for index in operator.outputs]
        outputs = [index for index in written if index not in read]
        side = np.random.default_rng(len(self.tensors))
        if written and side.random() < 0.2:
            outputs.append(int(side.choice(written)))
        if side.random() < 0.06:
            outputs.append(self.inputs[0].index)
        if side.random() < 0.04:
            outputs.append(outputs[0])
        inputs = [one.index for one in self.inputs]
        # A TFLite model without a reader of an input is legal, and so is one that shows an input.
        return Graph("random", tuple(self.tensors), tuple(kept), tuple(inputs), tuple(outputs))


def _steps(source: Tensor, output: Quantization) -> float:
    """Steps of the output in a step of an activation."""
    is_activation = source.data is None and source.quantization is not None
    return source.quantization.scale / output.scale if is_activation else 0.0
