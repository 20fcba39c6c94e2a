"""What this computer is, for machine code that ships; imports nothing that takes long to load."""

from __future__ import annotations

import os
import sys
from abc import ABC, abstractmethod
from functools import cache

from dlasim.dataclass import dataclass

_LINUX_NAMES = {
    "sahf": "lahf_lm", "sse3": "pni", "sse4.1": "sse4_1", "sse4.2": "sse4_2", "bmi": "bmi1", "lzcnt": "abm",
    "avxvnni": "avx_vnni", "avx512vnni": "avx512_vnni", "neon": "asimd",
    "amx-tile": "amx_tile", "amx-int8": "amx_int8",
}  # fmt: skip
_MAX_BYTES = 1 << 14  # of which the first CPU of many takes less


class CpuFeatures(ABC):
    """A CPU, by what it has."""

    __slots__ = ()

    @abstractmethod
    def has(self, feature: str) -> bool:
        """Whether the CPU has a feature, by LLVM's name."""

    @property
    def has_vnni(self) -> bool:
        """Whether one instruction multiplies and adds four bytes per lane."""
        return self.has("avx512vnni") or self.has("avxvnni")

    @property
    def has_tiles(self) -> bool:
        """Whether one instruction multiplies two tiles of bytes."""
        return self.has("avx512vnni") and self.has("amx-int8")


@dataclass(frozen=True, slots=True)
class LinuxCpu(CpuFeatures):
    """A CPU as Linux knows it, which is asked in place of LLVM: that takes long to load."""

    flags: frozenset[str]

    def has(self, feature: str) -> bool:
        """Whether the CPU has a feature, by LLVM's name."""
        return _LINUX_NAMES.get(feature, feature) in self.flags


def platform_name() -> str:
    """The system and the instruction set of this process."""
    machine = os.uname().machine
    return f"{machine}-{sys.platform}" if sys.maxsize > 1 << 32 else f"{machine}-{sys.platform}-32"


@cache
def this_cpu() -> LinuxCpu | None:
    """The CPU that runs this; None where Linux does not tell."""
    try:
        with open("/proc/cpuinfo", "rb") as file:
            lines = file.read(_MAX_BYTES).decode(errors="replace").splitlines()
    except OSError:
        return None
    flags = [line.partition(":")[2] for line in lines if line.startswith(("flags", "Features"))]
    return LinuxCpu(frozenset(flags[0].split())) if flags else None
