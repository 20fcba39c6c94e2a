"""The commands as functions.

>>> import dlasim
>>> dlasim.run("model.tflite", pes=128, fusion="none").report["cycles"]["total"]  # doctest: +SKIP

Keywords are parameters of the machine (DlaConfig) or options of the compiler (CompileOptions). Without a
`config`, the other parameters are those of the default machine.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dlasim.compiler_shim.options import CompileOptions
from dlasim.errors import RunError
from dlasim.isa.program import Program
from dlasim.loading import Loaded, is_elf, load, load_network, split_choices
from dlasim.sim.config import DlaConfig
from dlasim.sim.executor import Executor, make_executor
from dlasim.sim.runner import Inference, Simulation, config_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dlasim.compiler_shim.lowering.lower import Lowered
    from dlasim.inputs import Given
    from dlasim.sim.unwritten import UnwrittenOutput
    from dlasim.sweeps.result import SweepResult
    from dlasim.verification import Verification
    from dlasim.vp.host import Prototyped


@dataclass(slots=True)
class RunResult:
    """The result of a run: outputs in the model's types, the report, and the data that it is made from."""

    outputs: list[NDArray[Any]]
    report: dict[str, Any]
    inference: Inference
    loaded: Loaded
    prototyped: Prototyped | None = None  # the run of the board, if there was one
    unwritten: tuple[UnwrittenOutput, ...] = ()  # outputs that the program did not write completely


def compile(model: str | Path, config: DlaConfig | None = None, **choices: Any) -> Lowered:
    """Compile a model for a machine."""
    from dlasim.compiler_shim.compile import lower_for

    machine, options = split_choices(choices)
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
    """Compare every tensor of a model with TensorFlow's reference; a program with data races is an error."""
    from dlasim.verification import verify as check

    lowered = compile(model, config, **choices)
    refuse_races(lowered.program)
    chosen = config_of(lowered.program, config)
    return check(model, lowered, chosen, runs, seed, engine, host=host, host_options=host_options)


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
    """Run a program or a model and return the result of the last inference.

    It runs on the standalone simulator, or with `host="riscv"` on the virtual prototype. The prototype's
    `host_options` are `cpu`, `completion` (interrupt, polling), `submission` (queue, registers),
    `max_instructions`, `log_functions` and `firmware`.
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
    figures = report(loaded.program, loaded.config, last, seconds)
    return _result(RunResult(last.outputs, figures, last, loaded), warnings)


def _result(result: RunResult, warnings: list[str]) -> RunResult:
    """Add all warnings to the result and its report."""
    from dlasim.sim.unwritten import unwritten_outputs

    result.unwritten = unwritten_outputs(result.loaded.program, result.inference)
    result.report["warnings"] = warnings + [str(output) for output in result.unwritten]
    missing = {output.name: output.missing_bytes for output in result.unwritten}
    for output in result.report["outputs"]:
        output["unwritten_bytes"] = missing.get(output["name"], 0)
    return result


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
    return _result(RunResult(done.inference.outputs, figures, done.inference, loaded, done), warnings)


def inspect(model: str | Path) -> dict[str, Any]:
    """What a .tflite or .dlag file contains: inputs, outputs, operators, sizes; `refusal` says why dlasim
    cannot run it, if so."""
    from dlasim.compiler_shim.inspection import inspect_model

    return inspect_model(model)


def explain(model: str | Path, config: DlaConfig | None = None, **choices: Any) -> list[dict[str, Any]]:
    """For each layer: where it runs and why, its tiling, its DMA traffic and its cycles."""
    from dlasim.sim.report import report

    lowered = compile(model, config, **choices)
    chosen = config_of(lowered.program, (config or DlaConfig()).replace(**split_choices(choices)[0]))
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
    """Run models, or a study, on many machines; keywords are parameters with their values.

    >>> dlasim.sweep("mobilenet_v1", pes=[64, 128], sram="512KiB..4MiB").frame()  # doctest: +SKIP

    Without `out` the table is deleted together with the result.
    """
    from tempfile import mkdtemp

    from dlasim.sweeps.study_builder import build_study
    from dlasim.sweeps.sweep import Settings, run_study

    folder = Path(mkdtemp(prefix="dlasim-sweep-") if out is None else out)
    store = Path(cache) if cache is not None else None
    settings = Settings(folder, jobs, scheduler, resume, store, visible=False)
    outcome = run_study(build_study(targets, axes, where, layers), settings)
    if outcome.first_failure:
        raise RunError(f"{outcome.statuses['failed']} points failed, the first: {outcome.first_failure}")
    if out is None:
        outcome.result.own_folder()
    return outcome.result


def refuse_races(program: Program) -> list[str]:
    """Raise a RunError that lists all data races of the program; return warnings of uninitialised reads."""
    from dlasim.sim.races import check_program

    found = check_program(program)
    if found.races:
        raise RunError(f"{program.label} has races:\n" + "\n".join(map(str, found.races)))
    return [str(read) for read in found.uninitialised]
