"""What the CPU offers, by Linux, in place of LLVM, which takes long to load."""

from __future__ import annotations

from functools import cache

from dlasim.dataclass import dataclass
from dlasim.native.host_system import CpuFeatures, is_x86_linux

_LINUX_NAMES = {
    "sahf": "lahf_lm", "sse3": "pni", "sse4.1": "sse4_1", "sse4.2": "sse4_2", "bmi": "bmi1", "lzcnt": "abm",
    "avxvnni": "avx_vnni", "avx512vnni": "avx512_vnni",
}  # fmt: skip
_MAX_BYTES = 1 << 14  # of which the first CPU of many takes less


@dataclass(frozen=True, slots=True)
class LinuxCpu(CpuFeatures):
    """A CPU as Linux knows it."""

    flags: frozenset[str]

    def has(self, feature: str) -> bool:
        """Whether the CPU has a feature, by LLVM's name."""
        return _LINUX_NAMES.get(feature, feature) in self.flags


@cache
def this_cpu() -> LinuxCpu | None:
    """The CPU that runs this; None where Linux does not tell."""
    if not is_x86_linux():
        return None
    try:
        with open("/proc/cpuinfo", "rb") as file:
            lines = file.read(_MAX_BYTES).decode(errors="replace").splitlines()
    except OSError:
        return None
    flags = [line.partition(":")[2] for line in lines if line.startswith("flags")]
    return LinuxCpu(frozenset(flags[0].split())) if flags else None
