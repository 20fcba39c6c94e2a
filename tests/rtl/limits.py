"""Streams that show what a limit of the SRAM's ports, its banks, a buffer or the output stage costs."""

import numpy as np
from numpy.typing import NDArray

from dlasim.isa import codec
from dlasim.isa.instruction_rows import Unit
from dlasim.isa.registers import BY_NAME
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.physical.activity import count_operations
from dlasim.sim.programs.operation import reset_file
from tests.rtl import sram_counters
from tests.rtl.comparison import Comparison, compare_stream
from tests.rtl.machine import RtlMachine
from tests.rtl.streams import places
from tests.sim_timing.stepped import SteppedMachine

Stream = NDArray[np.uint64]
NEAR, FEW = 0.02, 24  # of the cycle-stepped machine: as the closed form is
WORD_ALIGNED = 64  # bytes


def stream(*words: int, **registers: int | tuple[int, int]) -> Stream:
    """CFGs of these registers, these words, and HALT."""
    values = []
    for name, value in registers.items():
        fields = BY_NAME[name].fields
        pair = value if isinstance(value, tuple) else (value,)
        pattern = BY_NAME[name].pack(**{f.name: part for f, part in zip(fields, pair, strict=True)})
        values.append(codec.encode_cfg(name, pattern))
    return np.array([*values, *words, codec.encode("HALT")], np.uint64)


def picture(rows: int, columns: int, channels: int, size: int = 1) -> dict[str, int | tuple[int, int]]:
    """The output's shape, and operands whose bytes lie without a gap, each in words of its own."""
    names = ("IN", "IN2", "OUT", "ACC")
    strides = {f"{name}_PIXEL_STRIDE": channels * size for name in names}
    strides |= {f"{name}_ROW_STRIDE": columns * channels * size for name in names}
    distance = -(-rows * columns * channels * size // WORD_ALIGNED) * WORD_ALIGNED
    starts = {f"{name}_ADDR": place * distance for place, name in enumerate(names)}
    shape = {"OUT_SIZE": (rows, columns), "OUT_CHANNELS": channels, "IN_CHANNELS": channels}
    return strides | starts | shape


def convolution(mnemonic: str, rows: int, columns: int, channels: int, **fields: int) -> Stream:
    """3 x 3 taps, as many channels out as in."""
    registers = picture(rows, columns, channels)
    outer = {"IN_SIZE": (rows + 2, columns + 2), "KERNEL": (3, 3), "IN_ROW_STRIDE": (columns + 2) * channels}
    after = -(-(rows + 2) * (columns + 2) * channels // WORD_ALIGNED) * WORD_ALIGNED
    placed = {"OUT_ADDR": after, "WEIGHT_ADDR": 2 * after, "PARAM_ADDR": 2 * after + 16 * 1024}
    return stream(codec.encode(mnemonic, **fields), **registers | outer | placed)


ALONE = {
    "sum": stream(codec.encode("OP_E_ADD"), **picture(24, 16, 16)),
    "narrow sum": stream(codec.encode("OP_C_MAX"), **picture(30, 40, 4)),
    "bytes": stream(codec.encode("OP_C_MAX"), **picture(30, 40, 1)),
    "wide sum": stream(codec.encode("OP_E32_ADD"), **picture(16, 16, 8, 4)),
    "sum of 16 bits": stream(codec.encode("OP_E16_ADD"), **picture(16, 16, 8, 4)),
    "product": stream(codec.encode("OP_E_MUL"), **picture(24, 16, 16)),
    "fill": stream(codec.encode("OP_FILL"), **picture(24, 32, 16)),
    "convolution": convolution("OP_CONV", 10, 12, 16, init=1, quant=1),
    "one channel": convolution("OP_CONV", 20, 30, 1, init=0, quant=0),
    "depthwise": convolution("OP_DEPTH_CONV", 14, 20, 16, init=1, quant=0),
    "averages": stream(
        codec.encode("OP_POOL", mode=1),
        **picture(8, 8, 16)
        | {"IN_SIZE": (16, 16), "KERNEL": (2, 2), "STRIDE": (2, 2), "IN_ROW_STRIDE": 256, "OUT_ADDR": 8192},
    ),
    "columns of maxima": stream(
        codec.encode("OP_POOL", mode=0),
        **picture(16, 16, 16) | {"IN_SIZE": (18, 16), "KERNEL": (3, 1), "OUT_ADDR": 8192},
    ),
    "long lines of maxima": stream(
        codec.encode("OP_POOL", mode=0),
        **picture(4, 40, 64) | {"IN_SIZE": (6, 40), "KERNEL": (3, 1), "OUT_ADDR": 20 * 1024},
    ),
    "softmax": stream(codec.encode("OP_SOFTMAX"), **picture(4, 6, 40) | {"LUT_ADDR": 32768}),
    "product with a matrix": stream(
        codec.encode("OP_MAT_MUL", init=1, out=1),
        **picture(60, 1, 16)
        | {"OUT_PIXEL_STRIDE": 64, "OUT_ROW_STRIDE": 64, "WEIGHT_ADDR": 16384, "PARAM_ADDR": 20480},
    ),
    "a vector with a matrix": stream(
        codec.encode("OP_MAT_MUL", init=0, out=1),
        **picture(1, 1, 16)
        | {
            "IN_CHANNELS": 240,
            "IN_PIXEL_STRIDE": 240,
            "IN_ROW_STRIDE": 240,
            "OUT_ADDR": 512,
            "WEIGHT_ADDR": 1024,
        },
    ),
    "partial sums": stream(
        codec.encode("OP_MAT_MUL", init=2),
        **picture(60, 1, 16) | {"ACC_PIXEL_STRIDE": 64, "ACC_ROW_STRIDE": 64, "WEIGHT_ADDR": 16384},
    ),
}

# Bytes that the RTL fetches before a step may run, and the stepped machine meanwhile: lines above the last of
# the first window, which come whole; the first words of a product; partial sums of the block at hand only.
FIRST = {
    "columns of maxima": 2 * 16 * 16,
    "long lines of maxima": 2 * 40 * 64,
    "product with a matrix": 8,
    "partial sums": 60 * 64,
}

# Convolutions with one tap: machine, input channels, and by how much the RTL takes longer than the
# cycle-stepped machine, at least and at most, in per cent. docs/rtl.md explains each, and changes with it.
DEEP = [
    ("mutant with limits", 192, 3.2, 3.5),  # weights take turns with input that is read ahead
    ("one port", 192, 0.0, 0.5),
    ("one port", 190, 13.4, 13.8),  # pixels that are not whole words come one after the other
    ("ports", 190, 1.3, 1.6),
]


def both_transfers(incoming: int, outgoing: int) -> Stream:
    """A read and a write at the same time."""
    words = (codec.encode("OP_DMA_READ"), codec.encode("OP_DMA_WRITE"))
    place = {"DMA_OUT_SRAM_ADDR": 8192, "DMA_OUT_REGION": 3, "DMA_IN_REGION": 1}
    return stream(*words, DMA_IN_RUN_BYTES=incoming, DMA_OUT_RUN_BYTES=outgoing, **place)


def one_bank(config: DlaConfig, pixels: int) -> Stream:
    """Pixels of one byte at a stride of one word less than a row of banks. As each row is shifted by a bank,
    the words that are read and written lie in the same bank for a row's length, then in the next."""
    distance = config.sram_bandwidth * (config.sram_banks - 1)
    same = config.sram_bandwidth * config.sram_banks**3  # further on, the banks are the same again
    registers = picture(1, pixels, 1) | {"OUT_ADDR": -(-pixels * distance // same) * same}
    registers |= {"IN_PIXEL_STRIDE": distance, "OUT_PIXEL_STRIDE": distance}
    return stream(codec.encode("OP_E_ABS"), **registers)


def filters_in_one_bank(config: DlaConfig, groups: int = 64) -> tuple[Stream, int]:
    """A product of one pixel with filters that are a word shorter than a row of banks, as in `one_bank`; and
    how much longer it takes for its banks. As many words of a filter as there are ports cross together, each
    in a bank of its own. Those that are left over cross beside the same words of the next filters, and mostly
    meet these in a bank; nobody waits for that if the array takes longer."""
    words, ports, (inputs, lanes) = config.sram_banks - 1, config.sram_ports, config.lanes
    channels, filters = words * config.sram_bandwidth, groups * lanes
    left, together = words % ports, min(ports, lanes)
    conflicts = 0
    for last in range(words - left, words):
        for first in range(0, filters, together):
            place = np.arange(first, first + together) * words + last
            banks = sum(place // config.sram_banks**row for row in range(3)) % config.sram_banks
            conflicts += int(np.bincount(banks).max()) - 1
    crossing = filters * (words // ports) + left * filters // together + conflicts
    start = 16 * 1024
    registers = picture(1, 1, filters) | {"IN_ADDR": start, "OUT_ADDR": start + 1024}
    registers |= {"IN_CHANNELS": channels, "WEIGHT_ADDR": start + 2048}
    product = stream(codec.encode("OP_MAT_MUL", init=0, out=0), **registers)
    return product, max(min(conflicts, crossing - groups * -(-channels // inputs)), 0)


def product_beside_transfers(config: DlaConfig, pixels: int, filters: int) -> Stream:
    """A product that takes a word of a pixel and of each filter in a step, and two transfers, which leave it
    fewer words than that."""
    word = config.sram_bandwidth
    start = 16 * 1024
    registers = picture(1, pixels, filters) | {"IN_ADDR": start, "OUT_ADDR": start + 2 * pixels * word}
    registers |= {"IN_CHANNELS": word, "IN_PIXEL_STRIDE": word, "IN_ROW_STRIDE": pixels * word}
    transfers = {"DMA_OUT_SRAM_ADDR": 8192, "DMA_OUT_REGION": 3, "DMA_IN_REGION": 1}
    transfers |= {"DMA_IN_RUN_BYTES": 8000, "DMA_OUT_RUN_BYTES": 8000}
    words = [codec.encode(name) for name in ("OP_DMA_READ", "OP_DMA_WRITE")]
    product = codec.encode("OP_MAT_MUL", init=0, out=0)
    return stream(*words, product, **registers, **transfers, WEIGHT_ADDR=40 * 1024)


def one_after_another(*streams: Stream) -> Stream:
    """Streams as one."""
    return np.concatenate([*(words[:-1] for words in streams[:-1]), streams[-1]])


def chains() -> dict[str, Stream]:
    """Operations whose results fill their ring until they end, as transfers take the ports, and what reads
    the last ones first: an operation of the same unit, which begins a cycle later; one of the other."""
    start, pixels, bytes_ = 8 * 1024, 40, 64  # of results, and of a pixel of them
    last = start + (pixels - 1) * bytes_
    many, one = (picture(1, count, bytes_ // 4, 4) for count in (pixels, 1))
    places_ = {"OUT_ADDR": 24 * 1024, "WEIGHT_ADDR": 16 * 1024, "PARAM_ADDR": 20 * 1024}
    shift = codec.encode("OP_E32_SHIFT")
    sums = stream(shift, **many | {"OUT_ADDR": start})
    product = many | places_ | {"OUT_ADDR": start, "IN_PIXEL_STRIDE": 4, "IN_CHANNELS": 4}
    transfers = {"DMA_OUT_SRAM_ADDR": 32 * 1024, "DMA_IN_SRAM_ADDR": 44 * 1024, "DMA_OUT_REGION": 3}
    transfers |= {"DMA_IN_REGION": 1, "DMA_IN_RUN_BYTES": 8000, "DMA_OUT_RUN_BYTES": 8000}
    both = stream(codec.encode("OP_DMA_READ"), codec.encode("OP_DMA_WRITE"), **transfers)
    waits = codec.encode("WAIT", unit=Unit.VECTOR, max_outstanding=0)
    reads_matrix = codec.encode("OP_MAT_MUL", init=0, out=1)
    return {
        "VECTOR": one_after_another(both, sums, stream(shift, **one | places_ | {"IN_ADDR": last})),
        "MAC": one_after_another(
            both,
            stream(reads_matrix, **product),
            stream(
                reads_matrix,
                **one | places_ | {"IN_ADDR": last + bytes_ - 4, "IN_CHANNELS": 4, "OUT_CHANNELS": 4},
            ),
        ),
        "VECTOR and MAC": one_after_another(
            both,
            sums,
            stream(
                waits,
                reads_matrix,
                **one | places_ | {"IN_ADDR": last + bytes_ - 4, "IN_CHANNELS": 4, "OUT_CHANNELS": 4},
            ),
        ),
    }


def compare_chains(rtl: RtlMachine, config: DlaConfig) -> None:
    """No operation reads results of one before it until these have crossed the ports."""
    for words in chains().values():
        on_both(rtl, config, words)


def on_both(rtl: RtlMachine, config: DlaConfig, words: Stream) -> Comparison:
    """The stream on RTL and simulator, whose results must be equal."""
    rng = np.random.default_rng(0)
    sram = rng.integers(0, 256, config.sram_bytes, np.uint8)
    rtl.memory[:] = rng.integers(0, 256, len(rtl.memory), np.uint8)
    found = compare_stream(rtl, config, words, reset_file(), sram, places())
    assert found.plan.fault is None
    assert not found.wrong_results
    return found


def stepped_cycles(config: DlaConfig, words: Stream) -> int:
    """What the cycle-stepped machine takes."""
    return SteppedMachine(config, words).run().total


def compare_alone(rtl: RtlMachine, config: DlaConfig, name: str) -> None:
    """An operation whose words are full: near the cycle-stepped machine, which fetches full words only."""
    cycles, _ = on_both(rtl, config, ALONE[name]).cycles
    expected = stepped_cycles(config, ALONE[name])
    near = max(NEAR * expected, FEW)
    port_bytes = config.sram_bandwidth * min(config.sram_ports, config.sram_banks)
    most = expected + near + FIRST.get(name, 0) / port_bytes
    assert expected - near <= cycles <= most, f"{name}: RTL {cycles}, stepped {expected}"


def deep_convolution(channels: int) -> Stream:
    """42 pixels of so many channels under a single tap, in blocks of accumulators."""
    shape = picture(6, 7, 16) | {"IN_CHANNELS": channels, "IN_SIZE": (6, 7)}
    strides = {"IN_PIXEL_STRIDE": channels, "IN_ROW_STRIDE": 7 * channels}
    placed = {"OUT_ADDR": 8192, "WEIGHT_ADDR": 12288, "PARAM_ADDR": 17408}
    return stream(codec.encode("OP_CONV", init=0, quant=0), **shape | strides | placed)


def compare_words(rtl: RtlMachine, config: DlaConfig) -> None:
    """Operations whose words are full cross in as many as energy counts."""
    for words in (*ALONE.values(), *map(deep_convolution, (190, 192))):
        found = on_both(rtl, config, words)
        counted = count_operations(found.plan).accesses.tolist()
        assert sram_counters.words(found.events, found.plan) == counted


def deep_cycles(rtl: RtlMachine, config: DlaConfig, channels: int) -> tuple[int, int]:
    """Of that convolution, on the RTL and on the cycle-stepped machine."""
    words = deep_convolution(channels)
    return on_both(rtl, config, words).cycles[0], stepped_cycles(config, words)


def beyond_stepped(rtl: RtlMachine, config: DlaConfig, pixels: int, groups: int, slices: int) -> int:
    """Cycles that a convolution with one tap takes longer on the RTL than on the cycle-stepped machine."""
    inputs, outputs = config.lanes
    channels = slices * inputs
    shape = picture(1, pixels, groups * outputs) | {"IN_CHANNELS": channels, "IN_SIZE": (1, pixels)}
    placed = {"IN_PIXEL_STRIDE": channels, "WEIGHT_ADDR": 12288, "PARAM_ADDR": 17408}
    words = stream(codec.encode("OP_CONV", init=0, quant=0), **shape | placed)
    return on_both(rtl, config, words).cycles[0] - stepped_cycles(config, words)


def compare_short_block(rtl: RtlMachine, config: DlaConfig, groups: int = 8, slices: int = 4) -> None:
    """Where a group of output channels ends with a block of a few pixels, the next waits for the accumulators
    of a whole block; the cycle-stepped machine waits as long."""
    whole, few = config.accumulators, 4
    wait = whole * config.lanes[1] / config.mac_results - whole - few * slices + 4
    assert wait > 0
    without = beyond_stepped(rtl, config, 2 * whole, groups, slices)
    found = beyond_stepped(rtl, config, whole + few, groups, slices) - without
    assert abs(found) <= groups, (found, without)


def compare_transfers(rtl: RtlMachine, config: DlaConfig) -> None:
    """Two transfers take turns at the ports, as in the simulator."""
    for incoming, outgoing in ((4000, 2000), (2000, 4000), (4001, 4003)):
        found = on_both(rtl, config, both_transfers(incoming, outgoing))
        ends = [found.events.done[unit][0] for unit in (0, 1)]
        assert np.abs(np.array(ends) - found.plan.timeline.end).max() <= 8, ends


def compare_banks(rtl: RtlMachine, config: DlaConfig, pixels: int = 200) -> None:
    """Each bank serves one port in a cycle. Many words that are read and written for a pixel meet in a bank;
    without conflicts both would cross in a cycle."""
    cycles, _ = on_both(rtl, config, one_bank(config, pixels)).cycles
    least = config.check_cycles + config.vector_fill + config.vector_drain
    assert 1.4 * pixels <= cycles <= 2 * pixels + FEW + least, cycles
    product, conflicts = filters_in_one_bank(config)
    cycles, _ = on_both(rtl, config, product).cycles
    assert abs(cycles - conflicts - stepped_cycles(config, product)) <= FEW, cycles


def compare_shared(rtl: RtlMachine, config: DlaConfig, pixels: int = 600, filters: int = 512) -> None:
    """A product waits for its input, or for its filters, where transfers take the ports: what a step reads
    crosses before it."""
    cycles, _ = on_both(rtl, config, product_beside_transfers(config, pixels, 1)).cycles
    assert cycles > 1.2 * pixels, cycles
    product = product_beside_transfers(config, 1, filters)
    cycles, _ = on_both(rtl, config, product).cycles
    assert abs(cycles - stepped_cycles(config, product)) <= FEW, cycles
