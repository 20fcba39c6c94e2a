"""Programs made of nothing but host calls, run by the firmware and by the standalone simulator's kernels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from dlasim.isa.file_records import DataType, LayerKind, Role, StepKind
from dlasim.isa.host_attributes import encode_attributes
from dlasim.isa.host_ops import BY_NAME
from dlasim.isa.program import HostCall, Layer, Program, Step, TensorDescriptor
from dlasim.isa.registers import Region
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.host import TensorSpec, run_host_op
from dlasim.vp.system.host import HostOptions, Prototype, Prototyped

Array = np.ndarray
_ALIGNMENT = 8
_GAP_BYTES = 64  # behind each output, to be left alone


@dataclass
class HostCalls:
    """Collects calls; every input is a constant, every output a model output."""

    calls: list[HostCall] = field(default_factory=list)
    tensors: list[TensorDescriptor] = field(default_factory=list)
    expected: list[Array] = field(default_factory=list)
    _callers: list[HostCall] = field(default_factory=list)  # of each of `expected`
    _constants: bytearray = field(default_factory=bytearray)
    _outputs_bytes: int = 0

    def add(
        self, name: str, inputs: Sequence[Array], outputs: Sequence[TensorSpec], **attributes: Any
    ) -> None:
        """A call, with the result that it must have."""
        self.add_words(name, inputs, outputs, encode_attributes(name, **attributes))

    def add_words(
        self,
        name: str,
        inputs: Sequence[Array],
        outputs: Sequence[TensorSpec],
        words: tuple[int, ...],
        expect_result: bool = True,
    ) -> None:
        """A call by its attribute words, with the result that it must have unless it is one to be refused."""
        code = BY_NAME[name].code
        numbers = tuple(self._constant(array) for array in inputs)
        results = tuple(self._output(spec) for spec in outputs)
        self._output(TensorSpec((_GAP_BYTES,), "uint8"))
        self.calls.append(HostCall(code, numbers, results, words, len(self.calls)))
        self.expected += run_host_op(code, words, inputs, outputs) if expect_result else []
        self.expected.append(np.zeros(_GAP_BYTES, np.uint8))
        self._callers += [self.calls[-1]] * (len(self.expected) - len(self._callers))

    def _constant(self, array: Array) -> int:
        self._constants += bytes(-len(self._constants) % _ALIGNMENT)
        offset = len(self._constants)
        self._constants += np.ascontiguousarray(array).tobytes()
        return self._tensor(array.shape, array.dtype, Role.CONSTANT, Region.CONSTANTS, offset)

    def _output(self, spec: TensorSpec) -> int:
        self._outputs_bytes += -self._outputs_bytes % _ALIGNMENT
        offset, dtype = self._outputs_bytes, np.dtype(spec.dtype)
        self._outputs_bytes += int(np.prod(spec.shape, dtype=np.int64)) * dtype.itemsize
        return self._tensor(spec.shape, dtype, Role.OUTPUT, Region.OUTPUTS, offset)

    def _tensor(
        self, shape: tuple[int, ...], dtype: np.dtype[Any], role: Role, region: Region, offset: int
    ) -> int:
        size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
        kind = DataType[dtype.name]
        number = len(self.tensors)
        self.tensors.append(TensorDescriptor(f"t{number}", kind, role, region, offset, size, tuple(shape)))
        return number

    def program(self, config: DlaConfig) -> Program:
        """All calls, one after another."""
        return Program(
            "calls",
            config.requirement(outputs_bytes=self._outputs_bytes),
            np.zeros(0, np.uint64),
            (),
            tuple(Step(StepKind.HOST, number) for number in range(len(self.calls))),
            np.frombuffer(bytes(self._constants), np.uint8),
            tuple(self.tensors),
            tuple(self.calls),
            tuple(Layer(f"call {n}", "", LayerKind.HOST) for n in range(len(self.calls))),
        )

    def run(self, firmware: Path | None = None) -> Prototyped:
        """On the board."""
        from dlasim.sim.execution.executor import ReferenceExecutor

        config = DlaConfig()
        options = HostOptions(firmware=firmware)
        return Prototype(self.program(config), config, ReferenceExecutor(), options).run()

    def check(self) -> None:
        """Holds the firmware's results to the simulator's, bit for bit."""
        done = self.run()
        for actual, expected, call in zip(done.inference.outputs, self.expected, self._callers, strict=True):
            np.testing.assert_array_equal(_bits(actual), _bits(expected), err_msg=str(call), strict=True)


def _bits(values: Array) -> Array:
    """Floats by their bits, so that -0 is not 0; every NaN is the same."""
    if values.dtype != np.float32:
        return values
    return np.where(np.isnan(values), np.float32(np.nan), values).view(np.uint32)
