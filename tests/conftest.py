"""Fixtures that every test may use."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dlasim.native.demand import demand


@pytest.fixture(scope="session", autouse=True)
def plain_routines() -> Iterator[None]:
    """However much tests lower in this process, it stays with plain Python and builds nothing: what a test
    runs must not depend on what came before it, or on this machine's cache."""
    demand.leave_building()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dlasim.native.demand.want_compiled", lambda: None)
        yield


@pytest.fixture(scope="session")
def model_zoo() -> Path:
    """The folder of real models, from DLASIM_MODEL_ZOO; without it the test is skipped."""
    folder = os.environ.get("DLASIM_MODEL_ZOO")
    if folder is None:
        pytest.skip("DLASIM_MODEL_ZOO is not set: no real models to test with")
    return Path(folder)


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--update-golden` rewrites the golden files instead of comparing with them."""
    parser.addoption("--update-golden", action="store_true", help="rewrite golden files; review their diff")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """`golden(name, text)`: the text equals the file `golden/name` beside the test."""
    folder = request.path.parent / "golden"
    update = request.config.getoption("--update-golden")

    def compare(name: str, text: str) -> None:
        file = folder / name
        if update:
            folder.mkdir(exist_ok=True)
            file.write_text(text, encoding="utf-8")
        assert file.exists(), f"no golden file {file}: run `make golden` and read what it writes"
        assert text == file.read_text(encoding="utf-8")

    return compare
