"""numba's decorators as the kernels use them, with types that a checker can follow.

Kernels take pointers and numbers, allocate nothing and raise nothing, so what is compiled needs neither
Python nor numba at run time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

import numba
from numba import extending

Pointer: TypeAlias = Any
Number: TypeAlias = Any
Vector: TypeAlias = Any
_Function = TypeVar("_Function", bound=Callable[..., Any])

_OPTIONS: dict[str, Any] = {
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
    "error_model": "numpy",
    "boundscheck": False,
}


def kernel(function: _Function) -> _Function:
    """A function of the compiled code."""
    compiled: _Function = numba.njit(**_OPTIONS)(function)
    return compiled


def inlined(function: _Function) -> _Function:
    """A function of the compiled code that becomes part of its callers."""
    compiled: _Function = numba.njit(forceinline=True, **_OPTIONS)(function)
    return compiled


def intrinsic(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose LLVM code `function` gives."""
    made: Callable[..., Any] = extending.intrinsic(function)
    return made


def literal_intrinsic(function: Callable[..., Any]) -> Callable[..., Any]:
    """An intrinsic that is told the values of constant arguments."""
    made: Callable[..., Any] = extending.intrinsic(prefer_literal=True)(function)
    return made
