"""What a machine, and a command word on it, give to the formulas of time in `formulas.py`."""

from __future__ import annotations

from functools import lru_cache
from math import gcd, lcm

from dlasim.isa import codec
from dlasim.isa.instruction_rows import (
    COPIED_BYTES,
    PACKED_BYTES,
    SOFTMAX_PASSES,
    Unit,
    adds_tensor,
)
from dlasim.isa.instructions import BY_MNEMONIC
from dlasim.isa.registers import OPERAND_COLUMN, Region
from dlasim.isa.weight_code import CODE_BYTES, STEP_WEIGHTS
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.configuration.memory_tables import RATE_SCALE
from dlasim.sim.programs.footprint import dma_prefix
from dlasim.sim.timing import formulas
from dlasim.sim.timing.contention import DEMAND_STEPS
from dlasim.sim.timing.formulas import ENOUGH, BusCosts, UnitCosts
from dlasim.sim.timing.memory_timing import MemoryTiming, memories_of, memory_numbers
from dlasim.sim.timing.operation_costs import describe_kind
from dlasim.sim.timing.output_stage import mac_result_cycles, vector_result_cycles
from dlasim.sim.timing.word_costs import WordCosts

# Of OP_SOFTMAX for each pixel: a cycle each for the greatest element, the sum and its leading zeros, and four
# for each of seven multiplications
ROW_CYCLES = 31
SUM_CYCLES = 8  # by which the pipeline of MAC is longer for results to which it adds a tensor, as in the RTL
_DECODE = BY_MNEMONIC["OP_DMA_DECODE"]
MAX_SPEED = 1 << 22  # parts of a transfer's speed; where more would be needed, shares are rounded


def bus_costs(
    config: DlaConfig, region: Region = Region.ARENA, opposite_region: Region = Region.ARENA
) -> BusCosts:
    """The bus parameters for transfers of a region, while transfers of the other direction access the region
    `opposite_region`."""
    memories, numbers = memories_of(config), memory_numbers(config)
    memory = memories[numbers[region]]
    part, alone = _share(config, memory, memories[numbers[opposite_region]]) or (0, 0)
    return memory_costs(config, memory, alone, part)


def memory_costs(config: DlaConfig, memory: MemoryTiming, alone: int = 0, shared: int = 0) -> BusCosts:
    """The bus parameters of a memory."""
    rate = transfer_rate(config, memory)
    packed_rate = unpacking_rate(config, rate)
    common = gcd(rate, packed_rate, RATE_SCALE)
    return BusCosts(
        rate // common, RATE_SCALE // common, memory.latency + port_latency(config), memory.outstanding,
        memory.burst_bytes, memory.burst_overhead, alone, shared, packed_rate // common,
        decoding_cycles(config, rate),
    )  # fmt: skip


def port_rate(config: DlaConfig) -> int:
    """Bytes that cross the SRAM's ports in a cycle, 0 for unlimited; a bank serves one port at a time."""
    return config.sram_bandwidth * min(config.sram_ports, config.sram_banks)


def port_latency(config: DlaConfig) -> int:
    """Cycles until an operation's first words, or a transfer's last, have crossed the SRAM's ports."""
    return formulas.PORT_LATENCY if port_rate(config) else 0


def port_capacity(config: DlaConfig) -> int:
    """The most that the ports move in a cycle, in DEMAND_STEPS; 0 for no limit."""
    return port_rate(config) * DEMAND_STEPS if config.timing == "full" else 0


def dma_port_rate(config: DlaConfig) -> int:
    """The same for a transfer alone."""
    return port_rate(config) if dma_shares_ports(config) else config.sram_bandwidth


def dma_shares_ports(config: DlaConfig) -> bool:
    """Whether the DMA units take turns at the ports, rather than having ports of their own."""
    return not config.sram_dma_ports


def unit_costs(config: DlaConfig, mnemonic: str, mode: int = 0, adds: bool = False) -> UnitCosts:
    """The parameters of a compute instruction's unit; `mode` is that of a pool; `adds`: whether MAC adds a
    tensor to its results."""
    instruction = BY_MNEMONIC[mnemonic]
    line_buffer = config.line_buffer_bytes or ENOUGH
    if instruction.unit is Unit.VECTOR:
        result_cycles = vector_result_cycles(config, instruction, mode)
        unit = UnitCosts(
            1, config.elements, 1, 1, 1, 1, port_latency(config), config.vector_fill, config.vector_drain,
            port_rate(config), config.sram_bandwidth, line_buffer, ENOUGH, ENOUGH, result_cycles,
        )  # fmt: skip
        if instruction.normalizes_rows:
            unit.passes, unit.row_cycles = SOFTMAX_PASSES, ROW_CYCLES
        return unit
    lanes = (1, config.depthwise_lanes) if instruction.is_depthwise else config.lanes
    return UnitCosts(
        *lanes, *config.pixel_tile, config.mac_step_group, load_cycles(config), port_latency(config),
        config.mac_fill, config.mac_drain + SUM_CYCLES * adds, port_rate(config), config.sram_bandwidth,
        line_buffer, config.weight_buffer_bytes or ENOUGH, config.accumulators or ENOUGH,
        mac_result_cycles(config), in_blocks=int(config.mac_handover == "blocks"),
    )  # fmt: skip


def load_cycles(config: DlaConfig) -> int:
    """Cycles in which the weights of a step reach the array: one for each PE of a pixel."""
    inputs, outputs = config.lanes
    return -(-inputs * outputs // config.mac_weights) if config.mac_weights else 1


def units_overlap(config: DlaConfig) -> bool:
    """Whether MAC and VECTOR unit may work at the same time."""
    return config.compute_overlap == 1


@lru_cache(maxsize=256)
def packs_weights(config: DlaConfig) -> bool:
    """Whether to store weights of 4 bits by twos: where unpacking takes no longer than loading bytes."""
    bus = bus_costs(fully_timed(config), Region.CONSTANTS)
    return 0 < bus.rate <= 2 * bus.packed_rate


def fully_timed(config: DlaConfig) -> DlaConfig:
    """The machine with all terms of time: what a simulation leaves out must not change a program."""
    return config if config.timing == "full" else config.replace(timing="full")


def queue_depth(config: DlaConfig) -> int:
    """How many operations a unit holds, the running one included."""
    return config.queue_depth


def word_cycles(config: DlaConfig) -> int:
    """Cycles that the issue stage spends on an instruction word."""
    return config.issue_cycles if config.timing == "full" else 0


def check_cycles(config: DlaConfig) -> int:
    """Cycles in which the issue stage checks an operation, besides those of its word."""
    return config.check_cycles if config.timing == "full" else 0


def transfer_rate(config: DlaConfig, memory: MemoryTiming) -> int:
    """What one transfer alone moves to or from a memory, in thousandths of a byte per cycle; 0: unlimited."""
    limits = (
        config.dma_bandwidth * RATE_SCALE,
        memory.bandwidth,
        memory.bus_bandwidth,
        dma_port_rate(config) * RATE_SCALE,
    )
    return min((rate for rate in limits if rate), default=0)


def beat_bytes(config: DlaConfig) -> int:
    """The bytes that a transfer alone moves in a cycle, at most, on a machine whose bus has a limit."""
    return max(-(-transfer_rate(config, memory) // RATE_SCALE) for memory in memories_of(config))


def unpacking_rate(config: DlaConfig, rate: int) -> int:
    """What a transfer that moves so much unpacks, likewise; 0 where the machine can't. The bus waits for it,
    and twice as many bytes cross the SRAM's ports."""
    if not config.dma_unpacking:
        return 0
    limits = (rate, config.dma_unpacking * RATE_SCALE, dma_port_rate(config) * RATE_SCALE // 2)
    return min(limit for limit in limits if limit)


def decoding_cycles(config: DlaConfig, rate: int) -> int:
    """Cycles of a step of the decoder, in which a word crosses the bus and what it stands for the SRAM's
    ports; 0 where the machine can't."""
    if not config.dma_decoding:
        return 0
    limits = (
        rate,
        config.dma_decoding * RATE_SCALE,
        dma_port_rate(config) * RATE_SCALE * CODE_BYTES // STEP_WEIGHTS,
    )
    return -(-CODE_BYTES * RATE_SCALE // min(limit for limit in limits if limit))


def bus_shares(config: DlaConfig) -> tuple[int, list[int]] | None:
    """The speed of a transfer alone, and the speeds of a read and a write that run at the same time, for each
    memory of the read and then each of the write; None if two transfers never slow each other down."""
    if config.timing != "full":
        return None
    memories = memories_of(config)
    fractions = []
    for read in memories:
        for written in memories:
            fractions += [_share(config, read, written), _share(config, written, read)]
    if not any(fractions):
        return None
    alone = min(lcm(*(fraction[1] for fraction in fractions if fraction)), MAX_SPEED)
    return alone, [fraction[0] * alone // fraction[1] if fraction else alone for fraction in fractions]


def _share(config: DlaConfig, mine: MemoryTiming, other: MemoryTiming) -> tuple[int, int] | None:
    """The fraction of its full speed at which a transfer runs while one of the other direction is active;
    None for full speed. A shared bus or memory gives each half; what one does not need goes to the other."""
    limits = []
    if mine.bus == other.bus:
        limits.append(mine.bus_bandwidth)
    if mine is other:
        limits.append(mine.bandwidth)
    limit = min((rate for rate in limits if rate), default=0)
    rate, opposite = transfer_rate(config, mine), transfer_rate(config, other)
    if not limit or config.timing != "full" or limit >= rate + opposite or 2 * rate <= limit:
        return None
    twice = 2 * (limit - opposite) if 2 * opposite <= limit else limit
    common = gcd(twice, 2 * rate, RATE_SCALE)
    return twice // common, 2 * rate // common


@lru_cache(maxsize=256)
def word_costs(config: DlaConfig, word: int) -> WordCosts:
    """What a command word of an operation says of its costs."""
    decoded = codec.decode(word)
    instruction = decoded.instruction
    assert instruction is not None, "only legal words are operations"
    number = int(instruction.unit)
    if instruction.is_transfer:
        packed = decoded.values.get("packed", 0) * PACKED_BYTES
        coded, copied = (
            decoded.values.get("words", 0) * CODE_BYTES,
            decoded.values.get("copied", 0) * COPIED_BYTES,
        )
        decodes, steps = int(instruction is _DECODE), decoded.values.get("steps", 0)
        region = OPERAND_COLUMN[f"{dma_prefix(instruction)}_REGION"]
        return WordCosts(number, region, packed, decodes, coded, steps, copied)
    cycles = vector_result_cycles(config, instruction, decoded.values.get("mode", 0))
    adds = bool(adds_tensor(decoded.values))
    unit = unit_costs(config, instruction.mnemonic, adds=adds)
    return WordCosts(number, unit=unit, kind=describe_kind(instruction, decoded.values, cycles))
