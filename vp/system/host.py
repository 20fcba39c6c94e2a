"""Runs a program on the board: the shipped firmware walks its steps, on the CPU and the accelerator."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import field, replace
from functools import cache
from itertools import chain, cycle
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dlasim.dataclass import dataclass
from dlasim.errors import RunError
from dlasim.isa import codec, container
from dlasim.isa.file_records import Role
from dlasim.isa.instructions import BY_MNEMONIC
from dlasim.isa.program import Program, TensorDescriptor
from dlasim.isa.registers import Region
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.execution.executor import Executor, Observer
from dlasim.sim.execution.machine import Run
from dlasim.sim.execution.runner import HostSpan, Inference, check_config, checked_inputs, fault_error
from dlasim.sim.programs.stream import FaultAt
from dlasim.sim.timing.memory_timing import fetch_wait_cycles
from dlasim.vp.devices.dla_device import DlaDevice, RtlFigures
from dlasim.vp.devices.exit_device import RegionMark
from dlasim.vp.programs import launch
from dlasim.vp.programs.elf import Firmware, read_elf
from dlasim.vp.programs.kernel_support import refuse_missing_kernels
from dlasim.vp.programs.launch import Completion, Launch, Submission
from dlasim.vp.programs.layout import plan_memory
from dlasim.vp.system.board import Board, BoardConfig
from dlasim.vp.system.board_result import BoardResult, Reason
from dlasim.vp.system.device_loading import attach_accelerator, attach_devices
from dlasim.vp.system.run_control import RunControl

# Region marks of the firmware's runtime (firmware/src/marks.h).
MARK_INFERENCE = 0
MARK_FIRST_HOST_CALL = 1


@dataclass(frozen=True, slots=True)
class HostOptions:
    """How the firmware works, and on which CPU."""

    cpu: str = "ideal"
    completion: Completion = Completion.INTERRUPT
    submission: Submission = Submission.QUEUE
    inferences: int = 1
    run_control: RunControl = field(default_factory=RunControl)
    firmware: str | Path | None = None  # None: the prebuilt one


@dataclass(frozen=True, slots=True)
class CpuFigures:
    """What the CPU did in one inference."""

    instructions: int
    cycles: int  # awake
    idle_cycles: int  # asleep in wfi
    call_instructions: tuple[int, ...]  # of each host call


@dataclass(slots=True)
class Prototyped:
    """A run of the board: the last inference, what the CPU did in it, and everything from reset to exit."""

    inference: Inference
    cpu: CpuFigures
    start_cycle: int  # of the inference, since reset
    setup_instructions: int
    board: BoardResult
    firmware: Firmware
    launch: Launch
    wall_seconds: tuple[float, ...]  # of each inference
    rtl: RtlFigures | None = None  # where the RTL was the accelerator
    steps: tuple[Inference, ...] = ()  # all inferences, where each has inputs of its own

    @property
    def outputs(self) -> list[NDArray[Any]]:
        """The outputs of the last inference."""
        return self.inference.outputs


class Prototype:
    """A program made ready for the board; each `run` is a new board, from reset to exit.

    With `slots`, as many inferences have inputs and outputs of their own, and `carried` are numbers of
    outputs with the names of the inputs that they become in the next one.
    """

    def __init__(
        self,
        program: Program,
        config: DlaConfig,
        executor: Executor | None,
        options: HostOptions | None = None,
        firmware: Firmware | None = None,
        slots: int = 1,
        carried: Sequence[tuple[int, str]] = (),
    ) -> None:
        """Without an executor the DLA computes nothing: its time only, and nonsense in the tensors."""
        check_config(program, config)
        refuse_missing_kernels(program)
        self.program, self.config, self.options = program, config, options or HostOptions()
        self.observer: Observer | None = None
        self.host_observer: Callable[[int, NDArray[Any]], None] | None = None
        self._executor = executor
        self._moments: list[float] = []
        self._inside = 0  # instructions of the inferences before
        self._begun = 0  # inferences
        self._steps: list[Inference] = []
        self._carried = carried
        self._image = container.write(program)
        self._firmware = firmware or _firmware(self.options.firmware)
        self.layout = plan_memory(program, self._firmware, len(self._image), slots, len(carried))

    def run(self, *inputs: Sequence[NDArray[Any]]) -> Prototyped:
        """From reset to exit, with the inputs of each slot in place (none where only time is asked for)."""
        began = time.perf_counter()
        board, device = self.make_board()
        for slot, arrays in enumerate(inputs if self._executor is not None else ()):
            self.give(board, arrays, slot)
        try:
            result = self.options.run_control.run(board)
        finally:
            device.close()
        self.check(board, device, result)
        done = self.figures(board, device, result)
        if not self.options.run_control.devices:  # which may know the board's memories
            board.retire()
        done.inference.wall_seconds = time.perf_counter() - began - sum(done.wall_seconds[1:])
        return done

    def reset_variables(self) -> None:
        """Nothing to do: every run starts from reset."""

    def give(self, board: Board, inputs: Sequence[NDArray[Any]], slot: int = 0) -> None:
        """Put inputs into the board's memory."""
        for described, array in checked_inputs(self.program, inputs):
            board.memories.write(self._address(described, slot), array.tobytes())

    def make_board(self) -> tuple[Board, DlaDevice]:
        """A board before reset, with everything in place but the inputs."""
        options = self.options
        self._moments.clear()
        self._steps.clear()
        self._inside = self._begun = 0
        wait = fetch_wait_cycles(self.config)
        board = Board(
            BoardConfig(self.layout.memory_map, options.cpu, options.run_control.log_functions, wait)
        )
        device = attach_accelerator(board, self.config, self._executor, options.run_control)
        attach_devices(board, options.run_control.devices)
        device.dla.observer = self.current_observer()
        board.load(self._firmware)
        board.memories.write(self.layout.memory_map.program.base, self._image)
        board.memories.write(self._firmware.symbols[launch.SYMBOL], self._launch.to_bytes())
        board.memories.write(self.layout.launch.carried, self._carried_table())
        device.most_runs = max(device.most_runs, len(self.program.commands))
        board.exit.most_marks = max(board.exit.most_marks, 4 + 2 * len(self.program.host_calls))
        board.exit.on_mark = lambda mark: self._marked(board, device, mark)
        return board, device

    def current_observer(self) -> Observer | None:
        """The observer, which is called for single commands with their words in the program."""
        observer = self.observer
        if observer is None or self.options.submission is Submission.QUEUE:
            return observer
        later = cycle(self._submitted(operations_only=True, is_first=False))
        words = chain(self._submitted(operations_only=True), later) if not self._begun else later
        return lambda _, tell, sram: observer(next(words), tell, sram)

    @property
    def _launch(self) -> Launch:
        options = self.options
        return replace(
            self.layout.launch,
            completion=options.completion,
            submission=options.submission,
            inferences=options.inferences,
        )

    def _carried_table(self) -> bytes:
        inputs = {tensor.name: tensor for tensor in self.program.inputs}
        pairs = [(self.program.outputs[number], inputs[name]) for number, name in self._carried]
        rows = [(output.offset, target.offset, target.size_bytes) for output, target in pairs]
        return np.array(rows, "<u4").tobytes()

    def _address(self, described: TensorDescriptor, slot: int) -> int:
        place = self.layout.launch
        bases = {
            Region.ARENA: place.arena,
            Region.INPUTS: place.inputs + slot * place.inputs_stride,
            Region.OUTPUTS: place.outputs + slot * place.outputs_stride,
        }
        return bases[described.region] + described.offset

    def tensor(self, board: Board, described: TensorDescriptor) -> NDArray[Any]:
        """A tensor in the board's memory, of the inference that began last."""
        if described.region is Region.CONSTANTS:  # an output that the compiler knew
            raw = self.program.constants[described.offset : described.offset + described.size_bytes]
        else:
            slot = (self._begun - 1) % self.layout.launch.slots
            data = board.memories.read(self._address(described, slot), described.size_bytes)
            raw = np.frombuffer(data, np.uint8)
        return raw.view(np.dtype(described.type.name)).reshape(described.shape)

    def _marked(self, board: Board, device: DlaDevice, mark: RegionMark) -> None:
        """Notes the time; shows the observer what a host call has written, and what an inference leaves."""
        if mark.region_id == MARK_INFERENCE:
            self._moments.append(time.perf_counter())
            if mark.is_begin:
                self._begun += 1
                self._forget_inferences(board, device)
            elif self.layout.launch.slots > 1:
                self._steps.append(self.inference(board, device)[0])
        if mark.is_begin or self.host_observer is None:
            return
        for number in self._written(mark):
            self.host_observer(number, self.tensor(board, self.program.tensors[number]))

    def _written(self, mark: RegionMark) -> Sequence[int]:
        """The outputs of the host call that has ended, or the variables where an inference has."""
        if mark.region_id >= MARK_FIRST_HOST_CALL:
            return self.program.host_calls[mark.region_id - MARK_FIRST_HOST_CALL].outputs
        tensors = enumerate(self.program.tensors)
        return [number for number, tensor in tensors if tensor.role is Role.VARIABLE]

    def _forget_inferences(self, board: Board, device: DlaDevice) -> None:
        """At the begin of an inference: of those before, however many, only the sum of instructions stays."""
        *before, begin = board.exit.marks
        self._inside += _instructions(before)
        board.exit.marks[:] = [begin]
        device.runs.clear()

    def check(self, board: Board, device: DlaDevice, result: BoardResult) -> None:
        """Raise an error that says how the board ended, unless all went well."""
        if result.reason is Reason.EXIT and result.exit_code == 0:
            return
        console = result.uart.decode("ascii", "replace").strip().splitlines()
        said = f"; the firmware said: {console[-1]}" if console else ""
        fault = device.dla.fault
        if fault is not None:
            fault = replace(fault, position=self._word_of(fault, len(device.runs)))
            raise RunError(f"{fault_error(self.program, fault)}{said}")
        raise RunError(f"{self.program.label} on the board: {result.summary(board.firmware)}{said}")

    def _word_of(self, fault: FaultAt, runs: int) -> int:
        """The word of the program that faulted; of single commands, the last of so many that ran."""
        if self.options.submission is Submission.QUEUE:
            return fault.position
        return self._submitted(is_first=self._begun <= 1)[runs - 1]

    def inference(self, board: Board, device: DlaDevice) -> tuple[Inference, CpuFigures, int]:
        """The last inference, what the CPU did in it, and when it began."""
        begin, end = _spans(board.exit.marks, MARK_INFERENCE)[-1]
        calls = [
            _spans(board.exit.marks, MARK_FIRST_HOST_CALL + number)[-1]
            for number in range(len(self.program.host_calls))
        ]
        runs = [run for run in device.runs if run.start >= begin.cycles]
        inference = Inference(
            outputs=[self.tensor(board, tensor) for tensor in self.program.outputs],
            runs=[replace(run, start=run.start - begin.cycles) for run in self._numbered(runs)],
            host=[
                HostSpan(number, first.cycles - begin.cycles, last.cycles - begin.cycles)
                for number, (first, last) in enumerate(calls)
            ],
            total_cycles=end.cycles - begin.cycles,
        )
        idle = end.idle_cycles - begin.idle_cycles
        cpu = CpuFigures(
            instructions=end.instructions - begin.instructions,
            cycles=inference.total_cycles - idle,
            idle_cycles=idle,
            call_instructions=tuple(last.instructions - first.instructions for first, last in calls),
        )
        return inference, cpu, begin.cycles

    def figures(self, board: Board, device: DlaDevice, result: BoardResult) -> Prototyped:
        """What a board has done up to the end of an inference."""
        inside = self._inside + _instructions(result.marks)
        return Prototyped(
            *self.inference(board, device),
            result.instructions - inside,
            result,
            board.firmware,
            self.layout.launch,
            tuple(end - start for start, end in zip(*2 * [iter(self._moments)], strict=True)),
            device.rtl,
            tuple(self._steps),
        )

    def _submitted(self, *, operations_only: bool = False, is_first: bool = True) -> list[int]:
        """The words of an inference; those after the first leave out a preload."""
        words = submitted_words(self.program, operations_only=operations_only)
        preload = self.program.streams[0].words if self.program.preloads and not is_first else 0
        return [word for word in words if word >= preload]

    def _numbered(self, runs: list[Run]) -> list[Run]:
        """Single commands of the last inference by the words they are in the program's streams."""
        if self.options.submission is Submission.QUEUE:
            return runs
        words = submitted_words(self.program)[-len(runs) :]
        return [replace(run, first_word=word) for run, word in zip(runs, words, strict=True)]


def submitted_words(program: Program, *, operations_only: bool = False) -> list[int]:
    """The words that the firmware gives as commands when it submits register by register, in order."""
    names = ("CFG", "NOP", "WAIT", "HALT", *(("IRQ",) if operations_only else ()))
    skipped = [BY_MNEMONIC[name].opcode for name in names]
    opcodes = codec.decode_opcodes(program.commands)
    return [int(word) for word in np.flatnonzero(~np.isin(opcodes, skipped))]


def _spans(marks: Sequence[RegionMark], region: int) -> list[tuple[RegionMark, RegionMark]]:
    mine = [mark for mark in marks if mark.region_id == region]
    return list(zip(mine[::2], mine[1::2], strict=True))


def _instructions(marks: Sequence[RegionMark]) -> int:
    """Of the inferences that these marks enclose."""
    return sum(last.instructions - first.instructions for first, last in _spans(marks, MARK_INFERENCE))


def shipped_firmware() -> Path:
    """The ELF that comes with the package."""
    return Path(__file__).parents[2] / "firmware" / "prebuilt" / "firmware.elf"


@cache
def _read_once(path: Path) -> Firmware:
    return read_elf(path)


def _firmware(path: str | Path | None) -> Firmware:
    return _read_once(shipped_firmware()) if path is None else read_elf(path)
