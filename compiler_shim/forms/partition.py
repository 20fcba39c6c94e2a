"""Gives each operator of a graph its forms: what the DLA would run, what the CPU would run, or why not.

The result is free of any configuration; `placement` makes the choice for one machine.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Set
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dlasim.compiler_shim.calls.nodes import Cursor, DlaNode, Value, root_of
from dlasim.compiler_shim.files.half_bytes import is_int4
from dlasim.compiler_shim.files.layer_names import Namer, layer_names
from dlasim.compiler_shim.forms.dla_forms import dla_form, layer_kind
from dlasim.compiler_shim.lowering.addresses.weight_codes import WeightCodes
from dlasim.compiler_shim.network.float_tables import find_float_tables
from dlasim.compiler_shim.network.graph import Graph, Operator, Tensor
from dlasim.compiler_shim.operators.bound import KernelCall
from dlasim.compiler_shim.operators.definition import OperatorDefinition, Trait
from dlasim.compiler_shim.operators.host_calls import bind_known, lower
from dlasim.compiler_shim.operators.table import OPERATORS, has_trait
from dlasim.compiler_shim.tflite.writer import variable_tensors
from dlasim.dataclass import dataclass
from dlasim.errors import InputError
from dlasim.isa import host_ops, program
from dlasim.isa.file_records import LayerKind
from dlasim.isa.host_attributes import encode_attributes
from dlasim.isa.limits import MAX_RANK
from dlasim.isa.registers import CURSORS, Region


@dataclass(frozen=True, slots=True)
class Item:
    """One operator in both forms; at least one of them is there."""

    name: str
    operator: str
    kind: LayerKind
    macs: int
    dla: tuple[DlaNode, ...]
    dla_refusal: str
    host: tuple[program.HostCall, ...]
    merged: str = ""  # operators that became part of this one


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class UnplacedNetwork:
    """A network for any machine, each operator in the forms it has on the DLA and the CPU.

    Values that stand for the graph's tensors keep their numbers. Each is itself only, so that its placements
    can be remembered.
    """

    name: str
    values: tuple[Value, ...]
    items: tuple[Item, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    tensor_count: int
    model_outputs: tuple[int, ...]
    model_inputs: tuple[int, ...]
    left_out: tuple[str, ...] = ()  # conversions at the edges, by operator and name
    codes: WeightCodes | None = None  # of compressed weights


def partition(graph: Graph) -> UnplacedNetwork:
    """Both forms of every operator."""
    return _Partitioner(graph).run()


class _Partitioner:
    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._variables = variable_tensors(graph)
        self._values = [_value(tensor) for tensor in graph.tensors]
        self._items: list[Item] = []
        self._names = Namer()
        self._uses = Counter(
            index for operator in graph.operators for index in operator.inputs if index >= 0
        ) + Counter(graph.outputs)
        self._padded: dict[int, tuple[KernelCall, Operator]] = {}
        self._cursors: dict[Cursor, Region] = {}
        self._tables = find_float_tables(graph)
        self._in_tables = {id(part) for table in self._tables.values() for part in table.before}

    def run(self) -> UnplacedNetwork:
        """Operator by operator; one InputError names all that dlasim cannot run."""
        refusals = []
        for number, variable in find_updates(self._graph, self._variables).items():
            self._values[number] = replace(self._values[number], alias=variable)
        for operator, name in zip(self._graph.operators, layer_names(self._graph, self._names), strict=True):
            if has_trait(operator.kind, Trait.VIEW) and self._alias(operator):
                continue
            try:
                self._operator(operator, name)
            except InputError as error:
                refusals.append(str(error))
        if refusals:
            raise InputError("; ".join(dict.fromkeys(refusals)))
        outputs = self._distinct_outputs()
        return UnplacedNetwork(
            self._graph.name,
            tuple(self._values),
            tuple(self._items),
            self._graph.inputs,
            outputs,
            len(self._graph.tensors),
            self._graph.outputs,
            self._graph.inputs,
        )

    def _alias(self, operator: Operator) -> bool:
        """Reshapes are views of the same bytes; those of constants and variables or to outputs are copied."""
        source, target = operator.inputs[0], operator.outputs[0]
        if root_of(self._values, source) == root_of(self._values, target):
            return True  # of a variable that is updated in place
        if self._values[source].data is not None or target in self._graph.outputs:
            return False
        if not self._variables.isdisjoint((source, target)):
            return False
        self._values[target] = replace(self._values[target], alias=source)
        return True

    def _operator(self, operator: Operator, name: str) -> None:
        if id(operator) in self._in_tables:
            return
        op = bind_known(operator, self._graph)
        row = OPERATORS[op.kind]
        merged = ""
        chain = self._tables.get(operator.location)
        if chain is not None:
            merged = " and ".join(part.kind for part in chain.before)
            calls = chain.calls(op, self._graph)
        else:
            calls = lower(op)
        if chain is None and len(calls) == 1:
            if self._absorb_later(operator, calls[0]):
                return
            calls[0], merged = self._absorb(operator, calls[0])
        new: dict[int, int] = {}
        if Trait.STEPWISE in row.traits and len(calls) > 1:
            for number, call in enumerate(calls):
                self._item(row, f"{name}/{number}", [call], new)
        else:
            self._item(row, name, calls, new, row.macs(op) if row.macs else 0, merged)

    def _item(
        self,
        row: OperatorDefinition,
        name: str,
        calls: list[KernelCall],
        new: dict[int, int],
        macs: int | None = None,
        merged: str = "",
    ) -> None:
        """Appends calls that run in one place."""
        layer = len(self._items)
        resolved = tuple(self._resolve(call, layer, new) for call in calls)
        nodes, reason = self._dla_nodes(calls, resolved, layer)
        assert {node.mnemonic for node in nodes} <= set(row.dla), f"{row.name}: {nodes} are not in its row"
        found = sum(node.macs for node in nodes) if macs is None else macs
        self._items.append(Item(name, row.name, layer_kind(calls[0]), found, nodes, reason, resolved, merged))

    def _dla_nodes(
        self, calls: list[KernelCall], resolved: tuple[program.HostCall, ...], layer: int
    ) -> tuple[tuple[DlaNode, ...], str]:
        """All nodes of an operator's calls, or none and the reason of the first that the DLA cannot run."""
        nodes: list[DlaNode] = []
        for call, host in zip(calls, resolved, strict=True):
            found, reason = dla_form(call, host, self._values, layer)
            if not found:
                return (), reason
            nodes += [replace(node, packs_weights=self._packs_weights(node)) for node in found]
        wanted = dict.fromkeys([*self._cursors, *(node.cursor for node in nodes if node.cursor)])
        if len(wanted) > len(CURSORS):
            return (), f"begins at one more place; the DLA has {len(CURSORS)} cursors"
        self._cursors = dict(zip(wanted, CURSORS, strict=False))
        return tuple(self._with_region(node) for node in nodes), ""

    def _with_region(self, node: DlaNode) -> DlaNode:
        """What writes at a cursor, at that of the same start and steps."""
        if node.cursor is None:
            return node
        return replace(node, cursor=node.cursor._replace(region=self._cursors[node.cursor]))

    def _packs_weights(self, node: DlaNode) -> bool:
        if node.weights is None:
            return False
        weights = self._values[node.weights].data
        assert weights is not None
        return is_int4(weights)

    def _absorb_later(self, operator: Operator, call: KernelCall) -> bool:
        """Whether a PAD can wait for the convolution that is its only reader."""
        target = operator.outputs[0]
        if call.name != "PAD" or self._uses[target] != 1 or target in self._graph.outputs:
            return False
        reader = next(o for o in self._graph.operators if target in o.inputs)
        source, padded = self._graph.tensors[operator.inputs[0]], self._graph.tensors[target]
        quantization = source.quantization
        fits = (
            has_trait(reader.kind, Trait.CONVOLVES)
            and reader.inputs[0] == target
            and reader.options.get("padding") == "VALID"
            and len(source.shape) == 4
            and source.shape[::3] == padded.shape[::3]
            and quantization is not None
            and quantization == padded.quantization
            and call.attributes.value == quantization.zero_point
            and _every_window_overlaps(
                reader,
                self._graph.tensors[reader.inputs[1]].shape,
                call.attributes.before,
                source.shape,
                padded.shape,
            )
        )
        if fits:
            self._padded[target] = (call, operator)
        return fits

    def _absorb(self, operator: Operator, call: KernelCall) -> tuple[KernelCall, str]:
        """A convolution takes over the padding before it."""
        if not has_trait(operator.kind, Trait.CONVOLVES) or operator.inputs[0] not in self._padded:
            return call, ""
        pad, source = self._padded.pop(operator.inputs[0])
        top, left = pad.attributes.before[1:3]
        attributes = SimpleNamespace(**vars(call.attributes) | {"pad_top": top, "pad_left": left})
        merged = replace(call, inputs=(source.inputs[0], *call.inputs[1:]), attributes=attributes)
        return merged, source.kind

    def _resolve(self, call: KernelCall, layer: int, new: dict[int, int]) -> program.HostCall:
        """The call with every tensor a value; `new` has those of new tensors, by identity."""
        inputs = tuple(self._number(item, new) for item in call.inputs)
        outputs = tuple(self._number(item, new) for item in call.outputs)
        return program.HostCall(call.code, inputs, outputs, call.words, layer)

    def _number(self, item: int | Tensor, new: dict[int, int]) -> int:
        if isinstance(item, int):
            return item
        if id(item) not in new:
            self._values.append(_value(item))
            new[id(item)] = len(self._values) - 1
        return new[id(item)]

    def _distinct_outputs(self) -> tuple[int, ...]:
        """Outputs that share bytes with an input, a variable or another output get a copy of their own."""
        taken = {root_of(self._values, number) for number in self._graph.inputs} | self._variables
        outputs = []
        for number in self._graph.outputs:
            if root_of(self._values, number) in taken or self._values[number].data is not None:
                number = self._copy(number)
            taken.add(root_of(self._values, number))
            outputs.append(number)
        return tuple(outputs)

    def _copy(self, number: int) -> int:
        value = self._values[number]
        self._values.append(replace(value, data=None, alias=None))
        elements = int(np.prod(value.shape, dtype=np.int64))
        words = encode_attributes(
            "STRIDED_COPY",
            offset=0,
            size=(1,) * (MAX_RANK - 1) + (elements,),
            stride=(0,) * (MAX_RANK - 1) + (1,),
        )
        layer = len(self._items)
        code = host_ops.BY_NAME["STRIDED_COPY"].code
        call = program.HostCall(code, (number,), (len(self._values) - 1,), words, layer)
        reason = "an output that is also an input, a constant or another output is copied"
        name = self._names.name("copy")
        self._items.append(Item(name, "COPY", LayerKind.HOST, 0, (), reason, (call,)))
        return len(self._values) - 1


def _every_window_overlaps(
    reader: Operator,
    weights: tuple[int, ...],
    before: tuple[int, ...],
    source: tuple[int, ...],
    padded: tuple[int, ...],
) -> bool:
    """Whether no window of a convolution lies in the padding before it as a whole."""
    for axis, side in ((1, "h"), (2, "w")):
        dilation = reader.options.get(f"dilation_{side}_factor", 1)
        assert isinstance(dilation, int)
        after = padded[axis] - source[axis] - before[axis]
        if max(before[axis], after) > (weights[axis] - 1) * dilation:
            return False
    return True


def _value(tensor: Tensor) -> Value:
    quantization = tensor.quantization
    single = quantization is not None and not quantization.per_channel
    data: NDArray[Any] | None = tensor.data
    return Value(
        tensor.name,
        tensor.shape,
        tensor.dtype,
        quantization.scale if quantization is not None and single else 0.0,
        quantization.zero_point if quantization is not None and single else 0,
        data,
    )


def find_updates(graph: Graph, variables: Set[int]) -> dict[int, int]:
    """Tensors that have the bytes of a variable, by their numbers.

    The new value of a variable is a tensor of its own, and the last operators copy it (see
    `separate_states`). If it is the old value with a part written over, and nobody reads the old one
    afterwards, both have the variable's bytes: only the part is written, and nothing is copied. A decoder
    appends to its caches so.
    """
    found: dict[int, int] = {}
    producers = graph.writers()
    views: dict[int, set[int]] = {}  # by the tensor of which they are views
    for number in range(len(graph.tensors)):
        views.setdefault(_origin(number, producers, variables), set()).add(number)
    for copy in graph.operators:
        if has_trait(copy.kind, Trait.VIEW) and copy.outputs[0] in variables:
            new, variable = _origin(copy.inputs[0], producers, variables), copy.outputs[0]
            update, old = producers.get(new), views[variable]
            if update is None or not has_trait(update.kind, Trait.UPDATES):
                continue
            if update.inputs[0] in old and _is_last(graph, update, old):
                found |= dict.fromkeys({new, *old} - {variable}, variable)
    return found


def _origin(number: int, producers: dict[int, Operator], variables: Set[int]) -> int:
    """The tensor of which this one is a view."""
    while number not in variables and number in producers and has_trait(producers[number].kind, Trait.VIEW):
        number = producers[number].inputs[0]
    return number


def _is_last(graph: Graph, update: Operator, old: Set[int]) -> bool:
    """Whether nothing reads the old value after the update, or anything else of it in the update."""
    after = graph.operators[graph.operators.index(update) + 1 :]
    readers = [operator for operator in after if not has_trait(operator.kind, Trait.VIEW)]
    read = {number for operator in readers for number in operator.inputs}
    return old.isdisjoint((*read, *update.inputs[1:], *graph.outputs))
