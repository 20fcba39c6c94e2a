"""Makes this process one on a lesser CPU, for XNNPACK as for dlasim: without AMX, or with AVX2 at most.

Both ask Linux for AMX, and a filter can refuse. XNNPACK asks the CPU for the rest, by CPUID, and Linux can
let that fail, for a handler to give another answer; it is C, since Python's handlers come too late. Neither
can be undone: call these in a process of its own, before anything looks at the CPU.
"""

from __future__ import annotations

import ctypes
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

_NO_NEW_PRIVILEGES, _SECCOMP, _FILTER = 38, 22, 2  # of prctl
_LOAD, _EQUALS, _RETURN = 0x20, 0x15, 0x06  # instructions of the filter
_NUMBER_AT, _ARGUMENT_AT = 0, 16  # in what the filter reads: the call's number, its first argument
_ARCH_PRCTL, _REQUEST_STATE = 158, 0x1023
_REFUSE, _ALLOW = 0x0005_0001, 0x7FFF_0000
_HIDDEN = ("avx512", "avx_vnni", "amx_")  # how the features begin that go beyond AVX2, as Linux names them

_HANDLER = r"""
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <ucontext.h>

static long set_cpuid(long on) {
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(158), "D"(0x1012), "S"(on) : "rcx", "r11", "memory");
    return result;
}

static void answer(int number, siginfo_t *info, void *context) {
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    const uint8_t *code = (const uint8_t *)registers[REG_RIP];
    if (code[0] != 0x0f || code[1] != 0xa2) {  /* a fault that is none of ours */
        signal(number, SIG_DFL);
        return;
    }
    uint32_t leaf = registers[REG_RAX], part = registers[REG_RCX], a = leaf, b, c = part, d;
    set_cpuid(1);
    __asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
    set_cpuid(0);
    if (leaf == 7 && part == 0) {
        b &= ~0xdc230000u;  /* AVX512F, DQ, IFMA, PF, ER, CD, BW, VL */
        c &= ~0x00005842u;  /* AVX512VBMI, VBMI2, VNNI, BITALG, VPOPCNTDQ */
        d &= ~0x03c0010cu;  /* AVX512 4VNNIW, 4FMAPS, VP2INTERSECT, FP16; AMX BF16, tiles, INT8 */
    }
    if (leaf == 7 && part == 1) {
        a &= ~0x00800030u;  /* AVX-VNNI, AVX512 BF16, AVX-IFMA */
        d &= ~0x00080410u;  /* AVX-VNNI-INT8, AVX-VNNI-INT16, AVX10 */
    }
    registers[REG_RAX] = a, registers[REG_RBX] = b, registers[REG_RCX] = c, registers[REG_RDX] = d;
    registers[REG_RIP] += 2;
}

long hide(void) {
    struct sigaction action = {.sa_sigaction = answer, .sa_flags = SA_SIGINFO | SA_NODEFER};
    sigaction(SIGSEGV, &action, 0);
    return set_cpuid(0);
}
"""


def deny_tiles() -> None:
    """From now on Linux refuses AMX to this process and its children; OSError where no filter is allowed."""
    program = b"".join(
        struct.pack("<HBBI", *instruction)
        for instruction in (
            (_LOAD, 0, 0, _NUMBER_AT),
            (_EQUALS, 0, 3, _ARCH_PRCTL),
            (_LOAD, 0, 0, _ARGUMENT_AT),
            (_EQUALS, 0, 1, _REQUEST_STATE),
            (_RETURN, 0, 0, _REFUSE),
            (_RETURN, 0, 0, _ALLOW),
        )
    )
    memory = ctypes.create_string_buffer(program)
    header = struct.pack("@HP", len(program) // 8, ctypes.addressof(memory))
    library = ctypes.CDLL(None, use_errno=True)
    for arguments in ((_NO_NEW_PRIVILEGES, 1, 0, 0, 0), (_SECCOMP, _FILTER, header, 0, 0)):
        if library.prctl(*arguments) != 0:
            raise OSError(ctypes.get_errno(), "prctl")


def hide_avx512() -> None:
    """From now on CPUID names nothing beyond AVX2, and dlasim sees no more in what Linux tells.

    Nothing to do on a CPU without more. OSError where the CPU cannot let CPUID fail.
    """
    from dlasim.native import levels
    from dlasim.native.host_system import LinuxCpu, this_cpu
    from dlasim.sim.fast_engine import loader

    cpu = this_cpu()
    lesser = None if cpu is None else LinuxCpu(frozenset(f for f in cpu.flags if not f.startswith(_HIDDEN)))
    if lesser == cpu:
        return
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder, "hide.c"), Path(folder, "hide.so")
        source.write_text(_HANDLER)
        compiler = [sys.executable, "-m", "ziglang", "cc", "-target", "x86_64-linux-gnu"]
        subprocess.run([*compiler, "-O2", "-shared", "-fPIC", source, "-o", library], check=True)
        if ctypes.CDLL(str(library)).hide() != 0:
            raise OSError("this CPU cannot let CPUID fail")
    loader.this_cpu = levels.this_cpu = lambda: lesser  # type: ignore[assignment]
