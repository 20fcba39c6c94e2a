"""Decodes compressed weights, word by word, as `docs/weight-code.md` says: what DMA_IN does with them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dlasim.isa.weight_code import (
    BODY_BITS,
    FEWEST_SPARSE_BITS,
    FIRST_SPARSE_MODE,
    MODE_BITS,
    PLAIN_MODE,
    PLAIN_WEIGHTS,
    RUN_BITS,
    RUN_MODE,
    STEP_WEIGHTS,
)


def decode_words(code: NDArray[np.uint8], steps: int) -> NDArray[np.uint8]:
    """What so many steps make of words, rows of bytes. A run of zeros ends where no more steps are left than
    words."""
    decoded, run, next_word = bytearray(), 0, 0
    for step in range(steps):
        left = len(code) - next_word
        if left and (not run or steps - step == left):
            word = int.from_bytes(code[next_word].tobytes(), "little")
            mode, body = word % (1 << MODE_BITS), word >> MODE_BITS
            next_word += 1
            run = body % (1 << RUN_BITS) if mode == RUN_MODE else 0
            if mode != RUN_MODE:
                decoded += bytes([weight % 256 for weight in decode_body(mode, body)])
        zeros = min(run, STEP_WEIGHTS)
        decoded += bytes(zeros)
        run -= zeros
    return np.frombuffer(bytes(decoded), np.uint8)


def decode_body(mode: int, body: int) -> list[int]:
    """The weights that a word stands for, of any mode but that of runs."""
    if mode == PLAIN_MODE:
        return [body >> 8 * number & 255 for number in range(PLAIN_WEIGHTS)]
    return (
        _sparse(body, FEWEST_SPARSE_BITS + mode - FIRST_SPARSE_MODE)
        if mode > PLAIN_MODE
        else _rice(body, mode)
    )


def _ones(body: int, low_bits: int) -> list[tuple[int, int]]:
    """The place of each 1 whose low bits lie above it, those of the first at the top, and these bits."""
    found = list[tuple[int, int]]()
    for place in range(BODY_BITS):
        low = BODY_BITS - (len(found) + 1) * low_bits
        if body >> place & 1 and place + 1 <= low:
            found.append((place, body >> low & (1 << low_bits) - 1))
    return found


def _rice(body: int, low_bits: int) -> list[int]:
    """Each 1 is a weight; the 0s in front of it are the high part of its number, of which it is the half."""
    weights, start = [], 0
    for place, low in _ones(body, low_bits)[:STEP_WEIGHTS]:
        number = (place - start << low_bits | low) % 256
        weights.append(-(number + 1) // 2 if number & 1 else number // 2)
        start = place + 1
    return weights


def _sparse(body: int, bits: int) -> list[int]:
    """Each 1 is a weight other than 0, each 0 in front of one is a weight of 0."""
    found = [one for one in _ones(body, bits) if one[0] < STEP_WEIGHTS]
    weights = [0] * (found[-1][0] + 1) if found else []
    for place, low in found:
        weights[place] = low - (low >> bits - 1 << bits)
    return weights
