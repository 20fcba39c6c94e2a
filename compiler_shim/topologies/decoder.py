"""The built-in language model: a step makes one token from the one before, with caches of all before.

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
# What a token adds to each cache, and along which axis. The products sum over the last one, so no cache is
# transposed.
_CACHED = {"key": ((_GROUPS, 1, _SIZE), 2), "value": ((_GROUPS, _SIZE, 1), 3)}
_MASK = -80.0  # what is masked has exp(-80 / 8) of the greatest weight at most


@dataclass(frozen=True, slots=True)
class _Place:
    """What all layers share of the position: its rotations, what is masked, and where a cache's row goes."""

    cosines: Activation
    sines: Activation
    mask: Activation
    starts: dict[str, int]
    length: int


def language_model(build: LanguageBuilder, tokens: int, layers: int, context: int) -> Activation:
    """The logits of the next token, from inputs `token` and `position`."""
    token, position = build.index_input("token", tokens), build.index_input("position", context)
    table = build.constant("embedding/table", build.noise((tokens, _WIDTH), 1.0), _TABLE)
    x = build.look_up("embedding", table, token, build.draw(tokens))
    place = _place(build, position, context)
    for number in range(layers):
        name = f"layer_{number}"
        y = _normalize(build, f"{name}/norm_1", x)
        x = build.add(f"{name}/add_1", x, _attention(build, f"{name}/attention", y, place))
        y = _normalize(build, f"{name}/norm_2", x)
        x = build.add(f"{name}/add_2", x, _feed_forward(build, f"{name}/mlp", y))
    return build.project("logits", _normalize(build, "norm", x), table)


def _place(build: LanguageBuilder, position: int, context: int) -> _Place:
    samples = build.draw(context)
    angles = np.arange(context)[:, None] * _BASE ** (-np.arange(_SIZE // 2) / (_SIZE // 2))
    rotations = np.hstack([np.cos(angles)] * 2), np.hstack([-np.sin(angles), np.sin(angles)])
    masks = np.triu(np.full((context, context), _MASK), 1)
    cosines, sines, mask = (
        build.look_up(name, build.constant(f"{name}/table", real), position, samples)
        for name, real in zip(("cosines", "sines", "mask"), (*rotations, masks), strict=True)
    )
    mask = build.reshape("mask/row", mask, (1, 1, context))
    starts = {part: build.cache_start(f"start/{part}", position, axis) for part, (_, axis) in _CACHED.items()}
    return _Place(cosines, sines, mask, starts, context)


def _attention(build: LanguageBuilder, name: str, source: Activation, place: _Place) -> Activation:
    """Each head looks for what it needs in the cache of its group."""
    rows = {
        part: build.reshape(
            f"{name}/{part}/heads",
            build.fully_connected(f"{name}/{part}", source, heads * _SIZE, norm=LINEAR),
            (heads, _SIZE),
        )
        for part, heads in (("query", _HEADS), ("key", _GROUPS), ("value", _GROUPS))
    }
    query, key = (_rotated(build, f"{name}/{part}", rows[part], place) for part in ("query", "key"))
    query = build.reshape(f"{name}/query/grouped", query, (_GROUPS, _HEADS // _GROUPS, _SIZE))
    keys, values = (
        build.append_to_cache(
            f"{name}/{part}s",
            build.reshape(f"{name}/{part}/row", row, shape),
            axis,
            place.length,
            place.starts[part],
        )
        for (part, (shape, axis)), row in zip(_CACHED.items(), (key, rows["value"]), strict=True)
    )
    scores = build.add(f"{name}/masked", build.batch_matmul(f"{name}/scores", query, keys, True), place.mask)
    weights = build.softmax(f"{name}/weights", scores, _SIZE**-0.5)
    mixed = build.batch_matmul(f"{name}/mixed", weights, values, True)
    joined = build.reshape(f"{name}/joined", mixed, (1, _WIDTH))
    return build.fully_connected(f"{name}/output", joined, _WIDTH, norm=LINEAR)


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
