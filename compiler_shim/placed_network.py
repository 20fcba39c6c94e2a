"""The network in which each item is where it shall be, ready for lowering."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dlasim.compiler_shim.calls.copy_elimination import eliminate_copies
from dlasim.compiler_shim.calls.nodes import (
    Cursor,
    DlaNode,
    HostNode,
    LayerInfo,
    PlacedNetwork,
    Value,
    alias_chain,
    root_of,
)
from dlasim.compiler_shim.calls.sums import add_in_output_stage
from dlasim.compiler_shim.facts import Recent, once
from dlasim.compiler_shim.forms.partition import Item, UnplacedNetwork
from dlasim.compiler_shim.forms.requantization import (
    requantized_on_cpu,
    requantized_on_dla,
    requantizes,
    requantizing_call,
    storing_sums,
    sums_of,
)
from dlasim.compiler_shim.options import CompileOptions
from dlasim.dataclass import dataclass
from dlasim.errors import InputError
from dlasim.isa.file_records import LayerKind
from dlasim.isa.host_attributes import encode_attributes
from dlasim.isa.host_op_rows import PLACE_CURSOR
from dlasim.isa.limits import MAX_RANK
from dlasim.isa.program import HostCall
from dlasim.isa.registers import CURSORS

MAX_REMEMBERED = 24  # placements of a network, with sums in MAC operations and without


@dataclass(frozen=True, slots=True)
class Verdict:
    """Where an item shall be, and why."""

    on_dla: bool
    reason: str


def place_once(
    network: UnplacedNetwork, options: CompileOptions, verdicts: Sequence[Verdict], in_mac: bool = False
) -> tuple[PlacedNetwork, Sequence[int]]:
    """The network with each item where it shall be, and by item the number of its layer; with sums `in_mac`
    operations where they can be. Machines with the same choice share it, and so all that is found for it."""
    choice = tuple([each.on_dla for each in verdicts])
    key = choice, in_mac, options.depthwise, options.requant, options.fusion
    return _placed(network).get(key, lambda: _place(network, options, verdicts, in_mac))


@once
def _placed(network: UnplacedNetwork) -> Recent[tuple[PlacedNetwork, Sequence[int]]]:
    """The placements that were asked for last."""
    del network
    return Recent(MAX_REMEMBERED)


def _place(
    network: UnplacedNetwork, options: CompileOptions, verdicts: Sequence[Verdict], in_mac: bool
) -> tuple[PlacedNetwork, Sequence[int]]:
    if not in_mac:
        return _Placer(network, options).run(verdicts)
    placed, layers = place_once(network, options, verdicts)
    return add_in_output_stage(placed), layers


class _Placer:
    """Places the items of a network, one after the other."""

    def __init__(self, network: UnplacedNetwork, options: CompileOptions) -> None:
        self._network, self._options = network, options
        self._of_item: list[int] = []  # the numbers of their layers
        self._values = list(network.values)
        self._nodes: list[DlaNode | HostNode] = []
        self._layers: list[LayerInfo] = []
        self._cursors: dict[Cursor, HostCall] = {}  # with the calls that place them

    def run(self, verdicts: Sequence[Verdict]) -> tuple[PlacedNetwork, Sequence[int]]:
        """Place the network item by item."""
        for item, verdict in zip(self._network.items, verdicts, strict=True):
            self._place(item, verdict)
        for call in reversed(self._cursors.values()):
            self._nodes.insert(self._first_step(call.inputs[0]), HostNode(call))
        net = self._network
        placed = eliminate_copies(
            PlacedNetwork(
                net.name,
                tuple(self._values),
                tuple(self._nodes),
                tuple(self._layers),
                net.inputs,
                net.outputs,
                net.tensor_count,
                net.model_outputs,
                net.model_inputs,
                net.left_out,
                net.codes,
            )
        )
        return placed, self._of_item

    def _place(self, item: Item, verdict: Verdict) -> None:
        if not verdict.on_dla:
            if not item.host:
                raise InputError(
                    f"{item.name} ({item.operator}): {verdict.reason}, and the CPU does not support it either"
                )
            layer = self._layer(item, LayerKind.HOST, "cpu")
            self._nodes += [HostNode(replace(call, layer=layer)) for call in item.host]
            return
        for node in item.dla:
            if node.cursor is not None and node.cursor not in self._cursors:
                self._cursors[node.cursor] = self._cursor_call(item, node.cursor)
        layer = self._layer(item, item.kind, "dla")
        left: dict[int, tuple[HostCall, int]] = {}  # by output: what is left to the CPU, and its sums
        for node in item.dla:
            self._place_node(item, node if node.layer == layer else replace(node, layer=layer), left)
        for call, sums in left.values():
            own = self._requantizing_layer(item, LayerKind.HOST, "cpu", "--requant cpu")
            self._nodes.append(HostNode(requantized_on_cpu(call, sums, own)))

    def _place_node(self, item: Item, node: DlaNode, left: dict[int, tuple[HostCall, int]]) -> None:
        if node.mnemonic == "OP_DEPTH_CONV" and self._options.depthwise == "emulated":
            node = replace(node, mnemonic="OP_CONV", is_channel_by_channel=True)
        call = None
        if self._options.requant == "cpu":
            call = requantizing_call(item.host, node, self._values)
        if call is not None:
            self._split_requantization(node, call, left)
        elif requantizes(node) and self._options.fusion == "none":
            sums = self._new_sums(node.output)
            self._nodes.append(storing_sums(node, sums))
            layer = self._requantizing_layer(item, LayerKind.REQUANT, "dla", "--fusion none")
            self._nodes.append(requantized_on_dla(node, sums, layer))
        else:
            self._nodes.append(node)

    def _split_requantization(
        self, node: DlaNode, call: HostCall, left: dict[int, tuple[HostCall, int]]
    ) -> None:
        """The node with its sums as output; a part of the tensor becomes the same part of all sums."""
        output = call.outputs[0]
        if output not in left:
            left[output] = call, self._new_sums(output)
        sums = left[output][1]
        for number in reversed(alias_chain(self._values, node.output)):
            part = self._values[number]
            if number != output and output in alias_chain(self._values, number):
                self._values.append(replace(part, name=f"{part.name}/int32", dtype="int32", alias=sums))
                sums = len(self._values) - 1
        self._nodes.append(storing_sums(node, sums))

    def _cursor_call(self, item: Item, cursor: Cursor) -> HostCall:
        """What places a cursor; a layer of its own."""
        name, rest = f"{item.name}/cursor", (0,) * (MAX_RANK - len(cursor.room))
        reason = "says where the DLA writes"
        self._layers.append(LayerInfo(name, item.operator, LayerKind.HOST, "cpu", reason))
        self._values.append(Value(name, (1,), "int32"))
        words = encode_attributes(
            "PLACE_CURSOR", cursor=CURSORS.index(cursor.region), reach=cursor.reach, room=cursor.room + rest,
            stride=cursor.stride + rest,
        )  # fmt: skip
        place = len(self._values) - 1
        return HostCall(PLACE_CURSOR, (cursor.start,), (place,), words, len(self._layers) - 1)

    def _first_step(self, value: int) -> int:
        """Of a node that reads a value: behind those that write it."""
        root, written = root_of(self._values, value), 0
        for step, node in enumerate(self._nodes):
            outputs = (node.output,) if isinstance(node, DlaNode) else node.call.outputs
            if root in [root_of(self._values, output) for output in outputs]:
                written = step + 1
        return written

    def _new_sums(self, output: int) -> int:
        self._values.append(sums_of(self._values[output]))
        return len(self._values) - 1

    def _requantizing_layer(self, item: Item, kind: LayerKind, target: str, reason: str) -> int:
        self._layers.append(LayerInfo(f"{item.name}/requant", item.operator, kind, target, reason))
        return len(self._layers) - 1

    def _layer(self, item: Item, kind: LayerKind, target: str) -> int:
        self._of_item.append(len(self._layers))
        self._layers.append(LayerInfo(item.name, item.operator, kind, target, macs=item.macs))
        return len(self._layers) - 1
