"""A bound on the constants of a network: a small file must not take gigabytes or minutes.

Tensors may share bytes of the file, and operators on constants are computed at import, so a few bytes may
stand for many.
"""

from __future__ import annotations

from dlasim.errors import InputError

# A network that shapes its weights at import reads and writes each of them a few times.
_TIMES_THE_FILE = 8
_LEAST_BYTES = 256 << 20  # that any file may make, however small it is


class ConstantBudget:
    """The bytes of constants that may still be read from files of so many bytes, or computed of that."""

    def __init__(self, file_bytes: int) -> None:
        self._limit_bytes = _LEAST_BYTES
        self._left_bytes = _LEAST_BYTES
        self.grow(file_bytes)

    def grow(self, file_bytes: int) -> None:
        """Count one more file that holds constants."""
        self._limit_bytes += _TIMES_THE_FILE * file_bytes
        self._left_bytes += _TIMES_THE_FILE * file_bytes

    def spend(self, size_bytes: int, where: str) -> None:
        """Count constants that `where` reads or has computed; an InputError where that is too much."""
        self._left_bytes -= size_bytes
        if self._left_bytes < 0:
            raise InputError(
                f"{where}: the constants so far, those computed at import included, take more than "
                f"{self._limit_bytes:,} bytes, the limit for a file of this size"
            )
