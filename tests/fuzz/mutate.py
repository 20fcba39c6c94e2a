"""Damage to inputs: blind to bytes, or aware of words, tokens and lines."""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from random import Random

_WORDS = (0, 1, 2, 3, 4, 7, 8, 16, 63, 64, 65, 127, 128, 255, 256, 0x7FFF, 0x8000, 0xFFFF, 0x10000,
          0x7FFFFFFF, 0x80000000, 0xFFFFFFF0, 0xFFFFFFFE, 0xFFFFFFFF)  # fmt: skip
_TOKEN = re.compile(rb"\w+|\s+|[^\w\s]")
_SPLICES = (
    b"0", b"-1", b"1e400", b"nan", b"inf", b"99999999999999999999", b"0x", b"0xffffffffffffffff", b"1" * 5000,
    b'"', b"'", b"\\", b"\0", b"\xff", b"\xe2\x80\xae", b"\x1b[2J", b"\n", b"\r\n", b"\t", b"%s",
    b"[" * 50, b"(" * 60, b"{", b"}", b"]", b"=", b"..", b":", b",", b"a.b", b"**", b"//",
    b"true", b"1979-05-27", b"not ", b" or ", b" in (",
)  # fmt: skip


def mutated(random: Random, seeds: Sequence[bytes], is_text: bool) -> bytes:
    """A damaged copy of one of the seeds."""
    data = random.choice(seeds)
    for _ in range(random.choice((1, 1, 1, 2, 3, 8))):
        data = (
            _text(random, data, seeds) if is_text and random.random() < 0.8 else _binary(random, data, seeds)
        )
    return data[: 1 << 20]


def _binary(random: Random, data: bytes, seeds: Sequence[bytes]) -> bytes:
    image = bytearray(data)
    if not image:
        return random.randbytes(random.randrange(1, 64))
    at = random.randrange(len(image))
    match random.randrange(9):
        case 0:
            image[at] ^= 1 << random.randrange(8)
        case 1:
            image[at] = random.choice((0, 1, 0x7F, 0x80, 0xFF, random.randrange(256)))
        case 2:
            del image[at:]
        case 3:
            del image[at : at + random.choice((1, 2, 4, 8, 64))]
        case 4:
            image[at:at] = random.randbytes(random.choice((1, 2, 4, 8, 64)))
        case 5:
            other = random.choice(seeds)
            start = random.randrange(len(other) + 1)
            image[at:] = other[start:]
        case 6:
            first = random.randrange(len(image))
            image[at:at] = image[first : first + random.choice((4, 8, 32, 200))]
        case _:
            _word(random, image, at & ~3)
    return bytes(image)


def _word(random: Random, image: bytearray, at: int) -> None:
    """Another number in a word: a special one, a neighbour, or one that is elsewhere in the file."""
    if at + 4 > len(image):
        return
    (old,) = struct.unpack_from("<I", image, at)
    elsewhere = random.randrange(len(image) - 3)
    (other,) = struct.unpack_from("<I", image, elsewhere)
    value = random.choice((*_WORDS, old + 1, old - 1, old * 2, old + len(image), other, len(image)))
    struct.pack_into("<I", image, at, value & 0xFFFF_FFFF)


def _text(random: Random, data: bytes, seeds: Sequence[bytes]) -> bytes:
    tokens = _TOKEN.findall(data)
    if not tokens:
        return random.choice(_SPLICES)
    at = random.randrange(len(tokens))
    match random.randrange(6):
        case 0:
            tokens[at] = random.choice(_SPLICES)
        case 1:
            tokens.insert(at, random.choice(_SPLICES))
        case 2:
            del tokens[at : at + random.choice((1, 1, 2, 5))]
        case 3:
            others = _TOKEN.findall(random.choice(seeds))
            tokens[at] = random.choice(others)
        case 4:
            tokens[at:at] = tokens[at : at + random.choice((1, 3, 10))]
        case _:
            other = random.randrange(len(tokens))
            tokens[at], tokens[other] = tokens[other], tokens[at]
    return b"".join(tokens)
