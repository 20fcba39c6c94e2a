"""What a language model has besides other networks: tokens, tables, caches."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dlasim.compiler_shim.network.graph import Operator, Option, Quantization
from dlasim.compiler_shim.topologies.builder import Activation, NetworkBuilder

_TOKENS = 16  # samples to calibrate with


class LanguageBuilder(NetworkBuilder):
    """A language model under construction; it is calibrated with random tokens at random positions."""

    def index_input(self, name: str, count: int, tokens: int) -> int:
        """An input that is numbers below `count`, one beyond that is the nearest; its number."""
        value = self._tensor(name, (1, tokens), "int32", None)
        self._inputs.append(value)
        for kind, bound in (("MAXIMUM", 0), ("MINIMUM", count - 1)):
            limit = self._constant(f"{name}/{kind.lower()}", np.array([[bound]], np.int32))
            value = self._plain(kind, f"{name}/at_{kind.lower()}", (value, limit), (1, tokens))
        return value

    def first_index(self, name: str, index: int, tokens: int) -> int:
        """The first of so many numbers."""
        if tokens == 1:
            return index
        begin, size = (
            self._constant(f"{name}/{what}", np.array(numbers, np.int32))
            for what, numbers in (("begin", [0, 0]), ("size", [1, 1]))
        )
        return self._plain("SLICE", name, (index, begin, size), (1, 1))

    def repeat_indices(self, name: str, index: int, tokens: int, times: int) -> int:
        """The numbers several times."""
        if times == 1:
            return index
        numbers, shape = (index,) * times, (1, times * tokens)
        return self._plain("CONCATENATION", name, numbers, shape, axis=1, fused_activation_function="NONE")

    def draw(self, count: int, tokens: int) -> NDArray[np.int64]:
        """Numbers below `count`, a row of them for each sample."""
        return self._rng.integers(0, count, (_TOKENS, tokens))

    def look_up(self, name: str, table: Activation, index: int, samples: NDArray[np.int64]) -> Activation:
        """GATHER: rows of a constant table; for calibration, those of the samples."""
        values = table.values[samples]
        numbers = table.index, index
        return self._append("GATHER", name, numbers, values, table.quantization, axis=0, batch_dims=0)

    def cache_start(self, name: str, position: int, axis: int) -> int:
        """Where what a cache keeps of this position begins, along one of its four dimensions."""
        shape = self._constant(f"{name}/shape", np.array([1], np.int32))
        flat = self._plain("RESHAPE", f"{name}/flat", (position, shape), (1,), new_shape=(1,))
        zeros = (
            self._constant(f"{name}/{side}", np.zeros(count, np.int32))
            for side, count in (("before", axis), ("after", 3 - axis))
            if count
        )
        parts = [flat, *zeros] if axis == 0 else [next(zeros), flat, *zeros]
        numbers = tuple(parts)
        return self._plain("CONCATENATION", name, numbers, (4,), axis=0, fused_activation_function="NONE")

    def append_to_cache(self, name: str, row: Activation, axis: int, length: int, start: int) -> Activation:
        """DYNAMIC_UPDATE_SLICE of a variable that keeps so many rows along one of its four dimensions; for
        calibration, those of any samples."""
        samples, *shape = row.values.shape
        others = self._rng.integers(0, samples, (samples, length))
        shape[axis - 1] = length
        values = np.moveaxis(np.take(row.values[others], 0, axis + 1), 1, axis)
        cache = self._tensor(name, (1, *shape), "int8", row.quantization)
        inputs = cache, row.index, start
        self._operators.append(Operator("DYNAMIC_UPDATE_SLICE", inputs, (cache,), {}, self._location()))
        return Activation(cache, values, row.quantization)

    def swap_halves(self, name: str, source: Activation) -> Activation:
        """The second half of the channels before the first: two SLICEs and a CONCATENATION."""
        *outer, channels = source.values.shape[1:]
        half, parts = channels // 2, []
        for part, first in (("second", half), ("first", 0)):
            place = [*(0 for _ in outer), 0, first], [1, *outer, half]
            begin, size = (
                self._constant(f"{name}/{part}/{what}", np.array(numbers, np.int32))
                for what, numbers in zip(("begin", "size"), place, strict=True)
            )
            values = source.values[..., first : first + half]
            inputs = source.index, begin, size
            parts.append(self._same_scale("SLICE", f"{name}/{part}", inputs, values, source))
        return self.concatenate(name, parts[0], parts[1], len(outer) + 1)

    def logistic(self, name: str, source: Activation) -> Activation:
        """LOGISTIC, in the scale that TensorFlow prescribes."""
        real = 1 / (1 + np.exp(-source.real))
        scale = Quantization((1 / 256,), (-128,))
        return self._quantized("LOGISTIC", name, (source.index,), real, scale)

    def project(self, name: str, source: Activation, table: Activation) -> Activation:
        """FULLY_CONNECTED with the rows of a constant table as weights."""
        scale = np.float64(source.quantization.scale * table.quantization.scale)
        inputs = source.index, table.index
        real = (source.values @ table.values.T) * scale
        return self._output(
            "FULLY_CONNECTED", name, inputs, real, keep_num_dims=True, fused_activation_function="NONE"
        )

    def _plain(
        self, kind: str, name: str, inputs: tuple[int, ...], shape: tuple[int, ...], **options: Option
    ) -> int:
        """An operator on numbers without a scale; its result."""
        index = self._tensor(name, shape, "int32", None)
        self._operators.append(Operator(kind, inputs, (index,), options, self._location()))
        return index
