"""The code of compressed weights, against a decoder of its own that reads a word as the text of its bits."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from dlasim.compiler_shim.lowering.addresses.weight_encoder import (
    ENCODE,
    CodedWeights,
    WeightCode,
    encode_weights,
)
from dlasim.isa import codec
from dlasim.sim.fast_engine.engine import Engine
from dlasim.sim.programs.operation import reset_file
from dlasim.sim.programs.stream import decode_stream
from dlasim.sim.readable_engine.semantics import execute_operation
from tests.compiled import in_python

BODY = 124


def weights_of_word(word: bytes) -> list[int] | int:
    """The weights of a word, or of a run the number of its zeros; by `docs/weight-code.md`."""
    text = "".join(f"{byte:08b}"[::-1] for byte in word)  # the lowest bit first
    mode, body = int(text[3::-1], 2), text[4:]
    if mode == 15:
        return int(body[23::-1], 2)
    if mode == 7:
        return [signed(body[8 * i : 8 * i + 8], 8) for i in range(15)]
    bits = mode if mode < 7 else mode - 6
    weights: list[int] = []
    zeros, taken = 0, 0
    for place, bit in enumerate(body):
        end = BODY - taken * bits
        if place + 1 > end - bits or len(weights) + (zeros if mode > 7 else 0) == 64:
            break
        if bit == "0":
            zeros += 1
            continue
        low, taken = body[end - bits : end], taken + 1
        if mode > 7:
            weights += [0] * zeros + [signed(low, bits)]
        else:
            number = ((zeros << bits) + (int(low[::-1], 2) if bits else 0)) % 256
            weights.append(number // 2 if number % 2 == 0 else -(number + 1) // 2)
        zeros = 0
    return weights


def signed(text: str, bits: int) -> int:
    value = int(text[::-1], 2)
    return value - (1 << bits) if text[bits - 1] == "1" else value


def expected(code: np.ndarray, steps: int) -> list[int]:
    """All bytes that steps give: a run goes on for as many steps as there are more than words."""
    words = [code[16 * i : 16 * i + 16].tobytes() for i in range(len(code) // 16)]
    found: list[int] = []
    run = 0
    for left in range(steps, 0, -1):
        if words and (run == 0 or left == len(words)):
            weights = weights_of_word(words.pop(0))
            run = weights if isinstance(weights, int) else 0
            found += [] if isinstance(weights, int) else weights
        found += [0] * min(run, 64)
        run = max(run - 64, 0)
    return [weight & 255 for weight in found]


@pytest.fixture(scope="module")
def engine() -> Engine:
    return Engine()


def decoded(engine: Engine, code: np.ndarray, steps: int, size: int, copied: int = 0) -> list[list[int]]:
    """What both engines write, between bytes of 99."""
    values = {"REGION": 1, "SRAM_ADDR": 8, "RUN_BYTES": size + 4 * copied}
    words = [codec.encode_cfg(f"DMA_IN_{name}", value) for name, value in values.items()]
    words.append(codec.encode("OP_DMA_DECODE", words=len(code) // 16, steps=steps, copied=copied))
    stream = decode_stream(np.array([*words, codec.encode("HALT")], np.uint64), reset_file(), 0)
    region, none = np.concatenate((code, np.arange(4 * copied, dtype=np.uint8))), np.zeros(0, np.uint8)
    found = []
    for run in (engine.prepare(stream).run, partial(execute_operation, stream.operation(0))):
        sram = np.full(size + 4 * copied + 16, 99, np.uint8)
        run(sram, [none, region, none, none, none])
        assert sram[:8].tolist() == sram[-8:].tolist() == [99] * 8
        assert sram[8 + size : -8].tolist() == list(range(4 * copied))
        found.append(sram[8 : 8 + size].tolist())
    return found


def test_every_word_is_what_the_manual_says(engine: Engine) -> None:
    """Words of any bits, few of them 1 in some, which no encoder writes; too few, and too many."""
    rng = np.random.default_rng(11)
    modes = set()
    for number in range(600):
        words = int(rng.integers(1, 5))
        bits = rng.random((words, 128)) < rng.choice([0.02, 0.2, 0.5, 0.9])
        code = np.packbits(bits, axis=1, bitorder="little").ravel()
        if number % 4 == 0:  # a short run
            code[:4] = 15 | int(rng.integers(16)) << 4, int(rng.integers(20)), 0, 0
        modes |= {int(code[16 * i]) & 15 for i in range(words)}
        steps = words + int(rng.integers(0, 4))
        weights = expected(code, steps)
        size = min(max(len(weights) + int(rng.integers(-9, 10)), 1), 64 * steps)
        wanted = (weights + [99] * size)[:size]  # beyond them bytes stay
        assert decoded(engine, code, steps, size, int(rng.integers(0, 3))) == [wanted, wanted]
    assert modes == set(range(16))


def random_weights(rng: np.random.Generator) -> np.ndarray:
    """Of some spread, some of them pruned, with a run of zeros in some."""
    size, spread = int(rng.integers(1, 700)), rng.choice([0.3, 1, 3, 10, 40, 90])
    weights = np.clip(np.round(rng.normal(0, spread, size)), -128, 127).astype(np.int8)
    weights[rng.random(size) < rng.choice([0, 0, 0.5, 0.9])] = 0
    start = int(rng.integers(size))
    weights[start : start + int(rng.choice([0, 0, 40, 300]))] = 0
    return weights


def test_what_is_encoded_comes_back(engine: Engine) -> None:
    rng = np.random.default_rng(12)
    for _ in range(200):
        weights = random_weights(rng)
        code = encode_weights(weights)
        data = np.frombuffer(code.to_bytes(), np.uint8)
        assert code.words == len(data) // 16 <= code.steps
        wanted = weights.view(np.uint8).tolist()
        assert decoded(engine, data, code.steps, weights.size) == [wanted, wanted]


def test_machine_code_encodes_as_python_does() -> None:
    rng = np.random.default_rng(13)
    for _ in range(30):
        weights = random_weights(rng)
        with in_python(ENCODE):
            slow = encode_weights(weights)
        fast = encode_weights(weights)
        assert (slow.to_bytes(), slow.steps) == (fast.to_bytes(), fast.steps)


def words_of(code: WeightCode) -> set[bytes]:
    data = code.to_bytes()
    return {data[place : place + 16] for place in range(0, len(data), 16)}


def test_a_piece_is_encoded_as_if_it_were_alone() -> None:
    """Though it takes words of the whole; it may have zeros at its end."""
    rng, shared = np.random.default_rng(15), 0
    for _ in range(300):
        weights = np.concatenate([random_weights(rng) for _ in range(5)])
        whole, (first, end) = CodedWeights(weights), sorted(rng.choice(weights.size + 1, 2, replace=False))
        zeros = int(rng.choice([0, 1, 7, 100]))
        alone = encode_weights(np.pad(weights[first:end], (0, zeros)))
        piece = whole.piece(first, end, end - first + zeros)
        assert (piece.to_bytes(), piece.steps) == (alone.to_bytes(), alone.steps)
        pieces = [(first, end, end + zeros)]
        assert whole.measure(pieces).tolist() == [[alone.words, alone.steps]]
        shared += len(words_of(piece) & words_of(encode_weights(weights))) > 9
    assert shared > 30


@pytest.mark.parametrize(
    ("spread", "most"), [(30, 1.03), (8, 1.04), (2, 1.10)]
)  # wide weights have more bits, so that fewer are lost at the end of a word
def test_code_is_hardly_longer_than_the_entropy(spread: float, most: float) -> None:
    """Of normally distributed weights; bound from below by Shannon's theorem."""
    rng = np.random.default_rng(14)
    weights = np.clip(np.round(rng.normal(0, spread, 50_000)), -128, 127).astype(np.int8)
    shares = np.unique(weights, return_counts=True)[1] / weights.size
    least = -(shares * np.log2(shares)).sum() * weights.size / 8
    assert least < 16 * encode_weights(weights).words < most * 1.06 * least
