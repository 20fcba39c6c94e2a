"""Kernels that ship as machine code, for the usual CPUs: `make kernels` builds them, CI builds them again.

Each is for a level of x86-64 and runs on every CPU that has all of its features. Sources that have changed
since, or another CPU, mean that the kernels are compiled where they run.
"""

from __future__ import annotations

import json
from importlib import resources
from typing import TYPE_CHECKING

from dlasim.dataclass import dataclass
from dlasim.native.compilation_unit import CompilationUnit
from dlasim.native.host_system import CpuFeatures, is_x86_linux
from dlasim.native.object_file import unseal

if TYPE_CHECKING:
    from dlasim.native.target import Target

MANIFEST = "manifest.json"
_V2 = "+cx16,+popcnt,+sahf,+sse3,+sse4.1,+sse4.2,+ssse3"
_V3 = f"{_V2},+avx,+avx2,+bmi,+bmi2,+f16c,+fma,+lzcnt,+movbe,+xsave"
_V4 = f"{_V3},+avx512bw,+avx512cd,+avx512dq,+avx512f,+avx512vl"


@dataclass(frozen=True, slots=True)
class Level:
    """CPUs that one object is for, and the kind of kernels in it."""

    cpu: str
    features: str
    kind: str

    @property
    def file(self) -> str:
        """Its name among the files that ship."""
        return f"{self.cpu}-{self.kind}.o"

    @property
    def target(self) -> Target:
        """What LLVM makes the code for."""
        from dlasim.native.target import describe

        return describe(self.cpu, self.features, is_x86=True)

    def runs_on(self, host: CpuFeatures) -> bool:
        """Whether a CPU has all that the code needs, and registers for what it keeps in them."""
        return all(map(host.has, (name.removeprefix("+") for name in self.features.split(","))))


LEVELS = (  # the first that runs on a CPU is the fastest
    Level("x86-64-v4", f"{_V4},+avx512vnni", "vnni"),
    Level("x86-64-v4", _V4, "portable"),
    Level("x86-64-v3", f"{_V3},+avxvnni", "vnni"),
    Level("x86-64-v3", _V3, "portable"),
    Level("x86-64-v2", _V2, "portable"),
)


def find(unit: CompilationUnit, host: CpuFeatures) -> bytes | None:
    """The code of a unit for a CPU; None where none fits, or its sources are others by now."""
    if not is_x86_linux():
        return None
    folder = resources.files(__name__)
    for level in LEVELS:
        if level.kind == unit.kind and level.runs_on(host):
            try:
                if json.loads((folder / MANIFEST).read_bytes())["sources"][unit.kind] != unit.source_digest:
                    return None
                return unseal((folder / level.file).read_bytes())
            except (OSError, ValueError, KeyError, TypeError):
                return None  # an installation without them
    return None
