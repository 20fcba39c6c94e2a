"""Models on machines with options: a sample of the matrix, always the same. `tools/nightly.py` has all."""

import random

import pytest

from tests.compiler.matrix import (
    MAX_TILES,
    Point,
    _tiles,
    all_points,
    check,
    model_names,
    open_model,
    refused_layer,
    smallest_sram,
    zoo_files,
)

POINTS = list(all_points())
SMALL = ("autoencoder", "ds_cnn", "mnist", "resnet8")  # built-in networks that take no time
OUTPUT_CHANNELS = [point for point in POINTS if point.tiling == "output-channel"]


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """Models by name, opened once."""
    folder, known = tmp_path_factory.mktemp("models"), {}

    def get(name):
        if name not in known:
            known[name] = open_model(name, folder)
        return known[name]

    yield get
    for model in known.values():
        model.reference.close()


def sample(name: str, count: int) -> list[Point]:
    return random.Random(name).sample(POINTS, count)


def names(folder: str) -> list[str]:
    """The zoo's models in a folder, or one that is skipped."""
    found = [name for name in model_names() if name.startswith(f"{folder}/")]
    skip = pytest.mark.skip(reason="DLASIM_MODEL_ZOO is not set: no real models to test with")
    return found or [pytest.param(f"{folder}/none", marks=skip)]


@pytest.mark.parametrize("name", SMALL)
def test_built_in_networks(models, name):
    for point in sample(name, 12):
        assert check(models(name), point) in ("", "refused"), point


@pytest.mark.parametrize("name", names("mlperf_tiny"))
def test_mlperf_tiny(models, name):
    for point in sample(name, 6):
        assert check(models(name), point) in ("", "refused"), point


@pytest.mark.parametrize("name", names("layers"))
def test_single_layers(models, name):
    for point in sample(name, 3):
        assert check(models(name), point) in ("", "refused"), point


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in model_names() if name not in SMALL])
def test_every_model_at_more_points(models, name):
    for point in sample(name, 12):
        assert check(models(name), point) in ("", "refused"), point


@pytest.mark.parametrize("name", ["mnist", "resnet8"])
def test_the_smallest_sram_is_the_smallest(models, name):
    """One byte less is refused, by name, with the paper's tiling; with the other there are too many tiles."""
    model = models(name)
    for point in random.Random(1).sample([point for point in POINTS if point.size == "smallest"], 8):
        size = smallest_sram(model, point)
        if point.tiling == "output-channel":
            assert refused_layer(model.graph, size, point.options) is None
            layer = refused_layer(model.graph, size - 1, point.options)
            assert layer is not None
            assert layer[2] == size
            assert check(model, point, size - 1) == "refused"
        else:
            assert _tiles(model.network, point, size - 1) > MAX_TILES >= _tiles(model.network, point, size)


@pytest.mark.parametrize("name", ["ds_cnn", "resnet8"])
def test_refusals_are_those_that_the_paper_has(models, name):
    """At sizes at which some layers fit and some do not."""
    verdicts = []
    for point in random.Random(2).sample(OUTPUT_CHANNELS, 12):
        size = random.Random(str(point)).randint(2_000, 90_000)
        verdicts.append(check(models(name), point, size))
    assert set(verdicts) == {"", "refused"}


def test_the_matrix_is_whole():
    assert len(POINTS) == len(set(POINTS)) == 5 * 5 * 3 * 3 * 2
    assert len(OUTPUT_CHANNELS) == len(POINTS) // 2
    if zoo_files():
        assert len(model_names()) == 10 + 4 + 39
