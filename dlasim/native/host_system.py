"""What this computer is, for machine code that ships; imports nothing that takes long to load."""

from __future__ import annotations

import os
import sys
from abc import ABC, abstractmethod


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


def is_x86_linux() -> bool:
    """Whether this is a system that machine code ships for."""
    return sys.platform == "linux" and os.uname().machine == "x86_64" and sys.maxsize > 1 << 32
