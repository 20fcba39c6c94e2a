"""The tables of docs/area.md, from the measured points and the model, and figures that its prose states."""

from __future__ import annotations

from collections.abc import Iterator

from compared.common import table
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.configuration.sizes import KIB
from dlasim.sim.physical.area import COMPONENTS, areas, slot_bits
from dlasim.sim.physical.block_areas import block_area, measured_points
from dlasim.sim.physical.memory_macros import area_uncertainty_mm2, areas_mm2, memory_kib
from dlasim.sim.physical.technology import technology

PROCESSES = ("45nm", "28nm", "22nm")
_GRID = DlaConfig().replace(parallel="8x8")
_RATES = ("mac_results", "vector_requantizations", "vector_divisions")
_FLASH = {"flash": {"regions": ["constants"], "bandwidth": 0.5, "outstanding": 2, "bus": "flash"}}
MACHINES = {
    "4x4": _GRID.replace(parallel="4x4"),
    "8x8": _GRID,
    "64 O": DlaConfig(),
    "64 O, `int16` 1": DlaConfig(int16=1),
    "64 I": DlaConfig(parallel="input"),
    "8x8x4": _GRID.replace(parallel="8x8x4"),
    "16x16": _GRID.replace(parallel="16x16"),
    "256 O": DlaConfig(pes=256),
    "8x8, output stage unlimited": _GRID.replace(**dict.fromkeys(_RATES, 0)),
    "8x8, `queue_depth` 1": _GRID.replace(queue_depth=1),
    "8x8, `queue_depth` 4": _GRID.replace(queue_depth=4),
    "8x8, one port and bank of 8 bytes": _GRID.replace(sram_ports=1, sram_banks=1, sram_bandwidth=8),
    "8x8, 8 ports and 16 banks of 32 bytes": _GRID.replace(sram_ports=8, sram_banks=16, sram_bandwidth=32),
    "8x8, constants in a flash": _GRID.replace(memories=_FLASH),
    "64 O, accumulators as flip-flops": DlaConfig(accumulator_storage="flip-flops"),
    "256 O, accumulators as flip-flops": DlaConfig(pes=256, accumulator_storage="flip-flops"),
}
BLOCKS = {
    "pe": "PE: 9 x 9 bit multiplier with a register",
    "mac_lane": "MAC lane: adds to a sum",
    "mac_result": "from a sum to a result of MAC: bias, requantizer, limits",
    "mac_sum": "a result of MAC and a tensor, added",
    "accumulators": "sums of a MAC lane as flip-flops",
    "vector_choices": "what an operation of VECTOR is, decoded for all lanes",
    "vector_lane": "VECTOR lane: all operations, without what an output stage shares",
    "vector_sum": "two inputs of VECTOR at the scale of their sum: two requantizers",
    "vector_result": "from a value to a result of VECTOR: requantizer, square, limits",
    "requantizer": "requantizer",
    "square": "square of OP_E_SQDIFF",
    "divider": "divider of an average",
    "queue": "queue",
    "dma_bus": "bus between two transfers",
    "dma_memories": "both directions and their bus, by the memories",
    "dma": "DMA, one direction",
    "unpacker": "unpacks weights of 4 bits, DMA_IN",
    "decoding": "gathers words of code, DMA_IN",
    "weight_decoder": "decodes a word of code",
    "host": "host window, counters",
    "issue": "issue stage without the checks",
    "checks": "operand checks",
    "vector": "VECTOR unit without lanes",
    "mac": "MAC unit without PEs and lanes",
    "mac_results": "results of the MAC unit at a limited rate",
    "softmax": "OP_SOFTMAX",
    "ports": "arbiter",
    "crossbar": "multiplexers between ports and banks",
    "mac_words": "requests for words, MAC",
    "vector_words": "requests for words, VECTOR",
    "arrivals": "from the bus to words, DMA_IN",
    "departures": "from words to the bus, DMA_OUT",
    "top": "top without its units",
}


def tables() -> tuple[str, ...]:
    """The tables of the page."""
    return _square_millimetres(), _blocks(), _gates()


def figures() -> Iterator[tuple[str, str]]:
    """What sentences of several pages state."""
    config = DlaConfig()
    bits = slot_bits(config)
    deep, own, shallow = (
        areas(config.replace(queue_depth=depth))["queues"].kge for depth in (4, config.queue_depth, 1)
    )
    grid = {name: part.kge for name, part in areas(_GRID).items()}
    storage = areas(config.replace(accumulator_storage="flip-flops"))["accumulators"].kge
    buffer = {"LINE_BUFFER_BYTES": config.line_buffer_bytes}
    mac_words = block_area("mac_words", WEIGHT_BUFFER_BYTES=config.weight_buffer_bytes, **buffer).kge
    vector_words = block_area("vector_words", **buffer).kge
    transfers = {"BANK_BYTES": config.sram_bandwidth, "BEAT_BYTES": config.dma_bandwidth}
    arrivals = block_area("arrivals", **transfers).kge
    ports = {"PORTS": config.sram_ports, "DMA_PORTS": config.sram_ports}
    departures = block_area("departures", **ports, **transfers).kge
    small, large = (areas_mm2(MACHINES[name], technology(PROCESSES[0])) for name in ("8x8", "16x16"))
    more = sum(large.values()) - sum(small.values())
    yield "array_mm2", f"{more:.2f}"
    yield "array_kib", f"{more / small['sram'] * config.sram_bytes / KIB:.0f}"
    yield "slot_bits", f"{bits:,}"
    yield "bit_area", f"{1000 * own / (config.queue_depth * bits):.1f}"
    yield "queues_area", f"{own:.0f}"
    yield "deep_area", f"{deep:.0f}"
    yield "grid_area", f"{sum(grid.values()):,.0f}"
    yield "front_area", f"{grid['queues'] + grid['control']:.0f}"
    yield "ports_area", f"{grid['ports']:.0f}"
    yield "flip_flops_area", f"{storage:,.0f}"
    for name, machine in (("memory", "64 O"), ("flip_flops", "64 O, accumulators as flip-flops")):
        yield f"{name}_mm2", f"{areas_mm2(MACHINES[machine], technology(PROCESSES[0]))['accumulators']:.2f}"
    yield "shallow_area", f"{shallow:.0f}"
    yield "pes_area", f"{64 * block_area('pe').kge:.0f}"
    yield "checks_area", f"{block_area('checks').kge:.1f}"
    yield "mac_words_area", f"{mac_words:.1f}"
    yield "vector_words_area", f"{vector_words:.1f}"
    yield "words_area", f"{mac_words + vector_words:.0f}"
    yield "arrivals_area", f"{arrivals:.1f}"
    yield "departures_area", f"{departures:.1f}"
    yield "sums_bits", f"{slot_bits(config.replace(mac_sums=1)) - bits}"
    yield from _of_points()


def _of_points() -> Iterator[tuple[str, str]]:
    """What single measured points, and differences of two, are worth."""
    points = {(point.block, *point.parameters.values()): point.area for point in measured_points()}
    word = (points["accumulators", 64, 6].kge - points["accumulators", 8, 3].kge) / 56
    stage = 3 * points["requantizer",].kge + points["divider",].kge + points["square",].kge
    unlimited = areas(MACHINES["8x8, output stage unlimited"])["vector"].kge
    yield "word_area", f"{word:.2f}"
    yield "lane_area", f"{points['accumulators', 64, 6].kge:.1f}"
    yield "stage_area", f"{_GRID.vector_lanes * stage:.0f}"
    yield "unlimited_area", f"{unlimited:.0f}"
    for name, block, parameter in (
        ("lane", "mac_lane", 48), ("result", "mac_result", 48), ("vector", "vector_lane", 16),
        ("average", "divider", 16),
    ):  # fmt: skip
        more = points[block, parameter].kge - points[block,].kge
        yield f"int16_{name}", f"{more:.2g}"
    several = points["dma_memories", 2, 1, 1, 3].kge
    yield "second_memory", f"{several - points['dma_memories', 1, 1, 1, 3].kge:.1f}"
    yield "odd_rates", f"{points['dma_memories', 2, 1000, 1, 3].kge - several:.1f}"
    yield "overlap", f"{points['dma_memories', 2, 1, 2, 3].kge - several:.1f}"
    yield "int16_bits", f"{points['mac_lane', 48].flip_flops - points['mac_lane',].flip_flops:.0f}"


def _square_millimetres() -> str:
    memories = ("accumulators", "sram", "line_buffers", "weight_buffer")
    known = technology(PROCESSES[0])
    rows = []
    for name, machine in MACHINES.items():
        parts = areas_mm2(machine, known)
        logic = sum(parts[part] for part in COMPONENTS if part != "accumulators")
        total, *others = (sum(areas_mm2(machine, technology(each)).values()) for each in PROCESSES)
        columns = [f"{value:.2f}" for value in (logic, *(parts[memory] for memory in memories))]
        off = area_uncertainty_mm2(machine, known)
        rows.append((name, *columns, f"{total:.2f} ± {off:.2f}", *(f"{value:.2f}" for value in others)))
    head = (
        "machine", "logic", "accumulators", "SRAM", "line buffers", "weight buffer", "45 nm", "28 nm", "22 nm"
    )  # fmt: skip
    return table(head, rows)


def _blocks() -> str:
    """Each point, with those parameters in which the points of its block differ."""
    assert {point.block for point in measured_points()} == BLOCKS.keys(), "each block needs a title"
    rows = []
    for block, title in BLOCKS.items():
        points = [point for point in measured_points() if point.block == block]
        sizes = [set(point.parameters.items()) for point in points]
        common = set.intersection(*sizes)
        for point, own in zip(points, sizes, strict=True):
            differing = [item for item in point.parameters.items() if item in own - common]
            shown = ", ".join(f"{name} {size:,}" for name, size in differing)
            rows.append((title, shown, f"{point.area.kge:#.3g}", f"{point.area.flip_flops:,.0f}"))
    head = ("block", "where they differ", "kGE", "flip-flops")
    return table(head, rows, texts=2)


def _gates() -> str:
    rows = []
    for name, machine in MACHINES.items():
        parts = [areas(machine)[part].kge for part in COMPONENTS]
        kib = sum(memory_kib(machine).values())
        rows.append((name, *(f"{value:,.0f}" for value in (*parts, sum(parts), kib))))
    head = ("machine", *COMPONENTS, "kGE", "KiB")
    return table(head, rows)
