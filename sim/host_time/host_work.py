"""What a host call works on, as the estimate of its time sees it."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from dlasim.dataclass import dataclass

Shape = tuple[int, ...]
_BYTES = {"int8": 1, "uint8": 1, "bool": 1, "int16": 2, "int32": 4, "float32": 4, "int64": 8}


@dataclass(frozen=True, slots=True)
class Work:
    """What a call works on; the attributes are those of its operator, None where they are not known."""

    inputs: Sequence[Shape]
    outputs: Sequence[Shape]
    macs: int
    attributes: Any
    read_type: str  # of the first input
    written_type: str  # of the first output
    is_in_place: bool = False  # the first output has the bytes of the first input

    @property
    def element_bytes(self) -> int:
        """Bytes of an element of the output."""
        return _BYTES[self.written_type]

    @property
    def reads_floats(self) -> bool:
        """Whether it computes in float32, for which the core has no instructions."""
        return self.read_type == "float32"

    @property
    def written(self) -> int:
        """Elements of the outputs."""
        return sum(prod(shape) for shape in self.outputs)

    @property
    def output(self) -> Shape:
        """The shape of the first output."""
        return self.outputs[0] if self.outputs else ()

    def input(self, number: int) -> Shape:
        """The shape of an input, () where it is left out."""
        return self.inputs[number] if number < len(self.inputs) else ()


def row_length(work: Work) -> int:
    """Elements of a row: all, unless an input is broadcast."""
    whole = all(prod(shape) in (1, work.written) for shape in work.inputs[:2])
    return max(work.written if whole else (1, *work.output)[-1], 1)
