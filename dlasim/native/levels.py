"""The platforms that machine code ships for, and the levels of their CPUs that kernels are compiled for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dlasim.dataclass import dataclass
from dlasim.native.host_system import CpuFeatures, platform_name, this_cpu

if TYPE_CHECKING:
    from dlasim.native.target import Target

_V2 = "+cx16,+popcnt,+sahf,+sse3,+sse4.1,+sse4.2,+ssse3"
_V3 = f"{_V2},+avx,+avx2,+bmi,+bmi2,+f16c,+fma,+lzcnt,+movbe,+xsave"
_V4 = f"{_V3},+avx512bw,+avx512cd,+avx512dq,+avx512f,+avx512vl"


@dataclass(frozen=True, slots=True)
class Platform:
    """Where one library runs: its name as `platform_name` gives it, and the names of LLVM and of the linker;
    `cpu` is the oldest, for routines."""

    name: str
    triple: str
    linker_target: str
    cpu: str
    library: str


@dataclass(frozen=True, slots=True)
class Level:
    """CPUs that one build of the kernels is for, and the kind of kernels in it."""

    name: str
    platform: str
    cpu: str
    features: str
    kind: str

    @property
    def target(self) -> Target:
        """What LLVM makes the code for."""
        from dlasim.native.target import describe

        return describe(self.cpu, self.features, is_x86=self.platform.startswith("x86_64"))

    def runs_on(self, host: CpuFeatures) -> bool:
        """Whether a CPU has all that the code needs, and registers for what it keeps in them."""
        return all(map(host.has, (name.removeprefix("+") for name in self.features.split(","))))


X86_LINUX, ARM_LINUX = "x86_64-linux", "aarch64-linux"
PLATFORMS = (
    Platform(X86_LINUX, "x86_64-unknown-linux-gnu", "x86_64-linux-gnu", "x86-64", "x86_64-linux.so"),
    Platform(ARM_LINUX, "aarch64-unknown-linux-gnu", "aarch64-linux-gnu", "generic", "aarch64-linux.so"),
)
LEVELS = (  # the first that runs on a CPU is the fastest
    Level("v4-amx", X86_LINUX, "x86-64-v4", f"{_V4},+avx512vnni,+avx512vbmi,+amx-tile,+amx-int8", "amx"),
    Level("v4-vnni", X86_LINUX, "x86-64-v4", f"{_V4},+avx512vnni", "vnni"),
    Level("v4", X86_LINUX, "x86-64-v4", _V4, "portable"),
    Level("v3-vnni", X86_LINUX, "x86-64-v3", f"{_V3},+avxvnni", "vnni"),
    Level("v3", X86_LINUX, "x86-64-v3", _V3, "portable"),
    Level("v2", X86_LINUX, "x86-64-v2", _V2, "portable"),
    Level("neon", ARM_LINUX, "generic", "+neon", "portable"),
)


def level_named(name: str) -> Level:
    """A level by its name."""
    return next(level for level in LEVELS if level.name == name)


def this_platform() -> Platform | None:
    """The platform of this process; None where nothing ships for it."""
    return next((each for each in PLATFORMS if each.name == platform_name()), None)


def best_level(kind: str | None = None) -> Level | None:
    """The fastest level that this CPU runs, of a kind or of any."""
    cpu = this_cpu()
    if cpu is None:
        return None
    fitting = (each for each in LEVELS if each.platform == platform_name() and each.runs_on(cpu))
    return next((each for each in fitting if kind in (None, each.kind)), None)
