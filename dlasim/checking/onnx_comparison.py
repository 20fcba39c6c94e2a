"""Compares an ONNX model with onnxruntime on the CPU, and the program with what its operators compute.

The two compute alike but not always the same: onnxruntime rescales in float32, the DLA in fixed point. A
difference of one step spreads through the layers behind it. So each operator gets onnxruntime's own numbers,
and what counts is how many elements of its result differ, and by how many steps; the outputs of the whole
network are compared, too. The program itself must be exact: every tensor of it is compared with dlasim's
kernels.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dlasim.checking import verification
from dlasim.checking.onnx_edits import extra_outputs, with_unsigned_weights
from dlasim.checking.own_kernels import Array, HostKernels, Tensors
from dlasim.compiler_shim.files.importing import prepare
from dlasim.compiler_shim.files.input_file import AnyInput, open_input
from dlasim.compiler_shim.network.graph import Graph
from dlasim.compiler_shim.onnx.onnx_import import convert
from dlasim.compiler_shim.tflite.reader import ReadModel
from dlasim.dataclass import dataclass
from dlasim.errors import InputError, RunError, printable
from dlasim.installation import extra_command

if TYPE_CHECKING:
    from dlasim.compiler_shim.lowering.lower import Lowered
    from dlasim.compiler_shim.onnx.onnx_converter import Converted
    from dlasim.compiler_shim.onnx.onnx_values import Traced
    from dlasim.sim.configuration.config import DlaConfig

MAX_STEPS = 1
MAX_SHARE = 0.005  # the reasons for what differs are in docs/numerics.md
_AVERAGES = (
    "AVERAGE_POOL_2D",
    "MEAN",
    "SUM",
    "MINIMUM",
    "RESIZE_BILINEAR",
)  # as the importer of ONNX uses them
_PASSES = ("TABLE", "QUANTIZE", "RESHAPE")  # behind SOFTMAX, as its scale and shape ask for
ADVICE = extra_command("onnx")

_TYPES: dict[str, Any] = {
    "tensor(float16)": np.float16, "tensor(uint8)": np.uint8, "tensor(int8)": np.int8,
    "tensor(int32)": np.int32, "tensor(int64)": np.int64, "tensor(bool)": np.bool_,
}  # fmt: skip


@dataclass(slots=True)
class TensorDifference:
    """A tensor: how many elements were compared, how many differ, and by how many steps at most.

    Of what `is_coarse`, averages and SOFTMAX, more may differ. An average is often half-way between two
    steps, which onnxruntime rounds to either; SOFTMAX is rounded to 1/256 before it gets its scale.
    """

    name: str
    is_coarse: bool = False
    elements: int = 0
    differing: int = 0
    steps: int = 0

    def add(self, expected: Array, actual: Array) -> bool:
        """Compare once more; whether an element differs."""
        difference = np.abs(expected.astype(np.int64).ravel() - actual.astype(np.int64).ravel())
        self.elements += difference.size
        self.differing += int(np.count_nonzero(difference))
        self.steps = max(self.steps, int(difference.max(initial=0)))
        return bool(difference.any())


@dataclass(slots=True)
class OnnxComparison:
    """How an ONNX model compares with onnxruntime; `program` says whether the DLA computes it exactly.

    `layers` are results of operators that got onnxruntime's own numbers, `outputs` those of the network.
    """

    reference: str = ""
    runs: int = 0
    same_top: int = 0
    program: verification.Verification = field(default_factory=verification.Verification)
    layers: list[TensorDifference] = field(default_factory=list)
    outputs: list[TensorDifference] = field(default_factory=list)

    @property
    def tensors(self) -> int:
        """How many tensors were compared."""
        return sum(layer.elements > 0 for layer in self.layers)

    @property
    def elements(self) -> int:
        """Elements of all layers but coarse ones, over all inputs."""
        return sum(layer.elements for layer in self.layers if not layer.is_coarse)

    @property
    def differing(self) -> int:
        """How many of them differ."""
        return sum(layer.differing for layer in self.layers if not layer.is_coarse)

    @property
    def steps(self) -> int:
        """The largest difference in any layer."""
        return max((layer.steps for layer in self.layers), default=0)

    @property
    def passed(self) -> bool:
        """Whether the program is exact, each layer within a step, at most 0.5 % of the elements of layers
        that are not coarse differ, and the largest output is onnxruntime's for every input."""
        is_near = self.steps <= MAX_STEPS and self.differing <= MAX_SHARE * self.elements
        return self.program.passed and is_near and self.same_top == self.runs

    def as_dict(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "passed": self.passed,
            "reference": self.reference,
            "inputs": self.runs,
            "same_top": self.same_top,
            "elements": self.elements,
            "differing": self.differing,
            "steps": self.steps,
            "program": self.program.as_dict(),
            "layers": [asdict(layer) for layer in self.layers],
            "outputs": [asdict(output) for output in self.outputs],
        }


def verify_onnx(
    model: AnyInput,
    lowered: Lowered,
    config: DlaConfig,
    runs: int = 1,
    seed: int = 0,
    engine: str = "auto",
    host: str = "none",
    host_options: dict[str, Any] | None = None,
) -> OnnxComparison:
    """Compare over the edge cases and `runs` inputs of noise."""
    converted = convert(model)
    graph = prepare(ReadModel(converted.graph, frozenset()), str(model))
    kernels = HostKernels(graph)
    patterns = verification.input_patterns(lowered.program.inputs, runs, seed)
    result = compare(model, converted, graph, kernels, (_valid(graph, inputs) for _, inputs in patterns))
    result.program = verification.verify(
        model, lowered, config, runs, seed, engine, kernels, host, host_options
    )
    return result


def compare(
    model: AnyInput, converted: Converted, graph: Graph, kernels: HostKernels, samples: Iterable[list[Array]]
) -> OnnxComparison:
    """Layers and outputs by dlasim's kernels beside onnxruntime's, of the same inputs."""
    reference = OnnxReference(model, converted.traced, converted.inputs)
    result = OnnxComparison(reference.name)
    coarse = _coarse(graph)
    result.layers = [TensorDifference(each.name, each.number in coarse) for each in converted.traced]
    result.outputs = [TensorDifference(name) for name in reference.outputs]
    for inputs in samples:
        result.runs += 1
        real = [_real(graph, number, data) for number, data in zip(graph.inputs, inputs, strict=True)]
        expected = reference.run(inputs, real)
        given = _by_number(converted, expected)
        computed = kernels.tensors(inputs, given)
        if _compare_layers(result, converted.traced, computed, given):  # else each had the right numbers
            computed = kernels.tensors(inputs)
        computed |= zip(graph.inputs, inputs, strict=True)
        _compare_outputs(result, graph, converted, computed, expected)
    return result


def _valid(graph: Graph, inputs: Sequence[Array]) -> list[Array]:
    """The inputs with indices that onnxruntime takes: it stops at one beyond the table."""
    limits = dict.fromkeys(graph.inputs, 1 << 31)
    for operator in graph.operators:
        if operator.kind == "GATHER":
            axis = int(operator.options.get("axis", 0))  # type: ignore[arg-type]
            size = graph.tensors[operator.inputs[0]].shape[axis]
            for number in graph.inputs:
                if graph.tensors[number].dtype in ("int32", "int64"):
                    limits[number] = min(limits[number], size)
    pairs = zip(graph.inputs, inputs, strict=True)
    return [data if limits[number] == 1 << 31 else data % limits[number] for number, data in pairs]


def _coarse(graph: Graph) -> set[int]:
    """The tensors that are averages, some of which are products with ones, or that SOFTMAX rounds first."""
    found: set[int] = set()
    rounded: set[int] = set()
    for operator in graph.operators:
        is_product = operator.kind == "DEPTHWISE_CONV_2D"
        if operator.kind in _AVERAGES or (is_product and _has_only_ones(graph, operator.inputs[1])):
            found.update(operator.outputs)
        if operator.kind == "SOFTMAX" or (operator.kind in _PASSES and operator.inputs[0] in rounded):
            rounded.update(operator.outputs)
    return found | rounded


def _has_only_ones(graph: Graph, number: int) -> bool:
    data = graph.tensors[number].data
    return data is not None and bool((data == 1).all())


def _real(graph: Graph, number: int, data: Array) -> Array:
    quantization = graph.tensors[number].quantization
    if quantization is None:
        return data
    steps = data.astype(np.float32) - np.float32(quantization.zero_point)
    return steps * np.float32(quantization.scale)


def _by_number(converted: Converted, expected: Mapping[str, Array]) -> Tensors:
    """onnxruntime's tensors as the graph stores them."""
    return {
        traced.number: (expected[traced.name].astype(np.int32) - traced.offset)
        .astype(converted.graph.tensors[traced.number].dtype)
        .transpose(traced.order)
        for traced in reversed(converted.traced)
    }


def _in_steps(want: Array, have: Array) -> tuple[Array, Array]:
    """Numbers without a scale in steps of a 255th of the range, which is what an int8 tensor would have."""
    real = np.nan_to_num(want.astype(np.float64))
    step = (real.max(initial=0) - real.min(initial=0)) / 255 or 1.0
    other = np.nan_to_num(have.astype(np.float64))
    return np.rint(real / step).astype(np.int64), np.rint(
        (other - real) / step + np.rint(real / step)
    ).astype(np.int64)


def _compare_layers(
    result: OnnxComparison, all_traced: Sequence[Traced], computed: Tensors, given: Tensors
) -> bool:
    """Whether any element differs."""
    seen: set[int] = set()
    differs = False
    for layer, traced in zip(result.layers, all_traced, strict=True):
        if traced.number in computed and traced.number not in seen:
            seen.add(traced.number)
            differs |= layer.add(given[traced.number], computed[traced.number])
    return differs


def _compare_outputs(
    result: OnnxComparison,
    graph: Graph,
    converted: Converted,
    computed: Tensors,
    expected: Mapping[str, Array],
) -> None:
    is_same = True
    for output, number, order in zip(result.outputs, graph.outputs, converted.output_orders, strict=True):
        want, have = expected[output.name].transpose(order), computed[number]
        quantization = graph.tensors[number].quantization
        if quantization is None:
            want, have = _in_steps(want, have)
        elif want.dtype.kind == "f":
            steps = np.rint(want.astype(np.float64) / quantization.scale) + quantization.zero_point
            want = np.clip(np.nan_to_num(steps), -128, 127).astype(np.int16)
        elif want.dtype == np.uint8:
            want = want.astype(np.int16) - 128
        output.add(want, have)
        # Where two are within a step of each other, either may come first.
        is_same &= bool(want.ravel()[np.argmax(have)] >= want.max() - MAX_STEPS)
    result.same_top += is_same


class OnnxReference:
    """A model in onnxruntime, which also gives the tensors of these names."""

    def __init__(self, given: AnyInput, traced: Sequence[Traced], inputs: Sequence[Traced]) -> None:
        try:
            import onnxruntime
        except ImportError:
            raise RunError(f"onnxruntime is not installed; run {ADVICE}") from None
        self.name = f"onnxruntime {onnxruntime.__version__}"
        self._traced, self._inputs = traced, inputs
        options = onnxruntime.SessionOptions()
        # Each operator as it is in the file: fused kernels may saturate sums on some CPUs.
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.log_severity_level = 4
        path = str(given)
        folder = os.path.realpath(Path(path).parent)
        options.add_session_config_entry("session.model_external_initializers_file_folder_path", folder)
        try:
            data = with_unsigned_weights(open_input(given)) + extra_outputs([item.name for item in traced])
            self._session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
        except Exception as error:  # its errors have no common class
            text = printable(" ".join(str(error).split()))[:200]
            raise InputError(f"{path}: onnxruntime rejects the model: {text}") from None
        self.outputs = [output.name for output in self._session.get_outputs()][: -len(traced) or None]
        self._types = {item.name: item.type for item in self._session.get_inputs()}

    def run(self, stored: Sequence[Array], real: Sequence[Array]) -> dict[str, Array]:
        """Every output and tensor; inputs as dlasim stores them, and as real numbers."""
        feed = {}
        for item, numbers, values in zip(self._inputs, stored, real, strict=True):
            chosen = _TYPES.get(self._types[item.name], np.float32)
            is_eight_bits = chosen in (np.uint8, np.int8)
            data = numbers.astype(np.int16) + item.offset if is_eight_bits else values
            back = np.argsort(item.order) if item.order else ()
            feed[item.name] = np.ascontiguousarray(data.transpose(back)).astype(chosen)
        names = [*self.outputs, *(item.name for item in self._traced)]
        return dict(zip(names, self._session.run(names, feed), strict=True))
