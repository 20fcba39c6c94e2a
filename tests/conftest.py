"""Fixtures that every test may use."""

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def model_zoo() -> Path:
    """The folder of real models, from DLASIM_MODEL_ZOO; without it the test is skipped."""
    folder = os.environ.get("DLASIM_MODEL_ZOO")
    if folder is None:
        pytest.skip("DLASIM_MODEL_ZOO is not set: no real models to test with")
    return Path(folder)
