"""A small model that is there without TensorFlow."""

import contextlib
import shutil
from pathlib import Path

import pytest

from dlasim.compiler_shim.tflite.writer import write_tflite
from dlasim.compiler_shim.topologies import build_topology
from dlasim.errors import RunError
from dlasim.system.cache import cache_folder


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """ds_cnn with seeded weights as a file."""
    path = tmp_path_factory.mktemp("models") / "ds_cnn.tflite"
    path.write_bytes(write_tflite(build_topology("ds_cnn")))
    return path


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Built-in networks are kept away from the user's cache; built once for all tests. Compiled code,
    which takes most of a minute, is the user's."""
    ours = tmp_path_factory.getbasetemp() / "cache" / "dlasim"
    ours.mkdir(mode=0o700, parents=True, exist_ok=True)
    with contextlib.suppress(RunError):  # the user has no cache where neither home nor TMPDIR can have one
        for compiled in cache_folder().glob("*.o"):
            if not (ours / compiled.name).exists():
                shutil.copy(compiled, ours)
    monkeypatch.setenv("XDG_CACHE_HOME", str(ours.parent))
