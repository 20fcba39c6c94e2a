"""A cache of the tests' own, and the tiny routine compiled once."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from dlasim.native import library
from tests.native.tiny import SUMS

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session", autouse=True)
def builds_find_the_tests() -> Iterator[None]:
    """Builds import the tiny routine, which is not part of the package."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(ROOT), prepend=os.pathsep)
        yield


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "dlasim"


@pytest.fixture(scope="session")
def sums_object(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The file that the tiny routine's build writes."""
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("cache")
        patch.setenv("XDG_CACHE_HOME", str(folder))
        library.build(SUMS.unit)
        return (folder / "dlasim" / library.file_name(SUMS.unit)).read_bytes()


@pytest.fixture
def built(cache: Path, sums_object: bytes) -> Path:
    """The path of the compiled routine in the cache."""
    cache.mkdir(mode=0o700)
    path = cache / library.file_name(SUMS.unit)
    path.write_bytes(sums_object)
    return path
