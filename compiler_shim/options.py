"""How to compile: the choices that a user makes besides the machine, as rows like the machine's."""

from __future__ import annotations

from dlasim.dataclass import dataclass
from dlasim.errors import InputError, suggestion
from dlasim.sim.configuration.parameters import row, rows_of

ESTIMATE = (  # what --assume-int8 gives
    "an estimate: the network is float32, and dlasim assumes int8 and scales for it; cycles, memory, area "
    "and energy are those of such a network, and it has no outputs"
)


@dataclass(frozen=True, slots=True)
class CompileOptions:
    """`dla_ops` restricts what may go to the DLA, by TFLite operator; None allows all."""

    # fmt: off
    fusion: str = row("full",
        "What to fuse: nothing, the steps of a layer, or also layers, keeping tensors in SRAM.",
        choices=("none", "requant", "full"))
    requant: str = row("dla",
        "Where to scale the int32 sums of convolutions to int8; with cpu, the DLA stores the sums with bias.",
        choices=("dla", "cpu"))
    depthwise: str = row("native",
        "Run depthwise layers on the CPU, with OP_CONV, or with their own instruction.",
        choices=("cpu", "emulated", "native"))
    tiling: str = row("auto", "How to tile layers: along output channels, or whichever way is cheapest.",
        choices=("output-channel", "auto"))
    place: str = row("auto",
        "Where to run operators that both CPU and DLA support: where it is faster, or always on one of them.",
        choices=("auto", "cpu", "dla"))
    io: str = row("model",
        "Types of inputs and outputs: the model's, or int8 without QUANTIZE and DEQUANTIZE at the edges.",
        choices=("model", "int8"))
    objective: str = row("cycles",
        "What the program is to have least of: cycles, energy, their product, or SRAM in use.",
        choices=("cycles", "energy", "edp", "sram"))
    effort: str = row("usual",
        "How long to look for a good plan: some plans, those of the usual passes, or these and many more.",
        choices=("quick", "usual", "thorough"))
    weights: str = row("reload", "Load weights in each inference, or keep all in SRAM after the first.",
        choices=("reload", "keep"))
    numerics: str = row("tflm",
        "Whose integers to compute: TFLite Micro's (tflm), or those of LiteRT's reference kernels (litert).",
        choices=("tflm", "litert"))
    # fmt: on
    dla_ops: frozenset[str] | None = None

    @property
    def keeps_tensors(self) -> bool:
        """Whether tensors may stay in SRAM from one node to the next, and weights be prefetched."""
        return self.fusion == "full" and self.tiling == "auto"

    @property
    def keeps_constants(self) -> bool:
        """Whether weights, records and tables stay in SRAM from one inference to the next."""
        return self.weights == "keep"

    def __post_init__(self) -> None:
        for name, known in COMPILER_OPTIONS.items():
            if wrong := known.outside(getattr(self, name)):
                raise InputError(f"{name} {wrong} (got {getattr(self, name)!r})")
        if self.dla_ops:
            _check_operators(self.dla_ops)


COMPILER_OPTIONS = rows_of(CompileOptions)


def _check_operators(names: frozenset[str]) -> None:
    from dlasim.compiler_shim.operators.table import OPERATORS

    for name in sorted(names - OPERATORS.keys()):
        hint = suggestion(name, OPERATORS) or "; docs/operators.md lists all"
        raise InputError(f"dla_ops: unknown operator {name!r}{hint}")
