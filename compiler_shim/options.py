"""How to compile: the choices that a user makes besides the machine."""

from __future__ import annotations

from dataclasses import dataclass

from dlasim.errors import InputError

FUSIONS = ("none", "requant", "full")
DEPTHWISE = ("cpu", "emulated", "native")
TILINGS = ("output-channel", "auto")
PLACES = ("auto", "cpu", "dla")


@dataclass(frozen=True, slots=True)
class CompileOptions:
    """`dla_ops` restricts what may go to the DLA, by TFLite operator; None allows all."""

    fusion: str = "full"
    depthwise: str = "native"
    tiling: str = "auto"
    place: str = "auto"
    dla_ops: frozenset[str] | None = None

    def __post_init__(self) -> None:
        for name, allowed in (
            ("fusion", FUSIONS),
            ("depthwise", DEPTHWISE),
            ("tiling", TILINGS),
            ("place", PLACES),
        ):
            if getattr(self, name) not in allowed:
                raise InputError(
                    f"{name} = {getattr(self, name)!r} is unknown (allowed: {', '.join(allowed)})"
                )
