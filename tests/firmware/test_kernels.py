"""The firmware's C kernels against the simulator's NumPy kernels, which are held to TensorFlow's own: many
random calls of each operator in one program."""

from collections.abc import Callable, Iterator

import numpy as np
import pytest

from dlasim.isa.host_ops import HOST_OPERATORS
from tests.firmware import float_calls
from tests.firmware import kernel_calls as kernels
from tests.firmware.host_calls import HostCalls

MANY, SOME, FEW = 60, 20, 10
KERNELS: tuple[tuple[Callable[[np.random.Generator], Iterator[kernels.Call]], int], ...] = (
    (kernels.convolution, MANY),
    (kernels.pointwise_convolution, MANY),
    (kernels.transpose_convolution, MANY),
    (kernels.depthwise_convolution, MANY),
    (kernels.fully_connected, MANY),
    (kernels.requantization, MANY),
    (kernels.sum_of_two, MANY),
    (kernels.product, MANY),
    (kernels.prelu, MANY),
    (kernels.lookup, 1),
    (kernels.squared_difference, 40),
    (kernels.batch_matmul, 60),
    (kernels.pool, MANY),
    (kernels.mean, MANY),
    (kernels.softmax, MANY),
    (kernels.svdf, SOME),
    (kernels.rescale, SOME),
    (kernels.matrix_sums, SOME),
    (kernels.int16_convolution, MANY),
    (kernels.int16_matrix, SOME),
    (kernels.int16_transposed, SOME),
    (kernels.int16_batch_matmul, 60),
    (kernels.int16_arithmetic, SOME),
    (kernels.int16_pool, SOME),
    (kernels.int16_mean, SOME),
    (kernels.int16_softmax, SOME),
    (kernels.int16_functions, SOME),
    (kernels.dequantize, 3),
    (kernels.lstm_cell, SOME),
    (kernels.softmax_of_large_shares, 1),
    (kernels.pad, FEW),
    (kernels.concatenation, FEW),
    (kernels.strided_copy, FEW),
    (kernels.gather, FEW),
    (kernels.gather_nd, FEW),
    (kernels.update_slice, FEW),
    (kernels.place_cursor, FEW),
    (kernels.resize, FEW),
    (kernels.quantize, SOME),
    (kernels.quantize_by_table, SOME),
    (kernels.cast, 1),
    (kernels.binary, FEW),
    (kernels.unary, 1),
    (kernels.arg_max, SOME),
    (kernels.comparison, FEW),
    (kernels.selection, FEW),
    (kernels.reduction, SOME),
    (kernels.running_sum, FEW),
    (kernels.quotient, MANY),
    (kernels.table_product, MANY),
    (kernels.reduced_product, MANY),
    (kernels.l2_normalization, FEW),
    (kernels.normalize, FEW),
    (kernels.top_k, SOME),
    (float_calls.float_binary, 2),
    (float_calls.int64_binary, 2),
    (float_calls.float_unary, 2),
    (float_calls.exponentials, SOME),
    (float_calls.resized, SOME),
    (float_calls.float_conversion, 2),
    (float_calls.float_comparison, 2),
    (float_calls.float_along_dimensions, MANY),
    (float_calls.detection, SOME),
)


def calls_of(make: Callable[[np.random.Generator], Iterator[kernels.Call]], times: int) -> HostCalls:
    """What a maker makes, so many times, always the same."""
    rng = np.random.default_rng(list(make.__name__.encode()))
    calls = HostCalls()
    with np.errstate(all="ignore"):
        for call in (call for _ in range(times) for call in make(rng)):
            calls.add(call.operator, call.inputs, [call.output, *call.more], **call.attributes)
    return calls


@pytest.mark.parametrize(("make", "times"), KERNELS, ids=lambda given: getattr(given, "__name__", ""))
def test_kernel(make: Callable[[np.random.Generator], Iterator[kernels.Call]], times: int) -> None:
    calls_of(make, times).check()


def test_every_operator_that_has_a_kernel_is_called() -> None:
    written = {operator.name for operator in HOST_OPERATORS if operator.firmware}
    names = {operator.code: operator.name for operator in HOST_OPERATORS}
    assert {names[call.code] for make, _ in KERNELS for call in calls_of(make, 1).calls} == written
