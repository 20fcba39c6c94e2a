"""The table of docs/rtl.md that says how fast each block is."""

from __future__ import annotations

import static_timing
import synthesis

from dlasim.sim.physical.clock import kind_of

SOURCE = "sim/physical/timing_points.csv"
TITLES = {
    "pe": "PE",
    "mac_lane": "MAC lane",
    "mac_result": "from a sum to a result",
    "mac_sum": "a result and a tensor, added",
    "accumulators": "sums of a lane",
    "mac": "MAC unit without those, 64 lanes: loops, addresses",
    "mac_words": "requests for words, MAC",
    "mac_results": "when sums leave",
    "vector_choices": "an operation of VECTOR, decoded",
    "vector_lane": "VECTOR lane",
    "vector": "VECTOR unit without lanes, 16 of them: loops, addresses",
    "vector_words": "requests for words, VECTOR",
    "writers": "results of VECTOR on their way to the ports",
    "softmax": "OP_SOFTMAX, 16 lanes",
    "requantizer": "requantization",
    "square": "square",
    "divider": "divider of an average",
    "ports": "arbiter, 4 ports and 8 banks of 16 bytes",
    "crossbar": "between 4 ports and 8 banks",
    "dma": "DMA, one direction",
    "arrivals": "from the bus to words",
    "departures": "from words to the bus",
    "dma_bus": "the bus of two transfers",
    "queue": "queue of 64 bits, four deep",
    "checks": "operand checks",
    "issue": "issue stage without the checks",
    "host": "host window, counters",
    "top": "what connects them",
}

_KINDS = {"": "", "int16": ", `int16`", "pixels": ", four pixels"}


def table() -> str:
    """A row for each point, the slowest first; a point that was not measured is one, too."""
    points = synthesis.PointFile(static_timing.POINTS, static_timing.COLUMNS, keys=2).rows
    lines = ["| block | ns | kGE | flip-flops |", "| --- | ---: | ---: | ---: |"]
    keys = [
        (name, synthesis.parameters_text(parameters))
        for name in TITLES
        for parameters in static_timing.BLOCKS[name].points
    ]
    for key in sorted(keys, key=lambda key: -float(points[key]["ns"]) if key in points else 0.0):
        name, parameters = key
        title = TITLES[name] + _KINDS[kind_of(parameters)]
        if key not in points:
            lines.append(f"| {title} | not measured | | |")
            continue
        row = points[key]
        older = "" if row["sources"] == static_timing.sources(name) else " (of earlier sources)"
        kge = f"{float(row['kge']):.1f}"
        lines.append(f"| {title}{older} | {row['ns']} | {kge} | {row['flip_flops']} |")
    return "\n".join(lines) + "\n"
