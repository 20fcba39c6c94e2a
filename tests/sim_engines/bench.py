"""A small SRAM into which a test lays tensors, one operation to run on it, and the tensor that comes out."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dlasim.sim.programs.operation import Operation
from tests.sim_engines.generate import is_legal, make_operation

Array = NDArray[np.generic]
Execute = Callable[[Operation, NDArray[np.uint8]], None]


class Bench:
    """Operands one after another in SRAM, and the registers that say where."""

    def __init__(self, **values: object) -> None:
        self.values: dict[str, object] = dict(values)
        self._image = bytearray()

    def linear(self, register: str, array: Array) -> None:
        """An operand that is one run."""
        self.values[register] = self._append(array)

    def view(self, prefix: str, array: Array) -> None:
        """An operand of rows and pixels: [row, pixel, channel]."""
        self._place(prefix, self._append(array), array.shape, array.itemsize)

    def run(self, execute: Execute, mnemonic: str, shape: tuple[int, ...], **fields: int) -> Array:
        """The operation's output, of this shape."""
        wide = mnemonic.startswith("OP_E32") or fields.get("out") == 1
        dtype = np.dtype(np.int32 if wide else np.int8)
        address = self._append(np.zeros(shape, dtype))
        self._place("OUT", address, shape, dtype.itemsize)
        values = {"OUT_SIZE": shape[:2], "OUT_CHANNELS": shape[2]} | self.values
        operation = make_operation(mnemonic, fields, values)
        sram = np.frombuffer(bytes(self._image), np.uint8).copy()
        assert is_legal(operation, len(sram))
        execute(operation, sram)
        size = int(np.prod(shape)) * dtype.itemsize
        return sram[address : address + size].view(dtype).reshape(shape)

    def _append(self, array: Array) -> int:
        self._image += bytes(-len(self._image) % 4)
        address = len(self._image)
        self._image += np.ascontiguousarray(array).tobytes()
        return address

    def _place(self, prefix: str, address: int, shape: tuple[int, ...], itemsize: int) -> None:
        pixel = shape[2] * itemsize
        self.values[f"{prefix}_ADDR"] = address
        self.values[f"{prefix}_PIXEL_STRIDE"] = pixel
        self.values[f"{prefix}_ROW_STRIDE"] = shape[1] * pixel


def records(bias: object, multiplier: object, shift: object) -> Array:
    """Per-channel records."""
    return np.stack(np.broadcast_arrays(bias, multiplier, shift), axis=1).astype("<i4")
