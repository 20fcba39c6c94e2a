"""dlasim: instruction-set simulator and virtual prototype of an int8 deep-learning accelerator.

The verbs of the command line are functions here: inspect, compile, run, verify, explain, sweep.
"""

TYPE_CHECKING = False  # typing itself is not loaded: it might be found in the current folder, see __main__.py
if TYPE_CHECKING:
    from typing import Any

__version__ = "0.1.0"
__all__ = ["DlaConfig", "compile", "explain", "inspect", "run", "sweep", "verify"]

_PLACES = {"DlaConfig": "dlasim.sim.config"}


def __getattr__(name: str) -> "Any":
    """The verbs, loaded when first asked for: importing dlasim costs nothing."""
    if name not in __all__:
        raise AttributeError(f"module 'dlasim' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(_PLACES.get(name, "dlasim.api")), name)
    globals()[name] = value
    return value
