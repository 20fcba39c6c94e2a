"""`--host riscv` and ELF files from the command line, as a user runs them."""

import json
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from dlasim.inputs import save_npy
from dlasim.vp.system.host import shipped_firmware

ROOT = Path(__file__).parents[2]
LAST_ON_CPU = ("--dla-ops", "CONV_2D,DEPTHWISE_CONV_2D,FULLY_CONNECTED,AVERAGE_POOL_2D")  # SOFTMAX


def dlasim(*arguments, folder, code=0):
    """Runs the command; its standard output and error."""
    done = subprocess.run(
        [sys.executable, "-P", "-m", "dlasim", *map(str, arguments)],
        cwd=folder, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout, done.stderr


def report(folder, *arguments):
    out, _ = dlasim("run", *arguments, "--json", folder=folder)
    return json.loads(out)


@pytest.fixture(scope="module")
def folder(tmp_path_factory, network):
    """With a model, and one program of it for each kind of file."""
    place = tmp_path_factory.mktemp("command line")
    shutil.copy(network("ds_cnn"), place / "model.tflite")
    for name in ("program.bin", "application.elf", "image.h"):
        dlasim("compile", "model.tflite", "-o", name, "--sram", "64KiB", *LAST_ON_CPU, folder=place)
    return place


def test_the_host_says_what_it_did(folder):
    out, _ = dlasim("run", "model.tflite", "--host", "riscv", *LAST_ON_CPU, folder=folder)
    assert out.startswith("ds_cnn: streams 1, host calls 1\n")  # the firmware, on its UART
    for text in ("softmax", "firmware function", "instructions (ideal)", "stack"):
        assert text in out
    assert "estimate" not in out


def test_results_equal_those_without_a_host(folder):
    shape = (1, 49, 10, 1)
    image = np.random.default_rng(1).integers(-128, 128, shape).astype(np.int8)
    (folder / "x.npy").write_bytes(save_npy(image))
    for host in ("none", "riscv"):
        dlasim("run", "program.bin", "--host", host, "--input", "x.npy", "--output", host, folder=folder)
    dlasim("run", "application.elf", "--input", "x.npy", "--output", "application", folder=folder)
    assert (folder / "application" / "output_0.npy").read_bytes() == (
        folder / "none" / "output_0.npy"
    ).read_bytes()
    first, second = ((folder / host / "output_0.npy").read_bytes() for host in ("none", "riscv"))
    assert first == second


def test_an_application_runs_as_its_program_does(folder):
    application = report(folder, "application.elf")
    program = report(folder, "program.bin", "--host", "riscv")
    for figures in (application, program):
        del figures["wall_seconds"], figures["memory"]["firmware_flash_bytes"], figures["command"]
    assert application == program
    assert application["config"]["sram_bytes"] == 64 << 10
    standalone = report(folder, "program.bin")
    assert application["cycles"]["dla"] == standalone["cycles"]["dla"]


def test_ways_of_working(folder):
    queue = report(folder, "program.bin", "--host", "riscv")
    polling = report(folder, "program.bin", "--host", "riscv", "--completion", "polling")
    by_hand = report(
        folder, "program.bin", "--host", "riscv", "--submission", "registers", "--cpu", "two_stage"
    )
    assert polling["cpu"]["idle_cycles"] == 0 < queue["cpu"]["idle_cycles"]
    assert polling["cpu"]["instructions"] > 10 * queue["cpu"]["instructions"]
    assert by_hand["cpu"]["submission"] == "registers"
    assert by_hand["cpu"]["model"] == "two_stage"
    assert by_hand["macs"] == queue["macs"]
    assert [layer["macs"] for layer in by_hand["layers"]] == [layer["macs"] for layer in queue["layers"]]


def test_the_trace_has_functions_kernels_and_units_on_one_clock(folder):
    dlasim("run", "program.bin", "--host", "riscv", "--trace", "t.json", "--report", "r.json", folder=folder)
    figures = json.loads((folder / "r.json").read_text())
    events = json.loads((folder / "t.json").read_text())["traceEvents"]
    tracks = {
        (event["pid"], event["tid"]): event["args"]["name"]
        for event in events
        if event["name"] == "thread_name"
    }
    spans = [event for event in events if event["ph"] == "X"]
    on = {
        name: [span for span in spans if tracks[span["pid"], span["tid"]] == name] for name in tracks.values()
    }
    assert {"DMA_IN", "MAC", "VECTOR", "layers", "host calls", "firmware functions"} <= on.keys()
    functions = on["firmware functions"]
    assert {"softmax", "dla_ring", "trap_entry"} <= {span["name"] for span in functions}
    assert sum(span["args"]["cycles"] for span in functions) == figures["cycles"]["total"]
    (kernel,) = on["host calls"]
    softmax = [span for span in functions if span["name"] == "softmax"]
    assert (
        kernel["ts"]
        < softmax[0]["ts"]
        < softmax[-1]["ts"] + softmax[-1]["dur"]
        < kernel["ts"] + kernel["dur"]
    )
    assert max(span["ts"] + span["dur"] for span in on["MAC"]) < kernel["ts"]


def test_verify(folder):
    pytest.importorskip("tflite_micro", reason="tflite-micro is not installed: nothing to compare with")
    out, _ = dlasim("verify", "model.tflite", "--host", "riscv", "--place", "cpu", folder=folder)
    assert "bit-exact against TFLite Micro: 12 tensors" in out
    dlasim("verify", "model.tflite", "--host", "riscv", "--submission", "registers", folder=folder)


def test_an_elf_of_ones_own(folder, firmware):
    shutil.copy(firmware("endless"), folder / "endless.elf")
    _, said = dlasim("run", "endless.elf", "--max-instructions", "10000", folder=folder, code=1)
    assert "the limit of instructions was reached after 100" in said
    assert "main+" in said


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("model.tflite", "--cpu", "ideal"), "--cpu needs --host riscv"),
        (("model.tflite", "--gdb", "0"), "--gdb needs --host riscv"),
        (
            ("model.tflite", "--host", "riscv", "--cpu", "fast"),
            "cpu must be ideal, two_stage, five_stage, or",
        ),
        (("program.bin", "--host", "riscv", "--pes", "128"), "was lowered for 64 PEs"),
        (("application.elf", "--fusion", "none"), "already compiled"),
        (
            ("own.elf", "--fusion", "none"),
            "--fusion: only for programs and models; own.elf is an ELF file, which takes --engine",
        ),
        (("own.elf", "--output", "x"), "--output: only for programs and models"),
        (("own.elf", "--completion", "polling"), "--completion: only for programs and models"),
        (("own.elf", "--no-races"), "--races/--no-races: only for programs and models"),
        (("own.elf", "--normalize", "0,1"), "--normalize: only for programs and models"),
        (
            ("own.elf", "--repeat", "1", "--dequantize"),
            "--dequantize, --repeat: only for programs and models",
        ),
        (("own.elf", "--labels", "x"), "--labels: only for programs and models"),
        (("own.elf", "--steps", "x", "--carry", "a=b"), "--steps, --carry: only for programs and models"),
        (("own.elf", "--assume-int8"), "--assume-int8: only for programs and models"),
        (("cut.elf",), "truncated"),
    ],
)
def test_wrong_usage_is_one_clear_line(folder, arguments, said):
    shutil.copy(shipped_firmware(), folder / "own.elf")
    (folder / "cut.elf").write_bytes(shipped_firmware().read_bytes()[:5000])
    _, error = dlasim("run", *arguments, folder=folder, code=2)
    assert said in error
    assert len(error.strip().splitlines()) == 1


def test_firmware_without_a_program_says_so(folder):
    shutil.copy(shipped_firmware(), folder / "own.elf")
    out, error = dlasim("run", "own.elf", folder=folder, code=1)
    assert "no program image" in out
    assert "exit code 2" in error


def test_traces_for_the_patient(folder):
    _, mmio = dlasim("run", "application.elf", "--trace-mmio", folder=folder)
    doorbell = [line for line in mmio.splitlines() if "store32 0x1100004c" in line]
    assert len(doorbell) == 1
    _, code = dlasim(
        "run", "application.elf", "--trace-instructions", "--max-instructions", "3000", folder=folder, code=1
    )
    assert len([line for line in code.splitlines() if "_start" in line]) > 2900


def test_gdb_can_watch_a_program_run(folder):
    command = [sys.executable, "-P", "-m", "dlasim", "run", "program.bin", "--host", "riscv", "--gdb", "0"]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        announced = process.stderr.readline()
        with socket.create_connection(("127.0.0.1", int(announced.rsplit(b":", 1)[1]))) as gdb:
            gdb.sendall(b"$c#63")
            answer = b""
            while b"W00" not in answer:
                answer += gdb.recv(100)
        out, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert b"softmax" in out


def test_the_c_array_is_the_program(folder):
    text = (folder / "image.h").read_text()
    numbers = text[text.index("{") + 1 : text.index("}")].split(",")
    image = bytes(int(number, 16) for number in numbers if number.strip())
    assert image == (folder / "program.bin").read_bytes()


def make_example(place, *arguments):
    """`make run` in a copy of the example; what it printed, and its classes and ticks."""
    if shutil.which("make") is None:
        pytest.skip("make is not installed: nothing to build the example with")
    place.mkdir()
    for name in ("main.c", "Makefile"):
        shutil.copy(ROOT / "examples" / "bare-metal" / name, place)
    done = subprocess.run(
        ["make", "run", f"PYTHON={sys.executable}", *arguments],
        cwd=place, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "warning" not in done.stderr
    assert all(len(line) <= 120 for line in done.stdout.splitlines())
    lines = re.findall(r"^inference (\d+): class (\d+), ticks so far (\d+)$", done.stdout, re.MULTILINE)
    return done.stdout, [tuple(map(int, line)) for line in lines]


def check_inferences(lines):
    assert [number for number, _, _ in lines] == [0, 1, 2]
    ticks = [ticks for _, _, ticks in lines]
    assert 10 < ticks[0] < ticks[1] < ticks[2]


def test_the_example_builds_and_runs(tmp_path, builder):
    output, lines = make_example(tmp_path / "bare-metal")
    check_inferences(lines)
    assert "in 3 streams" in output
    gcc = shutil.which("riscv64-unknown-elf-gcc")
    if gcc is None:
        pytest.skip("riscv64-unknown-elf-gcc is not installed: the example was built with ziglang only")
    _, lines_of_gcc = make_example(tmp_path / "gcc", f"GCC={gcc}")
    check_inferences(lines_of_gcc)
    assert [line[:2] for line in lines_of_gcc] == [line[:2] for line in lines]


def test_the_firmware_that_ships_is_what_its_sources_give(builder, tmp_path):
    if builder.compiler_name() != builder.COMPILER_NOTE.read_text().strip():
        pytest.skip(f"built with another compiler: {builder.COMPILER_NOTE.read_text().strip()}")
    fresh = tmp_path / "firmware.elf"
    builder.build(fresh)
    assert fresh.read_bytes() == builder.PREBUILT.read_bytes()
