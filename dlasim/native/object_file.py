"""Object files in the cache: machine code after its own SHA-256, so that a damaged file is never loaded."""

from __future__ import annotations

import hashlib

SYMBOL = "dlasim_run"  # the function that an object defines
_DIGEST_BYTES = hashlib.sha256().digest_size


def seal(code: bytes) -> bytes:
    """The file of some machine code."""
    return hashlib.sha256(code).digest() + code


def unseal(data: bytes | None) -> bytes | None:
    """The machine code in a file; None where there is no file or it is damaged."""
    if data is None:
        return None
    digest, code = data[:_DIGEST_BYTES], data[_DIGEST_BYTES:]
    return code if hashlib.sha256(code).digest() == digest else None
