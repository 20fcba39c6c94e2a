"""The area of the RTL's blocks, from their synthesis.

`tools/synthesis.py` measures blocks with a few values of each parameter. Between them and beyond, area and
flip-flops of a block are linear in the counts that `_TERMS` lists, fitted here by least squares of relative
errors.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from pathlib import Path

from dlasim.dataclass import dataclass

_POINTS = Path(__file__).parent / "area_points.csv"
BYTE_BITS, SUM_BITS = 8, 32
_PLACE_BITS = 20  # of an address of the SRAM, in blocks that are synthesised
_BUFFERS = ("LINE_BUFFER_BYTES", "WEIGHT_BUFFER_BYTES")

Parameters = Mapping[str, int]
Terms = list[float]


@dataclass(frozen=True, slots=True)
class Area:
    """Thousands of gate equivalents, and the flip-flops among them."""

    kge: float = 0.0
    flip_flops: float = 0.0

    def __add__(self, other: Area) -> Area:
        return Area(self.kge + other.kge, self.flip_flops + other.flip_flops)

    def __sub__(self, other: Area) -> Area:
        return self + -1.0 * other

    def __rmul__(self, count: float) -> Area:
        return Area(count * self.kge, count * self.flip_flops)


@dataclass(frozen=True, slots=True)
class SynthesisPoint:
    """One synthesis."""

    block: str
    parameters: Parameters
    area: Area
    tools: str


def _constant(_: Parameters) -> Terms:
    return [1.0]


def _queue(sizes: Parameters) -> Terms:
    """Bits of slots, and of those that lead from all slots to the head."""
    width, depth = sizes["WIDTH"], sizes["DEPTH"]
    return [1.0, width * depth, width * (depth - 1)]


def _dma(sizes: Parameters) -> Terms:
    """Bytes of a beat; requests; an end of what is packed; steps that decode."""
    choices = (sizes.get(name, 0) for name in ("BURST_OVERHEAD", "PACKED_BYTES", "STEP_BEATS"))
    return [1.0, sizes["BEAT_BYTES"], *(float(choice > 0) for choice in choices)]


def _memories(sizes: Parameters) -> Terms:
    """More than one memory; bits of the parts of a byte; latencies that overlap, with each place of the queue
    and each whose latency may pass."""
    overlap, depth = float(sizes["OUTSTANDING"] > 1), sizes["QUEUE_DEPTH"]
    parts = math.ceil(math.log2(sizes["PARTS"]))
    overlapping = overlap, overlap * depth, overlap * min(depth, sizes["OUTSTANDING"])
    return [1.0, float(sizes["MEMORIES"] > 1), parts, *overlapping]


def _mac(sizes: Parameters) -> Terms:
    """Multipliers of a pixel, and of all pixels accumulators, and operands of adder trees beyond the first;
    what int16 adds, at all and to each multiplier, sums, and further pixels."""
    inputs, outputs, int16 = sizes["INPUT_LANES"], sizes["OUTPUT_LANES"], sizes.get("INT16", 0)
    lanes, pixels = inputs if outputs == 1 else outputs, _pixels(sizes)
    own = [1.0, inputs * outputs, lanes * pixels, outputs * (inputs - 1) * pixels]
    return [*own, int16, int16 * inputs * outputs, sizes.get("SUMS", 0), pixels - 1]


def _pixels(sizes: Parameters) -> int:
    """That the array computes at once."""
    return sizes.get("PIXEL_ROWS", 1) * sizes.get("PIXEL_COLUMNS", 1)


def _softmax(sizes: Parameters) -> Terms:
    """Lanes, and sums of four of them; what int16 adds, at all and to each lane."""
    lanes, is_wide = sizes["LANES"], float(sizes.get("ELEMENT_BITS", BYTE_BITS) > BYTE_BITS)
    return [1.0, lanes, math.ceil(lanes / 4), is_wide, is_wide * lanes]


def _wider(name: str, usual: int) -> Callable[[Parameters], Terms]:
    """What a block takes with as many bits as usual, and what it takes more with those of int16."""
    return lambda sizes: [1.0, float(sizes.get(name, usual) > usual)]


def _ports(sizes: Parameters) -> Terms:
    """Words of slots, each with the bits of its number; banks that a word or a choice looks at, with the bits
    of a row, which come to each bank from each word."""
    ports, banks = sizes["PORTS"], sizes["BANKS"]
    number = _PLACE_BITS - math.log2(sizes["BANK_BYTES"])
    row = number - math.log2(banks)
    return [1.0, ports * number, banks**2, banks * row, ports * banks, ports * banks * row]


def _crossbar(sizes: Parameters) -> Terms:
    """Bytes of words that ports choose among banks and banks among a writer's words, what tells a port its
    bank, and the bits that keep that until the word comes."""
    ports, banks, width = sizes["PORTS"], sizes["BANKS"], sizes["BANK_BYTES"]
    return [ports * (banks - 1) * width, banks * width, ports * banks, ports, ports * math.log2(banks)]


def _words(sizes: Parameters) -> Terms:
    """A comparison with each buffer that has a limit; the width of words changes little."""
    return [1.0, *(float(sizes[name] > 0) for name in _BUFFERS if name in sizes)]


def _mac_words(sizes: Parameters) -> Terms:
    """Likewise; that there are several pixels, and further rows of them, each with a writer."""
    return [*_words(sizes), float(_pixels(sizes) > 1), sizes.get("PIXEL_ROWS", 1) - 1]


def _transfer_words(sizes: Parameters) -> Terms:
    """Bytes of the words in a ring, as `ring_words` of dla_words.sv has them; bits of their numbers; bytes of
    a beat, in each step that rotates them among the words it may fill."""
    width, beat = sizes["BANK_BYTES"], sizes["BEAT_BYTES"]
    ring = 2 ** math.ceil(math.log2(max(4, math.ceil(6 * beat / width) + 1)))
    steps = math.ceil(math.log2(max(beat, width)))
    return [1.0, ring * width, ring * (_PLACE_BITS - math.log2(width)), beat * steps]


def _departures(sizes: Parameters) -> Terms:
    """Likewise, and bytes that come from each port to each word of a request."""
    width, ports = sizes["BANK_BYTES"], sizes["PORTS"]
    words = min(2 * math.ceil(sizes["BEAT_BYTES"] / width), sizes["DMA_PORTS"])
    return [*_transfer_words(sizes), ports * width * 2 ** math.ceil(math.log2(words))]


def _top(sizes: Parameters) -> Terms:
    """Where ports have a limit, what leads a beat's bytes to the SRAM is elsewhere."""
    limited = sizes.get("SRAM_BANDWIDTH", 0) > 0
    return [1.0, float(not limited), 0.0 if limited else float(sizes["DMA_BANDWIDTH"])]


# What the area of each block is linear in.
_TERMS: Mapping[str, Callable[[Parameters], Terms]] = {
    "pe": _constant,
    "mac_lane": _wider("BITS", SUM_BITS),
    "mac_result": _wider("BITS", SUM_BITS),
    "mac_sum": _constant,
    "accumulators": lambda sizes: [1.0, sizes["PLACES"] * sizes.get("BITS", SUM_BITS) / SUM_BITS],
    "vector_lane": _wider("ELEMENT_BITS", BYTE_BITS),
    "vector_choices": _wider("ELEMENT_BITS", BYTE_BITS),
    "vector_sum": _wider("ELEMENT_BITS", BYTE_BITS),
    "vector_result": _wider("ELEMENT_BITS", BYTE_BITS),
    "requantizer": _constant,
    "square": _constant,
    "divider": _wider("QUOTIENT_BITS", BYTE_BITS),
    "queue": _queue,
    "dma_bus": _constant,
    "dma": _dma,
    "dma_memories": _memories,
    "host": _constant,
    "issue": _constant,
    "checks": _constant,
    "vector": lambda sizes: [1.0, sizes["LANES"], sizes.get("INT16", 0)],
    "softmax": _softmax,
    "mac_results": lambda sizes: [1.0, _pixels(sizes) - 1],
    "ports": _ports,
    "crossbar": _crossbar,
    "mac": _mac,
    "mac_words": _mac_words,
    "vector_words": _words,
    "arrivals": _transfer_words,
    "departures": _departures,
    "unpacker": lambda sizes: [1.0, sizes["PACKED_BYTES"]],
    "decoding": _constant,
    "weight_decoder": lambda sizes: [1.0, sizes["BODY"] * sizes["MOST"]],  # each weight may be at each place
    "top": _top,
}


@lru_cache(maxsize=1 << 12)
def block_area(block: str, **sizes: int) -> Area:
    """The area of a block of the RTL with these parameters, without the blocks in it."""
    terms = _TERMS[block](sizes)
    kge, flip_flops = (
        sum((coefficient * term for coefficient, term in zip(fitted, terms, strict=True)), 0.0)
        for fitted in _coefficients(block)
    )
    return Area(kge, flip_flops)


@cache
def _coefficients(block: str) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Thousands of gates, and flip-flops, for each of the block's terms."""
    points = [point for point in measured_points() if point.block == block]
    terms = [_TERMS[block](point.parameters) for point in points]
    return (
        fit_relative(terms, [point.area.kge for point in points]),
        fit_relative(terms, [point.area.flip_flops for point in points]),
    )


def fit_relative(terms: list[Terms], measured: list[float]) -> tuple[float, ...]:
    """Least squares of relative errors. More of a term never takes less: one that would has no part in it."""
    import numpy as np  # which --help does not need

    scale = np.maximum(np.array(measured), 1e-3)  # a block may have no flip-flops
    rows = np.array(terms) / scale[:, None]
    used = list(range(rows.shape[1]))
    while True:
        solution, *_ = np.linalg.lstsq(rows[:, used], np.array(measured) / scale, rcond=None)
        least = int(solution.argmin())
        if solution[least] >= -1e-9:
            break
        del used[least]
    found = dict(zip(used, solution.tolist(), strict=True))
    return tuple(found.get(number, 0.0) for number in range(rows.shape[1]))


@cache
def measured_points() -> tuple[SynthesisPoint, ...]:
    """The syntheses that the areas are fitted to."""
    with _POINTS.open(newline="", encoding="utf-8") as file:
        return tuple(
            SynthesisPoint(
                row["block"],
                _sizes(row["parameters"]),
                Area(float(row["kge"]), float(row["flip_flops"])),
                row["tools"],
            )
            for row in csv.DictReader(file)
        )


def _sizes(text: str) -> dict[str, int]:
    pairs = (pair.split("=") for pair in text.split())
    return {name: int(value) for name, value in pairs}
