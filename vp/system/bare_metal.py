"""Runs an ELF of the user's own on the board, the accelerator attached."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dlasim.dataclass import dataclass
from dlasim.errors import RunError
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.execution.executor import Executor
from dlasim.sim.execution.machine import Run
from dlasim.sim.programs.stream import FaultAt
from dlasim.sim.reports.measured import total_account
from dlasim.sim.timing.memory_timing import fetch_wait_cycles
from dlasim.vp.programs.elf import Firmware
from dlasim.vp.system.board import Board, BoardConfig
from dlasim.vp.system.board_result import BoardResult, FunctionProfile, Reason
from dlasim.vp.system.device_loading import attach_accelerator, attach_devices
from dlasim.vp.system.run_control import RunControl

SCHEMA = "dlasim.board/1"


@dataclass(frozen=True, slots=True)
class BareMetal:
    """What came of it: how the run ended, and the streams that the accelerator ran."""

    firmware: Firmware
    config: DlaConfig
    cpu: str
    board: BoardResult
    runs: tuple[Run, ...]
    runs_lost: int = 0  # streams beyond those that are kept
    fault: FaultAt | None = None  # at which the accelerator stopped

    def check(self) -> None:
        """A RunError unless the guest ended the run and is content."""
        if self.board.reason is not Reason.EXIT or self.board.exit_code:
            raise RunError(f"{self.firmware.origin}: {self.board.summary(self.firmware)}{self._fault_text}")

    @property
    def _fault_text(self) -> str:
        """The accelerator's fault in words, which the guest cannot know."""
        if self.fault is None:
            return ""
        where = f"{self.fault.code.name} at word {self.fault.position}"
        return f"\nthe accelerator faulted: {where} of region COMMANDS: {self.fault.detail}"

    def report(self) -> dict[str, Any]:
        """All figures, from reset to exit, for scripts."""
        result = self.board
        account = total_account(run.plan.account for run in self.runs)
        dla = account.total if account else 0
        return {
            "schema": SCHEMA,
            "firmware": self.firmware.origin,
            "config": self.config.as_dict(),
            "exit_code": result.exit_code,
            "reason": result.reason.name.lower(),
            "cycles": {
                "total": result.cycles,
                "dla": dla,
                "cpu": result.cycles - result.idle_cycles,
                "dma": account.only_dma + account.both if account else 0,
                "overlap": max(0, dla - result.idle_cycles),
            },
            "cpu": {
                "instructions": result.instructions,
                "idle_cycles": result.idle_cycles,
                "estimated": False,
                "model": self.cpu,
            },
            "memory": {"stack_peak_bytes": result.stack_peak_bytes},
            "streams": [{"start": run.start, "end": run.end, "macs": run.plan.macs} for run in self.runs],
            "regions": [
                {
                    "id": region.region_id,
                    "start": region.start_cycles,
                    "end": region.end_cycles,
                    "instructions": region.instructions,
                }
                for region in result.regions
            ],
            "functions": function_rows(result.profile),
            "warnings": list(self._warnings()),
        }

    def _warnings(self) -> Iterator[str]:
        """What the figures leave out."""
        if self.runs_lost:
            yield f"the figures cover the first {len(self.runs):,} streams only; {self.runs_lost:,} more ran"
        if self.board.marks_lost:
            lost = self.board.marks_lost
            yield f"only the first {len(self.board.marks):,} marks have regions; {lost:,} more were written"


def function_rows(profile: tuple[FunctionProfile, ...]) -> list[dict[str, Any]]:
    """A flat profile as reports have it."""
    shown = ("name", "entries", "instructions", "cycles")
    return [{name: getattr(function, name) for name in shown} for function in profile]


def run_bare_metal(
    firmware: Firmware,
    config: DlaConfig,
    executor: Executor,
    cpu: str = "ideal",
    run_control: RunControl | None = None,
) -> BareMetal:
    """From reset until the guest exits, or cannot go on, or a limit is reached."""
    run_control = run_control or RunControl()
    wait = fetch_wait_cycles(config)
    board = Board(BoardConfig(cpu=cpu, log_functions=run_control.log_functions, fetch_wait_cycles=wait))
    device = attach_accelerator(board, config, executor, run_control)
    attach_devices(board, run_control.devices)
    board.load(firmware)
    try:
        result = run_control.run(board)
    finally:
        device.close()
    if not run_control.devices:  # which may know the board's memories
        board.retire()
    runs = tuple(device.runs)
    return BareMetal(firmware, config, cpu, result, runs, device.runs_lost, device.dla.fault)
