"""Streams written by hand for the race checker's tests, and what a test wants to know about them."""

import numpy as np
from numpy.typing import NDArray

from dlasim.isa import codec
from dlasim.isa.instruction_rows import Unit
from dlasim.sim.programs.operation import reset_file
from dlasim.sim.programs.stream import DecodedStream, decode_stream

SRAM_BYTES = 1024
FINGERPRINT = 1234


class Writer:
    """Appends words to a stream; operations take the registers to write as keywords."""

    def __init__(self) -> None:
        self.words: list[int] = []

    def cfg(self, **values: int | tuple[int, int]) -> None:
        """Write operand registers; a pair packs two halves."""
        for name, value in values.items():
            pattern = value[0] | value[1] << 16 if isinstance(value, tuple) else value
            self.words.append(codec.encode_cfg(name, pattern))

    def put(self, mnemonic: str, **fields: int) -> int:
        """Append an instruction; its position."""
        self.words.append(codec.encode(mnemonic, **fields))
        return len(self.words) - 1

    def wait(self, unit: Unit, max_outstanding: int = 0) -> int:
        """Append a WAIT; its position."""
        return self.put("WAIT", unit=unit, max_outstanding=max_outstanding)

    def read(self, address: int, size: int, runs: int = 1, stride: int = 0, **more: int) -> int:
        """Append OP_DMA_READ of `runs` runs of `size` bytes to SRAM; its position."""
        return self._transfer("DMA_IN", "OP_DMA_READ", address, size, runs, stride, more)

    def write(self, address: int, size: int, runs: int = 1, stride: int = 0, **more: int) -> int:
        """Append OP_DMA_WRITE of `runs` runs of `size` bytes of SRAM; its position."""
        return self._transfer("DMA_OUT", "OP_DMA_WRITE", address, size, runs, stride, {"region": 1, **more})

    def _transfer(
        self,
        prefix: str,
        mnemonic: str,
        address: int,
        size: int,
        runs: int,
        stride: int,
        more: dict[str, int],
    ) -> int:
        values = {
            "SRAM_ADDR": address,
            "RUN_BYTES": size,
            "RUNS": runs,
            "RUN_SRAM_STRIDE": stride,
            "RUN_STRIDE": size,
            "PLANES": 1,
            "REGION": 0,
            "OFFSET": 0,
        } | {name.upper(): value for name, value in more.items()}
        self.cfg(**{f"{prefix}_{name}": value for name, value in values.items()})
        return self.put(mnemonic)

    def view(self, prefix: str, address: int, pixel_stride: int, row_stride: int = 0) -> None:
        """Write the three registers of a view."""
        self.cfg(
            **{
                f"{prefix}_ADDR": address,
                f"{prefix}_PIXEL_STRIDE": pixel_stride,
                f"{prefix}_ROW_STRIDE": row_stride,
            }
        )

    def relu(self, source: int, target: int, pixels: int, channels: int, stride: int) -> int:
        """Append OP_ACT_RELU over one row of pixels; its position."""
        self.cfg(OUT_SIZE=(1, pixels), OUT_CHANNELS=channels)
        self.view("IN", source, stride)
        self.view("OUT", target, stride)
        return self.put("OP_ACT_RELU")

    def fill(self, target: int, size: int) -> int:
        """Append OP_FILL of contiguous bytes; its position."""
        self.cfg(OUT_SIZE=(1, 1), OUT_CHANNELS=size)
        self.view("OUT", target, 0)
        return self.put("OP_FILL")

    def matmul(self, source: int, weights: int, target: int, inputs: int, outputs: int) -> int:
        """Append OP_MAT_MUL of one row, without bias; its position."""
        self.cfg(OUT_SIZE=(1, 1), IN_CHANNELS=inputs, OUT_CHANNELS=outputs, WEIGHT_ADDR=weights)
        self.view("IN", source, 0)
        self.view("OUT", target, 0)
        return self.put("OP_MAT_MUL")

    def array(self) -> NDArray[np.uint64]:
        """The words, with HALT."""
        return np.array([*self.words, codec.encode("HALT")], np.uint64)

    def stream(self) -> DecodedStream:
        """The stream, decoded with registers as after reset."""
        return decode(self.array())


def decode(words: NDArray[np.uint64]) -> DecodedStream:
    """A stream with registers as after reset."""
    return decode_stream(words, reset_file(), FINGERPRINT)
