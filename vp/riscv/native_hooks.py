"""The hooks of `block_hooks` for the emulator: machine code, or calls of Python where there is none."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

from dlasim.dataclass import dataclass
from dlasim.native.library import find_function
from dlasim.native.unit import CodeUnit
from dlasim.vp.riscv import block_hooks
from dlasim.vp.riscv.block_records import Counts, PageMap, TlbEntry

_Hook = Callable[..., Any]
_ADDRESS = ctypes.c_int64
_BLOCK_HOOKS: dict[tuple[bool, bool], _Hook] = {  # by what is asked for: nothing else takes time
    (False, False): block_hooks.block_hook,
    (True, False): block_hooks.costly_block_hook,
    (False, True): block_hooks.logged_block_hook,
    (True, True): block_hooks.costly_logged_block_hook,
}
HOOKS: tuple[_Hook, ...] = (*_BLOCK_HOOKS.values(), block_hooks.begin_instruction, block_hooks.fill_tlb)


@dataclass(frozen=True, slots=True)
class NativeHooks:
    """Addresses of the hooks."""

    block: int
    debug: int
    fill_tlb: int


def find_hooks(*, taken_branches_cost: bool, log_functions: bool = False) -> NativeHooks:
    """The hooks, without code for what nobody asks for."""
    block = _BLOCK_HOOKS[taken_branches_cost, log_functions]
    return NativeHooks(*map(_address, (block, block_hooks.begin_instruction, block_hooks.fill_tlb)))


def hook_unit(hook: _Hook) -> CodeUnit:
    """A hook as a unit that is compiled."""
    return CodeUnit(hook.__name__.replace("_", "-"), hook.__module__, hook.__name__)


@cache
def _address(hook: _Hook) -> int:
    found = find_function(hook_unit(hook))
    return found if found is not None else _callback(hook)


_callbacks: list[Any] = []  # which keep their code alive


def _callback(hook: _Hook) -> int:
    """The address of a function that calls a hook in Python."""
    kinds: tuple[Any, ...] = (TlbEntry, PageMap) if hook is block_hooks.fill_tlb else (Counts,)

    def call(*given: int) -> int:
        numbers, addresses = given[: -len(kinds)], given[-len(kinds) :]
        records = [kind.from_address(address) for kind, address in zip(kinds, addresses, strict=True)]
        return hook(*numbers, *records) or 0

    _callbacks.append(ctypes.CFUNCTYPE(ctypes.c_int64, *[_ADDRESS] * (3 + len(kinds)))(call))
    return ctypes.cast(_callbacks[-1], ctypes.c_void_p).value or 0
