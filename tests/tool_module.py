"""Scripts of tools/, and what writes generated files, as modules."""

import importlib
import sys
from pathlib import Path
from types import ModuleType

_TOOLS = str(Path(__file__).parents[1] / "tools")


def tool_module(name: str) -> ModuleType:
    """The tool of that name, such as `synthesis` or `generators.board_files`."""
    if _TOOLS not in sys.path:
        sys.path.append(_TOOLS)
    return importlib.import_module(name)
