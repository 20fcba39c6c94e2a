"""Random streams for the race checker: chaotic ones, and double-buffered ones as a compiler writes them."""

import numpy as np
from numpy.random import Generator

from dlasim.isa import codec
from dlasim.isa.instruction_rows import Unit
from tests.races.streams import SRAM_BYTES, Writer

UNITS = (Unit.DMA_IN, Unit.DMA_OUT, Unit.MAC, Unit.VECTOR)


def chaotic(rng: Generator, length: int, waits: float) -> list[int]:
    """`length` operations anywhere in a small SRAM; `waits` of the instructions between them are waits."""
    writer = Writer()
    while length:
        if rng.random() < waits:
            if rng.random() < 0.05:
                writer.put("IRQ")
            else:
                writer.wait(UNITS[rng.integers(4)], int(rng.integers(0, 3)))
            continue
        length -= 1
        _operation(writer, rng)
    return writer.array().tolist()


def _operation(writer: Writer, rng: Generator) -> None:
    step = int(rng.choice((4, 8, 16)))  # of interleaved slices
    slot = step * int(rng.integers(0, 8)) + int(rng.integers(0, step))
    size, runs = int(rng.integers(1, 3)), int(rng.integers(1, 6))
    target = 128 * int(rng.integers(0, 3)) + slot
    match rng.integers(5):
        case 0:
            planes = {"planes": int(rng.integers(1, 3)), "plane_sram_stride": step * runs, "plane_stride": 10}
            system = {"region": int(rng.integers(0, 2)), "offset": int(rng.integers(0, 60))}
            writer.read(target, size, runs, step, **planes, **system)
        case 1:
            writer.write(target, size, runs, step, offset=int(rng.integers(0, 60)))
        case 2:
            writer.fill(target, size)
        case 3:
            writer.relu(128 * int(rng.integers(0, 3)) + slot, target, runs, size, step)
        case 4:
            source = (target + 128 * int(rng.integers(1, 3))) % 384
            weights = int(rng.integers(0, 300))
            if -16 < weights - target < 16:  # the output would lie on them
                weights = (weights + 64) % 300
            writer.matmul(source, weights, target, 4, size)


def double_buffered(rng: Generator, tiles: int) -> list[int]:
    """Weights in, matrix multiply, ReLU, result out, each through two buffers, with every wait it needs.

    Some waits are looser, some stricter than others, some not needed at all.
    """
    writer = Writer()
    loads = 1  # transfers in, so far
    writer.read(0, 8)
    drained = rng.random() < 0.3
    for tile in range(tiles):
        half = tile % 2
        weights, sums, result = 64 + 64 * half, 256 + 16 * half, 320 + 16 * half
        if tile >= 2:
            writer.wait(Unit.MAC, int(rng.integers(0, 2)))
        writer.read(weights, 16, 2, 32)
        loads += 1
        if rng.random() < 0.3:
            writer.put("NOP")
        writer.wait(Unit.DMA_IN, 0)
        if tile >= 2:
            writer.wait(Unit.VECTOR, int(rng.integers(0, 2)))
        writer.matmul(0, weights, sums, 2, 8)
        writer.wait(Unit.MAC, 0)
        if tile >= 2:
            writer.wait(Unit.DMA_OUT, int(rng.integers(0, 2)))
        writer.relu(sums, result, 1, 8, 0)
        writer.wait(Unit.VECTOR, 0)
        writer.write(result, 8, offset=8 * tile)
        if drained and tile == tiles // 2:
            writer.put("IRQ")
    assert loads == tiles + 1
    return writer.array().tolist()


def wait_positions(words: list[int]) -> list[int]:
    """Where the WAIT instructions stand."""
    opcodes = codec.decode_opcodes(np.array(words, np.uint64))
    return np.flatnonzero(opcodes == codec.decode(codec.encode("WAIT")).word & 0xFF).tolist()


assert SRAM_BYTES >= 512
