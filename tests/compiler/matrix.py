"""Every model on every machine with every choice of options: what is tried, and what has to come of it.

Shared by the sampled test and by `tools/nightly.py`, which tries everything.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from dlasim.checking.tensorflow_reference import Reference, ReferenceModel
from dlasim.checking.verification import verify
from dlasim.compiler_shim.compile import load_graph, lower_for
from dlasim.compiler_shim.files.layer_names import Namer, layer_names
from dlasim.compiler_shim.forms.partition import UnplacedNetwork, partition
from dlasim.compiler_shim.lowering.policy import Policy
from dlasim.compiler_shim.lowering.residency import SramPlanner
from dlasim.compiler_shim.network.graph import Graph, Operator
from dlasim.compiler_shim.options import COMPILER_OPTIONS, CompileOptions
from dlasim.compiler_shim.tflite.writer import write_tflite
from dlasim.compiler_shim.topologies import build_topology, topology_names
from dlasim.errors import InputError
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.configuration.sizes import KIB, MIB
from dlasim.sim.races import check_program
from tests.compiler.placed import place
from tests.compiler.steps import missing_wait
from tests.zoo import int8_models

CHOICES = [COMPILER_OPTIONS[name].choices for name in ("fusion", "depthwise", "tiling")]
ARRAYS = (("input", 64), ("input", 128), ("output", 64), ("output", 128), ("8x8", 64))
SIZES: dict[str, int] = {
    "smallest": 0, "64KiB": 64 * KIB, "512KiB": 512 * KIB, "1MiB": MIB, "256MiB": 256 * MIB,
}  # fmt: skip
MAX_TILES = 2_500
"""What "smallest" means with `auto`: any SRAM that holds a few bytes of each tensor works, with a tile for
each element and a command stream in proportion; the smallest that is worth trying keeps to this many."""


@dataclass(frozen=True)
class Point:
    """One machine and one choice of options."""

    parallel: str
    pes: int
    size: str
    fusion: str
    depthwise: str
    tiling: str

    @property
    def options(self) -> CompileOptions:
        """All on the DLA where SRAM is scarce, or the smallest would be no SRAM at all."""
        where = "dla" if self.size == "smallest" else "auto"
        return CompileOptions(fusion=self.fusion, depthwise=self.depthwise, tiling=self.tiling, place=where)

    def config(self, sram_bytes: int) -> DlaConfig:
        """The machine."""
        return DlaConfig().replace(parallel=self.parallel, pes=self.pes, sram_bytes=sram_bytes)

    def __str__(self) -> str:
        return f"{self.parallel}/{self.pes} {self.size} {self.fusion} {self.depthwise} {self.tiling}"


def all_points() -> Iterator[Point]:
    """Every combination."""
    for (parallel, pes), *rest in itertools.product(ARRAYS, SIZES, *CHOICES):
        yield Point(parallel, pes, *rest)


class Recorded(ReferenceModel):
    """A reference that computes each inference once."""

    def __init__(self, model: bytes, tensor_count: int) -> None:
        super().__init__(model, tensor_count)
        self._known: dict[bytes, Reference] = {}

    def run(self, inputs: Sequence[Any], given: Mapping[int, Any] | None = None) -> Reference:
        """The reference's tensors, from memory where these inputs came before."""
        assert not given, "these networks have no operator that is not exact"
        key = b"".join(array.tobytes() for array in inputs)
        if key not in self._known:
            self._known[key] = super().run(inputs)
        return self._known[key]


@dataclass
class Model:
    """A model as the matrix needs it."""

    name: str
    path: Path
    graph: Graph
    network: UnplacedNetwork
    reference: Recorded
    smallest: dict[Point, int] = field(default_factory=dict)


def zoo_files() -> list[Path]:
    """The real models, none where DLASIM_MODEL_ZOO is not set."""
    folder = os.environ.get("DLASIM_MODEL_ZOO")
    return [] if folder is None else int8_models(Path(folder))


def model_names() -> list[str]:
    """Every model: built-in ones by name, real ones as folder/name."""
    built_in = sorted(set(topology_names()) - {"smollm2"})  # tests/topologies runs it, token by token
    return [*built_in, *(f"{path.parent.name}/{path.stem}" for path in zoo_files())]


def open_model(name: str, folder: Path) -> Model:
    """A model by name; a built-in one is written into the folder first."""
    if "/" in name:
        path = next(path for path in zoo_files() if f"{path.parent.name}/{path.stem}" == name)
    else:
        path = folder / f"{name}.tflite"
        if not path.exists():
            path.write_bytes(write_tflite(build_topology(name)))
    graph = load_graph(path)
    return Model(name, path, graph, partition(graph), Recorded(path.read_bytes(), len(graph.tensors)))


def sram_bytes(model: Model, point: Point) -> int:
    """The size of SRAM that a point stands for."""
    return SIZES[point.size] or smallest_sram(model, point)


def smallest_sram(model: Model, point: Point) -> int:
    """By bisection the smallest SRAM that is not refused and needs no more than MAX_TILES tiles."""
    if point not in model.smallest:
        too_small, enough = 15, 256 * MIB
        while enough - too_small > 1:
            middle = (too_small + enough) // 2
            if _tiles(model.network, point, middle) <= MAX_TILES:
                enough = middle
            else:
                too_small = middle
        model.smallest[point] = enough
    return model.smallest[point]


def _tiles(network: UnplacedNetwork, point: Point, size: int) -> float:
    """Tiles of a network that is planned and not lowered; infinitely many where it is refused."""
    policy = Policy(point.config(size), point.options)
    placed = place(network, policy)
    try:
        plan = SramPlanner(placed, policy).plan(size)
    except InputError:
        return float("inf")
    return plan.tasks


def check(model: Model, point: Point, size: int = 0) -> str:
    """What is wrong with a model at a point, nothing if all is well; "refused" where it rightly is.

    A `size` of SRAM stands for that of the point.
    """
    size = size or sram_bytes(model, point)
    predicted = refused_layer(model.graph, size, point.options)
    try:
        lowered = lower_for(model.network, point.config(size), point.options)
    except InputError as error:
        if predicted is None:
            return f"refused, and should not be: {error}"
        wanted = f"layer {predicted[0]} ({predicted[1]}) needs {predicted[2]} bytes of SRAM"
        return "refused" if wanted in str(error) else f"refused with {str(error)!r} instead of {wanted!r}"
    if predicted is not None:
        return f"not refused, though {predicted} cannot hold its input"
    races = check_program(lowered.program)
    if races.races or races.uninitialised:
        return f"race checker: {[*races.races, *races.uninitialised][0]}"
    unordered = missing_wait(lowered.program)
    if unordered:
        return unordered
    result = verify(model.path, lowered, point.config(size), runs=1, reference=model.reference)
    if result.uncompared:
        return f"not compared: {result.uncompared}"
    return "" if result.mismatch is None else str(result.mismatch)


# The paper's rule, from the graph alone: the whole input is in SRAM, and beside it at least one channel.


def refused_layer(graph: Graph, size: int, options: CompileOptions) -> tuple[str, str, int] | None:
    """The first layer that cannot hold its whole input: its name, operator and bytes; None with `auto`."""
    if options.tiling == "auto":
        return None
    for operator, name in zip(graph.operators, layer_names(graph, Namer()), strict=True):
        for step, needed in _needs(graph, operator, options):
            if needed > size:
                return f"{name}{step}", operator.kind, needed
    return None


def _needs(graph: Graph, operator: Operator, options: CompileOptions) -> Iterator[tuple[str, int]]:
    """Bytes of an operator with the fewest output channels; two steps where the int32 sums go to memory."""
    tensors = [graph.tensors[index] for index in operator.inputs if index >= 0]
    output = graph.tensors[operator.outputs[0]]
    pixels = int(np.prod(output.shape[:-1]))
    if operator.kind in ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED"):
        if operator.kind == "DEPTHWISE_CONV_2D" and options.depthwise == "cpu":
            return
        weights = tensors[1].shape
        channels, sources = 1, tensors[0].shape[-1]
        if operator.kind == "DEPTHWISE_CONV_2D":
            channels, sources = output.shape[-1] // tensors[0].shape[-1], 1
        if operator.kind == "FULLY_CONNECTED":
            reached, weight = tensors[0].elements, weights[1]
        else:
            reached = _reached(operator, tensors[0].shape, output.shape, weights[1:3]) * sources
            weight = weights[1] * weights[2] * (sources if operator.kind == "CONV_2D" else channels)
        wide = 4 if options.fusion == "none" else 1
        result = pixels * channels
        yield "", _padded(reached) + _padded(weight) + 12 * channels + _padded(wide * result)
        if options.fusion == "none":
            yield "/requant", 4 * result + 12 * channels + _padded(result)
    elif operator.kind in ("AVERAGE_POOL_2D", "MAX_POOL_2D"):
        window = (int(operator.options["filter_height"]), int(operator.options["filter_width"]))  # type: ignore[arg-type]
        reached = _reached(operator, tensors[0].shape, output.shape, window)
        yield "", _padded(reached) + _padded(pixels)
    elif operator.kind == "MEAN":
        yield "", _padded(tensors[0].shape[1] * tensors[0].shape[2]) + _padded(1)
    elif operator.kind == "ADD":
        yield "", 3 * _padded(pixels)
    else:
        assert operator.kind in ("SOFTMAX", "RESHAPE"), f"nothing is predicted for {operator.kind}"


def _padded(size: int) -> int:
    return -(-size // 4) * 4


def _reached(
    operator: Operator, source: tuple[int, ...], output: tuple[int, ...], window: Sequence[int]
) -> int:
    """Pixels of an input down and right to where the last window ends."""
    counts = []
    for axis, side in ((1, "h"), (2, "w")):
        stride = int(operator.options.get(f"stride_{side}", 1))  # type: ignore[arg-type]
        counts.append(min((output[axis] - 1) * stride + window[axis - 1], source[axis]))
    return counts[0] * counts[1]
