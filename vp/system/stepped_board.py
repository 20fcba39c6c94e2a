"""A program on the board, inference by inference: the board stands still in between, and so does its time."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from numpy.typing import NDArray

from dlasim.errors import InputError
from dlasim.isa.program import Program, TensorDescriptor
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.execution.executor import Executor, Observer
from dlasim.sim.execution.runner import Inference
from dlasim.vp.devices.exit_device import RegionMark
from dlasim.vp.programs.elf import Firmware
from dlasim.vp.system.board_result import Reason
from dlasim.vp.system.host import MARK_INFERENCE, HostOptions, Prototype, Prototyped

_ALWAYS = (1 << 32) - 1  # inferences: the firmware never leaves


class SteppedBoard:
    """A board that `run` lets make its next inference; the firmware keeps the variables."""

    def __init__(
        self,
        program: Program,
        config: DlaConfig,
        executor: Executor,
        options: HostOptions | None = None,
        firmware: Firmware | None = None,
    ) -> None:
        """The board leaves reset with the first inference."""
        options = replace(options or HostOptions(), inferences=_ALWAYS)
        if options.run_control.gdb_port is not None:
            raise InputError("gdb_port needs a run from reset to exit; steps on a board have none")
        self._prototype = Prototype(program, config, executor, options, firmware)
        self.observer: Observer | None = None  # called after each operation of the DLA
        self.host_observer: Callable[[int, NDArray[Any]], None] | None = None  # and with the CPU's results
        self._make_board()

    def reset_variables(self) -> None:
        """A new board, before reset."""
        self._device.close()
        self._make_board()

    def _make_board(self) -> None:
        self._board, self._device = self._prototype.make_board()
        self._note, self._board.exit.on_mark = self._board.exit.on_mark, self._marked

    def run(self, inputs: Sequence[NDArray[Any]] = ()) -> Inference:
        """The next inference."""
        began = time.perf_counter()
        board, control = self._board, self.options.run_control
        self._prototype.observer, self._prototype.host_observer = self.observer, self.host_observer
        self._device.dla.observer = self._prototype.current_observer()
        self._prototype.give(board, inputs)
        self._has_ended = False
        reason, hint = board.run_until(
            lambda: self._has_ended, control.stuck_after_seconds, control.on_progress
        )
        if reason is not None:
            self._prototype.check(board, self._device, board.result(reason, hint))
        found = self._prototype.inference(board, self._device)[0]
        found.wall_seconds = time.perf_counter() - began
        return found

    @property
    def options(self) -> HostOptions:
        """How the firmware works, and on which CPU."""
        return self._prototype.options

    def figures(self) -> Prototyped:
        """What the board has done since reset."""
        return self._prototype.figures(self._board, self._device, self._board.result(Reason.PAUSED))

    def tensor(self, described: TensorDescriptor) -> NDArray[Any]:
        """A tensor in the board's memory; the firmware gives variables their first values after reset."""
        return self._prototype.tensor(self._board, described)

    def _marked(self, mark: RegionMark) -> None:
        assert self._note is not None
        self._note(mark)
        if mark.region_id == MARK_INFERENCE and not mark.is_begin:
            self._has_ended = True
            self._board.pause()
