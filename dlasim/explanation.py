"""What `dlasim explain` tells of each layer: where it runs and why, what it costs, what limits it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dlasim.rows.row_table import RowTable
from dlasim.sim.reports import losses
from dlasim.sim.reports.losses import Losses, find_losses

if TYPE_CHECKING:
    from dlasim.compiler_shim.lowering.lower import Lowered
    from dlasim.compiler_shim.lowering.tiles.geometry import TileShape
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
    shapes = {lowered.network.nodes[step].layer: each for step, each in lowered.plan.tile_shapes.items()}
    found = find_losses(lowered.program, config, inference)
    for number, (layer, row, loss) in enumerate(zip(lowered.network.layers, figures, found, strict=True)):
        tile_shape = shapes.get(number)
        yield {
            "name": layer.name,
            "operator": layer.operator,
            "unit": layer.target,
            "why": layer.reason,
            "tile": "" if tile_shape is None else tile_shape.text,
            "tiles": row["tiles"],
            "read_bytes": row["dma_bytes"]["read"],
            "written_bytes": row["dma_bytes"]["write"],
            "cycles": row["cycles"],
            "busy_cycles": row["busy_cycles"],
            "macs": row["macs"],
            "utilization": row["utilization"],
            "bound_cycles": loss.bound_cycles if layer.target == "dla" else row["cycles"],
            "lost_cycles": loss.total,
            "limit": _limit(loss),
            "advice": _advice(loss, tile_shape, config),
        }


def _limit(loss: Losses) -> str:
    """What limits a layer that loses more than a little; transfers by what makes them slow."""
    if loss.total <= _NEGLIGIBLE * loss.bound_cycles:
        return ""
    if loss.cause == losses.TRANSFERS:
        return "bandwidth" if loss.transfer_cycles > loss.compute_cycles else "SRAM"
    return loss.cause


_ADVICE: Mapping[str, str] = {
    "bandwidth": "a higher DMA bandwidth; or more SRAM, if tensors are transferred more than once",
    "SRAM": "more SRAM, for second buffers and for prefetching",
    losses.OUTPUT: "a higher output rate of MAC (--mac-results) or VECTOR (--vector-requantizations)",
    losses.PORTS: "more or wider SRAM ports",
    losses.FIRST_LOAD: "a higher DMA bandwidth or a shorter latency",
    losses.ISSUE: "fewer issue cycles, a shorter DMA latency; more SRAM for fewer tiles",
}


def _advice(loss: Losses, tile_shape: TileShape | None, config: DlaConfig) -> str:
    limit = _limit(loss)
    if limit != losses.TILES:
        return _ADVICE.get(limit, "")
    lanes = config.lanes[1]
    if tile_shape is not None and tile_shape.channels % lanes:
        return f"more SRAM, for tiles of a multiple of {lanes} output channels"
    return "more SRAM, for fewer tiles or stripes"
