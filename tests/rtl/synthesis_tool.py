"""tools/synthesis.py as a module."""

import importlib.util
import sys
from functools import cache
from pathlib import Path
from types import ModuleType


@cache
def synthesis_tool() -> ModuleType:
    """The tool, loaded from its file."""
    file = Path(__file__).parents[2] / "tools" / "synthesis.py"
    spec = importlib.util.spec_from_file_location("synthesis", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["synthesis"] = module  # where its dataclasses look for their types
    spec.loader.exec_module(module)
    return module
