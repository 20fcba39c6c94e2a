"""What `dlasim explain` tells of each layer: where it runs and why, what it costs, what limits it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dlasim.compiler_shim.calls.nodes import DlaNode
from dlasim.isa.instruction_rows import Unit
from dlasim.isa.instructions import BY_MNEMONIC
from dlasim.rows.row_table import RowTable
from dlasim.sim.reports import losses
from dlasim.sim.reports.losses import Losses, find_losses

if TYPE_CHECKING:
    from dlasim.compiler_shim.lowering.lower import Lowered
    from dlasim.sim.configuration.config import DlaConfig
    from dlasim.sim.execution.runner import Inference

_NEGLIGIBLE = 0.01  # of a layer's compulsory cycles


class Explanation(RowTable[dict[str, Any]]):
    """One dictionary per layer, in the model's order; `report` is that of the whole inference."""

    def __init__(self, rows: Iterable[dict[str, Any]], report: dict[str, Any]) -> None:
        super().__init__(rows)
        self.report = report


def explain_layers(lowered: Lowered, config: DlaConfig, inference: Inference) -> Explanation:
    """What the compiler did with each layer, and what that costs."""
    from dlasim.sim.reports.report import report

    whole = report(lowered.program, config, inference)
    whole["left_out"] = list(lowered.network.left_out)
    return Explanation(_rows(lowered, config, inference, whole["layers"]), whole)


def _rows(
    lowered: Lowered, config: DlaConfig, inference: Inference, figures: Sequence[Mapping[str, Any]]
) -> Iterator[dict[str, Any]]:
    steps = {lowered.network.nodes[step].layer: step for step in lowered.plan.tile_shapes}
    found = find_losses(lowered.program, config, inference)
    for number, (layer, row, loss) in enumerate(zip(lowered.network.layers, figures, found, strict=True)):
        step = steps.get(number)
        yield {
            "name": layer.name,
            "operator": layer.operator,
            "unit": layer.target,
            "why": layer.reason,
            "tile": "" if step is None else lowered.plan.tile_shapes[step].text,
            "tiles": row["tiles"],
            "read_bytes": row["dma_bytes"]["read"],
            "written_bytes": row["dma_bytes"]["write"],
            "cycles": row["cycles"],
            "busy_cycles": row["busy_cycles"],
            "macs": row["macs"],
            "utilization": row["utilization"],
            "bound_cycles": loss.bound_cycles if layer.target == "dla" else row["cycles"],
            "lost_cycles": loss.total,
            "compulsory_wait_cycles": loss.compulsory_waits,
            "limit": _limit(loss),
            "advice": _advice(loss, step, lowered, config),
        }


def _limit(loss: Losses) -> str:
    """What limits a layer that waits or loses more than a little; transfers by what makes them slow."""
    if max(loss.total, loss.compulsory_waits) <= _NEGLIGIBLE * loss.bound_cycles:
        return ""
    if loss.compulsory_waits > loss.total:
        return "bandwidth"
    if loss.cause == losses.TRANSFERS:
        return "bandwidth" if loss.transfer_cycles > loss.compute_cycles else "SRAM"
    return loss.cause


# What helps, and what more SRAM is good for where the program would use it.
_ADVICE: Mapping[str, tuple[str, str]] = {
    "bandwidth": ("a higher DMA bandwidth", "to transfer tensors once, or while other layers compute"),
    "SRAM": ("a higher DMA bandwidth", "for second buffers and for prefetching"),
    losses.TILES: ("", "for fewer tiles or stripes"),
    losses.OUTPUT: ("a higher output rate of MAC (--mac-results) or VECTOR (--vector-requantizations)", ""),
    losses.PORTS: ("more or wider SRAM ports", ""),
    losses.FIRST_LOAD: ("a higher DMA bandwidth or a shorter latency", ""),
    losses.ISSUE: ("fewer issue cycles, a shorter DMA latency", "for fewer tiles"),
}


def _advice(loss: Losses, step: int | None, lowered: Lowered, config: DlaConfig) -> str:
    """What would help a layer; more SRAM only where the program would use it."""
    limit = _limit(loss)
    helps, use_of_sram = _ADVICE.get(limit, ("", ""))
    if limit == losses.TILES and step is not None:
        node, tile_shape = lowered.network.nodes[step], lowered.plan.tile_shapes[step]
        assert isinstance(node, DlaNode)
        is_mac = BY_MNEMONIC[node.mnemonic].unit is Unit.MAC
        lanes = config.lanes[1] if is_mac else config.elements
        if tile_shape.channels < node.out_shape[2] and tile_shape.channels % lanes:
            use_of_sram = f"for tiles of a multiple of {lanes} output channels"
    if lowered.sufficient_sram_bytes is not None:
        return helps or ("none, as these tiles let the units work side by side" if limit else "")
    return "; or ".join([*filter(None, [helps]), *(f"more SRAM, {use}" for use in [use_of_sram] if use)])
