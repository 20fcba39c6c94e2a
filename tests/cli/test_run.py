"""run, compile, explain and verify as a user meets them: files, tables, exit codes, one clear line."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from dlasim import api
from dlasim.cli import main
from dlasim.compiler_shim.tflite.reader import read_tflite
from dlasim.compiler_shim.tflite.writer import write_tflite
from dlasim.compiler_shim.topologies import build_topology
from dlasim.isa import container
from dlasim.isa.assembly import assemble
from dlasim.isa.container import write
from tests.compiler.networks import random_network

EXAMPLES = Path(__file__).parents[2] / "examples"
UNINITIALISED = """
.tensor y, int8, output, OUTPUTS, shape=1x1x1x4
.stream
    CFG DMA_OUT_REGION, OUTPUTS
    CFG DMA_OUT_SRAM_ADDR, 0x40
    CFG DMA_OUT_RUN_BYTES, 4
    OP_DMA_WRITE
    HALT
"""


def call(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments], prog_name="dlasim")


def succeed(*arguments: object) -> Result:
    result = call(*arguments)
    assert result.exit_code == 0, result.stderr
    return result


def fail(code: int, message: str, *arguments: object) -> None:
    """It ends with this code and one line that holds the message, and prints no result."""
    result = call(*arguments)
    assert result.exit_code == code, result.stderr
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""
    assert "internal error" not in result.stderr


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """mnist as .tflite, .dlag and program.bin, and the examples' programs."""
    folder = tmp_path_factory.mktemp("programs")
    succeed("model", "mnist", "-o", folder / "mnist.tflite")
    for suffix in ("bin", "dlag"):
        succeed("compile", folder / "mnist.tflite", "-o", folder / f"mnist.{suffix}")
    for name in ("relu", "race"):
        (folder / f"{name}.bin").write_bytes(write(assemble((EXAMPLES / f"{name}.s").read_text())))
    (folder / "uninitialised.bin").write_bytes(write(assemble(UNINITIALISED)))
    return folder


@pytest.mark.parametrize("name", ["mnist.bin", "mnist.tflite", "mnist.dlag"])
def test_every_form_of_a_model_gives_the_same(folder: Path, tmp_path: Path, name: str) -> None:
    result = succeed("run", folder / name, "--output", tmp_path, "--report", tmp_path / "r.json")
    direct = succeed("run", folder / "mnist.bin", "--output", tmp_path / "direct", "--json")
    assert all(line.startswith("wrote ") for line in result.stderr.splitlines())
    assert (np.load(tmp_path / "output_0.npy") == np.load(tmp_path / "direct" / "output_0.npy")).all()
    reports = [json.loads((tmp_path / "r.json").read_text()), json.loads(direct.stdout)]
    assert reports[0]["cycles"] == reports[1]["cycles"]


@pytest.mark.parametrize("seed", range(8))
def test_however_a_network_is_run_its_program_is_as_large(tmp_path: Path, seed: int) -> None:
    """With and without tensors, on either host, as a file and in a sweep."""
    model, binary = tmp_path / "m.tflite", tmp_path / "m.bin"
    model.write_bytes(write_tflite(random_network(seed, 3, most_elements=2000)))
    program = api.compile(model).program
    binary.write_bytes(container.write(program))
    expected = {
        "constants_bytes": program.constants.nbytes,
        "artifact_bytes": program.constants.nbytes + program.commands.nbytes,
    }
    (row,) = api.sweep(model, pes=[64], jobs=1).rows()
    found = [{name: row[name] for name in expected}]
    for file in (model, binary):
        for choice in ({}, {"timing_only": True}, {"host": "riscv"}):
            memory = api.run(file, **choice).report["memory"]
            found.append({name: memory[name] for name in expected})
    assert found == [expected] * 7


def test_the_report_is_the_contract(folder: Path, tmp_path: Path) -> None:
    report = json.loads(succeed("run", folder / "mnist.tflite", "--json", "--dma-latency", 99).stdout)
    assert {
        "schema", "program", "config", "outputs", "cycles", "macs", "utilization", "dma_bytes",
        "sram_peak_bytes", "cpu", "memory", "layers", "wall_seconds",
    } <= set(report)  # fmt: skip
    cycles = report["cycles"]
    assert {"total", "dla", "cpu", "by_kind", "stall", "dma", "overlap"} <= set(cycles)
    assert sum(cycles["by_kind"].values()) + cycles["stall"] == cycles["dla"]
    assert {"CONV", "DEPTH", "FC", "POOL", "ELTWISE", "ACT", "REQUANT"} <= set(cycles["by_kind"])
    assert report["utilization"] == pytest.approx(report["macs"] / (64 * cycles["dla"]), abs=1e-6)
    assert report["config"]["dma_latency"] == 99
    for layer in report["layers"]:
        assert {"name", "kind", "unit", "cycles", "macs", "utilization", "tiles"} <= set(layer)
    assert {"arena_peak_bytes", "constants_bytes", "artifact_bytes"} <= set(report["memory"])
    assert {"load", "lower", "simulate"} <= set(report["wall_seconds"])


def test_the_table_names_layers_and_adds_up(folder: Path) -> None:
    text = succeed("run", folder / "mnist.bin").stdout
    report = json.loads(succeed("run", folder / "mnist.bin", "--json").stdout)
    for layer in report["layers"]:
        assert layer["operator"] in text
        assert f"{layer['cycles']:,}" in text
    assert f"total      {report['cycles']['total']:,} cycles" in text
    assert "latency" in text
    assert all(len(line) <= 120 for line in text.splitlines())


def test_timing_only_gives_the_same_cycles_and_no_outputs(folder: Path) -> None:
    full = json.loads(succeed("run", folder / "mnist.bin", "--json").stdout)
    quick = json.loads(succeed("run", folder / "mnist.bin", "--json", "--timing-only").stdout)
    for report in (full, quick):
        del report["wall_seconds"]
    assert full == quick
    fail(
        2, "--timing-only computes no tensors", "run", folder / "mnist.bin", "--timing-only", "--output", "x"
    )


def test_inputs_and_outputs(folder: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.arange(-8, 8, dtype=np.int8).reshape(1, 4, 4, 1))
    succeed("run", folder / "relu.bin", "--input", tmp_path / "x.npy", "--output", tmp_path / "a" / "b")
    assert np.load(tmp_path / "a" / "b" / "output_0.npy").ravel().tolist() == [0] * 8 + list(range(8))


def test_engines_agree(folder: Path, tmp_path: Path) -> None:
    for engine in ("fast", "reference"):
        succeed("run", folder / "mnist.bin", "--engine", engine, "--output", tmp_path / engine)
    first, second = (np.load(tmp_path / engine / "output_0.npy") for engine in ("fast", "reference"))
    assert (first == second).all()


def test_repeat_tells_the_first_and_the_steady_inference(folder: Path) -> None:
    report = json.loads(succeed("run", folder / "mnist.bin", "--repeat", 3, "--json").stdout)
    assert {"simulate", "steady"} <= set(report["wall_seconds"])
    once = json.loads(succeed("run", folder / "mnist.bin", "--json").stdout)
    assert report["cycles"] == once["cycles"]


def test_races_are_refused_until_told_otherwise(folder: Path) -> None:
    result = call("run", folder / "race.bin")
    assert result.exit_code == 1
    assert "insert `WAIT vector, 0` before word 25" in result.stderr
    assert succeed("run", folder / "race.bin", "--no-races").stderr == ""


def test_uninitialised_reads_are_warned_of(folder: Path) -> None:
    result = succeed("run", folder / "uninitialised.bin")
    assert result.stderr.startswith(
        "dlasim: warning: uninitialised read of byte 0x40 of SRAM: word 3 OP_DMA_WRITE"
    )
    assert result.stderr.count("\n") == 1
    report = json.loads(succeed("run", folder / "uninitialised.bin", "--json").stdout)
    assert len(report["warnings"]) == 1


def test_a_trace_is_written(folder: Path, tmp_path: Path) -> None:
    succeed("run", folder / "mnist.bin", "--trace", tmp_path / "t.json", "--timing-only")
    assert json.loads((tmp_path / "t.json").read_text())["traceEvents"]


def test_bandwidth_and_latency_may_change_pes_and_sram_not(folder: Path) -> None:
    slow = json.loads(succeed("run", folder / "mnist.bin", "--json", "--dma-bandwidth", 1).stdout)
    fast = json.loads(succeed("run", folder / "mnist.bin", "--json", "--dma-bandwidth", 64).stdout)
    assert slow["cycles"]["dla"] > fast["cycles"]["dla"]
    for option in (["--pes", 128], ["--sram", "1MiB"], ["--parallel", "8x8"], ["--preset", "nvdla-small"]):
        fail(2, "was lowered for 64 PEs as 1x64", "run", folder / "mnist.bin", *option)


def test_a_machine_of_ones_own(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "m.toml").write_text('parallel = "8x4"\nsram_bytes = "64KiB"\n')
    report = json.loads(
        succeed(
            "run", folder / "mnist.tflite", "--config", tmp_path / "m.toml", "--clock", 100, "--json"
        ).stdout
    )
    config = report["config"]
    assert (config["pes"], config["sram_bytes"], config["clock_mhz"]) == (32, 65536, 100.0)
    fail(
        2, "exclude each other", "run", folder / "mnist.tflite", "--config", tmp_path / "m.toml",
        "--preset", "paper",
    )  # fmt: skip


def test_presets_are_listed_without_a_model() -> None:
    text = succeed("run", "--preset", "list").stdout
    for name in ("default", "paper", "nvdla-small", "ethos-u55-128"):
        assert f"\n{name}" in text
    assert succeed("sweep", "--preset", "list").stdout == text
    fail(2, "unknown preset 'x'; known are default", "run", "x.tflite", "--preset", "x")


def test_presets_as_json() -> None:
    listed = [
        json.loads(succeed("run", *options).stdout)
        for options in (["--preset", "list", "--json"], ["--json", "--preset", "list"])
    ]
    assert listed[0] == listed[1] == json.loads(succeed("verify", "--preset", "list", "--json").stdout)
    machines = {machine["name"]: machine for machine in listed[0]}
    assert (machines["nvdla-small"]["pes"], machines["nvdla-small"]["parallel"]) == (64, "8x8")
    assert machines["paper"]["dma_latency"] == 0
    assert all(machine["summary"] for machine in listed[0])


def test_networks_as_json() -> None:
    networks = {row["name"]: row for row in json.loads(succeed("model", "--list", "--json").stdout)}
    assert networks["resnet8"]["input_shape"] == [32, 32, 3]
    assert networks["mobilenet_v1"]["options"] == ["--alpha", "--resolution"]
    assert all(row["summary"] for row in networks.values())


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (["run", "mnist.tflite", "--preset", "papr"], "paper"),
        (["run", "mnist.tflite", "--dla-ops", "CONV2D"], "CONV_2D"),
        (["model", "resnet9"], "resnet8"),
        (["sweep", "resnet9"], "resnet8"),
        (["sweep", "papr"], "paper"),
        (["sweep", "mnist", "--dla-ops", "CONV2D"], "CONV_2D"),
        (["sweep", "mnist", "--set", "macfill=3"], "mac_fill"),
    ],
)
def test_a_mistyped_name_brings_up_the_right_one(
    folder: Path, arguments: list[str], meant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    fail(2, f"did you mean {meant}?", *arguments)


def test_assembly_runs_like_the_program_that_it_makes(tmp_path: Path) -> None:
    result = call("asm", EXAMPLES / "relu.s", "-o", tmp_path / "relu.bin")
    assert result.exit_code == 0, result.stderr
    reports = [json.loads(call("run", file, "--json").stdout)
               for file in (EXAMPLES / "relu.s", tmp_path / "relu.bin")]  # fmt: skip
    assert reports[0]["cycles"] == reports[1]["cycles"]
    assert reports[0]["program"] == reports[1]["program"]
    (tmp_path / "wrong.s").write_text(".stream\n    OP_RELUU\n    HALT\n")
    wrong = call("run", tmp_path / "wrong.s")
    assert wrong.exit_code == 2
    assert "wrong.s:2:5: unknown instruction OP_RELUU; did you mean" in wrong.stderr


def test_what_is_no_program(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "x.bin").write_bytes((folder / "mnist.bin").read_bytes()[:200])
    fail(2, "is not a valid program", "run", tmp_path / "x.bin")
    (tmp_path / "y.bin").write_bytes(b"nonsense, and more of it")
    fail(2, "not a TFLite model", "run", tmp_path / "y.bin")
    fail(2, "is assembly, not a model; `dlasim run", "explain", EXAMPLES / "relu.s")
    fail(2, "cannot read", "run", tmp_path / "missing")
    fail(2, "cannot read", "run", tmp_path)
    fail(2, "is already compiled", "run", folder / "mnist.bin", "--fusion", "none")
    for verb in (["explain"], ["verify"], ["compile", "-o", tmp_path / "z.bin"]):
        fail(2, "compiled", *verb, folder / "mnist.bin")
    assert not (tmp_path / "z.bin").exists()


def test_where_files_cannot_go(folder: Path, tmp_path: Path) -> None:
    nowhere = tmp_path / "missing" / "x"
    fail(2, "cannot write", "compile", folder / "mnist.tflite", "-o", nowhere)
    for option in ("--report", "--trace"):
        result = call("run", folder / "mnist.bin", option, nowhere)
        assert result.exit_code == 2
        assert "cannot write" in result.stderr
    (tmp_path / "file").write_text("")
    result = call("run", folder / "mnist.bin", "--output", tmp_path / "file")
    assert result.exit_code == 2


def test_too_little_sram_names_the_layer_and_the_bytes(folder: Path) -> None:
    result = call("compile", folder / "mnist.tflite", "-o", "/dev/null", "--sram", "100", "--place", "dla",
                  "--tiling", "output-channel", "--fusion", "none")  # fmt: skip
    assert result.exit_code == 2
    assert "bytes" in result.stderr
    assert result.stderr.count("\n") == 1


def test_inspect_shows_what_the_file_contains(folder: Path) -> None:
    found = json.loads(succeed("inspect", folder / "mnist.tflite", "--json").stdout)
    report = json.loads(succeed("run", folder / "mnist.tflite", "--json").stdout)
    assert found["macs"] == report["macs"]
    assert not found["refusal"]
    assert [output["shape"] for output in found["outputs"]] == [o["shape"] for o in report["outputs"]]
    assert sum(row["macs"] for row in found["operators"]) == found["macs"]
    assert found["file_bytes"] == (folder / "mnist.tflite").stat().st_size
    assert "CONV_2D" in succeed("inspect", folder / "mnist.dlag").stdout


def test_inspect_shows_a_model_that_cannot_run(tmp_path: Path) -> None:
    graph = read_tflite(write_tflite(build_topology("mnist")))
    tensors = [
        replace(tensor, dtype="float32") if tensor.data is None else tensor for tensor in graph.tensors
    ]
    (tmp_path / "float.tflite").write_bytes(write_tflite(replace(graph, tensors=tuple(tensors))))
    text = succeed("inspect", tmp_path / "float.tflite").stdout
    assert "CONV_2D" in text
    assert "dlasim cannot run it: " in text


def test_a_graph_file_is_for_any_machine(folder: Path, tmp_path: Path) -> None:
    """Written from the name of a network, a .tflite or a .dlag it is the same but for its name, and takes no
    options of a machine."""
    again = tmp_path / "again.dlag"
    assert succeed("compile", folder / "mnist.dlag", "-o", again).stderr.startswith(f"wrote {again}: ")
    assert again.read_bytes() == (folder / "mnist.dlag").read_bytes()
    assert again.read_bytes().startswith(b"DLAGRAPH")
    found = json.loads(succeed("compile", "mnist", "-o", again, "--json").stdout)
    assert found["bytes"] == again.stat().st_size
    for option in (("--pes", 128), ("--fusion", "none"), ("--preset", "paper")):
        fail(
            2,
            "does not depend on a machine",
            "compile",
            folder / "mnist.tflite",
            "-o",
            tmp_path / "x.dlag",
            *option,
        )
        assert not (tmp_path / "x.dlag").exists()


def test_explain_tells_where_and_why(folder: Path) -> None:
    choices = "--dla-ops", "CONV_2D,FULLY_CONNECTED"
    rows = json.loads(succeed("explain", folder / "mnist.tflite", *choices, "--json").stdout)
    report = json.loads(succeed("run", folder / "mnist.tflite", *choices, "--json").stdout)
    assert [row["cycles"] for row in rows] == [layer["cycles"] for layer in report["layers"]]
    assert {row["unit"] for row in rows} == {"dla", "cpu"}
    assert all(row["why"] for row in rows)
    assert (
        succeed("explain", folder / "mnist.dlag").stdout == succeed("explain", folder / "mnist.tflite").stdout
    )


@pytest.mark.parametrize("name", ["mnist.tflite", "mnist.dlag"])
def test_verify_is_exact(folder: Path, name: str) -> None:
    text = succeed("verify", folder / name, "--sram", "16KiB", "--runs", 2).stdout
    assert "bit-exact against TFLite Micro" in text


def test_verify_as_json(folder: Path) -> None:
    printed = json.loads(succeed("verify", folder / "mnist.tflite", "--runs", 2, "--json").stdout)
    assert printed["passed"] is True
    assert printed["mismatch"] is None
    assert (printed["reference"], printed["inputs"], printed["uncompared"]) == ("TFLite Micro", 5, [])
    assert printed["tensors"] > 5
    assert printed["elements"] > 1000
