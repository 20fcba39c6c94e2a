"""Data that a file keeps behind the flatbuffer: constants and custom options, found by offset and size.

A flatbuffer's own offsets have 32 bits, so writers append what is large: ai-edge-quantizer does so from 256
KiB on.
"""

from __future__ import annotations

from dlasim.compiler_shim.tflite.decoding import Decoder, Values

# The converter reserves the fields with 1 and leaves that in files that do not use them.
_LARGEST_UNUSED_OFFSET = 1


def load_outside_data(decoder: Decoder, model: Values) -> bool:
    """Fill what is behind the flatbuffer into the tables as if it were there; whether anything is."""
    found = [
        _load(decoder, buffer, ("data", "offset", "size"), f"buffer {number}")
        for number, buffer in enumerate(model["buffers"])
    ]
    for subgraph in model["subgraphs"]:
        for number, operator in enumerate(subgraph["operators"]):
            names = ("custom_options", "large_custom_options_offset", "large_custom_options_size")
            found.append(_load(decoder, operator, names, f"operator {number}: custom options"))
    return any(found)


def _load(decoder: Decoder, table: Values, names: tuple[str, str, str], what: str) -> bool:
    data, offset, size_bytes = (table[name] for name in names)
    if offset <= _LARGEST_UNUSED_OFFSET or size_bytes == 0:
        return False
    if len(data):
        raise decoder.bad(f"{what}: its data is both in its table and behind the flatbuffer, at {offset}")
    table[names[0]] = decoder.behind_tables(offset, size_bytes, what)
    return True
