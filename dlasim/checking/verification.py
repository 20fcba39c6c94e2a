"""Compares every tensor of a lowered model with TensorFlow, also those that exist only as tiles in SRAM."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, field, replace
from math import isfinite
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dlasim.checking.inexact import are_near
from dlasim.compiler_shim.calls.nodes import DlaNode, HostNode, PlacedNetwork, Value, alias_chain, whole_view
from dlasim.compiler_shim.calls.views import View, dense, dense_layout
from dlasim.compiler_shim.files.input_file import AnyInput
from dlasim.compiler_shim.network.graph import Numerics
from dlasim.dataclass import dataclass
from dlasim.sim.execution.executor import make_executor
from dlasim.sim.execution.runner import Simulation
from dlasim.sim.programs.footprint import Box, footprints
from dlasim.sim.programs.operation import Operation

if TYPE_CHECKING:
    from dlasim.checking.tensorflow_reference import OtherResult, Reference
    from dlasim.compiler_shim.lowering.lower import Lowered
    from dlasim.isa.program import Program
    from dlasim.sim.configuration.config import DlaConfig
    from dlasim.vp.system.host import Prototype
    from dlasim.vp.system.stepped_board import SteppedBoard

    Simulated = Simulation | Prototype | SteppedBoard

PATTERNS = ("all lowest", "all highest", "zero point", "noise")


@dataclass(frozen=True, slots=True)
class Mismatch:
    """The first element of a tensor that differs, and the layer that computes the tensor."""

    layer: str
    tensor: str
    pattern: str
    index: tuple[int, ...]
    expected: Any
    actual: Any
    count: int
    elements: int
    number: int = -1  # the number of the tensor in the model
    other_result: str = ""  # what the other reference computes for the element

    def as_dict(self) -> dict[str, Any]:
        """As JSON, with infinities and NaN as text."""
        values = asdict(self) | {"index": list(self.index)}
        return values | {name: _json_number(values[name]) for name in ("expected", "actual")}

    def __str__(self) -> str:
        where = f"layer {self.layer}, tensor {self.tensor}: element {list(self.index)}"
        if self.actual is None:
            return (
                f"{where} was never computed ({self.count} of {self.elements} missing; input: {self.pattern})"
            )
        return (
            f"{where} is {self.actual}, the reference has {self.expected} "
            f"({self.count} of {self.elements} differ; input: {self.pattern}){self.other_result}"
        )


def _json_number(value: Any) -> Any:
    return str(value) if isinstance(value, float) and not isfinite(value) else value


@dataclass(slots=True)
class Verification:
    """What was compared, and the first mismatch, if any."""

    reference: str = ""
    runs: int = 0
    tensors: int = 0
    elements: int = 0
    mismatch: Mismatch | None = None
    uncompared: list[str] = field(default_factory=list)  # that the reference never computed
    disagreements: list[str] = field(default_factory=list)  # of the references, one for each tensor

    @property
    def passed(self) -> bool:
        """Whether every tensor was compared and is equal."""
        return self.mismatch is None and not self.uncompared

    def as_dict(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "passed": self.passed,
            "reference": self.reference,
            "inputs": self.runs,
            "tensors": self.tensors,
            "elements": self.elements,
            "uncompared": self.uncompared,
            "disagreements": self.disagreements,
            "mismatch": None if self.mismatch is None else self.mismatch.as_dict(),
        }


@dataclass(frozen=True, slots=True)
class _TileCopy:
    """A view of the SRAM that an operation writes, and the views of the tensor that it is copied to."""

    sram: NDArray[np.uint8]
    source: NDArray[Any]
    values: NDArray[Any]
    written: NDArray[np.bool_]


class Shadow:
    """Copies of the model's tensors, filled tile by tile as the DLA computes them."""

    def __init__(self, lowered: Lowered) -> None:
        slices = lowered.program.debug
        self._slices: dict[int, Any] = {int(row["word"]): row for row in slices}
        self.values: dict[int, NDArray[Any]] = {}
        self.written: dict[int, NDArray[np.bool_]] = {}
        self._images: dict[int, tuple[NDArray[Any], NDArray[np.bool_]]] = {}  # as nodes write them
        self._roots: dict[int, tuple[NDArray[Any], NDArray[np.bool_]]] = {}  # whole tensors
        for value, node in lowered.sliced_nodes().items():
            self._add(lowered.network.values, value, node)
        self._copies: dict[int, _TileCopy] = {}  # by word; every inference runs the same operations

    def _add(self, values: Sequence[Value], output: int, node: DlaNode) -> None:
        """A value that a node writes, and those of which it is a part."""
        chain = alias_chain(values, output)
        size, dtype = values[chain[-1]].size_bytes, np.dtype(f"i{node.out_element_bytes}")
        size //= node.out_element_bytes  # of int16 tensors, nodes write the bytes
        whole = self._roots.setdefault(chain[-1], (np.zeros(size, dtype), np.zeros(size, bool)))
        layout = node.layout(len(node.inputs)) or dense_layout(node.out_shape)
        image = View(layout.offset, node.out_shape, (layout.line, layout.pixel, 1))
        self._images[output] = _part(whole[0], image), _part(whole[1], image)
        for value in chain:
            in_bytes = np.dtype(values[value].dtype).itemsize > node.out_element_bytes
            view = dense((size,)) if in_bytes else whole_view(values, value)
            assert view is not None
            self.values[value], self.written[value] = _part(whole[0], view), _part(whole[1], view)

    def clear(self) -> None:
        """Mark all elements as missing, before the next inference."""
        for _, written in self._roots.values():
            written[...] = False

    def observe(self, word: int, tell: Callable[[], Operation], sram: NDArray[np.uint8]) -> None:
        """Copy what an operation wrote, if it wrote a tile of a tensor."""
        if word not in self._slices:
            return
        copy = self._copies.get(word)
        if copy is None or copy.sram is not sram:
            copy = self._copies[word] = self._tile_copy(self._slices[word], tell(), sram)
        copy.values[...] = copy.source
        copy.written[...] = True

    def _tile_copy(self, row: Any, operation: Operation, sram: NDArray[np.uint8]) -> _TileCopy:
        output = next(item for item in footprints(operation) if item.operand.writes)
        tile = tuple(
            slice(int(first), int(first) + int(count))
            for first, count in zip(row["start"], row["size"], strict=True)
        )
        values, written = self._images[int(row["tensor"])]
        source = _box_view(sram, output.box).view(values.dtype)
        return _TileCopy(sram, source, values[tile], written[tile])


def _part(array: NDArray[Any], view: View) -> NDArray[Any]:
    strides = [stride * array.itemsize for stride in view.stride]
    return np.lib.stride_tricks.as_strided(array[view.offset :], view.size, strides)


def _box_view(sram: NDArray[np.uint8], box: Box) -> NDArray[np.uint8]:
    return np.lib.stride_tricks.as_strided(
        sram[box.address :],
        (box.planes, box.runs, box.run_bytes),
        (box.plane_stride, box.run_stride, 1),
        writeable=False,
    )


class AnyReference(Protocol):
    """What computes every tensor of a model, by its number."""

    @property
    def tensor_count(self) -> int:
        """Tensors from this number on are not compared."""

    @property
    def tolerances(self) -> Mapping[int, int]:
        """Tensors of float32 that may be so many units in the last place apart."""

    def run(self, inputs: Sequence[NDArray[Any]], given: dict[int, NDArray[Any]] | None = None) -> Reference:
        """One inference from a fresh state. Operators read what is `given` instead of what is computed."""

    def compute_with_other(self, tensor: int, reference: Reference) -> OtherResult | None:
        """The tensor from another implementation, if there is one."""


def verify(
    model: AnyInput,
    lowered: Lowered,
    config: DlaConfig,
    runs: int = 1,
    seed: int = 0,
    engine: str = "auto",
    reference: AnyReference | None = None,
    host: str = "none",
    host_options: dict[str, Any] | None = None,
    numerics: str = Numerics.TFLM,
) -> Verification:
    """Run the edge cases and `runs` noise inputs; stop at the first mismatch.

    Pass a `reference` to avoid loading the model into TensorFlow again; else it is the one whose integers the
    program computes.
    """
    from dlasim.checking.own_kernels import own_kernels
    from dlasim.checking.tensorflow_reference import reference_model
    from dlasim.compiler_shim.compile import load_tflite

    runner = _simulation(lowered.program, config, engine, host, host_options or {})
    reference = reference or own_kernels(model)
    if reference is not None:
        return _verify(lowered, runner, reference, runs, seed)
    with reference_model(load_tflite(model), lowered.network.tensor_count, numerics) as own:
        return _verify(lowered, runner, own, runs, seed)


def _verify(
    lowered: Lowered, simulation: Simulated, reference: AnyReference, runs: int, seed: int
) -> Verification:
    comparison = Comparison(lowered, simulation, reference)
    for pattern, inputs in input_patterns(lowered.program.inputs, runs, seed):
        simulation.reset_variables()
        if not comparison.infer(pattern, inputs):
            break
    return comparison.finish()


class Comparison:
    """Inferences of a program, each compared with a reference, tensor by tensor."""

    def __init__(self, lowered: Lowered, simulation: Simulated, reference: AnyReference) -> None:
        """What observes the simulation is replaced."""
        self._lowered, self._simulation, self._reference = lowered, simulation, reference
        self._shadow = Shadow(lowered)
        self._from_cpu: dict[int, NDArray[Any]] = {}
        self._known: set[int] = set()
        self._result = Verification()
        simulation.observer = self._shadow.observe
        simulation.host_observer = lambda number, array: self._from_cpu.__setitem__(number, array.copy())

    def infer(self, pattern: str, inputs: Sequence[NDArray[Any]]) -> bool:
        """The next inference, from the state that the one before has left; whether all is equal."""
        network, reference, result = self._lowered.network, self._reference, self._result
        self._shadow.clear()
        self._from_cpu.clear()
        outputs = self._simulation.run(inputs).outputs
        computed = dict(_host_values(self._lowered, self._from_cpu))
        computed |= dict(zip(network.model_outputs, outputs, strict=True))
        inexact = reference.tolerances
        # What is computed from numbers that may be apart is compared for the same numbers.
        read = [_as_model_reads(network, *each) for each in enumerate(inputs)]
        expected = reference.run(read, {number: computed[number] for number in inexact.keys() & computed})
        self._known |= expected.tensors.keys()
        result.reference, result.runs = expected.name, result.runs + 1
        result.disagreements = result.disagreements or list(expected.disagreements)
        mismatch = _compare(self._lowered, self._shadow, computed, expected.tensors, inexact, pattern, result)
        if mismatch is not None:
            result.mismatch = _with_opinion(mismatch, reference, expected)
        return mismatch is None

    def finish(self) -> Verification:
        """What was compared, and with what result."""
        values = self._lowered.network.values
        checked = (value for value in _checked(self._lowered) if value < self._reference.tensor_count)
        self._result.uncompared = [values[value].name for value in checked if value not in self._known]
        return self._result


def _as_model_reads(network: PlacedNetwork, position: int, values: NDArray[Any]) -> NDArray[Any]:
    """An input as the model has it: what the int8 numbers stand for, where its conversion is left out."""
    own, there = network.values[network.model_inputs[position]], network.values[network.inputs[position]]
    if own is there:
        return values
    steps = values.astype(np.int64) - there.zero_point
    if own.dtype == "float32":
        real: NDArray[Any] = np.float32(there.scale) * steps.astype(np.float32)
        return real
    numbers: NDArray[Any] = np.rint(steps * (there.scale / own.scale)) + own.zero_point
    limits = np.iinfo(own.dtype)
    return numbers.clip(limits.min, limits.max).astype(own.dtype)


def _with_opinion(mismatch: Mismatch, reference: AnyReference, expected: Reference) -> Mismatch:
    """The mismatch with what the other reference computes for the element, if it can."""
    if mismatch.actual is None:
        return mismatch
    other = reference.compute_with_other(mismatch.number, expected)
    if other is None:
        return mismatch
    there = other.values.item() if not mismatch.index else other.values[mismatch.index].item()
    text = f"{other.name} agrees with dlasim" if there == mismatch.actual else f"{other.name} has {there}"
    return replace(mismatch, other_result=f"; {text}")


def _checked(lowered: Lowered) -> list[int]:
    """The model's tensors that the program computes, in order of computation."""
    network = lowered.network
    return [value for value in network.computed_order() if value < network.tensor_count]


def _simulation(
    program: Program, config: DlaConfig, engine: str, host: str, host_options: dict[str, Any]
) -> Simulated:
    """The standalone simulator or the board."""

    if host == "none":
        return Simulation(program, config, make_executor(engine))
    from dlasim import on_board
    from dlasim.vp.system.host import Prototype

    on_board.check_host(host)
    return Prototype(program, config, make_executor(engine), on_board.host_options(**host_options))


def input_patterns(expected: Any, runs: int, seed: int) -> Iterator[tuple[str, list[NDArray[Any]]]]:
    """The edge cases and `runs` inputs of noise, each with a name."""
    from dlasim.inputs import noise

    for pattern, value in zip(PATTERNS, ("min", "max", None), strict=False):
        yield pattern, [_filled(tensor, value) for tensor in expected]
    for number in range(runs):
        yield f"noise, seed {seed + number}", noise(expected, seed + number)


def _filled(tensor: Any, end: str | None) -> NDArray[Any]:
    """The lowest ("min") or highest ("max") number of 8 bits, or the zero point; zeros for floats."""
    dtype = np.dtype(tensor.type.name)
    if dtype.kind not in "iu":
        return np.zeros(tensor.shape, dtype)
    ends = np.iinfo(np.uint8 if dtype.kind == "u" else np.int8)
    value = tensor.zero_point if end is None else getattr(ends, end)
    return np.full(tensor.shape, value, dtype)


def _host_values(lowered: Lowered, host: dict[int, NDArray[Any]]) -> Iterator[tuple[int, NDArray[Any]]]:
    """What host calls wrote, and the variables that they, or the DLA at a cursor, updated in place."""
    numbers, values = {number: value for value, number in lowered.descriptors.items()}, lowered.network.values
    for number, array in host.items():
        for value in alias_chain(values, numbers[number]):
            yield value, array
    for node in lowered.network.nodes:
        if isinstance(node, DlaNode) and node.cursor:
            _, *chain = alias_chain(values, node.output)
            yield from ((value, host[lowered.descriptors[chain[-1]]]) for value in chain)


def _compare(
    lowered: Lowered,
    shadow: Shadow,
    computed: dict[int, NDArray[Any]],
    expected: dict[int, NDArray[Any]],
    inexact: Mapping[int, int],
    pattern: str,
    result: Verification,
) -> Mismatch | None:
    """Compare tensor by tensor in the order in which the network computes them."""
    count = 0
    layers = _layers(lowered)
    for value in _checked(lowered):
        if value not in expected:
            continue
        name, layer = lowered.network.values[value].name, layers[value]
        want = expected[value]
        if value in shadow.values:
            missing = np.argwhere(~shadow.written[value].reshape(*want.shape, -1).all(-1))
            if len(missing):
                index = tuple(int(i) for i in missing[0])
                return Mismatch(layer, name, pattern, index, None, None, len(missing), want.size)
            have: NDArray[Any] = shadow.values[value].view(want.dtype)
        else:
            have = computed[value]
        count += 1
        result.elements += want.size
        mismatch = _differ(layer, name, pattern, want, have, inexact.get(value, 0))
        if mismatch is not None:
            return replace(mismatch, number=value)
    for value, have in computed.items():
        if value in expected:
            name = lowered.network.values[value].name
            layer = layers.get(value, "of the output")
            mismatch = _differ(layer, name, pattern, expected[value], have, inexact.get(value, 0))
            if mismatch is not None:
                return replace(mismatch, number=value)
    result.tensors = max(result.tensors, count)
    return None


def _layers(lowered: Lowered) -> dict[int, str]:
    """The name of the layer that computes each value, as in reports."""
    layers: dict[int, str] = {}
    for node in lowered.network.nodes:
        if isinstance(node, HostNode):
            layer, written = node.call.layer, node.call.outputs
        else:
            layer, written = node.layer, (node.output,)
        values = [number for value in written for number in alias_chain(lowered.network.values, value)]
        info = lowered.network.layers[layer]
        layers |= dict.fromkeys(values, f"{info.name} ({info.operator})")
    return layers


def _differ(
    layer: str, name: str, pattern: str, want: NDArray[Any], have: NDArray[Any], ulps: int = 0
) -> Mismatch | None:
    have = have.reshape(want.shape)
    wrong = want != have
    if want.dtype.kind == "f":  # zeros have signs; the bits of a NaN are not compared
        wrong |= np.signbit(want) != np.signbit(have)
        wrong &= ~(np.isnan(want) & np.isnan(have))
        if ulps:
            wrong &= ~are_near(want, have, ulps)
    if not wrong.any():
        return None
    index = tuple(int(i) for i in np.argwhere(wrong)[0]) if wrong.ndim else ()
    values = want[index].item(), have[index].item()
    return Mismatch(layer, name, pattern, index, *values, int(wrong.sum()), want.size)
