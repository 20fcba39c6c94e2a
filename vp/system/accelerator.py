"""Puts the accelerator on a board: the simulator's machine, or the RTL of the same."""

from __future__ import annotations

from dlasim.errors import InputError, one_of
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.execution.executor import Executor
from dlasim.vp.devices.dla_device import DlaDevice, attach_dla
from dlasim.vp.system.board import Board
from dlasim.vp.system.run_control import RunControl

DLAS = ("simulator", "rtl")


def attach_accelerator(
    board: Board,
    config: DlaConfig,
    executor: Executor | None,
    run_control: RunControl,
) -> DlaDevice:
    """The one that `run_control` names."""
    if run_control.dla not in DLAS:
        raise InputError(f"dla must be {one_of(DLAS)} (got {run_control.dla!r})")
    if run_control.dla == "rtl":
        from dlasim.vp.system.rtl_device import attach_rtl  # needs Verilator

        return attach_rtl(board, config, run_control.vcd)
    if run_control.vcd is not None:
        raise InputError("--vcd needs --dla rtl: only the RTL has waveforms")
    return attach_dla(board, config, executor)
