"""Every tensor of a network by dlasim's kernels for the CPU: for networks that TensorFlow cannot compute."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dlasim.checking.tensorflow_reference import Reference
from dlasim.compiler_shim.compile import load_graph
from dlasim.compiler_shim.files.input_file import AnyInput, InputKind, open_input
from dlasim.compiler_shim.network.graph import Graph
from dlasim.compiler_shim.operators.host_calls import bind_known, lower
from dlasim.sim.host import TensorSpec, run_host_op

Array = NDArray[Any]
Tensors = dict[int, Array]


class HostKernels:
    """Every tensor of a graph by dlasim's kernels for the CPU, operator by operator."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self.tensor_count = len(graph.tensors)
        self.tolerances: Mapping[int, int] = {}
        # Calls do not depend on the inputs.
        self._calls = [(operator, lower(bind_known(operator, graph))) for operator in graph.operators]

    def run(self, inputs: Sequence[Array], given: Mapping[int, Array] | None = None) -> Reference:
        """All tensors after one inference."""
        return Reference("dlasim's kernels", self.tensors(inputs, given))

    def compute_with_other(self, tensor: int, reference: Reference) -> None:
        """There is none."""

    def tensors(self, inputs: Sequence[Array], given: Mapping[int, Array] | None = None) -> Tensors:
        """All tensors as computed. Later operators read what is in `given` instead."""
        read = dict(zip(self._graph.inputs, inputs, strict=True))
        computed: Tensors = {}
        for operator, calls in self._calls:
            found = self._run(calls, read)
            computed |= found
            read |= found
            read |= {index: given[index] for index in operator.outputs if given and index in given}
        return computed

    def _run(self, calls: Sequence[Any], read: Mapping[int, Array]) -> Tensors:
        found: Tensors = {}
        for call in calls:
            data = [self._data(item, read) for item in call.inputs if item != -1]
            specs = [
                TensorSpec(self._graph.tensors[i].shape, self._graph.tensors[i].dtype) for i in call.outputs
            ]
            found |= zip(call.outputs, run_host_op(call.code, call.words, data, specs), strict=True)
        return found

    def _data(self, item: Any, read: Mapping[int, Array]) -> Array:
        if not isinstance(item, int):
            return np.asarray(item.data)
        data = self._graph.tensors[item].data
        return read[item] if data is None else np.asarray(data)


def own_kernels(model: AnyInput) -> HostKernels | None:
    """The kernels of a graph that rounds once, which TensorFlow cannot compute; None for any other model."""
    file = open_input(model)
    if file.kind is not InputKind.DLAG:
        return None
    graph = load_graph(file)
    return HostKernels(graph) if graph.rounds_once else None
