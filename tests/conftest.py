"""Fixtures that every test may use."""

import gc
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

# Tests start hundreds of processes, each of which would compile all modules again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
if "PYTEST_XDIST_WORKER" in os.environ:
    # There is a worker for each core. More threads of NumPy's BLAS would spin while they wait for each other.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


@pytest.fixture(scope="module", autouse=True)
def short_garbage_collections() -> None:
    """What was made before a module's tests is never collected again: half a million objects, of pytest for
    thousands of tests and of TensorFlow, which each collection would go through."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def model_zoo() -> Path:
    """The folder of real models, from DLASIM_MODEL_ZOO; without it the test is skipped."""
    folder = os.environ.get("DLASIM_MODEL_ZOO")
    if folder is None:
        pytest.skip("DLASIM_MODEL_ZOO is not set: no real models to test with")
    return Path(folder)


def pytest_configure() -> None:
    """Has Ctrl-C and the end of a terminal work in the tests and in the commands they start. A shell without
    job control starts what it runs in the background with SIGINT ignored, and nohup ignores SIGHUP."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


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
