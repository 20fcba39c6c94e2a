"""How to compile: the choices that a user makes besides the machine."""

from __future__ import annotations

from dlasim.dataclass import dataclass
from dlasim.errors import InputError, one_of, suggestion

FUSIONS = ("none", "requant", "full")
DEPTHWISE = ("cpu", "emulated", "native")
TILINGS = ("output-channel", "auto")
PLACES = ("auto", "cpu", "dla")
REQUANT = ("dla", "cpu")
IO = ("model", "int8")
WEIGHTS = ("reload", "keep")
OBJECTIVES = ("cycles", "energy", "edp", "sram")


@dataclass(frozen=True, slots=True)
class CompileOptions:
    """`dla_ops` restricts what may go to the DLA, by TFLite operator; None allows all."""

    fusion: str = "full"
    requant: str = "dla"
    depthwise: str = "native"
    tiling: str = "auto"
    place: str = "auto"
    io: str = "model"
    objective: str = "cycles"
    weights: str = "reload"
    dla_ops: frozenset[str] | None = None

    def __post_init__(self) -> None:
        for name, allowed in (
            ("fusion", FUSIONS),
            ("requant", REQUANT),
            ("depthwise", DEPTHWISE),
            ("tiling", TILINGS),
            ("place", PLACES),
            ("io", IO),
            ("objective", OBJECTIVES),
            ("weights", WEIGHTS),
        ):
            if getattr(self, name) not in allowed:
                raise InputError(f"{name} must be {one_of(allowed)} (got {getattr(self, name)!r})")
        if self.dla_ops:
            _check_operators(self.dla_ops)


def _check_operators(names: frozenset[str]) -> None:
    from dlasim.compiler_shim.operators.table import OPERATORS

    for name in sorted(names - OPERATORS.keys()):
        hint = suggestion(name, OPERATORS) or "; docs/operators.md lists all"
        raise InputError(f"dla_ops: unknown operator {name!r}{hint}")
