"""Steps through a program word by word: registers, SRAM and regions at every point, and stops where asked.

It uses the machine's own parts (plans, `execute_operation`, the host's kernels), so results and cycles are
the same. It walks the program's steps in order, each stream to its end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dlasim.errors import InputError, printable, suggestion
from dlasim.isa import codec, registers
from dlasim.isa.assembly.word_text import word_texts
from dlasim.isa.file_records import Role
from dlasim.isa.host_op_rows import PLACE_CURSOR
from dlasim.isa.instructions import BY_MNEMONIC
from dlasim.isa.program import Program, Step, TensorDescriptor
from dlasim.isa.registers import CURSORS, HOMES, Region
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.execution.breakpoints import (
    Breakpoint,
    DebuggerStop,
    Position,
    StopPoints,
    StopReason,
    Watchpoint,
)
from dlasim.sim.execution.runner import check_config, checked_inputs
from dlasim.sim.programs.operation import reset_file
from dlasim.sim.programs.stream import FaultAt
from dlasim.sim.readable_engine import execute_operation
from dlasim.sim.timing.plan import Plan, plan_stream

Array = NDArray[np.uint8]
_FIRST = registers.OPERANDS[0].index


class Debugger:
    """A loaded program, stopped before its first step."""

    def __init__(self, program: Program, config: DlaConfig, inputs: Sequence[NDArray[Any]] = ()) -> None:
        """`inputs` are the model's, of its types; those left out are zero."""
        check_config(program, config)
        self.program, self.config = program, config
        self.sram: Array = np.zeros(config.sram_bytes, np.uint8)
        self.regions = _regions(program)
        self.file = reset_file()
        self.fault: FaultAt | None = None
        self._stops = StopPoints()
        self._layers = program.layer_of_words()
        self._step = 0
        self._plan: Plan | None = None
        self._first = self._word = 0  # of the current stream, and the next
        self._done_cycles = 0
        for described, array in checked_inputs(program, inputs, least=0):
            self._view(described)[...] = array
        self._enter()

    # State

    @property
    def is_finished(self) -> bool:
        """Whether the program has ended, by its last step or by a fault."""
        return self.fault is not None or self._step == len(self.program.steps)

    @property
    def position(self) -> Position | None:
        """What comes next; None at the end. At a fault it is the word that faulted."""
        if self._step == len(self.program.steps):
            return None
        step = self.program.steps[self._step]
        if not step.is_stream:
            layer = self._layer_name(self.program.host_calls[step.index].layer)
            return Position(self._step, None, self._host_text(step), layer, 0, self._done_cycles)
        cycle = self._stream_plan.reached(self.config, self._word - self._first)
        exists = self._word < len(self.program.commands)
        text = word_texts(self.program.commands[self._word : self._word + 1], {})[0] if exists else ""
        layer = self._layer_name(self._layers[self._word]) if exists else None
        return Position(self._step, self._word, text, layer, cycle, self._done_cycles + cycle)

    def register(self, name: str) -> int | tuple[int, int]:
        """An operand register: its number, or both halves of a packed one."""
        register = registers.BY_NAME.get(name)
        if register is None or not register.is_operand:
            raise InputError(f"{name} is not an operand register; `dlasim isa registers` lists them")
        values = [field.extract(self.file[register.index - _FIRST]) for field in register.fields]
        return values[0] if len(values) == 1 else (values[0], values[1])

    def region(self, region: Region) -> Array:
        """The bytes of a region of system memory."""
        return self.regions[region]

    def tensor(self, name: str) -> NDArray[Any]:
        """A tensor in system memory by name, as a view."""
        found = next((tensor for tensor in self.program.tensors if tensor.name == name), None)
        if found is None:
            known = ", ".join(printable(tensor.name) for tensor in self.program.tensors)
            raise InputError(f"unknown tensor {name}; the tensors are {known}")
        return self._view(found)

    # Breakpoints and watchpoints

    def break_at(self, word: int | None = None, mnemonic: str | None = None, layer: str | None = None) -> int:
        """Set a breakpoint before a word, a mnemonic or a layer's words, or where all that is given matches.

        Returns its number.
        """
        if mnemonic is not None and mnemonic not in BY_MNEMONIC:
            raise InputError(f"unknown instruction {mnemonic}{suggestion(mnemonic, BY_MNEMONIC)}")
        if layer is not None and layer not in {known.name for known in self.program.layers}:
            known = ", ".join(printable(known.name) for known in self.program.layers)
            raise InputError(f"unknown layer {layer}; the layers are {known}")
        if word is not None and not 0 <= word < len(self.program.commands):
            raise InputError(f"word must be from 0 to {len(self.program.commands) - 1} (got {word})")
        return self._stops.add(Breakpoint(word, mnemonic, layer))

    def watch(self, address: int, size_bytes: int = 1) -> int:
        """A watchpoint on a range of SRAM; its number."""
        if address < 0 or size_bytes < 1 or address + size_bytes > len(self.sram):
            raise InputError(
                f"{size_bytes} bytes from {address:#x} are not all in the SRAM ({len(self.sram)} bytes)"
            )
        return self._stops.add(Watchpoint(address, size_bytes))

    def remove(self, number: int) -> None:
        """Remove a breakpoint or watchpoint."""
        self._stops.remove(number)

    # Execution

    def step(self, count: int = 1) -> DebuggerStop:
        """Execute the next words or host calls; breakpoints do not hold up a step, watchpoints do."""
        for _ in range(count):
            stop = self._execute()
            if stop.reason is not StopReason.STEP:
                return stop
        return DebuggerStop(StopReason.STEP)

    def resume(self) -> DebuggerStop:
        """Execute up to the next breakpoint, watchpoint or fault, or to the end."""
        while (stop := self._execute()).reason is StopReason.STEP:
            here = self.position if self._stops.has_breakpoints else None
            number = self._stops.breakpoint_at(here) if here else None
            if number is not None:
                return DebuggerStop(StopReason.BREAKPOINT, number)
        return stop

    def run(self) -> list[NDArray[Any]]:
        """Execute to the end, whatever breakpoints say; the model's outputs."""
        while self._execute().reason not in (StopReason.END, StopReason.FAULT):
            pass
        return [self._view(tensor).copy() for tensor in self.program.outputs]

    # One word

    def _execute(self) -> DebuggerStop:
        if self.is_finished:
            return DebuggerStop(StopReason.FAULT if self.fault else StopReason.END)
        watched = self._stops.watched(self.sram)
        step = self.program.steps[self._step]
        if not step.is_stream:
            self._host(step.index)
            self._leave()
        elif not self._execute_word():
            return DebuggerStop(StopReason.FAULT)
        for number, now in self._stops.watched(self.sram).items():
            if now != watched[number]:
                return DebuggerStop(StopReason.WATCHPOINT, number)
        return DebuggerStop(StopReason.END if self.is_finished else StopReason.STEP)

    def _execute_word(self) -> bool:
        """False where the word faults: nothing happens then, and nothing more will."""
        plan, position = self._stream_plan, self._word - self._first
        if plan.fault is not None and plan.fault.position == position:
            self.fault = replace(plan.fault, position=self._word)
            return False
        decoded = codec.decode(int(self.program.commands[self._word]))
        assert decoded.instruction is not None, "the plan would have shown a fault"
        self._word += 1
        if decoded.instruction.is_operation:
            number = int(np.searchsorted(plan.stream.positions, position))
            execute_operation(plan.stream.operation(number), self.sram, self.regions)
        elif decoded.instruction.mnemonic == "CFG":
            self.file[decoded.values["register"] - _FIRST] = decoded.values["value"]
        elif decoded.instruction.mnemonic == "HALT":
            assert tuple(self.file) == plan.final_file, "the plan and the words disagree on registers"
            self._done_cycles += plan.timeline.total
            if self._word < self._end:
                self._plan_from(self._word)
            else:
                self._leave()
        return True

    # Steps of the program

    @property
    def _end(self) -> int:
        """One past the last word of the current stream. After an earlier HALT the next word starts anew."""
        stream = self.program.streams[self.program.steps[self._step].index]
        return stream.first_word + stream.words

    @property
    def _stream_plan(self) -> Plan:
        assert self._plan is not None, "the current step is a stream"
        return self._plan

    def _enter(self) -> None:
        """Plan the stream that comes next, if one does."""
        self._plan = None
        if self._step == len(self.program.steps):
            return
        step = self.program.steps[self._step]
        if step.is_stream:
            self._plan_from(self.program.streams[step.index].first_word)

    def _plan_from(self, word: int) -> None:
        words = self.program.commands[word : self._end]
        sizes = {number: len(region) for number, region in enumerate(self.regions)}
        self._plan = plan_stream(self.config, words, self.file, sizes)
        self._first = self._word = word

    def _leave(self) -> None:
        self._step += 1
        self._enter()

    def _host(self, number: int) -> None:
        from dlasim.sim.host import TensorSpec, run_host_op

        call, tensors = self.program.host_calls[number], self.program.tensors
        inputs = [self._view(tensors[n]) for n in call.inputs]
        outputs = [tensors[n] for n in call.outputs]
        specs = [TensorSpec(described.shape, described.type.name) for described in outputs]
        results = run_host_op(call.code, call.attributes, inputs, specs)
        for described, array in zip(outputs, results, strict=True):
            self._view(described)[...] = array
        if call.code == PLACE_CURSOR:
            cursor, place = CURSORS[call.attributes[0]], int(results[0].item())
            size = len(self.regions[cursor])
            self.regions[cursor] = self.regions[cursor.home][place : place + size]

    # Helpers

    def _view(self, described: TensorDescriptor) -> NDArray[Any]:
        raw = self.regions[described.region][described.offset : described.offset + described.size_bytes]
        return raw.view(np.dtype(described.type.name)).reshape(described.shape)

    def _layer_name(self, number: int) -> str | None:
        return self.program.layers[number].name if 0 <= number < len(self.program.layers) else None

    def _host_text(self, step: Step) -> str:
        from dlasim.isa import host_ops

        operator = host_ops.BY_CODE.get(self.program.host_calls[step.index].code)
        return f"host {operator.name if operator else 'operator that is unknown'}"


def _regions(program: Program) -> list[Array]:
    """System memory at the start of the program, an array for each region; that of a cursor is a part of the
    arena's."""
    sizes = program.region_bytes
    arrays = {region: np.zeros(sizes[region], np.uint8) for region in HOMES}
    arrays |= {cursor: arrays[cursor.home][: sizes.get(cursor, 0)] for cursor in CURSORS}
    arrays[Region.CONSTANTS][:] = program.constants
    arrays[Region.COMMANDS][:] = program.commands.view(np.uint8)
    for tensor in program.tensors:
        if tensor.role is Role.VARIABLE:
            raw = arrays[tensor.region][tensor.offset : tensor.offset + tensor.size_bytes]
            raw.view(np.dtype(tensor.type.name))[...] = tensor.initial_value
    return [arrays[region] for region in Region]
