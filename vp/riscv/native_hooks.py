"""The hooks of `block_hooks` for the emulator: machine code, or calls of Python where there is none."""

from __future__ import annotations

import ctypes
import inspect
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from dlasim.dataclass import dataclass
from dlasim.native.library import find_function
from dlasim.native.routine import kind_of
from dlasim.native.storage import pointer_to
from dlasim.native.unit import CodeUnit
from dlasim.vp.devices.memories import Memory
from dlasim.vp.riscv import block_hooks
from dlasim.vp.riscv.block_records import BlockWatch
from dlasim.vp.riscv.decode import known_decoder

_Hook = Callable[..., Any]
_ADDRESS = ctypes.c_int64
_BLOCK_HOOKS: dict[tuple[bool, bool], _Hook] = {  # by what is asked for: nothing else takes time
    (False, False): block_hooks.block_hook,
    (True, False): block_hooks.costly_block_hook,
    (False, True): block_hooks.logged_block_hook,
    (True, True): block_hooks.costly_logged_block_hook,
}
_OTHERS = (block_hooks.begin_instruction, block_hooks.fill_tlb, block_hooks.look_through)
HOOKS: tuple[_Hook, ...] = (*_BLOCK_HOOKS.values(), *_OTHERS)


@dataclass(frozen=True, slots=True)
class NativeHooks:
    """Addresses of the hooks."""

    block: int
    debug: int
    fill_tlb: int
    look_through: int


def find_hooks(*, taken_branches_cost: bool, log_functions: bool = False) -> NativeHooks:
    """The hooks, without code for what nobody asks for."""
    block = _BLOCK_HOOKS[taken_branches_cost, log_functions]
    return NativeHooks(*map(_address, (block, *_OTHERS)))


def watch_blocks(told: int, memories: Sequence[Memory]) -> BlockWatch:
    """What `look_through` needs to call the function at an address about blocks in some memories."""
    watch = BlockWatch(told, known_decoder())
    for number, memory in enumerate(memories):
        view = watch.memories[number]
        view.base, view.size_bytes = memory.base, memory.data.nbytes
        view.data = pointer_to(memory.data.view(np.int64))
    return watch


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
    texts = inspect.get_annotations(hook)
    kinds = [kind_of(texts[name], vars(block_hooks)) for name in inspect.signature(hook).parameters]

    def call(*given: int) -> int:
        pairs = zip(kinds, given, strict=True)
        return hook(*[number if kind is int else kind.from_address(number) for kind, number in pairs]) or 0

    _callbacks.append(ctypes.CFUNCTYPE(ctypes.c_int64, *[_ADDRESS] * len(kinds))(call))
    return ctypes.cast(_callbacks[-1], ctypes.c_void_p).value or 0
