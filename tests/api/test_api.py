"""The verbs as functions: two lines from a model to its cycles, and errors of ours for what is wrong."""

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import dlasim
from dlasim.compiler_shim.tflite.writer import write_tflite
from dlasim.compiler_shim.topologies import build_topology
from dlasim.errors import InputError, RunError
from dlasim.isa import container
from dlasim.isa.assembly import assemble
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.configuration.machine_files import preset

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("model") / "mnist.tflite"
    path.write_bytes(write_tflite(build_topology("mnist", seed=0)))
    return path


def test_two_lines(model: Path) -> None:
    result = dlasim.run(model, pes=128, sram_bytes="1MiB", fusion="none")
    assert result.report["cycles"]["total"] > 0
    assert result.report["config"]["sram_bytes"] == 1 << 20
    assert result.outputs[0].dtype == np.int8


def test_importing_loads_nothing_heavy() -> None:
    code = "import sys, dlasim; dlasim.__version__; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True
    ).stdout
    assert not {"numpy", "numba", "unicorn", "matplotlib", "dlasim.api"} & set(loaded.split())


_HEAVY = {"llvmlite", "unicorn", "matplotlib", "elftools", "flatbuffers", "tflite", "socket"}


def _loaded_by_a_timing_run(file: Path) -> set[str]:
    """The packages and modules that a process has imported after a run."""
    code = (
        "import sys, dlasim; dlasim.run(sys.argv[1], timing_only=True); "
        "print(*{name.split('.')[0] for name in sys.modules}, *(n for n in sys.modules if 'dlasim' in n))"
    )
    command = [sys.executable, "-P", "-c", code, str(file)]
    return set(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())


def test_a_timing_run_of_a_program_loads_numpy_alone(model: Path, tmp_path: Path) -> None:
    (tmp_path / "p.bin").write_bytes(container.write(dlasim.compile(model).program))
    loaded = _loaded_by_a_timing_run(tmp_path / "p.bin")
    assert "numpy" in loaded
    assert not _HEAVY & loaded
    parts = ("isa.assembly", "sim.fast_engine", "compiler_shim.operators", "compiler_shim.tflite")
    assert not {f"dlasim.{part}" for part in parts} & loaded


def test_a_timing_run_of_a_model_loads_few_modules(model: Path) -> None:
    loaded = _loaded_by_a_timing_run(model)
    assert not _HEAVY & loaded
    assert "dlasim.choices" not in loaded, "types that only type checkers and editors read"
    assert len([name for name in loaded if name.startswith("dlasim")]) <= 280, "each costs 0.1 ms or more"


def test_the_same_program_by_every_way(model: Path, tmp_path: Path) -> None:
    lowered = dlasim.compile(model, parallel="8x8")
    (tmp_path / "p.bin").write_bytes(container.write(lowered.program))
    direct, saved = dlasim.run(model, parallel="8x8"), dlasim.run(tmp_path / "p.bin")
    assert (direct.outputs[0] == saved.outputs[0]).all()
    assert direct.report["cycles"] == saved.report["cycles"]
    timed = dlasim.run(tmp_path / "p.bin", timing_only=True)
    assert timed.outputs == []
    assert timed.report["cycles"] == saved.report["cycles"]


def test_inputs_are_quantized_as_the_model_says(model: Path) -> None:
    (described,) = dlasim.compile(model).program.inputs
    integers = np.arange(784).reshape(described.shape).astype(np.int8)
    real = (integers.astype(np.float64) - described.zero_point) * described.scale
    first, second = (dlasim.run(model, inputs=[array]).outputs[0] for array in (integers, real))
    assert (first == second).all()


def test_a_configuration_and_changes_to_it(model: Path) -> None:
    config = preset("nvdla-small")
    report = dlasim.run(model, config, dma_latency=7, timing_only=True).report
    assert report["config"] == config.replace(dma_latency=7).as_dict()


def test_engines_agree(model: Path) -> None:
    first, second = (dlasim.run(model, engine=engine).outputs[0] for engine in ("fast", "reference"))
    assert (first == second).all()


def test_verify(model: Path) -> None:
    result = dlasim.verify(model, sram_bytes="32KiB", runs=1)
    assert result.mismatch is None
    assert result.elements > 10_000


def test_explain(model: Path) -> None:
    rows = dlasim.explain(model, place="cpu")
    assert {row["unit"] for row in rows} == {"cpu"}


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"pe": 64}, "unknown parameter 'pe'; did you mean pes"),
        ({"pes": 0}, "pes must be from 1 to 1048576 (got 0)"),
        ({"sram_bytes": "lots"}, "sram_bytes must be a size such as 512KiB, 1M or 65536 (got 'lots')"),
        ({"fusion": "all"}, "fusion must be none, requant or full (got 'all')"),
        ({"tiling": 3}, "tiling must be output-channel or auto (got 3)"),
        ({"engine": "slow"}, "engine"),
        ({"host": "arm"}, "host must be none or riscv (got 'arm')"),
    ],
)
def test_wrong_choices_are_one_line(model: Path, choices: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)) as caught:
        dlasim.run(model, **choices)
    assert "\n" not in str(caught.value)


def test_a_program_for_another_machine_is_refused(model: Path, tmp_path: Path) -> None:
    (tmp_path / "p.bin").write_bytes(container.write(dlasim.compile(model).program))
    with pytest.raises(InputError, match=r"was lowered for 64 PEs as 1x64 with 524288 .* has 32 PEs"):
        dlasim.run(tmp_path / "p.bin", DlaConfig(pes=32))


def test_races_and_faults_are_run_errors(tmp_path: Path) -> None:
    race = assemble((EXAMPLES / "race.s").read_text())
    (tmp_path / "race.bin").write_bytes(container.write(race))
    with pytest.raises(RunError, match="has races"):
        dlasim.run(tmp_path / "race.bin")
    fault = assemble(".stream\n    CFG OUT_ADDR, 0x7FFFFFFF\n    OP_FILL\n    HALT\n")
    (tmp_path / "fault.bin").write_bytes(container.write(fault))
    with pytest.raises(RunError, match="faulted: SRAM_RANGE at word 1"):
        dlasim.run(tmp_path / "fault.bin")


def test_there_is_nothing_else() -> None:
    with pytest.raises(AttributeError, match="no attribute 'simulate'"):
        dlasim.simulate  # noqa: B018
    assert set(dlasim.__all__) >= {"compile", "run", "verify", "explain", "sweep"}


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (
            lambda: dlasim.run("mnist", np.zeros((28, 28))),
            "(got ndarray); inputs are given by keyword: dlasim.run(",
        ),  # type: ignore[arg-type]
        (
            lambda: dlasim.run("mnist", "image.png"),
            "(got image.png); inputs are given by keyword: dlasim.run(",
        ),
        (lambda: dlasim.run(["mnist"]), "a file must be a path or the name of a network (got list)"),  # type: ignore[arg-type]
        (
            lambda: dlasim.run("mnist", "IMAGE.BMP"),
            "(got IMAGE.BMP); inputs are given by keyword: dlasim.run(",
        ),
        (
            lambda: dlasim.run("mnist", pes=np.array([64, 128])),  # type: ignore[arg-type]
            "pes must be a whole number (got array([ 64, 128]))",
        ),
        (lambda: dlasim.sweep(), "sweep needs a model or a study"),
        (lambda: dlasim.sweep(5), "targets must be text, a path or a list of text or a path (got 5)"),  # type: ignore[arg-type]
        (
            lambda: dlasim.run("mnist", host="riscv", host_options={"device": []}),  # type: ignore[typeddict-unknown-key]
            "unknown host option 'device'; did you mean devices?",
        ),
        (
            lambda: dlasim.run("mnist", host="riscv", host_options={"devices": "device.py"}),  # type: ignore[typeddict-item]
            "devices must be a list of text (got 'device.py')",
        ),
        (
            lambda: dlasim.run("mnist", timing_only=True).plot("timeline", end="soon"),
            "end must be a number (got 'soon')",
        ),
    ],
)
def test_what_is_given_in_a_wrong_way_is_one_line(call: Callable[[], object], said: str) -> None:
    with pytest.raises(InputError) as refused:
        call()
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_lists_are_written_as_on_the_command_line(tmp_path: Path) -> None:
    found = dlasim.sweep(["mnist", "resnet8"], pes="16,32", sram=["64KiB"], where="pes > 16", jobs=1)
    assert found.column("model") == ["mnist", "resnet8"]
    charts = [found.plot("pareto", figures=figures) for figures in ("cycles, dma", ["cycles", "dma"])]
    first, second = (chart.save(tmp_path / f"{number}.svg") for number, chart in enumerate(charts))
    assert first.read_bytes() == second.read_bytes()
    run = dlasim.run("mnist", timing_only=True, dla_ops="CONV_2D,FULLY_CONNECTED")
    assert {row["unit"] for row in run.layers if row["operator"] in ("CONV_2D", "SOFTMAX")} == {"dla", "cpu"}
