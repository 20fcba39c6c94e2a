"""Which line of which text each command word was assembled from."""

from __future__ import annotations

from dataclasses import field

import numpy as np
from numpy.typing import NDArray

from dlasim.dataclass import dataclass
from dlasim.isa.file_records import LINES


def _no_runs() -> NDArray[np.void]:
    return np.zeros(0, LINES.dtype)


@dataclass(frozen=True, slots=True, eq=False)
class SourceLines:
    """Runs of words from consecutive lines, as in section LINES; their `file` is an index in `files`."""

    files: tuple[str, ...] = ()
    runs: NDArray[np.void] = field(default_factory=_no_runs)

    def place(self, word: int) -> str:
        """`FILE:LINE` of a command word; empty where it is not known."""
        number = int(np.searchsorted(self.runs["first_word"], word, side="right")) - 1
        if number < 0:
            return ""
        first, words, file, line = map(int, self.runs[number].item())
        return f"{self.files[file]}:{line + word - first}" if word < first + words else ""
