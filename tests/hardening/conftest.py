"""A model for whole commands."""

from pathlib import Path

import pytest

from tests.hardening.commands import call


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small network."""
    path = tmp_path_factory.mktemp("model") / "mnist.tflite"
    assert call("model", "mnist", "-o", path).returncode == 0
    return path
