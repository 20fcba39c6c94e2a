"""A model with its large data behind the flatbuffer, as ai-edge-quantizer writes it."""

import numpy as np

from dlasim.compiler_shim.tflite.decoding import Decoder
from dlasim.compiler_shim.tflite.encoding import encode

ALIGNMENT_BYTES = 16


def moved_outside(model, least_bytes=2):
    """The model with all constants and custom options from a size on behind its tables.

    LiteRT takes a single byte there for no data.
    """
    tables = Decoder(model, "model").root("Model")
    places = [(buffer, "data", "offset", "size") for buffer in tables["buffers"]]
    names = ("custom_options", "large_custom_options_offset", "large_custom_options_size")
    places += [(operator, *names) for operator in tables["subgraphs"][0]["operators"]]
    moved = [place for place in places if len(place[0][place[1]]) >= least_bytes]
    data = [np.asarray(table.pop(name)).tobytes() for table, name, *_ in moved]
    # The size of the tables does not depend on the numbers in them.
    for start in (1 << 16, len(_encoded(tables, moved, data, 1 << 16))):
        tables_only = _encoded(tables, moved, data, start)
    return b"".join([tables_only, *map(_padded, data)])


def _encoded(tables, moved, data, start):
    for (table, _, offset, size), content in zip(moved, data, strict=True):
        table[offset], table[size] = start, len(content)
        start += len(_padded(content))
    encoded = encode("Model", tables, 1 << 16)
    return _padded(encoded)


def _padded(data):
    return data + bytes(-len(data) % ALIGNMENT_BYTES)
