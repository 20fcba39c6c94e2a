"""Lets a loaded board run: to its end, under a debugger, or with everything it does written down."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dlasim.dataclass import dataclass
from dlasim.vp.system.board import Board, Progress
from dlasim.vp.system.board_result import BoardResult
from dlasim.vp.system.liveness import STUCK_AFTER_SECONDS

Line = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class RunControl:
    """How to run, and what to call during the run; none of it changes the guest's time."""

    max_instructions: int | None = None
    stuck_after_seconds: float = STUCK_AFTER_SECONDS  # a guest that only waits is ended; 0: never
    devices: Sequence[str] = ()  # of the user's own, as `--device` has them
    dla: str = "simulator"  # or rtl: the Verilated RTL behind the bus
    vcd: str | None = None  # where the RTL's waveforms go: .vcd or .fst
    log_functions: bool = False  # which function ran when, for a timeline
    console: Callable[[int], None] | None = None  # gets each byte on the UART at once
    trace_instructions: Line | None = None
    trace_mmio: Line | None = None
    on_progress: Progress | None = None  # called with instructions and function several times a second
    gdb_port: int | None = None  # 0: any; waits for a client
    on_listening: Callable[[int], None] | None = None  # called with the port

    def run(self, board: Board) -> BoardResult:
        """From where the board is to the end of its run."""
        board.uart.listener = self.console
        if self.gdb_port is None:
            return board.run(
                max_instructions=self.max_instructions,
                trace_instructions=self.trace_instructions,
                trace_mmio=self.trace_mmio,
                stuck_after_seconds=self.stuck_after_seconds,
                on_progress=self.on_progress,
            )
        from dlasim.vp.debugging.gdb import GdbServer

        server = GdbServer(board, self.gdb_port)
        if self.on_listening is not None:
            self.on_listening(server.port)
        return server.serve(self.max_instructions)
