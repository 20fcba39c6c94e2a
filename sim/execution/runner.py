"""Runs a program on the standalone simulator: the CPU's part is computed here, the DLA's by the machine."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field, replace
from functools import partial
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from dlasim.dataclass import dataclass
from dlasim.errors import InputError, RunError, counted, printable
from dlasim.isa.file_records import Role, StepKind
from dlasim.isa.host_op_rows import PLACE_CURSOR
from dlasim.isa.instructions import BY_MNEMONIC, OPTIONAL
from dlasim.isa.program import Program, Step, TensorDescriptor
from dlasim.isa.registers import BY_NAME, CURSORS, HOMES, REGISTER_BYTES, Region
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.configuration.machine_table import PARAMETERS
from dlasim.sim.execution.executor import Executor, Observer
from dlasim.sim.execution.machine import Dla, Run
from dlasim.sim.execution.repetition import Repetition
from dlasim.sim.host_time.host_estimate import DOORBELL_CYCLES, call_cycles
from dlasim.sim.programs.checks import first_fault
from dlasim.sim.programs.fault_text import mnemonic_of
from dlasim.sim.programs.stream import FaultAt
from dlasim.sim.programs.system_memory import SystemMemory, zeroed_bytes
from dlasim.sim.timing.duration import schedule_program
from dlasim.sim.timing.plan import plan_program
from dlasim.sim.timing.stream_timer import StreamTimer

# Instructions that not every machine has, the form that weights have for them, and what they do with it
_STORED_FORMS = {"OP_DMA_UNPACK": ("packed", "unpack"), "OP_DMA_DECODE": ("compressed", "decode")}
REGION_ALIGNMENT = 4096
MAX_MEMORY_BYTES = 1 << 32


@dataclass(frozen=True, slots=True)
class HostSpan:
    """A host call as it ran: its number, and its cycles."""

    call: int
    start: int
    end: int


@dataclass(slots=True)
class Inference:
    """One inference: outputs (none where only time was asked for), and what ran when, in lists that it shares
    with others that are alike."""

    outputs: list[NDArray[Any]] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)
    host: list[HostSpan] = field(default_factory=list)
    doorbells: list[tuple[int, int]] = field(default_factory=list)  # when an estimated CPU rang them
    total_cycles: int = 0
    wall_seconds: float = 0.0

    @property
    def cpu_spans(self) -> list[tuple[int, int]]:
        """First cycle and end of all that the CPU did."""
        return [*((span.start, span.end) for span in self.host), *self.doorbells]


def config_of(program: Program, base: DlaConfig | None = None) -> DlaConfig:
    """A configuration that the program was lowered for; everything else as in `base`."""
    need = program.requirement
    if need.input_lanes == 1 and need.pixels == 1:
        parallel = "output"
    elif need.output_lanes == 1 and need.pixels == 1:
        parallel = "input"
    else:
        parallel = need.grid_text
    return (base or DlaConfig()).replace(pes=need.pes, parallel=parallel, sram_bytes=need.sram_bytes)


def check_config(program: Program, config: DlaConfig) -> None:
    """Raise an error if the program was lowered for another machine, naming both."""
    need = program.requirement
    if config.fingerprint != need.fingerprint:
        raise InputError(
            f"{program.label} was lowered for {need.pes} PEs as {need.grid_text} with {need.sram_bytes} "
            f"bytes of SRAM, but the machine has {config.pes} PEs as {config.requirement().grid_text} with "
            f"{config.sram_bytes}; compile the model for this machine"
        )
    for mnemonic, (form, verb) in _STORED_FORMS.items():
        parameter, opcode = OPTIONAL[mnemonic], BY_MNEMONIC[mnemonic].opcode
        if not getattr(config, parameter) and program.features >> opcode & 1:
            raise InputError(
                f"{program.label} has {form} weights, which a machine with {parameter} 0 can't {verb}; give "
                f"{PARAMETERS[parameter].flag}, or compile the model for this machine"
            )


def check_host_calls(program: Program) -> None:
    """Reject a program with a host call that breaks the rules of its operator, as the firmware does."""
    if not program.host_calls:
        return
    from dlasim.isa.host_ops import BY_CODE
    from dlasim.isa.host_validation import refusal, view

    views = [view(tensor.type.name, tensor.shape) for tensor in program.tensors]
    for number, call in enumerate(program.host_calls):
        operator = BY_CODE[call.code]
        inputs, outputs = ([views[index] for index in indices] for indices in (call.inputs, call.outputs))
        reason = refusal(operator, call.attributes, inputs, outputs)
        if reason is not None:
            raise RunError(f"{program.label}: host call {number} ({operator.name}): {reason}")


def checked_inputs(
    program: Program, inputs: Sequence[NDArray[Any]], least: int | None = None
) -> list[tuple[TensorDescriptor, NDArray[Any]]]:
    """The program's inputs with their arrays, checked; `least` permits fewer arrays, for the first inputs."""
    expected = program.inputs
    if not (len(expected) if least is None else least) <= len(inputs) <= len(expected):
        most = "" if least is None or not expected else "at most "
        raise InputError(f"{program.label} takes {most}{counted(len(expected), 'input')} (got {len(inputs)})")
    pairs = list(zip(expected, inputs, strict=False))
    for described, array in pairs:
        _check_input(described, array)
    return pairs


def _check_input(described: TensorDescriptor, array: NDArray[Any]) -> None:
    expected = np.dtype(described.type.name)
    if array.shape != described.shape or array.dtype != expected:
        raise InputError(
            f"input {printable(described.name)}: expected {expected} {list(described.shape)}, "
            f"got {array.dtype} {list(array.shape)}"
        )


def fault_error(program: Program, fault: FaultAt) -> RunError:
    """The error for a program that faulted, with the word, its source line and its layer."""
    text = f"{program.label} faulted: {fault.code.name} at word {fault.position}"
    if fault.position < len(program.commands):
        layer = program.layer_of_words()[fault.position]
        place = program.lines.place(fault.position)
        text += f" ({place})" if place else ""
        text += f", {mnemonic_of(int(program.commands[fault.position]))}"
        text += f" in layer {printable(program.layers[layer].name)}" if layer >= 0 else ""
    return RunError(f"{text}: {fault.detail}")


class Simulation:
    """A program loaded into a machine with its system memory; runs inferences one after another."""

    def __init__(self, program: Program, config: DlaConfig, executor: Executor | None) -> None:
        """Without an executor nothing is computed: time only."""
        check_config(program, config)
        self.program, self.config = program, config
        self._computes = executor is not None
        if self._computes:
            check_host_calls(program)
        self._layout, size = _place_regions(program)
        self.memory: NDArray[np.uint8] = zeroed_bytes(size) if self._computes else np.empty(size, np.uint8)
        # Called with what a host call has written, and with the variables at the end of an inference
        self.host_observer: Callable[[int, NDArray[Any]], None] | None = None
        self._host_operations: dict[int, Callable[[], None]] = {}
        self._runs: list[Run] = []
        self._is_preloaded = False
        self._repetition: Repetition | None = None
        self.dla = Dla(config, SystemMemory(self.memory), executor, self._runs.append)
        self._load()
        self._views = [self.tensor(described) for described in program.tensors if self._computes]
        self._inputs = [self.tensor(described) for described in program.inputs if self._computes]
        self._expected = [(view.shape, view.dtype) for view in self._inputs]
        self._outputs, self._variables = self._numbers(Role.OUTPUT), self._numbers(Role.VARIABLE)
        self.reset_variables()

    def reset_variables(self) -> None:
        """Reset the tensors that persist from inference to inference."""
        for number in self._variables if self._computes else ():
            self._views[number][...] = self.program.tensors[number].initial_value

    def _numbers(self, role: Role) -> list[int]:
        return [number for number, tensor in enumerate(self.program.tensors) if tensor.role is role]

    @property
    def observer(self) -> Observer | None:
        """Called after each operation, if set."""
        return self.dla.observer

    @observer.setter
    def observer(self, observer: Observer | None) -> None:
        self.dla.observer = observer

    def run(self, inputs: Sequence[NDArray[Any]] = ()) -> Inference:
        """One inference; its cycles count from its own start."""
        began = time.perf_counter()
        if self._computes:
            self._load_inputs(inputs)
        result = self._repeat() or self._infer()
        if self._computes:
            result.outputs = [self._views[number].copy() for number in self._outputs]
            self._show(self._variables)
        result.wall_seconds = time.perf_counter() - began
        return result

    def _load_inputs(self, inputs: Sequence[NDArray[Any]]) -> None:
        if [(array.shape, array.dtype) for array in inputs] != self._expected:
            checked_inputs(self.program, inputs)  # says what is wrong
        for view, array in zip(self._inputs, inputs, strict=True):
            view[...] = array

    def _repeat(self) -> Inference | None:
        """The inference by what the last one has found out, where that applies."""
        kept = self._repetition
        if kept is None or not kept.applies(self.dla):
            return None
        for compute in kept.work:
            compute()
        known = kept.inference
        self.dla.skip(known.total_cycles, len(known.runs), kept.counters)
        return Inference([], known.runs, known.host, known.doorbells, known.total_cycles)

    def _infer(self) -> Inference:
        """The inference step by step."""
        self._repetition = None
        words = self.region(Region.COMMANDS)
        state = list(self.dla.file), words.tobytes()
        self._runs.clear()
        start = now = self.dla.now
        done = int(self._is_preloaded)  # of the streams
        self._write("QUEUE_READ", sum(stream.words for stream in self.program.streams[:done]))
        result = Inference()
        steps = self.program.steps[done:]
        for step in steps:
            now = self._step(step, now, result)
        now = max(now, self._wait(len(self.program.streams) - done, now))
        result.runs = [Run(r.start - start, r.first_word, r.plan, r.from_queue) for r in self._runs]
        result.host = [HostSpan(h.call, h.start - start, h.end - start) for h in result.host]
        result.doorbells = [(first - start, end - start) for first, end in result.doorbells]
        result.total_cycles = now - start
        self.dla.tick(now)
        preloads, self._is_preloaded = self.program.preloads and not done, self.program.preloads
        if not preloads and (self.dla.file, words.tobytes()) == state:
            counters = [sum(each) for each in zip(*(run.plan.counters for run in result.runs), strict=True)]
            work = list(self._work(steps, result.runs)) if self._computes else []
            self._repetition = Repetition(self.dla.writes, words, state[1], replace(result), work, counters)
        return result

    def _work(self, steps: Sequence[Step], runs: list[Run]) -> Iterator[Callable[[], None]]:
        """What computes the steps of an inference that has run."""
        following = iter(runs)
        for step in steps:
            is_stream = step.is_stream
            yield self.dla.computing(next(following)) if is_stream else partial(self._host, step.index)

    def tensor(self, described: TensorDescriptor) -> NDArray[Any]:
        """A tensor in system memory, as a view."""
        begin = self._layout[described.region] + described.offset
        raw = self.memory[begin : begin + described.size_bytes]
        return raw.view(np.dtype(described.type.name)).reshape(described.shape)

    def region(self, region: Region) -> NDArray[np.uint8]:
        """The bytes of a region."""
        return self.dla.region(region)

    def _load(self) -> None:
        sizes = self.program.region_bytes
        for region, base in self._layout.items():
            self._write(f"REGION{region.value}_BASE", base)
            self._write(f"REGION{region.value}_SIZE", sizes[region])
        self._write("QUEUE_SIZE", len(self.program.commands))
        if self._computes:
            self.region(Region.CONSTANTS)[:] = self.program.constants
        self.region(Region.COMMANDS)[:] = self.program.commands.view(np.uint8)

    def _write(self, register: str, value: int) -> None:
        self.dla.store(BY_NAME[register].address, REGISTER_BYTES, value)

    def _step(self, step: Step, now: int, result: Inference) -> int:
        if step.is_stream:
            stream = self.program.streams[step.index]
            if self.config.timing == "full" and self._has_host:
                result.doorbells.append((now, now + DOORBELL_CYCLES))
                now += DOORBELL_CYCLES
            self.dla.tick(now)
            self._write("DOORBELL", stream.first_word + stream.words)
            return now
        now = self._wait(max(step.after_streams - self._is_preloaded, 0), now)
        call = self.program.host_calls[step.index]
        end = now + call_cycles(self.program, call)
        result.host.append(HostSpan(step.index, now, end))
        if self._computes:
            self._host(step.index)
        return end

    @property
    def _has_host(self) -> bool:
        return bool(self.program.host_calls)

    def _wait(self, streams: int, now: int) -> int:
        """The cycle from which that many streams are complete."""
        while len(self._runs) < streams:
            due = self.dla.next_event()
            if due is None:
                self._fail()
            self.dla.tick(max(due, self.dla.now))
            if self.dla.has_faulted:
                self._fail()
        end = self._runs[streams - 1].end if streams else now
        return max(now, end)

    def _fail(self) -> NoReturn:
        assert self.dla.fault is not None, "the DLA stopped without a fault"
        raise fault_error(self.program, self.dla.fault)

    def _host(self, index: int) -> None:
        compute = self._host_operations.get(index) or self._prepare_host(index)
        compute()
        self._show(self.program.host_calls[index].outputs)

    def _show(self, numbers: Sequence[int]) -> None:
        """Let the observer see tensors."""
        if self.host_observer is not None:
            for number in numbers:
                self.host_observer(number, self._views[number])

    def _prepare_host(self, index: int) -> Callable[[], None]:
        from dlasim.sim.host import HostOperation, TensorSpec

        call = self.program.host_calls[index]
        inputs, outputs = (
            [self._views[number] for number in numbers] for numbers in (call.inputs, call.outputs)
        )
        described = [[TensorSpec(v.shape, v.dtype.name) for v in views] for views in (inputs, outputs)]
        operation = HostOperation(call.code, call.attributes, *described)
        compute = operation.bind(inputs, outputs)
        if call.code == PLACE_CURSOR:
            compute = partial(self._place_cursor, CURSORS[call.attributes[0]], compute, outputs[0])
        self._host_operations[index] = compute
        return compute

    def _place_cursor(self, cursor: Region, compute: Callable[[], None], place: NDArray[Any]) -> None:
        compute()
        self._write(f"REGION{cursor.value}_BASE", self._layout[cursor] + int(place.item()))


def _place_regions(program: Program) -> tuple[dict[Region, int], int]:
    """Where regions begin in system memory, and how large that must be."""
    layout, position, sizes = {}, 0, program.region_bytes
    for region in HOMES:
        layout[region] = position
        position += -(-sizes[region] // REGION_ALIGNMENT) * REGION_ALIGNMENT
    layout |= {cursor: layout[cursor.home] for cursor in CURSORS if cursor in sizes}
    if position > MAX_MEMORY_BYTES:
        raise InputError(
            f"{program.label} needs {position} bytes of system memory, but the limit is {MAX_MEMORY_BYTES}"
        )
    return layout, position


def first_and_steady(program: Program, config: DlaConfig) -> tuple[Inference, Inference]:
    """The first inference, which may load what stays in SRAM, and how later ones are; nothing is computed."""
    simulation = Simulation(program, config, None)
    first = simulation.run()
    return first, simulation.run() if program.preloads else first


def time_compiled(program: Program, config: DlaConfig, timer: StreamTimer) -> Inference:
    """A later inference alone, as `first_and_steady` finds it, of a program that the compiler has just made
    for a machine: its words are legal, and its streams write each register that they use. The timer is for a
    machine that differs in SRAM, clock or technology at most."""
    _place_regions(program)
    plans = plan_program(program, timer)
    regions = {number.value: size for number, size in program.region_bytes.items()}
    streams = [step.index for step in program.steps if step.kind is StepKind.STREAM]
    for number, plan in zip(streams, plans, strict=True):
        fault = first_fault(plan.stream, config.sram_bytes, regions, config.int16 == 1, config.mac_sums == 1)
        if fault is not None:
            first = program.streams[number].first_word
            raise fault_error(program, replace(fault, position=first + fault.position))
    schedule = schedule_program(program, config, [plan.timeline.total for plan in plans])
    calls = [step.index for step in program.steps if not step.is_stream]
    return Inference(
        runs=[
            Run(start, program.streams[number].first_word, plan, True)
            for start, number, plan in zip(schedule.streams, streams, plans, strict=True)
        ],
        host=[HostSpan(number, *span) for number, span in zip(calls, schedule.calls, strict=True)],
        doorbells=schedule.doorbells,
        total_cycles=schedule.cycles,
    )
