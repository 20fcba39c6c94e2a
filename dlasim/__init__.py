"""dlasim: instruction-set simulator and virtual prototype of an int8 deep-learning accelerator.

Most commands are also functions of this package: model, quantize, inspect, compile, run, verify, evaluate,
explain, token_rates, sweep, search and confirm.
"""

TYPE_CHECKING = (
    False  # typing is not imported: the current folder could contain a module of that name, see __main__.py
)
if TYPE_CHECKING:
    from typing import Any

    from dlasim.api import compile, evaluate, explain, inspect, model, run, search, sweep, verify
    from dlasim.compiler_shim.dlag.graph_builder import GraphBuilder
    from dlasim.confirmation import confirm
    from dlasim.errors import DlasimError, InputError, RunError
    from dlasim.generation import token_rates
    from dlasim.quantization.quantizing import quantize
    from dlasim.quantization.torch_export import from_torch
    from dlasim.result import RunResult
    from dlasim.session import Session
    from dlasim.sim.configuration.config import DlaConfig
    from dlasim.sweeps.evaluation.explorer import Explorer, MachineResult
    from dlasim.sweeps.results.sweep_result import SweepResult

__version__ = "0.1.0"
__all__ = [
    "DlaConfig",
    "DlasimError",
    "Explorer",
    "GraphBuilder",
    "InputError",
    "MachineResult",
    "RunError",
    "RunResult",
    "Session",
    "SweepResult",
    "compile",
    "confirm",
    "evaluate",
    "explain",
    "from_torch",
    "inspect",
    "model",
    "quantize",
    "run",
    "search",
    "sweep",
    "token_rates",
    "verify",
]

_MODULES = {
    "DlaConfig": "dlasim.sim.configuration.config",
    "confirm": "dlasim.confirmation",
    "Explorer": "dlasim.sweeps.evaluation.explorer",
    "GraphBuilder": "dlasim.compiler_shim.dlag.graph_builder",
    "DlasimError": "dlasim.errors",
    "InputError": "dlasim.errors",
    "MachineResult": "dlasim.sweeps.evaluation.explorer",
    "RunError": "dlasim.errors",
    "RunResult": "dlasim.result",
    "Session": "dlasim.session",
    "SweepResult": "dlasim.sweeps.results.sweep_result",
    "from_torch": "dlasim.quantization.torch_export",
    "quantize": "dlasim.quantization.quantizing",
    "token_rates": "dlasim.generation",
}


def __getattr__(name: str) -> "Any":
    """Import a name on first use, so that importing dlasim itself takes no time."""
    if name not in __all__:
        raise AttributeError(f"module 'dlasim' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(_MODULES.get(name, "dlasim.api")), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """What the package offers; submodules that happen to be imported are not part of it."""
    return [*__all__, "__all__", "__doc__", "__file__", "__name__", "__path__", "__version__"]
