"""What reader and writer of `.dlag` files share: the header, limits, names of types."""

from __future__ import annotations

import struct

import numpy as np

from dlasim.compiler_shim.network.graph import Numerics

MAGIC = b"DLAGRAPH"
VERSION = 3
HEAD = struct.Struct("<8sIIII")  # magic, version, bytes of JSON, bytes of constants, CRC-32 of both
MAX_TENSORS = 1 << 20
MAX_SCALE = float(np.finfo(np.float32).max)
DTYPES = ("int8", "uint8", "int16", "int32", "int64", "float32", "bool")
ROUNDINGS = {"twice": Numerics.TFLM, "once": Numerics.ONCE}  # of a sum of products that is rescaled


def is_graph(head: bytes) -> bool:
    """Whether a file that starts so claims to be a graph."""
    return head.startswith(MAGIC)
