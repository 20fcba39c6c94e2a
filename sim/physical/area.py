"""The area of a machine's logic, from that of the RTL's blocks. `memory_macros.py` has its memories.

`docs/area.md` explains what is counted.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache, lru_cache

from dlasim.isa.instruction_rows import UNITS, Unit
from dlasim.isa.instructions import INSTRUCTIONS, sum_registers
from dlasim.isa.kept_bits import kept_bits
from dlasim.isa.registers import BY_NAME
from dlasim.isa.weight_code import BODY_BITS, STEP_WEIGHTS
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.configuration.machine_table import PARAMETERS
from dlasim.sim.configuration.memory_tables import RATE_SCALE
from dlasim.sim.physical.block_areas import BYTE_BITS, SUM_BITS, Area, block_area
from dlasim.sim.timing.cost import beat_bytes, dma_port_rate
from dlasim.sim.timing.memory_timing import memories_of

COMPONENTS = {
    "mac": "the MAC unit: multipliers, adders, requantizers, addresses, requests for words",
    "vector": "the VECTOR unit: lanes, requantizers, dividers, OP_SOFTMAX, addresses, requests for words",
    "dma": "both directions of the DMA, the bus between them, requests for words",
    "ports": "the SRAM's ports: the arbiter, and the multiplexers between ports and banks",
    "queues": "the four units' queues",
    "control": "host window, counters, and the issue stage",
    "accumulators": "the accumulators of all output lanes, if they are flip-flops",
}
DEFAULT_BEAT_BYTES = 8  # of a bus without a limit
LANE_REQUANTIZATIONS = 3  # of a VECTOR lane of the RTL
LANE_DIVISIONS = 1  # likewise
SUM_REQUANTIZATIONS = 2  # those of them that bring two inputs to the scale of a sum
DMA_UNITS = 2  # in and out
FLIP_FLOP_KGE = 0.005667  # as in tools/synthesis.py
_HALVES = 2  # of the accumulators: one adds up while the other's results leave
_INT16_BITS, _INT16_SUM_BITS = 16, 48  # of elements and sums of a machine with int16
# What a queue keeps besides registers: values with the bits of an address, and bits. Of a transfer the merged
# run and four flags; of an operation opcode and fields, how far its windows lie apart, and of MAC three
# products more. One of VECTOR has steps between taps where others have strides of a second operand, and 112
# bits of its window where they have scales; its input's channels are those of its output.
_MULTIPLIED = {
    Unit.DMA_IN: (0, 36), Unit.DMA_OUT: (0, 36), Unit.MAC: (8, 12 + 33),
    Unit.VECTOR: (5 - 2, 12 + 33 - 112 - 24),
}  # fmt: skip


@lru_cache(maxsize=4096)
def areas(config: DlaConfig) -> Mapping[str, Area]:
    """The logic of a machine by component."""
    beat = beat_bytes(config.replace(dma_bandwidth=config.dma_bandwidth or DEFAULT_BEAT_BYTES))
    burst_overhead = max(memory.burst_overhead for memory in memories_of(config))
    dma = block_area("dma", BEAT_BYTES=beat, BURST_OVERHEAD=burst_overhead)
    widths = [_kept_bits(unit, config) + _choice_bits(unit, config) for unit in UNITS]
    queues = [block_area("queue", WIDTH=width, DEPTH=config.queue_depth) for width in widths]
    return {
        "mac": _mac_area(config),
        "vector": _vector_area(config),
        "dma": DMA_UNITS * dma
        + _transfer_area(config, "arrivals", beat)
        + _transfer_area(config, "departures", beat)
        + block_area("dma_bus")
        + _memories_area(config)
        + _top_area(config, beat)
        + _unpacking_area(config, beat)
        + _decoding_area(config, beat),
        "ports": _ports_area(config),
        "queues": sum(queues, Area()),
        "control": block_area("host") + block_area("issue") + block_area("checks"),
        "accumulators": _accumulators_area(config),
    }


def _memories_area(config: DlaConfig) -> Area:
    """What both directions and their bus take more where transfers differ by their memory."""
    memories = memories_of(config)
    parts = RATE_SCALE // math.gcd(
        RATE_SCALE, *(rate for memory in memories for rate in (memory.bandwidth, memory.bus_bandwidth))
    )
    outstanding = max(memory.outstanding for memory in memories)

    one = {"MEMORIES": 1, "PARTS": 1, "OUTSTANDING": 1, "QUEUE_DEPTH": config.queue_depth}
    several = one | {"MEMORIES": len(memories), "PARTS": parts, "OUTSTANDING": outstanding}
    return block_area("dma_memories", **several) - block_area("dma_memories", **one)


def _unpacking_area(config: DlaConfig, beat: int) -> Area:
    """What DMA_IN has more on a machine that unpacks: beats become longer on the way to the SRAM."""
    ports = dma_port_rate(config)
    packed = min(config.dma_unpacking, beat, ports // 2 if ports else beat)
    if not packed:
        return Area()
    spread = max(2 * packed, beat)
    return (
        block_area("dma", BEAT_BYTES=beat, PACKED_BYTES=packed)
        - block_area("dma", BEAT_BYTES=beat)
        + _longer(config, beat, spread)
        + block_area("unpacker", BEAT_BYTES=beat, PACKED_BYTES=packed, SPREAD_BYTES=spread)
    )


def _decoding_area(config: DlaConfig, beat: int) -> Area:
    """What DMA_IN has more on a machine that decodes, whatever its rate: the decoder takes a word in a cycle,
    and its weights go to the SRAM as a beat of so many bytes would."""
    if not config.dma_decoding:
        return Area()
    written = max(STEP_WEIGHTS, beat)
    return (
        block_area("weight_decoder", BODY=BODY_BITS, MOST=STEP_WEIGHTS)
        + block_area("decoding")
        + block_area("dma", BEAT_BYTES=beat, STEP_BEATS=1)
        - block_area("dma", BEAT_BYTES=beat)
        + _longer(config, beat, written)
    )


def _longer(config: DlaConfig, beat: int, written: int) -> Area:
    """What DMA_IN takes more where so many bytes of a beat go to the SRAM."""
    words = _transfer_area(config, "arrivals", written) - _transfer_area(config, "arrivals", beat)
    return words + _top_area(config, written) - _top_area(config, beat)


def _transfer_area(config: DlaConfig, block: str, beat: int) -> Area:
    """What leads a beat's bytes to words or from them, in one direction."""
    own = 1 if config.sram_dma_ports else _shared_ports(config)
    return _words_area(config, block, BEAT_BYTES=beat, DMA_PORTS=own, PORTS=_all_ports(config))


def _top_area(config: DlaConfig, beat: int) -> Area:
    return block_area("top", DMA_BANDWIDTH=beat, SRAM_BANDWIDTH=config.sram_bandwidth)


def mac_lanes(config: DlaConfig) -> int:
    """Accumulators that add at a time."""
    return config.depthwise_lanes * math.prod(config.pixel_tile)


def flip_flops_behind_sums(config: DlaConfig) -> float:
    """Those of a machine that a result passes once, which its lanes share."""
    return _shared(config.mac_results, mac_lanes(config)) * _result_area(config).flip_flops


def _result_area(config: DlaConfig) -> Area:
    """From a sum to a result, with a tensor added if the machine does that."""
    own = block_area("mac_result", BITS=sum_bits(config))
    return own + config.mac_sums * block_area("mac_sum")


def accumulator_words(config: DlaConfig) -> int:
    """Words of a lane. A machine whose results may wait has twice as many as pixels of a block; one whose
    accumulators have no limit can't be built, and counts as one that has a single word."""
    return _HALVES * config.accumulators if _results_may_wait(config) and config.accumulators else 1


def _results_may_wait(config: DlaConfig) -> bool:
    return bool(config.sram_bandwidth or config.mac_results)


def sum_bits(config: DlaConfig) -> int:
    """Bits of an accumulator."""
    return _INT16_SUM_BITS if config.int16 else SUM_BITS


def _accumulators_area(config: DlaConfig) -> Area:
    """All words, if they are flip-flops; of a single one each lane has its own."""
    words = accumulator_words(config)
    if config.accumulator_storage == "memory" or words == 1:
        return Area()
    return mac_lanes(config) * block_area("accumulators", PLACES=words, BITS=sum_bits(config))


def _mac_area(config: DlaConfig) -> Area:
    """Each lane of the RTL leads its sums to results; a machine with an output stage shares fewer ways."""
    inputs, outputs = config.lanes
    rows, columns = config.pixel_tile
    lanes, pixels = mac_lanes(config), {"PIXEL_ROWS": rows, "PIXEL_COLUMNS": columns}
    results = _shared(config.mac_results, lanes)
    return (
        block_area(
            "mac",
            INPUT_LANES=inputs,
            OUTPUT_LANES=outputs,
            INT16=config.int16,
            SUMS=config.mac_sums,
            **pixels,
        )
        + config.pes * block_area("pe")
        + lanes * block_area("mac_lane", BITS=sum_bits(config))
        + results * _result_area(config)
        + (block_area("mac_results", **pixels) if _results_may_wait(config) else Area())
        + _words_area(
            config,
            "mac_words",
            LINE_BUFFER_BYTES=config.line_buffer_bytes,
            WEIGHT_BUFFER_BYTES=config.weight_buffer_bytes,
            **pixels,
        )
        + _stages(config, "mac_fill", BYTE_BITS * inputs * (rows * columns + outputs))
        + _stages(config, "mac_drain", SUM_BITS * results)
    )


def _vector_area(config: DlaConfig) -> Area:
    bits = _INT16_BITS if config.int16 else BYTE_BITS
    lanes, rate = config.elements, config.vector_requantizations
    requantizer, square = block_area("requantizer"), block_area("square")
    ways = block_area("vector_result", ELEMENT_BITS=bits) - requantizer - square
    sums = block_area("vector_sum", ELEMENT_BITS=bits) - SUM_REQUANTIZATIONS * requantizer + square
    return (
        block_area("vector", LANES=lanes, INT16=config.int16)
        + block_area("vector_choices", ELEMENT_BITS=bits)
        + block_area("softmax", LANES=lanes, ELEMENT_BITS=bits)
        + lanes * block_area("vector_lane", ELEMENT_BITS=bits)
        + _shared(rate, LANE_REQUANTIZATIONS * lanes) * requantizer
        + _shared(rate, lanes) * ways
        + _shared(rate / LANE_REQUANTIZATIONS, lanes) * sums
        + _shared(config.vector_divisions, LANE_DIVISIONS * lanes) * block_area("divider", QUOTIENT_BITS=bits)
        + _words_area(config, "vector_words", LINE_BUFFER_BYTES=config.line_buffer_bytes)
        + _stages(config, "vector_fill", 2 * BYTE_BITS * lanes)
        + _stages(config, "vector_drain", SUM_BITS * lanes)
    )


def _stages(config: DlaConfig, name: str, bits: int) -> Area:
    """Pipeline registers of so many bits for each cycle of filling or draining that the RTL does not need."""
    limit = PARAMETERS[name].rtl_limit
    more = max(getattr(config, name) - (limit.low if limit else 0), 0)
    flip_flops: float = more * bits
    return flip_flops * Area(FLIP_FLOP_KGE, 1)


def _words_area(config: DlaConfig, block: str, **sizes: int) -> Area:
    """What asks the SRAM's ports for a unit's words. Ports without a limit give every word at once."""
    if not config.sram_bandwidth:
        return Area()
    return block_area(block, BANK_BYTES=config.sram_bandwidth, **sizes)


def _ports_area(config: DlaConfig) -> Area:
    """Ports of the DMA units' own have no arbiter. Those without a limit have no size, and count as none."""
    if not config.sram_bandwidth:
        return Area()
    ports, banks, width = _shared_ports(config), config.sram_banks, config.sram_bandwidth
    return block_area("ports", PORTS=ports, BANKS=banks, BANK_BYTES=width) + block_area(
        "crossbar", PORTS=_all_ports(config), BANKS=banks, BANK_BYTES=width
    )


def _all_ports(config: DlaConfig) -> int:
    """Those that units share, and the DMA units' own."""
    return _shared_ports(config) + DMA_UNITS * config.sram_dma_ports


def _shared_ports(config: DlaConfig) -> int:
    """Those that units share: each finds a bank."""
    return min(config.sram_ports, config.sram_banks)


def _shared(rate: float, most: int) -> int:
    """How many it takes for a rate, of which 0 has no limit."""
    return min(math.ceil(rate), most) if rate else most


def _choice_bits(unit: Unit, config: DlaConfig) -> int:
    """Bits of an operation that say what its elements are, whether it adds a tensor, or whether it unpacks
    or decodes, where that is a choice. Of MAC the RTL keeps the fields `elements`, `sum` and `weights` up to
    the last one that is."""
    if unit is Unit.DMA_IN:
        return int(config.dma_unpacking > 0) + int(config.dma_decoding > 0)
    if unit is Unit.MAC:
        return 3 if config.int16 else 2 * config.mac_sums
    return config.int16 if unit is Unit.VECTOR else 0


def slot_bits(config: DlaConfig) -> int:
    """Bits of one operation in each of the queues."""
    return sum(_kept_bits(unit, config) for unit in UNITS)


def _kept_bits(unit: Unit, config: DlaConfig) -> int:
    """Bits of an operation in its unit's queue, where an address in SRAM may go beyond it by a bit."""
    return _bits_of_unit(unit, (config.sram_bytes - 1).bit_length() + 1, bool(config.mac_sums))


@cache
def _bits_of_unit(unit: Unit, address_bits: int, has_sums: bool) -> int:
    rows = [row for row in INSTRUCTIONS if row.unit is unit]
    names = {name for row in rows for name in row.registers}
    if not has_sums:
        names -= sum_registers(unit)
    registers = sum(kept_bits(BY_NAME[name], address_bits) for name in names)
    addresses, others = _MULTIPLIED[unit]
    return registers + addresses * address_bits + others
