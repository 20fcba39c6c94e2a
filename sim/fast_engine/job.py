"""What the host hands to the kernels in one call: rows, and the memory that they work on."""

from __future__ import annotations

from dlasim.native.record import Numbers, Record, Records, pointer
from dlasim.sim.fast_engine.operation_rows import OperationRow


class Workspace(Record):
    """Memory of an engine that every operation may use, and why the kernels stopped before the last row:
    the bytes that the next one needs, or below 0 where they cannot do it."""

    arena: int = 0
    capacity: int = 0
    stopped: int = 0


class Job(Record):
    """Rows `first` to `last`, where SRAM and the regions begin, and a workspace."""

    rows: Records[OperationRow] = pointer(OperationRow)
    first: int = 0
    last: int = 0
    sram: int = 0
    regions: Numbers = pointer(int)
    workspace: Records[Workspace] = pointer(Workspace)
