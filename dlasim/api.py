"""The commands as functions.

Keywords are parameters of the machine (DlaConfig) and options of the compiler (CompileOptions);
`dlasim.choices` lists them. A machine is a DlaConfig, the name of a preset or a TOML file; without one it is
the default machine. A model is a .tflite, .onnx, .tosa or .dlag file, or the name of a built-in network such
as `resnet8` or `mobilenet_v1:alpha=0.5`. `dlasim.compiler_shim.files.input_file.open_input` reads a file for
several calls of `compile` and `run`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack, cast

from dlasim.arguments import check as check_argument
from dlasim.arguments import checked
from dlasim.compiler_shim.files.input_file import InputFile
from dlasim.compiler_shim.options import ESTIMATE, CompileOptions
from dlasim.errors import InputError, RunError
from dlasim.isa.program import Program
from dlasim.loading import Loaded, Machine, choose_machine, load, load_network, open_located, split_choices
from dlasim.result import RunResult, complete
from dlasim.sim.execution.executor import Executor, make_executor
from dlasim.sim.execution.runner import Simulation, first_and_steady

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dlasim.checking.onnx_comparison import OnnxComparison
    from dlasim.checking.verification import Verification
    from dlasim.choices import Axes, Choices, HostChoices
    from dlasim.compiler_shim.lowering.lower import Lowered
    from dlasim.evaluation import Evaluation
    from dlasim.evaluation.many_inputs import Metric
    from dlasim.evaluation.samples import Labels
    from dlasim.explanation import Explanation
    from dlasim.inputs import Inputs
    from dlasim.sim.reports.report_types import Report
    from dlasim.sweeps.evaluation.sweep import Outcome, Settings
    from dlasim.sweeps.results.sweep_result import SweepResult
    from dlasim.sweeps.search.samplers import Sampler

_checked = checked("config", "file", "model")  # which have messages of their own


@_checked
def model(
    name: str,
    path: str | Path | None = None,
    *,
    alpha: float | None = None,
    resolution: int | None = None,
    classes: int | None = None,
    layers: int | None = None,
    context: int | None = None,
    tokens: int | None = None,
    weight_bits: int | None = None,
    seed: int = 0,
    on_operator: Callable[[str], None] | None = None,
) -> Path:
    """Write a built-in network as an int8 .tflite file; returns its path, by default NAME.tflite.

    The weights are random. `alpha` and `resolution` are the width and the image size of a MobileNet, `layers`
    and `context` the depth of a language model and the tokens that it remembers, `tokens` how many a step
    takes. Weights have 8 bits, or `weight_bits`. Building a large network takes seconds; `on_operator` is
    called with the name of each operator.

    >>> import dlasim
    >>> dlasim.model("mnist", "digits.tflite").name
    'digits.tflite'
    """
    from dlasim.sweeps.definition.models import topology_file
    from dlasim.system.fileio import atomic_write, read_file

    given = {
        "alpha": alpha, "resolution": resolution, "classes": classes, "layers": layers, "context": context,
        "tokens": tokens, "weight_bits": weight_bits, "seed": seed or None,
    }  # fmt: skip
    chosen = {key: value for key, value in given.items() if value is not None}
    made = topology_file(name, chosen, on_operator)
    target = Path(f"{name}.tflite" if path is None else path)
    atomic_write(target, read_file(made))
    return target


@_checked
def compile(
    model: str | Path | InputFile, config: Machine | None = None, **choices: Unpack[Choices]
) -> Lowered:
    """Compile a model for a machine.

    `dlasim.isa.container.write` makes the bytes of a `program.bin` of its `program`.

    >>> import dlasim
    >>> lowered = dlasim.compile("mnist", parallel="8x16", sram="32KiB")
    >>> lowered.program.requirement.pes
    128
    """
    from dlasim.compiler_shim.compile import lower_for

    machine, given = split_choices(choices)
    options = CompileOptions(**given)
    network = load_network(model, numerics=options.numerics)
    return lower_for(network, choose_machine(config, machine), options)


@_checked
def verify(
    model: str | Path,
    config: Machine | None = None,
    *,
    runs: int = 1,
    seed: int = 0,
    engine: str = "auto",
    host: str = "none",
    host_options: HostChoices | None = None,
    **choices: Unpack[Choices],
) -> Verification | OnnxComparison:
    """Compare every tensor of a model with TensorFlow's reference; a program with data races is an error.

    It needs the extra `verify`. `passed` says whether all are equal, `mismatch` where they first differ. An
    ONNX model is compared with onnxruntime, from which it differs by rounding: that needs the extra `onnx`,
    and gives an `OnnxComparison`. Outputs of a TOSA model are compared with Arm's reference model, where
    `tosa_reference_model` is in PATH.

    >>> import dlasim
    >>> dlasim.verify("mnist", sram="16KiB").passed
    True
    """
    from dlasim.checking.verification import verify as check
    from dlasim.compiler_shim.files.input_file import InputKind

    file = open_located(model)
    lowered = compile(file, config, **choices)
    refuse_races(lowered.program)
    chosen = choose_machine(config, split_choices(choices)[0])
    given = _host_options(host_options)
    if file.kind is InputKind.ONNX:
        if choices.get("io", "model") != "model":
            raise InputError(f"io must be model to compare with onnxruntime (got {choices['io']!r})")
        from dlasim.checking.onnx_comparison import verify_onnx

        return verify_onnx(file, lowered, chosen, runs, seed, engine, host, given)
    reference = None
    if file.kind is InputKind.TOSA:
        from dlasim.checking.arm_reference import ArmReference

        reference = ArmReference(file)
    numerics = choices.get("numerics", "tflm")
    return check(file, lowered, chosen, runs, seed, engine, reference, host, given, numerics)


@_checked
def evaluate(
    model: str | Path,
    inputs: str | Path | Sequence[Inputs],
    labels: Labels | None = None,
    *,
    float_model: str | Path | None = None,
    metric: Metric | None = None,
    label_offset: int = 0,
    normalize: str = "auto",
    engine: str = "auto",
    jobs: int | None = None,
    out: str | Path | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> Evaluation:
    """How often a model or program is right, over many inputs, on all cores.

    `inputs` is a folder of pictures, sounds or `.npy` files, an `.npy` file with an input in each row, or a
    sequence of what `run` takes. `labels` are numbers of classes, in the order of the inputs: a sequence, an
    `.npy` file, or a text file with a label or `name,label` in each line. Without them, sub-folders are the
    classes, in alphabetical order. `float_model` is the network in float (`.tflite` for LiteRT, `.onnx` for
    onnxruntime); it gets the same inputs. `metric(outputs, label)` gives a number for other networks than
    classifiers, from the outputs as real numbers.

    `out` is a table with a row for each input; what it has already is not evaluated again.

    >>> import dlasim, numpy
    >>> found = dlasim.evaluate("mnist", numpy.zeros((3, 28, 28), "int8"), [0, 0, 0], jobs=1)
    >>> len(found.rows), found.top(10)
    (3, 1.0)
    """
    from dlasim.evaluation import evaluate as evaluate_program

    check_argument("metric", metric, Callable[..., float] | None)
    program = load(model, None, {}).program
    return evaluate_program(
        program, str(model), inputs, labels,
        float_model=float_model, metric=metric, label_offset=label_offset, normalize=normalize, engine=engine,
        jobs=jobs, out=out, on_progress=on_progress,
    )  # fmt: skip


@_checked
def run(
    file: str | Path | InputFile,
    config: Machine | None = None,
    *,
    inputs: Inputs | None = None,
    normalize: str = "auto",
    timing_only: bool = False,
    assume_int8: bool = False,
    engine: str = "auto",
    repeat: int = 1,
    check_races: bool = True,
    host: str = "none",
    host_options: HostChoices | None = None,
    **choices: Unpack[Choices],
) -> RunResult:
    """Run a model, a program (`program.bin`, assembly) or an application, and return the last inference.

    `inputs` is one array or file (`.npy`, `.png`, `.jpg`, `.wav`), a list in the model's order, or a
    dictionary by name; floats are quantized. Without it, inputs are noise. `normalize` says what the lowest
    and the highest value of a picture or sound become, such as "-1,1"; `auto` is the range of the input's
    type.

    `timing_only` counts cycles without computing tensors; with `assume_int8`, those of a float network as if
    it were int8. With
    `host="riscv"` firmware runs the program on an emulated board; `host_options` are those of the board.

    >>> import dlasim, numpy
    >>> result = dlasim.run("mnist", pes=128, inputs=numpy.zeros((28, 28)))
    >>> result.report["config"]["pes"]
    128
    >>> dlasim.run("mnist", "ethos-u55-128", timing_only=True).outputs
    []
    """
    from dlasim.sim.reports.report import first_inference, report

    if assume_int8 and not timing_only:
        raise InputError("assume_int8 needs timing_only: the outputs would mean nothing")
    loaded = load(file, config, choices, with_constants=not timing_only, assumes_int8=assume_int8)
    warnings = [ESTIMATE] if assume_int8 else []
    warnings += refuse_races(loaded.program) if check_races else []
    began = time.perf_counter()
    executor = None if timing_only else make_executor(engine)
    arrays: list[NDArray[Any]] = []
    if not timing_only:
        from dlasim.inputs import prepare_inputs

        arrays = prepare_inputs(loaded.program.inputs, inputs, normalize=normalize)
    options = _host_options(host_options)
    if loaded.firmware is not None:
        host = "riscv"
    if host != "none":
        loaded.seconds["load"] += time.perf_counter() - began
        return _run_on_board(loaded, executor, arrays, warnings, host, options, repeat)
    simulation = Simulation(loaded.program, loaded.config, executor)
    loaded.seconds["load"] += time.perf_counter() - began
    inferences = [simulation.run(arrays) for _ in range(repeat)]
    seconds = {**loaded.seconds, "simulate": inferences[0].wall_seconds}
    if repeat > 1:
        seconds["steady"] = min(inference.wall_seconds for inference in inferences[1:])
    last, more = inferences[-1], dict[str, Any]()
    if loaded.program.preloads:
        steady = inferences[1] if repeat > 1 else first_and_steady(loaded.program, loaded.config)[1]
        last = replace(steady, outputs=last.outputs, wall_seconds=last.wall_seconds)
        more["first_inference"] = first_inference(report(loaded.program, loaded.config, inferences[0]))
    figures = report(loaded.program, loaded.config, last, seconds) | more
    return complete(RunResult(last.outputs, cast("Report", figures), last, loaded), warnings)


def _host_options(given: HostChoices | None) -> dict[str, Any]:
    """A copy of them, whose type is imported by type checkers only."""
    check_argument("host_options", given, Mapping[str, Any] | None)
    return dict(given or {})


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
    chosen = on_board.host_options(inferences=repeat, **host_options)
    run = on_board.run_steady if loaded.program.preloads else on_board.run_loaded
    done, figures = run(loaded, executor, arrays, chosen)
    result = RunResult(done.inference.outputs, cast("Report", figures), done.inference, loaded, done)
    return complete(result, warnings + on_board.rtl_warnings(done.rtl))


@_checked
def inspect(model: str | Path) -> dict[str, Any]:
    """What a model contains: inputs, outputs, operators, sizes; `refusal` says why dlasim cannot run it.

    >>> import dlasim
    >>> dlasim.inspect("mnist")["inputs"][0]["shape"]
    [1, 28, 28, 1]
    """
    from dlasim.compiler_shim.files.inspection import inspect_model

    return inspect_model(open_located(model))


@_checked
def explain(
    model: str | Path, config: Machine | None = None, *, assume_int8: bool = False, **choices: Unpack[Choices]
) -> Explanation:
    """For each layer: where it runs and why, its tiling, its DMA traffic, its cycles and what limits it.

    With `assume_int8` of a float network, as if it were int8.

    >>> import dlasim
    >>> rows = dlasim.explain("mnist", depthwise="cpu")
    >>> rows[-1]["operator"], rows[-1]["unit"], rows[-1]["why"]
    ('SOFTMAX', 'dla', 'about 664 cycles, 812 on the CPU')
    """
    from dlasim.compiler_shim.compile import lower_for
    from dlasim.explanation import explain_layers

    machine, given = split_choices(choices)
    options, chosen = CompileOptions(**given), choose_machine(config, machine)
    lowered = lower_for(load_network(model, assume_int8, options.numerics), chosen, options)
    found = explain_layers(lowered, chosen, first_and_steady(lowered.program, chosen)[1])
    found.report["warnings"] = [ESTIMATE] if assume_int8 else []
    return found


@_checked
def sweep(
    *targets: str | Path | Sequence[str | Path],
    out: str | Path | None = None,
    jobs: int | None = None,
    scheduler: str | None = None,
    resume: bool = True,
    cache: str | Path | None = None,
    layers: bool = False,
    where: str | Sequence[str] = (),
    limits: str | Sequence[str] = (),
    minimize: str | Sequence[str] = (),
    assume_int8: bool = False,
    **axes: Unpack[Axes],
) -> SweepResult:
    """Run models, or a study, on many machines; keywords are parameters with their values.

    Several models may also be a list; with `assume_int8` they are float networks, as if they were int8.
    Without `out` the table is deleted together with the result. `limits` such as "milliseconds < 10" and what
    to `minimize` are about the machine that runs all models; the result's `decide()` says which is the best.

    >>> import dlasim
    >>> found = dlasim.sweep("mnist", pes=[64, 128], sram="32KiB..64KiB", jobs=1)
    >>> [(row["pes"], row["sram_bytes"]) for row in found]
    [(64, 32768), (64, 65536), (128, 32768), (128, 65536)]
    """
    from dlasim.sweeps.definition.goals import as_texts, read_goals
    from dlasim.sweeps.definition.study_builder import build_study
    from dlasim.sweeps.evaluation.sweep import run_study

    def run(settings: Settings) -> Outcome:
        goals = read_goals(as_texts(limits), as_texts(minimize), "sweep")
        study = build_study(_flat(targets, "sweep"), dict(axes), as_texts(where), layers, goals=goals)
        if assume_int8:
            study = replace(study, models=tuple(each.assumed() for each in study.models))
        return run_study(study, settings)

    return _in_folder(run, out, jobs, scheduler, resume, cache)


@_checked
def search(
    *targets: str | Path | Sequence[str | Path],
    minimize: str | Sequence[str],
    limits: str | Sequence[str] = (),
    evaluations: int = 1000,
    sampler: str | Sampler = "auto",
    seed: int = 0,
    out: str | Path | None = None,
    jobs: int | None = None,
    scheduler: str | None = None,
    resume: bool = True,
    cache: str | Path | None = None,
    where: str | Sequence[str] = (),
    **axes: Unpack[Axes],
) -> SweepResult:
    """Find the machines that take least of what `minimize` names and keep to the limits, in a space too large
    to sweep: keywords are parameters with their values.

    A `sampler` of your own has `ask` and `tell`, as `dlasim.sweeps.search.samplers.Sampler` describes them.

    >>> import dlasim
    >>> found = dlasim.search("mnist", minimize="energy", pes=[8, 16, 32], sram="16KiB..64KiB", jobs=1)
    >>> found.decide().winner["sram_bytes"]
    32768
    """
    from dlasim.sweeps.definition.goals import as_texts, read_goals
    from dlasim.sweeps.definition.study_builder import build_search
    from dlasim.sweeps.search.machine_search import SearchOrder, run_search

    def run(settings: Settings) -> Outcome:
        goals = read_goals(as_texts(limits), as_texts(minimize), "search")
        study = build_search(_flat(targets, "search"), dict(axes), as_texts(where), goals)
        return run_search(study, settings, SearchOrder(evaluations, seed, sampler))

    return _in_folder(run, out, jobs, scheduler, resume, cache)


def _in_folder(
    run: Callable[[Settings], Outcome],
    out: str | Path | None,
    jobs: int | None,
    scheduler: str | None,
    resume: bool,
    cache: str | Path | None,
) -> SweepResult:
    """The result of a sweep or search in a folder; in a temporary one, if none is given."""
    from shutil import rmtree
    from tempfile import mkdtemp

    from dlasim.sweeps.evaluation.sweep import Settings

    folder = Path(mkdtemp(prefix="dlasim-sweep-") if out is None else out)
    store = None if cache is None else Path(cache)
    try:
        outcome = run(
            Settings(folder, jobs, scheduler, resume, store, visible=False, is_temporary=out is None)
        )
        if outcome.first_failure:
            raise RunError(f"{outcome.statuses['failed']} points failed; the first: {outcome.first_failure}")
    except BaseException:
        if out is None:
            rmtree(folder, ignore_errors=True)
        raise
    if out is None:
        outcome.result.own_folder()
    return outcome.result


def _flat(targets: Sequence[str | Path | Sequence[str | Path]], command: str) -> list[str | Path]:
    lists = (given if isinstance(given, list | tuple) else [given] for given in targets)
    found = cast("list[str | Path]", [each for some in lists for each in some])
    if not found:
        raise InputError(f"{command} needs a model or a study")
    return found


def refuse_races(program: Program) -> list[str]:
    """Raise a RunError that lists all data races of the program; return warnings of uninitialised reads."""
    from dlasim.sim.races import check_program

    found = check_program(program)
    if found.races:
        raise RunError(f"{program.label} has races:\n" + "\n".join(map(str, found.races)))
    return [str(read) for read in found.uninitialised]
