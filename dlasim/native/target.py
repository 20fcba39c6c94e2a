"""What a CPU offers, LLVM's code generator for it, and the shape of the kernels that suits it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

import llvmlite.binding as llvm

from dlasim.native.host_system import CpuFeatures
from dlasim.native.levels import Platform

_TILES = ("amx-tile", "amx-int8")
_UNUSED = {"vnni": _TILES, "portable": (*_TILES, "avx512vnni", "avxvnni")}  # features, by kind of kernels


@dataclass(frozen=True, slots=True)
class Target(CpuFeatures):
    """A CPU as LLVM knows it, and how many pixels and vectors of 16 channels its registers hold as sums."""

    cpu: str
    features: str
    pixels: int
    vectors: int
    is_x86: bool

    def has(self, feature: str) -> bool:
        """Whether the CPU has a feature, by LLVM's name."""
        return f"+{feature}" in self.features.split(",")

    def for_kind(self, kind: str) -> Target:
        """The CPU as kernels of a kind see it: only those for AMX use its tiles, portable ones no VNNI."""
        unused = _UNUSED.get(kind, ())
        names = [name for name in self.features.split(",") if name[1:] not in unused]
        hidden = [f"-{name}" for name in unused if self.has(name)]
        return replace(self, features=",".join([*names, *hidden]))


@cache
def host() -> Target:
    """The CPU that runs this, or that a build is for."""
    is_x86 = llvm.get_process_triple().startswith(("x86_64", "i686"))
    return describe(llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten(), is_x86)


def describe(cpu: str, features: str, is_x86: bool) -> Target:
    """A CPU by LLVM's names for it and for what it has."""
    names = features.split(",")
    if "+avx512bw" in names and "+avx512vl" in names:
        pixels, vectors = 12, 2  # 24 sums in 32 registers of 16 lanes
    elif "+avx2" in names:
        pixels, vectors = 6, 1  # 12 sums in 16 registers of 8 lanes
    else:
        pixels, vectors = (2 if is_x86 else 4), 1  # 8 in 16, or 16 in 32, registers of 4 lanes
    return Target(cpu, features, pixels, vectors, is_x86)


def machine(cpu: Target) -> llvm.TargetMachine:
    """LLVM's code generator for a CPU, for code that is loaded into this process."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine(
        cpu=cpu.cpu, features=cpu.features, opt=3, jit=True, codemodel="jitdefault"
    )


def library_machine(platform: Platform, cpu: str, features: str) -> llvm.TargetMachine:
    """LLVM's code generator for a shared library, which may be for another system than this."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    return llvm.Target.from_triple(platform.triple).create_target_machine(
        cpu=cpu, features=features, opt=3, reloc="pic", codemodel="small"
    )
