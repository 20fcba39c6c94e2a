"""Inferences one after another, with what lasts between them: decoders with caches, streaming models."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack, cast

import numpy as np
from numpy.typing import NDArray

from dlasim.arguments import checked
from dlasim.dataclass import dataclass
from dlasim.errors import InputError, printable, unknown
from dlasim.isa.file_records import Role
from dlasim.loading import Machine, load
from dlasim.pace import Pace, pace
from dlasim.result import RunResult, complete
from dlasim.sim.execution.executor import Executor, make_executor
from dlasim.sim.execution.runner import Inference, Simulation
from dlasim.step_inputs import StepInputs, step_rows

if TYPE_CHECKING:
    from dlasim.choices import Choices, HostChoices
    from dlasim.compiler_shim.files.input_file import InputFile
    from dlasim.inputs import Inputs
    from dlasim.isa.program import TensorDescriptor
    from dlasim.sim.reports.report_types import Report
    from dlasim.vp.system.stepped_board import SteppedBoard


@dataclass(frozen=True, slots=True)
class SessionStep:
    """One step of a session: its outputs in the model's types and order, and its time."""

    outputs: list[NDArray[Any]]
    cycles: int
    milliseconds: float


class Session:
    """A model or program on a machine, step by step, as a decoder makes its tokens.

    The model's variables last from step to step. `carry` maps outputs to the inputs that they become in the
    next step, such as caches that the model takes and returns; the application hands over the buffer, which
    takes no time. In the first step such an input is 0, unless it is given. Inputs are as in `dlasim.run`,
    of those that are not carried. With `host="riscv"` the steps are made on one board, which stands still in
    between.

    >>> import dlasim, numpy
    >>> session = dlasim.Session("mnist", parallel="8x8")
    >>> steps = [session.step(numpy.zeros((28, 28))) for _ in range(3)]
    >>> session.steps, session.cycles == sum(step.cycles for step in steps)
    (3, True)
    """

    @checked("file", "config")  # which have messages of their own
    def __init__(
        self,
        file: str | Path | InputFile,
        config: Machine | None = None,
        *,
        carry: Mapping[str, str] | None = None,
        normalize: str = "auto",
        engine: str = "auto",
        check_races: bool = True,
        host: str = "none",
        host_options: HostChoices | None = None,
        **choices: Unpack[Choices],
    ) -> None:
        """Compile the model, or read the program, and load it into the machine."""
        from dlasim.api import refuse_races

        loaded = load(file, config, choices)
        self._loaded, self.program, self.machine = loaded, loaded.program, loaded.config
        self.warnings = refuse_races(self.program) if check_races else []
        self.steps = self.cycles = 0
        self._inputs = StepInputs(self.program, carry, normalize)
        self._ends: tuple[Inference, Inference] | None = None  # the first step and the last
        self._simulation = self._simulator(make_executor(engine), host, dict(host_options or {}))

    def _simulator(self, executor: Executor, host: str, options: dict[str, Any]) -> Simulation | SteppedBoard:
        if host == "none" and self._loaded.firmware is None:
            return Simulation(self.program, self.machine, executor)
        from dlasim import on_board
        from dlasim.vp.system.stepped_board import SteppedBoard

        on_board.check_host("riscv" if host == "none" else host)
        chosen = on_board.host_options(**options)
        return SteppedBoard(self.program, self.machine, executor, chosen, self._loaded.firmware)

    def step(self, inputs: Inputs | None = None) -> SessionStep:
        """The next inference."""
        done = self._simulation.run(self._inputs.arrays(inputs, self.steps))
        self._inputs.take(done.outputs)
        self._ends = done if self._ends is None else self._ends[0], done
        self.steps += 1
        self.cycles += done.total_cycles
        return SessionStep(done.outputs, done.total_cycles, self._milliseconds(done.total_cycles))

    @checked()
    def run(self, inputs: Mapping[str, NDArray[Any]]) -> list[NDArray[Any]]:
        """As many steps as the arrays have along their first dimension; returns the outputs of all steps,
        one after another along theirs."""
        rows = [self.step(row).outputs for row in step_rows(inputs)]
        return [np.stack(arrays) for arrays in zip(*rows, strict=True)]

    def reset(self) -> None:
        """Back to the first step: variables have their first values, carried inputs are 0."""
        self._simulation.reset_variables()
        self._inputs.reset()
        self.steps = self.cycles = 0
        self._ends = None

    @checked()
    def restore(self, variables: Mapping[str, NDArray[Any]]) -> None:
        """Go on with what lasts from step to step, as `variables` of a session gives it: of this one earlier,
        or of one that has the same caches, and took a prompt, many tokens at once."""
        if not isinstance(self._simulation, Simulation):
            raise InputError(
                "the firmware keeps the variables of a board; use a session without --host riscv"
            )
        here = self.variables
        for name, array in variables.items():
            if name not in here:
                raise InputError(unknown("variable", name, list(here)))
            expected = here[name]
            if (array.dtype, array.shape) != (expected.dtype, expected.shape):
                raise InputError(
                    f"variable {printable(name)}: expected {expected.dtype} {list(expected.shape)}, got "
                    f"{array.dtype} {list(array.shape)}"
                )
        for tensor in self._described:
            if tensor.name in variables:
                self._simulation.tensor(tensor)[...] = variables[tensor.name]
        self._inputs.held |= {name: variables[name].copy() for name in self._inputs.held if name in variables}

    @property
    def milliseconds(self) -> float:
        """The time of all steps so far, at the machine's clock."""
        return self._milliseconds(self.cycles)

    @property
    def steps_per_second(self) -> float:
        """So many steps the machine makes in a second, at the pace so far: tokens, if a step makes one."""
        return 1000 * self.steps / self.milliseconds if self.cycles else 0.0

    @property
    def energy_nj(self) -> float:
        """The energy of all steps so far. No step's depends on data, but the first may load weights that stay
        in SRAM."""
        return self.pace.energy_nj

    @property
    def pace(self) -> Pace:
        """Count, cycles, time and energy of all steps so far."""
        if self._ends is None:
            return Pace(0, 0, 0.0, self.machine.clock_mhz)
        return pace(self.program, self.machine, self._ends, self.steps, self.cycles)

    @property
    def variables(self) -> dict[str, NDArray[Any]]:
        """What lasts from step to step, by name: copies of variables and carried inputs as they are now."""
        found = {tensor.name: self._simulation.tensor(tensor).copy() for tensor in self._described}
        return found | {name: array.copy() for name, array in self._inputs.held.items()}

    @property
    def _described(self) -> list[TensorDescriptor]:
        return [tensor for tensor in self.program.tensors if tensor.role is Role.VARIABLE]

    @property
    def result(self) -> RunResult:
        """The last step as `dlasim.run` returns it: its report, layers, charts and pages."""
        if self._ends is None:
            raise InputError("a session has a result after its first step")
        last = self._ends[1]
        seconds = {**self._loaded.seconds, "simulate": last.wall_seconds}
        if isinstance(self._simulation, Simulation):
            from dlasim.sim.reports.report import report

            figures, board = report(self.program, self.machine, last, seconds), None
        else:
            from dlasim.vp.system import host_report

            board = self._simulation.figures()
            figures = host_report.report(self.program, self.machine, board, self._simulation.options, seconds)
        result = RunResult(last.outputs, cast("Report", figures), last, self._loaded, board)
        return complete(result, self.warnings)

    @property
    def only_input(self) -> str:
        """The name of the one input that is not carried."""
        return self._inputs.only_input

    def _milliseconds(self, cycles: int) -> float:
        return cycles / self.machine.clock_mhz / 1000

    def __repr__(self) -> str:
        return f"<Session of {printable(self.program.name)}: {self.steps} steps, {self.cycles:,} cycles>"
