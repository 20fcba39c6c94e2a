"""A function in this process, by its address."""

from __future__ import annotations

import ctypes


class MachineFunction:
    """Machine code that takes 64-bit numbers, and addresses as such, and gives a number."""

    def __init__(self, address: int, arguments: int) -> None:
        # numba's convention: where the result goes, where an exception would go, then the arguments.
        prototype = ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_int64] * (2 + arguments))
        self._function = prototype(address)
        self._exception = ctypes.c_void_p()
        self._exception_at = ctypes.addressof(self._exception)

    def run(self, *arguments: int) -> int:
        """Call it; several threads may at once."""
        result = ctypes.c_int64()
        status = self._function(ctypes.addressof(result), self._exception_at, *arguments)
        assert status == 0, "compiled code raises nothing"
        return result.value
