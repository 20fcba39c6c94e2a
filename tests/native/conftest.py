"""A cache of the tests' own, and the tiny routine compiled once."""

from pathlib import Path

import pytest

from dlasim.native import library
from tests.native.tiny import SUMS


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "dlasim"


@pytest.fixture(scope="session")
def sums_object(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The file that the tiny routine's build writes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        library.build(SUMS.unit)
        return SUMS.unit.path.read_bytes()


@pytest.fixture
def built(cache: Path, sums_object: bytes) -> Path:
    """The path of the compiled routine in the cache."""
    SUMS.unit.path.write_bytes(sums_object)
    return SUMS.unit.path
