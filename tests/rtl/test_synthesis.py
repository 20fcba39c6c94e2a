"""tools/synthesis.py maps a block to gates; what comes out is bounded by hand."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

FILE = Path(__file__).parents[2] / "tools" / "synthesis.py"


@pytest.fixture(scope="module")
def synthesis() -> ModuleType:
    """The tool as a module."""
    spec = importlib.util.spec_from_file_location("synthesis", FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["synthesis"] = module  # where its dataclasses look for their types
    spec.loader.exec_module(module)
    return module


def test_a_processing_element(synthesis: ModuleType) -> None:
    """81 products of bits, at least 63 full adders of 6 GE, and 17 flip-flops with an enable, 8 GE each."""
    if lacking := synthesis.missing():
        pytest.skip(f"no synthesis without {lacking}")
    kge, flip_flops = synthesis.synthesise(synthesis.BLOCKS["pe"], {})
    assert flip_flops == 17
    assert 0.6 < kge < 1.0
