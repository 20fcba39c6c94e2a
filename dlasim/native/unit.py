"""What is compiled: a function of a module, with all that it calls."""

from __future__ import annotations

import time

from dlasim.dataclass import dataclass

STARTED = time.time()  # what is newer than this is not what the process has imported


@dataclass(frozen=True, slots=True)
class CodeUnit:
    """A function that becomes machine code. Kernels of a `kind` are compiled for CPUs of a `level`, or for
    this one if no level is named."""

    name: str
    module: str
    function: str
    kind: str = ""
    level: str = ""

    @property
    def symbol(self) -> str:
        """Its name in a library."""
        return "_".join(["dlasim", self.name, *([self.level] if self.level else [])]).replace("-", "_")

    @property
    def title(self) -> str:
        """Its name in the cache, and for people."""
        return "-".join([self.name, *([self.kind] if self.kind else [])])
