"""A script of tools/ as a module."""

import importlib.util
import sys
from functools import cache
from pathlib import Path
from types import ModuleType


@cache
def tool_module(name: str) -> ModuleType:
    """The tool of that name, loaded from its file."""
    file = Path(__file__).parents[1] / "tools" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # where its dataclasses look for their types
    spec.loader.exec_module(module)
    return module
