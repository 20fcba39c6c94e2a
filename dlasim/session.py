"""Inferences one after another, with what lasts between them: decoders with caches, streaming models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack, cast

import numpy as np
from numpy.typing import NDArray

from dlasim.arguments import checked
from dlasim.choices import Choices
from dlasim.dataclass import dataclass
from dlasim.errors import InputError, printable, unknown
from dlasim.inputs import prepare_inputs
from dlasim.isa.file_records import Role
from dlasim.loading import Machine, load
from dlasim.result import RunResult, complete
from dlasim.sim.execution.executor import make_executor
from dlasim.sim.execution.runner import Inference, Simulation

if TYPE_CHECKING:
    from dlasim.compiler_shim.files.input_file import InputFile
    from dlasim.inputs import Inputs
    from dlasim.isa.program import TensorDescriptor
    from dlasim.sim.reports.report_types import Report


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
    of those that are not carried.

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
        **choices: Unpack[Choices],
    ) -> None:
        """Compile the model, or read the program, and load it into the machine."""
        from dlasim.api import refuse_races

        loaded = load(file, config, choices)
        self._loaded, self.program, self.machine = loaded, loaded.program, loaded.config
        self.warnings = refuse_races(self.program) if check_races else []
        self.steps = self.cycles = 0
        self._normalize = normalize
        self._carry = _carried(self.program.outputs, self.program.inputs, carry or {})
        self._simulation = Simulation(self.program, self.machine, make_executor(engine))
        self._held: dict[str, NDArray[Any]] = {}
        self._ends: tuple[Inference, Inference] | None = None  # the first step and the last
        self.reset()

    def step(self, inputs: Inputs | None = None) -> SessionStep:
        """The next inference."""
        done = self._simulation.run(self._arrays(inputs))
        self._held.update((name, done.outputs[number]) for number, name in self._carry)
        self._ends = done if self._ends is None else self._ends[0], done
        self.steps += 1
        self.cycles += done.total_cycles
        return SessionStep(done.outputs, done.total_cycles, self._milliseconds(done.total_cycles))

    @checked()
    def run(self, inputs: Mapping[str, NDArray[Any]]) -> list[NDArray[Any]]:
        """As many steps as the arrays have along their first dimension; returns the outputs of all steps,
        one after another along theirs."""
        counts = {array.shape[:1] for array in inputs.values()}
        if len(counts) != 1 or counts <= {(), (0,)}:
            raise InputError(
                "the inputs of the steps must be arrays with as many steps along their first dimension (got "
                f"{', '.join(f'{name} {list(array.shape)}' for name, array in inputs.items()) or 'none'})"
            )
        ((count,),) = counts
        rows = [
            self.step({name: array[number] for name, array in inputs.items()}).outputs
            for number in range(count)
        ]
        return [np.stack(arrays) for arrays in zip(*rows, strict=True)]

    def reset(self) -> None:
        """Back to the first step: variables have their first values, carried inputs are 0."""
        self._simulation.reset_variables()
        carried = {name for _, name in self._carry}
        self._held = {
            tensor.name: np.full(tensor.shape, tensor.zero_point, tensor.type.name)
            for tensor in self.program.inputs
            if tensor.name in carried
        }
        self.steps = self.cycles = 0
        self._ends = None

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
        from dlasim.sim.reports.figures import energy_digits
        from dlasim.sim.reports.measured import Measured

        if self._ends is None:
            return 0.0
        ends = (Measured(self.program, self.machine, inference, {}) for inference in self._ends)
        first, later = (energy_digits(measured.energy["total"]) for measured in ends)
        return first + (self.steps - 1) * later

    @property
    def variables(self) -> dict[str, NDArray[Any]]:
        """What lasts from step to step, by name: copies of variables and carried inputs as they are now."""
        described = [tensor for tensor in self.program.tensors if tensor.role is Role.VARIABLE]
        found = {tensor.name: self._simulation.tensor(tensor).copy() for tensor in described}
        return found | {name: array.copy() for name, array in self._held.items()}

    @property
    def result(self) -> RunResult:
        """The last step as `dlasim.run` returns it: its report, layers, charts and pages."""
        from dlasim.sim.reports.report import report

        if self._ends is None:
            raise InputError("a session has a result after its first step")
        last = self._ends[1]
        seconds = {**self._loaded.seconds, "simulate": last.wall_seconds}
        figures = cast("Report", report(self.program, self.machine, last, seconds))
        return complete(RunResult(last.outputs, figures, last, self._loaded), self.warnings)

    @property
    def only_input(self) -> str:
        """The name of the one input that is not carried."""
        names = [tensor.name for tensor in self.program.inputs if tensor.name not in self._held]
        if len(names) != 1:
            raise InputError(
                f"the model takes {len(names)} inputs in each step: name them, as arrays of a .npz file "
                f"({', '.join(map(printable, names))})"
            )
        return names[0]

    def _arrays(self, inputs: Inputs | None) -> list[NDArray[Any]]:
        named = set(inputs) if isinstance(inputs, Mapping) else set()
        held = {name: array for name, array in self._held.items() if name not in named}
        expected = [tensor for tensor in self.program.inputs if tensor.name not in held]
        given = iter(prepare_inputs(expected, inputs, self.steps, self._normalize))
        return [held[t.name] if t.name in held else next(given) for t in self.program.inputs]

    def _milliseconds(self, cycles: int) -> float:
        return cycles / self.machine.clock_mhz / 1000

    def __repr__(self) -> str:
        return f"<Session of {printable(self.program.name)}: {self.steps} steps, {self.cycles:,} cycles>"


def _carried(
    outputs: Sequence[TensorDescriptor],
    inputs: Sequence[TensorDescriptor],
    carry: Mapping[str, str],
) -> list[tuple[int, str]]:
    """The numbers of outputs with the names of the inputs that they become, checked."""
    numbers = {tensor.name: number for number, tensor in enumerate(outputs)}
    targets = {tensor.name: tensor for tensor in inputs}
    found = []
    for source, target in carry.items():
        if source not in numbers:
            raise InputError(unknown("output", source, list(numbers)))
        if target not in targets:
            raise InputError(unknown("input", target, list(targets)))
        one, other = outputs[numbers[source]], targets[target]
        if _meaning(one) != _meaning(other):
            raise InputError(
                f"output {printable(source)} cannot become input {printable(target)}: one is "
                f"{_text(one)}, the other {_text(other)}"
            )
        found.append((numbers[source], target))
    return found


def _meaning(tensor: TensorDescriptor) -> tuple[Any, ...]:
    return tensor.type, tensor.shape, tensor.scale, tensor.zero_point


def _text(tensor: TensorDescriptor) -> str:
    scale = f" of scale {tensor.scale:g} and zero point {tensor.zero_point}" if tensor.scale else ""
    return f"{tensor.type.name} {list(tensor.shape)}{scale}"
