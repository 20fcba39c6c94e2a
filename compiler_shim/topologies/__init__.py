"""Built-in networks: genuine int8 graphs of well-known shapes, seeded weights, made without TensorFlow."""

from __future__ import annotations

from collections.abc import Callable

from dlasim.compiler_shim.network.graph import Graph, Quantization
from dlasim.errors import InputError, unknown

_MIN_RESOLUTION, _MAX_RESOLUTION = 32, 512
_MIN_ALPHA, _MAX_ALPHA = 0.1, 2.0
_MAX_CLASSES = 1 << 16
_WEIGHT_BITS = 8
_LAYERS, _MAX_LAYERS, _CONTEXT, _MAX_CONTEXT = 2, 30, 256, 4096
_MAX_TOKENS = 256  # of a step


NAMES = (  # of `TOPOLOGIES`, which takes long to import
    "autoencoder", "ds_cnn", "kwt", "mnist", "mobile_bert", "mobilenet_v1", "mobilenet_v2", "resnet50",
    "resnet8", "smollm2", "vit",
)  # fmt: skip


def topology_names() -> tuple[str, ...]:
    """The names that `build_topology` knows."""
    return NAMES


def build_topology(
    name: str,
    seed: int = 0,
    alpha: float | None = None,
    resolution: int | None = None,
    classes: int | None = None,
    layers: int | None = None,
    context: int | None = None,
    weight_bits: int | None = None,
    tokens: int | None = None,
    on_operator: Callable[[str], None] | None = None,
) -> Graph:
    """The network of this name; the same arguments give the same network on every machine.

    `alpha` scales the channels of the MobileNets, `resolution` is the height and width of an image; a
    language model has so many `layers` and remembers so many tokens, its `context`, of as many as there are
    classes; a step takes one of them, or as many as `tokens` says, with the same weights. Weights make use of
    `weight_bits`, all of a byte if it is left out. What a network does not have must be left out.
    `on_operator` is called with the name of each operator.
    """
    from dlasim.compiler_shim.topologies.builder import NetworkBuilder
    from dlasim.compiler_shim.topologies.calibration import calibration_inputs
    from dlasim.compiler_shim.topologies.language_builder import LanguageBuilder
    from dlasim.compiler_shim.topologies.networks import TOPOLOGIES
    from dlasim.compiler_shim.topologies.same_numbers import with_numbers_of

    topology = TOPOLOGIES.get(name)
    if topology is None:
        raise InputError(unknown("network", name, topology_names()))
    _check("alpha", alpha, topology.scalable, _MIN_ALPHA, _MAX_ALPHA, name)
    _check("resolution", resolution, topology.resizable, _MIN_RESOLUTION, _MAX_RESOLUTION, name)
    _check("classes", classes, topology.classes > 0, 2, _MAX_CLASSES, name)
    _check("layers", layers, topology.speaks, 1, _MAX_LAYERS, name)
    _check("context", context, topology.speaks, 2, _MAX_CONTEXT, name)
    _check("tokens", tokens, topology.speaks, 1, min(_MAX_TOKENS, context or _CONTEXT), name)
    _check("weight_bits", weight_bits, True, 2, _WEIGHT_BITS, name)
    _check("seed", seed, True, 0, (1 << 63) - 1, name)
    shape = (resolution, resolution, 3) if resolution is not None else topology.input_shape
    # Pictures have bytes centred on zero; so may spectrograms and features.
    quantization = Quantization((1 / 128,), (0,))
    full_name = _full_name(name, alpha, resolution, classes, layers, context, weight_bits, tokens)
    bits = weight_bits or _WEIGHT_BITS
    if topology.speaks:
        model = LanguageBuilder(full_name, seed, on_operator, bits)
        words = classes or topology.classes
        shape = layers or _LAYERS, context or _CONTEXT
        found = model.finish(topology.layers(model, words, *shape, tokens or 1))
        if tokens in (None, 1):
            return found
        one = LanguageBuilder(full_name, seed, None, bits)
        return with_numbers_of(found, one.finish(topology.layers(one, words, *shape, 1)))
    build = NetworkBuilder(full_name, seed, on_operator, bits)
    samples = calibration_inputs(shape, seed)
    source: object
    if topology.takes_bytes:
        source = build.bytes_input(shape, samples.view("uint8"))
    else:
        source = build.input(shape, quantization, samples)
    output = topology.layers(build, source, classes or topology.classes, 1.0 if alpha is None else alpha)
    return build.finish(output)


def _check(what: str, value: float | None, applies: bool, lowest: float, highest: float, name: str) -> None:
    if value is None:
        return
    if not applies:
        raise InputError(f"{name} has no {what}; leave it out (got {value})")
    if not lowest <= value <= highest:
        raise InputError(f"{what} must be from {lowest} to {highest} (got {value})")


def _full_name(name: str, alpha: float | None, *numbers: int | None) -> str:
    parts = [name]
    if alpha is not None:
        parts.append(f"{alpha:g}")
    parts += [str(number) for number in numbers if number is not None]
    return "_".join(parts)
