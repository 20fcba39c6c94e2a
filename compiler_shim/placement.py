"""Chooses for one machine who runs what, and spells the choice out as a network ready for lowering."""

from __future__ import annotations

from dataclasses import dataclass, replace

from dlasim.compiler_shim.lowering.geometry import InSram
from dlasim.compiler_shim.lowering.policy import Policy
from dlasim.compiler_shim.lowering.tiling import TilingProblems
from dlasim.compiler_shim.nodes import DlaNode, HostNode, LayerInfo, PlacedNetwork, Value
from dlasim.compiler_shim.partition import Item, UnplacedNetwork
from dlasim.errors import InputError
from dlasim.isa.instructions import Out, Quant
from dlasim.isa.records import LayerKind
from dlasim.sim.host_estimate import DOORBELL_CYCLES, operator_cycles

LAUNCH_CYCLES = DOORBELL_CYCLES + 200  # a stream of its own, and the wait for it


def place(network: UnplacedNetwork, policy: Policy) -> PlacedNetwork:
    """The network with every operator on the DLA or the CPU."""
    return _Placer(network, policy).run()


@dataclass(frozen=True, slots=True)
class _Verdict:
    on_dla: bool
    reason: str


class _Placer:
    def __init__(self, network: UnplacedNetwork, policy: Policy) -> None:
        self._network, self._policy = network, policy
        self._config, self._options = policy.config, policy.options
        self._values = list(network.values)
        self._nodes: list[DlaNode | HostNode] = []
        self._layers: list[LayerInfo] = []

    def run(self) -> PlacedNetwork:
        """Item by item."""
        for item in self._network.items:
            self._place(item, self._verdict(item))
        net = self._network
        return PlacedNetwork(
            net.name,
            tuple(self._values),
            tuple(self._nodes),
            tuple(self._layers),
            net.inputs,
            net.outputs,
            net.tensor_count,
            net.model_outputs,
        )

    def _verdict(self, item: Item) -> _Verdict:
        options = self._options
        if item.dla is None:
            return _Verdict(False, item.dla_refusal)
        if options.dla_ops is not None and item.operator not in options.dla_ops:
            return _Verdict(False, "not among --dla-ops")
        if item.kind is LayerKind.DEPTH and options.depthwise == "cpu":
            return _Verdict(False, "--depthwise cpu")
        if options.place == "cpu":
            return _Verdict(False, "--place cpu")
        if options.place == "dla" or options.tiling != "auto" or not item.host:
            return _Verdict(True, "supported")
        return self._cheaper(item, item.dla)

    def _cheaper(self, item: Item, node: DlaNode) -> _Verdict:
        """By cost: the DLA with every tensor in system memory and a launch of its own, against the CPU."""
        problems = TilingProblems(node, self._policy.machine)
        problem = problems[InSram((False,) * len(node.inputs), False)]
        tiling = self._policy.tiling(problem, self._config.sram_bytes)
        cpu = sum(operator_cycles(self._shapes(call.inputs), self._shapes(call.outputs), call.code, item.macs)
                  for call in item.host)  # fmt: skip
        if tiling is None:
            needed = self._policy.needed(problem)
            return _Verdict(False, f"needs {needed} bytes of SRAM, there are {self._config.sram_bytes}")
        dla = tiling.cycles + LAUNCH_CYCLES
        if dla <= cpu:
            return _Verdict(True, f"about {dla:,} cycles, {cpu:,} on the CPU")
        return _Verdict(False, f"about {cpu:,} cycles, {dla:,} on the DLA")

    def _shapes(self, numbers: tuple[int, ...]) -> list[tuple[int, ...]]:
        return [self._values[number].shape for number in numbers if number >= 0]

    def _place(self, item: Item, verdict: _Verdict) -> None:
        if not verdict.on_dla:
            if not item.host:
                raise InputError(f"{item.name} ({item.operator}): {verdict.reason}, and the CPU lacks it too")
            layer = self._layer(item, LayerKind.HOST, "cpu", verdict.reason)
            self._nodes += [HostNode(replace(call, layer=layer)) for call in item.host]
            return
        assert item.dla is not None
        layer = self._layer(item, item.kind, "dla", verdict.reason)
        node = item.dla if item.dla.layer == layer else replace(item.dla, layer=layer)
        if item.kind is LayerKind.DEPTH and self._options.depthwise == "emulated":
            node = replace(node, mnemonic="OP_CONV", one_by_one=True)
        if node.records is not None and self._options.fusion == "none":
            self._split(item, node)
        else:
            self._nodes.append(node)

    def _layer(self, item: Item, kind: LayerKind, target: str, reason: str) -> int:
        reason += f", with the {item.merged} before it" if item.merged else ""
        self._layers.append(LayerInfo(item.name, item.operator, kind, target, reason, item.macs))
        return len(self._layers) - 1

    def _split(self, item: Item, node: DlaNode) -> None:
        """Without fusion the int32 accumulators go to memory; a REQUANT of its own brings them to int8."""
        output = self._values[node.output]
        self._values.append(Value(f"{output.name}/int32", output.shape, "int32"))
        wide = len(self._values) - 1
        mnemonic = "OP_CONV" if node.mnemonic == "OP_CONV_RELU" else node.mnemonic
        fields = {**node.fields, "out": Out.INT32, "quant": Quant.TENSOR}
        self._nodes.append(replace(node, mnemonic=mnemonic, fields=fields, output=wide, out_element_bytes=4))
        info = LayerInfo(f"{item.name}/requant", item.operator, LayerKind.REQUANT, "dla", "--fusion none")
        self._layers.append(info)
        kept = ("OUT_ZP", "ACT_MIN", "ACT_MAX")
        self._nodes.append(
            DlaNode(
                "OP_REQUANT", len(self._layers) - 1, (wide,), node.output, node.out_shape, node.out_shape,
                fields={"quant": Quant.CHANNEL}, in_element_bytes=4, records=node.records,
                registers={name: value for name, value in node.registers.items() if name in kept},
            )
        )  # fmt: skip
