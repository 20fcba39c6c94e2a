"""Whether the system lets this process use AMX: Linux saves tiles for processes that have asked."""

from __future__ import annotations

import ctypes
from functools import cache

from dlasim.native.host_system import platform_name
from dlasim.native.levels import X86_LINUX

_ARCH_PRCTL = 158  # the number of the system call
_REQUEST_STATE = 0x1023  # ARCH_REQ_XCOMP_PERM
_TILE_DATA = 18  # the state component that holds the tiles


@cache
def may_use_tiles() -> bool:
    """Ask for the tiles, once in a process.

    Linux refuses where the CPU has none, where the system does not save them, and where a thread's stack for
    signals could not hold them; a system without this call refuses, too.
    """
    if platform_name() != X86_LINUX:
        return False
    arguments = [ctypes.c_long(number) for number in (_ARCH_PRCTL, _REQUEST_STATE, _TILE_DATA)]
    return int(ctypes.CDLL(None).syscall(*arguments)) == 0
