"""Where a layer lies under the roofs of computing and of memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def bytes_per_cycle(machine: Mapping[str, Any]) -> int:
    """What one direction of the DMA moves alone; 0 for unlimited."""
    rates = (machine["dma_bandwidth"], machine["dma_shared_bandwidth"])
    return min((rate for rate in rates if rate), default=0)


def roofline_point(layer: Mapping[str, Any], machine: Mapping[str, Any]) -> tuple[float | None, float]:
    """MACs per byte (None where nothing moves) and MACs per cycle.

    Bytes are those of the direction that takes longer, time is computing (the layer's busy cycles, since
    others may run at the same time) or moving, whichever takes longer.
    """
    rate, shared = bytes_per_cycle(machine), machine["dma_shared_bandwidth"]
    read, written = layer["dma_read_bytes"], layer["dma_write_bytes"]
    slow = float(max(read, written))  # in bytes of one direction
    if shared and rate:
        slow = max(slow, (read + written) * rate / shared)
    cycles = max(layer["busy_cycles"], slow / rate if rate else 0, 1)
    return (layer["macs"] / slow if slow else None), layer["macs"] / cycles
