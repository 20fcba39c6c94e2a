"""The attributes of a host call as the words of the file, and back."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from types import SimpleNamespace

from dlasim.errors import InputError
from dlasim.isa.host_op_rows import Attribute, HostOperator, Word
from dlasim.isa.host_ops import BY_NAME


def encode_attributes(name: str, **values: int | float | Sequence[int]) -> tuple[int, ...]:
    """The attribute words of a call; every attribute must be given, lists in full."""
    operator = BY_NAME[name]
    words: list[int] = []
    for attribute in operator.attributes:
        given = values.pop(attribute.name)
        items = [given] if isinstance(given, (int, float)) else list(given)
        assert len(items) == attribute.count, f"{name}.{attribute.name}: {len(items)} words"
        words += [_to_word(attribute, item) for item in items]
    assert not values, f"{name} has no attribute {', '.join(values)}"
    return tuple(words)


def decode_attributes(operator: HostOperator, words: Sequence[int]) -> SimpleNamespace:
    """The attributes by name: numbers, lists as tuples, floats as floats; words of ELEMENT as they are."""
    if len(words) != operator.words:
        raise InputError(
            f"host operator {operator.name} takes {operator.words} attribute words (got {len(words)})"
        )
    values, position = {}, 0
    for attribute in operator.attributes:
        items = tuple(
            _from_word(attribute, int(word)) for word in words[position : position + attribute.count]
        )
        values[attribute.name] = items if attribute.count > 1 else items[0]
        position += attribute.count
    return SimpleNamespace(**values)


def float_word(value: float) -> int:
    """The bit pattern of a float32 as an int32."""
    (word,) = struct.unpack("<i", struct.pack("<f", value))
    return int(word)


def word_float(word: int) -> float:
    """The float32 that has this bit pattern."""
    (value,) = struct.unpack("<f", struct.pack("<i", word))
    return float(value)


def _to_word(attribute: Attribute, value: int | float) -> int:
    word = float_word(value) if attribute.word is Word.FLOAT32 else int(value)
    assert -(1 << 31) <= word < 1 << 31, f"{attribute.name} = {value} does not fit a word"
    return word


def _from_word(attribute: Attribute, word: int) -> int | float:
    return word_float(word) if attribute.word is Word.FLOAT32 else word
