"""Published areas: NVDLA's sizes at 28 nm, compared with machines of the same MACs and memory."""

from __future__ import annotations

import itertools

from compared.common import percent, span, table
from compared.nvdla import POINTS
from dlasim.sim.physical.area import COMPONENTS
from dlasim.sim.physical.memory_macros import areas_mm2
from dlasim.sim.physical.technology import technology

TECHNOLOGY = "28nm"
# nvdla/doc, doc/primer.rst: "estimated synthesis area, and include all memories", by MACs.
PUBLISHED_MM2 = {2048: 5.5, 1024: 3.0, 512: 2.3, 256: 1.7, 128: 1.4, 64: 0.91, 32: 0.85}


def render() -> dict[str, str]:
    """The table of the chapter, and the range of its ratios."""
    rows, areas = [], {}
    for point in POINTS:
        known, machine = technology(TECHNOLOGY), point.machine
        parts = areas_mm2(machine, known)
        logic = sum(part for name, part in parts.items() if name in COMPONENTS and name != "accumulators")
        memory, published = sum(parts.values()) - logic, PUBLISHED_MM2[point.macs]
        cells = logic * known.value("utilization") + memory
        areas[point.macs] = logic + memory
        rows.append((
            f"{point.macs} / {point.buffer_kib}", f"{published:g}", f"{logic + memory:.2f}",
            percent(logic + memory, published), f"{logic:.2f}", f"{memory:.2f}", percent(cells, published),
        ))  # fmt: skip
    head = ("MACs / buffer KiB", "published", "dlasim", "deviation", "logic", "memories", "by cells alone")
    return {
        "areas": table(head, rows),
        "areas_range": span((area / PUBLISHED_MM2[macs] for macs, area in areas.items()), 2),
        "areas_macs_there": _further_macs(PUBLISHED_MM2),
        "areas_macs_here": _further_macs(areas),
    }


def _further_macs(areas: dict[int, float]) -> str:
    """What a further MAC takes, in thousandths of a mm², between machines of 128 to 1,024 MACs."""
    sizes = itertools.pairwise((128, 256, 512, 1024))
    return span(1000 * (areas[more] - areas[less]) / (more - less) for less, more in sizes)
