"""Runs one host operator: the table says what it takes, a kernel of the same name computes it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any

import numpy as np

from dlasim.errors import RunError
from dlasim.isa import host_ops
from dlasim.isa.host_attributes import decode_attributes
from dlasim.isa.host_validation import refusal, view
from dlasim.isa.program import call_mismatch
from dlasim.sim.host import (
    convolution,
    detection,
    elementwise,
    exponentials,
    int16,
    movement,
    pooling,
    recurrent,
    resize,
    rows,
)
from dlasim.sim.host.call import Array, Call, TensorSpec

Kernel = Callable[[Call], list[Array]]
_MODULES = (
    convolution, detection, elementwise, exponentials, int16, movement, pooling, recurrent, resize, rows,
)  # fmt: skip

# What NumPy says where shapes and attributes contradict each other; the program is to blame.
_CONTRADICTIONS = (ArithmeticError, LookupError, MemoryError, TypeError, ValueError)


class HostOperation:
    """A host operator with its attributes and its tensors' shapes and types, ready to run many times."""

    def __init__(
        self, code: int, words: Sequence[int], inputs: Sequence[TensorSpec], outputs: Sequence[TensorSpec]
    ) -> None:
        """A call whose types or attributes do not fit its operator is a RunError."""
        operator = host_ops.BY_CODE.get(code)
        if operator is None:
            raise RunError(f"unknown host operator {code}; the operators are 1 to {max(host_ops.BY_CODE)}")
        reason = call_mismatch(operator, len(inputs), len(outputs), len(words))
        if reason is None:
            views = ([view(tensor.dtype, tensor.shape) for tensor in given] for given in (inputs, outputs))
            reason = refusal(operator, words, *views)
        if reason is not None:
            raise RunError(f"host operator {operator.name}: {reason}")
        self._name, self._kernel = operator.name, KERNELS[operator.name]
        self._attributes = decode_attributes(operator, words)
        self._outputs = tuple(outputs)
        self._types = [np.dtype(tensor.dtype) for tensor in outputs]

    def run(self, inputs: Sequence[Array]) -> list[Array]:
        """The outputs; inputs, which are of the types announced, are not changed."""
        if 0 in self._outputs[0].shape:  # nothing to compute
            return [np.zeros(output.shape, output.dtype) for output in self._outputs]
        call = Call(self._attributes, tuple(inputs), self._outputs)
        try:
            return self._results(call)
        except _CONTRADICTIONS as error:
            raise self._refusal(call, error) from None

    def bind(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> Callable[[], None]:
        """A function that computes the outputs from what the inputs then hold, as often as it is called. The
        first output may be the first input, where an operator changes a part of that."""
        if 0 in self._outputs[0].shape:
            return lambda: None
        call, bound = Call(self._attributes, tuple(inputs), self._outputs), movement.BOUND.get(self._name)

        def copy_results() -> None:
            for array, result in zip(outputs, self._results(call), strict=True):
                array[...] = result

        def compute() -> None:
            try:
                write()
            except _CONTRADICTIONS as error:
                raise self._refusal(call, error) from None

        try:
            write = copy_results if bound is None else bound(call, outputs[0])
        except _CONTRADICTIONS as error:
            raise self._refusal(call, error) from None
        return compute

    def _results(self, call: Call) -> list[Array]:
        # Overflow and division by zero have their IEEE meaning in float operators.
        with np.errstate(all="ignore"):
            results = self._kernel(call)
        described = zip(results, self._outputs, self._types, strict=True)
        return [_fitted(*result) for result in described]

    def _refusal(self, call: Call, error: Exception) -> RunError:
        return RunError(
            f"host operator {self._name}: tensors {[array.shape for array in call.inputs]} to "
            f"{[output.shape for output in self._outputs]} do not fit attributes "
            f"{vars(self._attributes)}: {error}"
        )


def run_host_op(
    code: int, words: Sequence[int], inputs: Sequence[Array], outputs: Sequence[TensorSpec]
) -> list[Array]:
    """The outputs of a host operator from its attribute words and inputs, none of which is changed.

    A call whose tensors or attributes do not fit its operator is a RunError.
    """
    given = [TensorSpec(array.shape, array.dtype.name) for array in inputs]
    return HostOperation(code, words, given, outputs).run(inputs)


def _fitted(result: Array, output: TensorSpec, dtype: np.dtype[Any]) -> Array:
    """The result in the shape of its tensor: dimensions of 1 may come and go."""
    if result.dtype != dtype:
        raise ValueError(f"the result is {result.dtype}, not {output.dtype}")
    return np.ascontiguousarray(result).reshape(output.shape)


def _bind(modules: Sequence[ModuleType]) -> Mapping[str, Kernel]:
    """The kernels by operator, which is their name in capitals."""
    kernels = {name.upper(): kernel for module in modules for name, kernel in module.KERNELS.items()}
    missing, unknown = host_ops.BY_NAME.keys() - kernels.keys(), kernels.keys() - host_ops.BY_NAME.keys()
    assert not missing, f"host operators without a kernel: {missing}"
    assert not unknown, f"kernels of no host operator: {unknown}"
    assert len(kernels) == sum(len(module.KERNELS) for module in modules), "two kernels share a name"
    return kernels


KERNELS = _bind(_MODULES)
