"""The built-in language model: a step makes one token from the one before, with caches of all before. Or it
takes several tokens at once, such as those of a prompt, and makes the one that follows.

Its shape is that of SmolLM2-135M (Ben Allal et al., 2025): RMS normalization, attention of nine heads over
the caches of three, rotary embeddings, and gated feed-forward layers; the embedding's table makes the logits.
"""

from __future__ import annotations

import numpy as np

from dlasim.compiler_shim.network.graph import Quantization
from dlasim.compiler_shim.topologies.builder import Activation
from dlasim.compiler_shim.topologies.language_builder import LanguageBuilder
from dlasim.compiler_shim.topologies.normalization import LINEAR
from dlasim.compiler_shim.topologies.transformers import unit_squares
from dlasim.dataclass import dataclass

_WIDTH, _HIDDEN, _HEADS, _GROUPS = 576, 1536, 9, 3
_SIZE = _WIDTH // _HEADS
_BASE = 10_000  # of the wavelengths of rotary embeddings
_TABLE = Quantization((1 / 24,), (0,))  # of numbers with a deviation of 1, and symmetric as weights must be
# The axis along which tokens lie in each cache. Products sum over the last one, so no cache is transposed.
_CACHED = {"key": 2, "value": 3}
_MASK = -80.0  # what is masked has exp(-80 / 8) of the greatest weight at most


@dataclass(frozen=True, slots=True)
class _Place:
    """What all layers share of the position: its rotations, what is masked, and where a cache's row goes."""

    cosines: Activation
    sines: Activation
    mask: Activation
    starts: dict[str, int]
    length: int
    tokens: int  # that a step takes


def language_model(
    build: LanguageBuilder, vocabulary: int, layers: int, context: int, tokens: int
) -> Activation:
    """The logits of the next token, from inputs `token` and `position`, of so many tokens in a row."""
    token = build.index_input("token", vocabulary, tokens)
    position = build.index_input("position", context, tokens)
    table = build.constant("embedding/table", build.noise((vocabulary, _WIDTH), 1.0), _TABLE)
    x = build.look_up("embedding", table, token, build.draw(vocabulary, tokens))
    place = _place(build, position, context, tokens)
    for number in range(layers):
        name = f"layer_{number}"
        y = _normalize(build, f"{name}/norm_1", x)
        x = build.add(f"{name}/add_1", x, _attention(build, f"{name}/attention", y, place))
        y = _normalize(build, f"{name}/norm_2", x)
        x = build.add(f"{name}/add_2", x, _feed_forward(build, f"{name}/mlp", y))
    x = build.row("last", x, tokens - 1) if tokens > 1 else x
    return build.project("logits", _normalize(build, "norm", x), table)


def _place(build: LanguageBuilder, position: int, context: int, tokens: int) -> _Place:
    samples = build.draw(context, tokens)
    angles = np.arange(context)[:, None] * _BASE ** (-np.arange(_SIZE // 2) / (_SIZE // 2))
    cosines, sines = (
        build.look_up(name, build.constant(f"{name}/table", real), position, samples)
        for name, real in (
            ("cosines", np.hstack([np.cos(angles)] * 2)),
            ("sines", np.hstack([-np.sin(angles), np.sin(angles)])),
        )
    )
    # The rows of a group are those of all tokens, head by head.
    heads = _HEADS // _GROUPS if tokens > 1 else 1
    table = build.constant("mask/table", np.triu(np.full((context, context), _MASK), 1))
    rows = build.repeat_indices("mask/rows", position, tokens, heads)
    mask = build.look_up("mask", table, rows, np.tile(samples, heads))
    mask = build.reshape("mask/row", mask, (1, heads * tokens, context))
    if tokens > 1:
        cosines, sines = (
            build.reshape(f"{name}/rows", rotation, (1, tokens, _SIZE))
            for name, rotation in (("cosines", cosines), ("sines", sines))
        )
    first = build.first_index("start/first", position, tokens)
    starts = {part: build.cache_start(f"start/{part}", first, axis) for part, axis in _CACHED.items()}
    return _Place(cosines, sines, mask, starts, context, tokens)


def _attention(build: LanguageBuilder, name: str, source: Activation, place: _Place) -> Activation:
    """Each head looks for what it needs in the cache of its group."""
    tokens = place.tokens
    rows = {
        part: _split(build, f"{name}/{part}", source, heads, tokens)
        for part, heads in (("query", _HEADS), ("key", _GROUPS), ("value", _GROUPS))
    }
    query, key = (_rotated(build, f"{name}/{part}", rows[part], place) for part in ("query", "key"))
    query = build.reshape(f"{name}/query/grouped", query, (_GROUPS, _HEADS // _GROUPS * tokens, _SIZE))
    keys, values = (
        build.append_to_cache(
            f"{name}/{part}s",
            _row(build, f"{name}/{part}/row", row, axis, tokens),
            axis,
            place.length,
            place.starts[part],
        )
        for (part, axis), row in zip(_CACHED.items(), (key, rows["value"]), strict=True)
    )
    scores = build.add(f"{name}/masked", build.batch_matmul(f"{name}/scores", query, keys, True), place.mask)
    weights = build.softmax(f"{name}/weights", scores, _SIZE**-0.5)
    mixed = build.batch_matmul(f"{name}/mixed", weights, values, True)
    if tokens > 1:
        mixed = build.reshape(f"{name}/mixed/heads", mixed, (_HEADS, tokens, _SIZE))
        mixed = build.transpose(f"{name}/mixed/back", mixed, (0, 2, 1, 3))
    joined = build.reshape(f"{name}/joined", mixed, (tokens, _WIDTH))
    return build.fully_connected(f"{name}/output", joined, _WIDTH, norm=LINEAR)


def _split(build: LanguageBuilder, name: str, source: Activation, heads: int, tokens: int) -> Activation:
    """Dense: the channels of each head, of all tokens."""
    x = build.fully_connected(name, source, heads * _SIZE, norm=LINEAR)
    if tokens == 1:
        return build.reshape(f"{name}/heads", x, (heads, _SIZE))
    x = build.reshape(f"{name}/heads", x, (tokens, heads, _SIZE))
    return build.transpose(f"{name}/by_head", x, (0, 2, 1, 3))


def _row(build: LanguageBuilder, name: str, source: Activation, axis: int, tokens: int) -> Activation:
    """What the tokens add to a cache, in which they lie along an axis."""
    if tokens == 1:
        return build.reshape(name, source, (_GROUPS, 1, _SIZE) if axis == 2 else (_GROUPS, _SIZE, 1))
    return source if axis == 2 else build.transpose(name, source, (0, 1, 3, 2))


def _rotated(build: LanguageBuilder, name: str, source: Activation, place: _Place) -> Activation:
    swapped = build.swap_halves(f"{name}/swapped", source)
    straight = build.multiply(f"{name}/by_cosines", source, place.cosines)
    return build.add(f"{name}/rotated", straight, build.multiply(f"{name}/by_sines", swapped, place.sines))


def _feed_forward(build: LanguageBuilder, name: str, source: Activation) -> Activation:
    gate = build.fully_connected(f"{name}/gate", source, _HIDDEN, norm=LINEAR)
    opened = build.multiply(f"{name}/silu", gate, build.logistic(f"{name}/logistic", gate))
    x = build.multiply(
        f"{name}/gated", opened, build.fully_connected(f"{name}/up", source, _HIDDEN, norm=LINEAR)
    )
    return build.fully_connected(f"{name}/down", x, _WIDTH, norm=LINEAR)


def _normalize(build: LanguageBuilder, name: str, source: Activation) -> Activation:
    factor = build.constant(f"{name}/factor", build.noise((_WIDTH,), 0.1, 1.0))
    return build.multiply(name, unit_squares(build, name, source), factor)
