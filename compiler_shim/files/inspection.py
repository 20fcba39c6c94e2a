"""What a model file contains: inputs, outputs, operators, sizes; nothing is lowered.

A model that dlasim refuses is described too, with the reason.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from dlasim.compiler_shim.compile import read_network
from dlasim.compiler_shim.files.importing import prepare
from dlasim.compiler_shim.files.input_file import AnyInput, open_input
from dlasim.compiler_shim.forms.partition import UnplacedNetwork, partition
from dlasim.compiler_shim.network.graph import Graph, Tensor
from dlasim.errors import InputError


def inspect_model(given: AnyInput) -> dict[str, Any]:
    """The figures of a model file, as JSON has them."""
    file = open_input(given)
    model = read_network(file)
    graph, refusal, network = model.graph, "", None
    try:
        graph = prepare(model, str(file))
        network = partition(graph)
    except InputError as error:
        refusal = str(error)
    constants = sum(tensor.size_bytes for tensor in graph.tensors if tensor.is_constant)
    return {
        "name": graph.name,
        "file_bytes": len(file.data),
        "inputs": [_interface(graph.tensors[number]) for number in graph.inputs],
        "outputs": [_interface(graph.tensors[number]) for number in graph.outputs],
        "operators": _operators(graph, network),
        "macs": None if network is None else sum(item.macs for item in network.items),
        "constants_bytes": constants,
        "largest_activation": _largest_activation(graph),
        "refusal": refusal,
    }


def _interface(tensor: Tensor) -> dict[str, Any]:
    quantization = tensor.quantization
    has_one_scale = quantization is not None and not quantization.per_channel
    return {
        "name": tensor.name,
        "type": tensor.dtype,
        "shape": list(tensor.shape),
        "scale": quantization.scale if quantization and has_one_scale else None,
        "zero_point": quantization.zero_point if quantization and has_one_scale else None,
    }


def _operators(graph: Graph, network: UnplacedNetwork | None) -> list[dict[str, Any]]:
    """Each kind of operator, most MACs first: how many, their MACs, how many only the CPU can run."""
    count = Counter(operator.kind for operator in graph.operators)
    macs: Counter[str] = Counter()
    cpu_only: Counter[str] = Counter()
    for item in network.items if network else ():
        macs[item.operator] += item.macs
        cpu_only[item.operator] += not item.dla
    return [
        {
            "operator": kind,
            "count": count[kind],
            "macs": macs[kind] if network else None,
            "cpu_only": cpu_only[kind] if network else None,
        }
        for kind in sorted(count, key=lambda kind: (-macs[kind], -count[kind], kind))
    ]


def _largest_activation(graph: Graph) -> dict[str, Any] | None:
    """The largest tensor that an operator computes or the user gives."""
    activations = [tensor for tensor in graph.tensors if not tensor.is_constant]
    if not activations:
        return None
    tensor = max(activations, key=lambda tensor: tensor.size_bytes)
    return {"name": tensor.name, "shape": list(tensor.shape), "bytes": tensor.size_bytes}
