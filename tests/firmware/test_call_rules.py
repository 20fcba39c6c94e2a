"""Host calls that no compiler makes: simulator and firmware accept the same ones, with the same results, and
refuse the others with the same words. DLASIM_CALL_MUTANTS=12 tries 41,000 of them."""

import os
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from dlasim.errors import InputError, RunError
from dlasim.isa.host_attributes import encode_attributes
from dlasim.isa.host_ops import BY_NAME
from dlasim.isa.host_validation import refusal, view
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.execution.executor import ReferenceExecutor
from dlasim.sim.execution.runner import Simulation
from dlasim.sim.host import TensorSpec, run_host_op
from tests.firmware import kernel_calls as kernels
from tests.firmware.host_calls import HostCalls

MAKERS = (
    kernels.convolution, kernels.depthwise_convolution, kernels.fully_connected, kernels.sum_of_two,
    kernels.product, kernels.prelu, kernels.squared_difference,
    kernels.batch_matmul, kernels.lookup, kernels.pool, kernels.mean, kernels.softmax, kernels.pad,
    kernels.concatenation, kernels.strided_copy, kernels.gather, kernels.gather_nd, kernels.update_slice,
    kernels.resize,
    kernels.quantize, kernels.quantize_by_table, kernels.cast, kernels.binary, kernels.unary, kernels.arg_max,
)  # fmt: skip
ROUNDS = int(os.environ.get("DLASIM_CALL_MUTANTS", "1"))
NEAR = (-6, -2, -1, 0, 1, 2, 3, 5, 6, 7, 40)
FAR = (-(1 << 31), -129, 128, 255, 256, 32767, 32768, 65536, (1 << 30) + 1, (1 << 31) - 1)
LARGE = ("pad_top", "pad_left", "filter_height", "filter_width", "dilation_height", "dilation_width")

Mutant = tuple[str, list[np.ndarray], TensorSpec, tuple[int, ...]]


def changed_words(rng, call: kernels.Call) -> tuple[int, ...]:
    """The attributes, one of them something else; windows stay small enough to pad."""
    operator = BY_NAME[call.operator]
    words = list(encode_attributes(call.operator, **call.attributes))
    if not words:
        return ()
    place = int(rng.integers(len(words)))
    names = [attribute.name for attribute in operator.attributes for _ in range(attribute.count)]
    values = (*NEAR, words[place] + int(rng.integers(-2, 3)))
    if names[place] not in LARGE:
        values += FAR
    words[place] = max(-(1 << 31), min((1 << 31) - 1, int(rng.choice(values))))
    return tuple(words)


def changed_array(rng, array: np.ndarray) -> np.ndarray:
    """Another shape of about the same elements, or another type."""
    choice = int(rng.integers(4))
    if choice == 0 and array.ndim < 6:
        return array[None]
    if choice == 1 and array.ndim > 1:
        return array.reshape(-1, *array.shape[2:])
    if choice == 2 and array.size:
        axis = int(rng.integers(array.ndim)) if array.ndim else 0
        return np.concatenate([array, array], axis) if array.ndim else array
    with np.errstate(invalid="ignore"):  # NaN as an integer
        return array.astype(rng.choice(kernels.TYPES))


def changed_output(rng, output: TensorSpec) -> TensorSpec:
    shape = list(output.shape)
    choice = int(rng.integers(4))
    if choice == 0 or not shape:
        return TensorSpec(output.shape, str(rng.choice(kernels.TYPES)))
    place = int(rng.integers(len(shape)))
    if choice == 1:
        shape[place] = int(rng.choice([0, 1, shape[place] + 1, max(0, shape[place] - 1)]))
    elif choice == 2 and len(shape) < 6:
        shape.insert(place, 1)
    else:
        del shape[place]
    return replace(output, shape=tuple(shape))


def mutants(make, seed: int) -> Iterator[Mutant]:
    """Calls of a maker, each changed once or twice."""
    rng = np.random.default_rng([seed, *make.__name__.encode()])
    for call in make(rng):
        for _ in range(6):
            inputs, output = list(call.inputs), call.output
            words = changed_words(rng, call)
            kind = int(rng.integers(4))
            if kind == 0 or not words:
                place = int(rng.integers(len(inputs)))
                inputs[place] = changed_array(rng, inputs[place])
            if kind == 1:
                output = changed_output(rng, output)
            if kind == 2:
                words = tuple(encode_attributes(call.operator, **call.attributes))
                output = changed_output(rng, output)
            yield call.operator, inputs, output, words


def reason_of(mutant: Mutant) -> str | None:
    name, inputs, output, words = mutant
    views = [view(array.dtype.name, array.shape) for array in inputs]
    return refusal(BY_NAME[name], words, views, [view(output.dtype, output.shape)])


def has_kernel(calls: HostCalls) -> bool:
    from dlasim.vp.programs.kernel_support import refuse_missing_kernels

    try:
        refuse_missing_kernels(calls.program(DlaConfig()))
    except InputError:
        return False
    return True


def single(mutant: Mutant, expect_result: bool) -> HostCalls:
    calls = HostCalls()
    name, inputs, output, words = mutant
    calls.add_words(name, inputs, [output], words, expect_result)
    return calls


@pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)
def test_both_hosts_accept_and_refuse_the_same(make) -> None:
    """One program of all that is accepted; of what is refused, some programs for each reason."""
    accepted, refused = HostCalls(), list[Mutant]()
    rounds = range(ROUNDS * (1 if make in (kernels.lookup, kernels.cast) else 4))
    for mutant in (mutant for seed in rounds for mutant in mutants(make, seed)):
        if reason_of(mutant) is not None:
            refused.append(mutant)
            with pytest.raises(RunError, match=f"host operator {mutant[0]}: "):
                run_host_op(BY_NAME[mutant[0]].code, mutant[3], mutant[1], [mutant[2]])
            continue
        run_host_op(BY_NAME[mutant[0]].code, mutant[3], mutant[1], [mutant[2]])  # also what has no kernel
        if has_kernel(single(mutant, False)):
            name, inputs, output, words = mutant
            accepted.add_words(name, inputs, [output], words)
    if accepted.calls:
        accepted.check()
    assert refused
    seen: dict[str, int] = {}
    for mutant in refused:
        reason = str(reason_of(mutant)).split(" (got")[0]
        seen[reason] = seen.get(reason, 0) + 1
        if seen[reason] <= ROUNDS:
            check_refusal(mutant)


def check_refusal(mutant: Mutant) -> None:
    calls = single(mutant, False)
    config = DlaConfig()
    with pytest.raises(RunError) as standalone:
        Simulation(calls.program(config), config, ReferenceExecutor())
    with pytest.raises(RunError) as board:
        calls.run()
    words = str(standalone.value).removeprefix("program calls: ")
    assert words == f"host call 0 ({mutant[0]}): {reason_of(mutant)}"
    assert str(board.value).endswith(f"the firmware said: {words}"), board.value
    assert "exit code 6" in str(board.value)
