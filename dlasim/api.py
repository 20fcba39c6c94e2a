"""The verbs of the command line as functions: two lines from a model to its cycles.

>>> import dlasim
>>> dlasim.run("model.tflite", pes=128, fusion="none").report["cycles"]["total"]  # doctest: +SKIP

Keywords are parameters of the machine (DlaConfig) and of compiling (CompileOptions), whichever has the name;
without a configuration the rest is that of the default machine.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dlasim.compiler_shim.options import CompileOptions
from dlasim.errors import InputError, RunError
from dlasim.isa import container
from dlasim.isa.program import Program
from dlasim.sim.config import DlaConfig
from dlasim.sim.runner import Inference, Simulation, check_config, config_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dlasim.compiler_shim.lowering.lower import Lowered
    from dlasim.compiler_shim.partition import Partitioned
    from dlasim.inputs import Given
    from dlasim.sim.executor import Executor
    from dlasim.sweeps.result import SweepResult
    from dlasim.verification import Verification
    from dlasim.vp.host import Prototyped

ENGINES = ("auto", "fast", "reference")
_HEAD_BYTES = 64


@dataclass(slots=True)
class Loaded:
    """A file made ready to run: its program, the machine, and what the way there took."""

    program: Program
    config: DlaConfig
    artifact_bytes: int
    seconds: dict[str, float] = field(default_factory=dict)


@dataclass(slots=True)
class RunResult:
    """What a run gave: outputs in the model's types, the report, and the books behind it."""

    outputs: list[NDArray[Any]]
    report: dict[str, Any]
    inference: Inference
    loaded: Loaded
    prototyped: Prototyped | None = None  # what the board did, where there was one


def compile(model: str | Path, config: DlaConfig | None = None, **choices: Any) -> Lowered:
    """Lower a model for a machine."""
    from dlasim.compiler_shim.compile import lower_for

    machine, options = _split(choices)
    network = load_network(model)
    return lower_for(network, (config or DlaConfig()).replace(**machine), CompileOptions(**options))


def verify(
    model: str | Path,
    config: DlaConfig | None = None,
    *,
    runs: int = 1,
    seed: int = 0,
    engine: str = "auto",
    host: str = "none",
    host_options: dict[str, Any] | None = None,
    **choices: Any,
) -> Verification:
    """Compare every tensor of a model with TensorFlow's reference; a program with races is refused."""
    from dlasim.verification import verify as check

    lowered = compile(model, config, **choices)
    refuse_races(lowered.program)
    chosen = config_of(lowered.program, config)
    return check(model, lowered, chosen, runs, seed, engine, host=host, host_options=host_options)


def _split(choices: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The choices of the machine, and those of compiling."""
    names = {field.name for field in fields(CompileOptions)}
    machine = {name: value for name, value in choices.items() if name not in names}
    return machine, {name: value for name, value in choices.items() if name in names}


def run(
    file: str | Path,
    config: DlaConfig | None = None,
    *,
    inputs: Sequence[Given] | None = None,
    timing_only: bool = False,
    engine: str = "auto",
    repeat: int = 1,
    check_races: bool = True,
    host: str = "none",
    host_options: dict[str, Any] | None = None,
    **choices: Any,
) -> RunResult:
    """Run a program or a model; the result is that of the last inference.

    On the standalone simulator, or with `host="riscv"` on the virtual prototype, of which `host_options`
    are `cpu`, `completion` (interrupt, polling), `submission` (queue, registers), `max_instructions`,
    `log_functions` and `firmware`.
    """
    from dlasim.sim.report import report

    loaded = load(file, config, choices, with_constants=not timing_only)
    warnings = refuse_races(loaded.program) if check_races else []
    began = time.perf_counter()
    executor = None if timing_only else make_executor(engine)
    arrays: list[NDArray[Any]] = []
    if not timing_only:
        from dlasim.inputs import prepare_inputs

        arrays = prepare_inputs(loaded.program.inputs, inputs)
    if is_elf(file):
        host, host_options = "riscv", {**(host_options or {}), "firmware": file}
    if host != "none":
        loaded.seconds["load"] += time.perf_counter() - began
        return _run_on_board(loaded, executor, arrays, warnings, host, host_options or {}, repeat)
    simulation = Simulation(loaded.program, loaded.config, executor)
    loaded.seconds["load"] += time.perf_counter() - began
    inferences = [simulation.run(arrays) for _ in range(max(repeat, 1))]
    seconds = {**loaded.seconds, "simulate": inferences[0].wall_seconds}
    if repeat > 1:
        seconds["steady"] = min(inference.wall_seconds for inference in inferences[1:])
    last = inferences[-1]
    figures = report(loaded.program, loaded.config, last, seconds, loaded.artifact_bytes)
    figures["warnings"] = warnings
    return RunResult(last.outputs, figures, last, loaded)


def _run_on_board(
    loaded: Loaded,
    executor: Executor | None,
    arrays: list[NDArray[Any]],
    warnings: list[str],
    host: str,
    host_options: dict[str, Any],
    repeat: int,
) -> RunResult:
    from dlasim import on_board

    on_board.check_host(host)
    chosen = on_board.host_options(inferences=max(repeat, 1), **host_options)
    done, figures = on_board.run_loaded(loaded, executor, arrays, chosen)
    figures["warnings"] = warnings
    return RunResult(done.inference.outputs, figures, done.inference, loaded, done)


def explain(model: str | Path, config: DlaConfig | None = None, **choices: Any) -> list[dict[str, Any]]:
    """For each layer where it runs and why, its tiling, and what it moves and costs."""
    from dlasim.sim.report import report

    lowered = compile(model, config, **choices)
    chosen = config_of(lowered.program, (config or DlaConfig()).replace(**_split(choices)[0]))
    inference = Simulation(lowered.program, chosen, None).run()
    figures = report(lowered.program, chosen, inference)["layers"]
    cuts = {}
    for step, tiling in lowered.tilings.items():
        cuts[lowered.network.nodes[step].layer] = tiling.cut.text
    return [
        {
            "name": layer.name,
            "operator": layer.operator,
            "unit": layer.target,
            "why": layer.reason,
            "tile": cuts.get(number, ""),
            "tiles": row["tiles"],
            "read_bytes": row["dma_bytes"]["read"],
            "written_bytes": row["dma_bytes"]["write"],
            "cycles": row["cycles"],
            "macs": row["macs"],
            "utilization": row["utilization"],
        }
        for number, (layer, row) in enumerate(zip(lowered.network.layers, figures, strict=True))
    ]


def sweep(
    *targets: str | Path,
    out: str | Path | None = None,
    jobs: int | None = None,
    scheduler: str | None = None,
    resume: bool = True,
    cache: str | Path | None = None,
    layers: bool = False,
    where: Sequence[str] = (),
    **axes: Any,
) -> SweepResult:
    """Models, or a study, on many machines; keywords are parameters with their values.

    >>> dlasim.sweep("mobilenet_v1", pes=[64, 128], sram="512KiB..4MiB").frame()  # doctest: +SKIP

    Without `out` the table lives as long as the result.
    """
    from tempfile import TemporaryDirectory

    from dlasim.sweeps.build import build
    from dlasim.sweeps.sweep import Settings, run_study

    keep = None if out is not None else TemporaryDirectory(prefix="dlasim-sweep-")
    folder = Path(keep.name if keep is not None else str(out))
    store = Path(cache) if cache is not None else None
    settings = Settings(folder, jobs, scheduler, resume, store, visible=False)
    outcome = run_study(build(targets, axes, where, layers), settings)
    if outcome.first_failure:
        raise RunError(f"{outcome.statuses['failed']} points failed; the first: {outcome.first_failure}")
    outcome.result.keep(keep)
    return outcome.result


def load(
    file: str | Path, config: DlaConfig | None, choices: dict[str, Any], with_constants: bool = True
) -> Loaded:
    """Whatever the file is, a program for the machine: programs are read, models lowered on the fly."""
    began = time.perf_counter()
    machine, options = _split(choices)
    if container.is_program(_head(file)) or is_elf(file):
        return _load_program(file, config, machine, options, began)
    from dlasim.compiler_shim.compile import lower_for

    chosen = (config or DlaConfig()).replace(**machine)
    wanted = CompileOptions(**options)
    network = load_network(file)
    read = time.perf_counter()
    program = lower_for(network, chosen, wanted, with_constants).program
    seconds = {"load": read - began, "lower": time.perf_counter() - read}
    size = len(program.commands) * 8 + len(program.constants)
    return Loaded(program, chosen, size, seconds)


def _load_program(
    file: str | Path, config: DlaConfig | None, machine: dict[str, Any], options: dict[str, Any], began: float
) -> Loaded:
    if options:
        raise InputError(
            f"{file} is compiled already; {', '.join(sorted(options))} can only be given with a model"
        )
    program = _program_in(file) if is_elf(file) else container.read_file(file)
    chosen = config if config is not None else config_of(program)
    chosen = chosen.replace(**machine)
    check_config(program, chosen)
    seconds = {"load": time.perf_counter() - began, "lower": 0.0}
    return Loaded(program, chosen, Path(file).stat().st_size, seconds)


def is_elf(file: str | Path) -> bool:
    """Whether a file claims to be an ELF."""
    return _head(file).startswith(b"\x7fELF")


def is_application(file: str | Path) -> bool:
    """Whether an ELF is one that `compile` made: it runs as the program in it does."""
    from dlasim import on_board

    return on_board.program_in(file) is not None


def _program_in(file: str | Path) -> Program:
    from dlasim import on_board

    program = on_board.program_in(file)
    if program is None:
        raise InputError(f"{file} has a main() of its own: run it with dlasim.on_board.run_elf")
    return program


def load_network(file: str | Path) -> Partitioned:
    """A model in any format that the shim reads, partitioned."""
    from dlasim.compiler_shim.compile import load_model

    return load_model(file)


def make_executor(engine: str) -> Executor:
    """The engine of that name; `auto` takes the fast one."""
    if engine not in ENGINES:
        raise InputError(f"engine = {engine!r} is unknown (allowed: {', '.join(ENGINES)})")
    from dlasim.sim.executor import FastExecutor, ReferenceExecutor

    return ReferenceExecutor() if engine == "reference" else FastExecutor()


def refuse_races(program: Program) -> list[str]:
    """A RunError that names every race of the program, if it has any; else what is odd, but no race."""
    from dlasim.sim.races import check_program

    found = check_program(program)
    if found.races:
        raise RunError(f"program {program.name} has races:\n" + "\n".join(map(str, found.races)))
    return [str(read) for read in found.uninitialised]


def _head(file: str | Path) -> bytes:
    try:
        with open(file, "rb") as stream:
            return stream.read(_HEAD_BYTES)
    except OSError as error:
        raise InputError(f"cannot read {file}: {error.strerror}") from None
