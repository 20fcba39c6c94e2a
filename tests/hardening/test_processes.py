"""Whole commands in a hostile world: each ends in one clear line and leaves no broken file."""

from __future__ import annotations

import os
import resource
import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from dlasim.cli import main
from tests.hardening.commands import COMPILING, DLASIM, EXAMPLE, QUICK_PLANS, assert_one_line, call

FULL = Path("/dev/full")
SIZE_LIMIT = 2048

needs_full = pytest.mark.skipif(not FULL.exists(), reason="this system has no /dev/full")


# --- nowhere to write ---


@needs_full
@pytest.mark.parametrize(
    "arguments",
    [
        ("model", "mnist", "-o", FULL),
        ("compile", "MODEL", "-o", FULL),
        ("run", "MODEL", "--timing-only", "--report", FULL),
        ("run", "MODEL", "--timing-only", "--trace", FULL),
        ("asm", EXAMPLE, "-o", FULL),
        ("disasm", "PROGRAM", "-o", FULL),
    ],
    ids=lambda arguments: " ".join(Path(part).name for part in arguments),
)
def test_a_full_disk(arguments: Sequence[str | Path], model: Path, tmp_path: Path) -> None:
    program = tmp_path / "relu.bin"
    assert call("asm", EXAMPLE, "-o", program).returncode == 0
    places = {"MODEL": model, "PROGRAM": program, "OUT/p.bin": tmp_path / "p.bin"}
    process = call(*(places.get(str(part), part) for part in arguments))
    assert_one_line(process, 1, "cannot write /dev/full: No space left on device")
    assert os.listdir(tmp_path) == ["relu.bin"]


@needs_full
@pytest.mark.parametrize(
    "arguments", [("run", "--timing-only"), ("run", "--timing-only", "--json"), ("explain",)]
)
def test_a_full_disk_behind_standard_output(arguments: Sequence[str], model: Path) -> None:
    with FULL.open("w") as full:
        process = subprocess.run(
            [*DLASIM, arguments[0], str(model), *arguments[1:]],
            stdout=full, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
    assert_one_line(process, 1, "No space left on device")


@pytest.mark.parametrize("old", [None, b"what was there before"])
def test_a_disk_that_fills_up_while_writing(old: bytes | None, model: Path, tmp_path: Path) -> None:
    output = tmp_path / "program.bin"
    if old is not None:
        output.write_bytes(old)

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (SIZE_LIMIT, SIZE_LIMIT))

    process = call("compile", model, "-o", output, preexec_fn=limit)
    assert_one_line(process, 1, "File too large")
    assert output.exists() == (old is not None)
    assert old is None or output.read_bytes() == old
    assert len(os.listdir(tmp_path)) == int(old is not None)


def test_a_sweep_goes_on_after_a_disk_was_full(model: Path, tmp_path: Path) -> None:
    sweep = ("sweep", model, "--pes", "1..64:1", "--jobs", "2", *QUICK_PLANS, "--out", tmp_path)

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (8 * SIZE_LIMIT, 8 * SIZE_LIMIT))

    assert_one_line(call(*sweep, preexec_fn=limit), 1, "File too large")
    assert os.listdir(tmp_path) == ["cache"]
    again = call(*sweep)
    assert again.returncode == 0
    assert "of them from the cache" in again.stderr


@pytest.mark.parametrize("output", ["missing/p.bin", "file/p.bin", "."])
def test_a_place_that_is_none(output: str, model: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    assert_one_line(call("compile", model, "-o", tmp_path / output), 2, "cannot write ")


def test_outputs_where_a_file_is(model: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    assert_one_line(call("run", model, "--output", tmp_path / "file"), 2, "file")


# --- what is read, and what is written ---


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("compile", "m.tflite", "-o", "m.tflite"), "cannot write m.tflite: it is also an input"),
        (("compile", "m.tflite", "-o", "link"), "cannot write link: it is also an input"),
        (("compile", "m.tflite", "-o", "./m.tflite"), "./m.tflite: it is also an input"),
        (("run", "m.tflite", "--report", "m.tflite"), "it is also an input"),
        (("run", "m.tflite", "--trace", "r.json", "--report", "r.json"), "another output goes there"),
        (("run", "m.tflite", "--input", "x.npy", "--report", "x.npy"), "it is also an input"),
        (("run", "m.tflite", "--config", "c.toml", "--trace", "c.toml"), "it is also an input"),
        (("run", "m.tflite", "--report", "hard"), "cannot write hard: it is also an input"),
        (("run", "m.tflite", "--report", "sub/../m.tflite"), "it is also an input"),
        (
            ("run", "m.tflite", "--cpu", "c.toml", "--host", "riscv", "--report", "c.toml"),
            "it is also an input",
        ),
        (("run", "m.tflite", "--technology", "c.toml", "--report", "c.toml"), "it is also an input"),
        (("compile", "m.tflite", "--technology", "c.toml", "-o", "c.toml"), "it is also an input"),
        (("run", "m.tflite", "--technology", "based.toml", "--report", "c.toml"), "it is also an input"),
        (("run", "m.tflite", "--technology", "circle.toml", "--report", "c.toml"), "leads back to itself"),
        (
            ("sweep", "mnist", "--technology", "based.toml", "--out", "base", "--jobs", "1"),
            "cannot write base/sweep.json: it is also an input",
        ),
        (
            ("run", "m.tflite", "--host", "riscv", "--device", "d.py:D@0x30000000", "--html", "d.py"),
            "cannot write d.py: it is also an input",
        ),
        (("run", "m.tflite", "--report", "new", "--output", "new"), "another output goes there"),
        (
            ("run", "m.tflite", "--input", "d/output_0.npy", "--output", "d"),
            "d/output_0.npy: it is also an input",
        ),
        (("run", "m.tflite", "--output", "d", "--report", "d/output_0.npy"), "another output goes there"),
        (
            ("run", "m.tflite", "--output", "d", "--report", "d/../d/output_0.npy"),
            "another output goes there",
        ),
        (("run", "m.tflite", "--output", "d", "--trace", "into"), "another output goes there"),
        (
            ("sweep", "mnist", "--technology", "e/sweep.json.toml", "--out", "e", "--jobs", "1"),
            "cannot write e/sweep.json: it is also an input",
        ),
        (("sweep", "s.toml", "--out", "d", "--jobs", "1"), "cannot write d/sweep.json: it is also an input"),
        (
            ("sweep", "m.tflite", "--out", "e", "--jobs", "1"),
            "cannot write e/results.csv: it is also an input",
        ),
        (
            ("sweep", "bad.toml", "--out", "d"),
            "must be a name without folders that ends in .png, .svg or .pdf",
        ),
        (("plot", "t.svg", "-o", "t.svg"), "cannot write t.svg: it is also an input"),
        (("plot", "t.svg", "-o", "table.svg"), "cannot write table.svg: it is also an input"),
        (("asm", "relu.bin"), "cannot write relu.bin: it is also an input"),
        (("disasm", "relu.bin", "-o", "relu.bin"), "it is also an input"),
    ],
    ids=lambda given: " ".join(given) if isinstance(given, tuple) else "",
)
def test_nothing_is_written_over_what_is_read(
    arguments: Sequence[str], message: str, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    contents = {
        "m.tflite": model.read_bytes(), "relu.bin": b"bytes", "x.npy": b"x", "c.toml": b"pes = 1\n",
        "d.py": b"class D:\n    pass\n",
        "s.toml": b'models = ["m.tflite"]\n', "t.svg": b"point,cycles_total\n",
        "bad.toml": b'models = ["m.tflite"]\n[[charts]]\nkind = "stacked"\nfile = "../a.png"\n',
    }  # fmt: skip
    for name, content in contents.items():
        Path(name).write_bytes(content)
    Path("link").symlink_to("m.tflite")
    Path("hard").hardlink_to("m.tflite")
    for folder in ("sub", "d", "e", "base"):
        Path(folder).mkdir()
    np.save("d/output_0.npy", np.zeros((1, 28, 28, 1), np.int8))
    Path("d/sweep.json").symlink_to("../s.toml")
    Path("e/results.csv").symlink_to("../m.tflite")
    Path("e/sweep.json.toml").write_bytes(b'base = "45nm"\n')
    Path("e/sweep.json").symlink_to("sweep.json.toml")
    Path("into").symlink_to("d/output_0.npy")
    Path("based.toml").write_bytes(b'base = "other.toml"\n')
    Path("other.toml").write_bytes(b'base = "c.toml"\n')
    Path("circle.toml").write_bytes(b'base = "circle.toml"\n')
    Path("base/sweep.json").symlink_to("../c.toml")
    Path("table.svg").symlink_to("t.svg")
    before = tree(tmp_path)
    with pytest.raises(SystemExit) as left:
        main(list(arguments), prog_name="dlasim")
    printed = capsys.readouterr().err
    assert left.value.code == 2
    assert message in printed
    assert len(printed.splitlines()) == 1
    assert tree(tmp_path) == before


def tree(folder: Path) -> dict[str, bytes]:
    """All that is in a folder; in folders below too."""
    return {str(path): path.read_bytes() if path.is_file() else b"" for path in folder.rglob("*")}


def test_standard_input_is_a_file_too(tmp_path: Path) -> None:
    source = tmp_path / "a.s"
    source.write_bytes(EXAMPLE.read_bytes())
    with source.open("rb") as file:
        assert_one_line(call("asm", "-", "-o", source, stdin=file), 2, "it is also an input")
    assert source.read_bytes() == EXAMPLE.read_bytes()


def test_a_stale_output_may_be_an_input(model: Path, tmp_path: Path) -> None:
    """Only what this run writes counts: mnist has one output."""
    np.save(tmp_path / "output_1.npy", np.zeros((1, 28, 28, 1), np.int8))
    process = call("run", model, "--input", tmp_path / "output_1.npy", "--output", tmp_path)
    assert process.returncode == 0, process.stderr


@pytest.mark.parametrize("name", ["/tmp/a.png", "../a.png", "sub/a.png", "..", "", "a.csv", "a.png/"])
def test_a_study_writes_into_its_folder_only(name: str, model: Path, tmp_path: Path) -> None:
    study = tmp_path / "s.toml"
    study.write_text(f'models = ["{model}"]\n[[charts]]\nkind = "stacked"\nfile = "{name}"\n')
    process = call("sweep", study, "--out", tmp_path / "out", "--jobs", "1")
    assert_one_line(
        process, 2, f"must be a name without folders that ends in .png, .svg or .pdf (got {name!r})"
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["s.toml"]


@pytest.mark.parametrize("name", ["../up", "/tmp/dlasim-elsewhere", "a/b"])
def test_a_studys_name_chooses_no_other_folder(name: str, model: Path, tmp_path: Path) -> None:
    here = tmp_path / "here"
    here.mkdir()
    study = tmp_path / "s.toml"
    study.write_text(f'name = "{name}"\nmodels = ["{model}"]\n')
    assert call("sweep", study, "--jobs", "1", cwd=here).returncode == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["here", "s.toml"]
    assert [path.name for path in here.iterdir()] == [name.replace("/", "_") + "-sweep"]


def test_devices_take_several_outputs(model: Path) -> None:
    process = call("run", model, "--timing-only", "--report", "/dev/null", "--trace", "/dev/null")
    assert process.returncode == 0
    assert [line[:15] for line in process.stderr.splitlines()] == ["wrote /dev/null"] * 2


# --- caches and homes ---


def test_a_chart_without_a_home(model: Path, tmp_path: Path) -> None:
    assert call("sweep", model, "--pes", "32", "--out", tmp_path).returncode == 0
    process = call("plot", tmp_path, environment=without_home(HOME="/proc"))
    assert process.returncode == 0
    assert process.stderr == f"wrote {tmp_path / 'stacked.png'}\n"


def without_home(**more: str) -> dict[str, str]:
    return {k: v for k, v in os.environ.items() if k not in ("HOME", "XDG_CACHE_HOME")} | more


def test_a_cache_that_cannot_be_made_is_replaced(model: Path, tmp_path: Path) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    places = without_home(XDG_CACHE_HOME="/proc/dlasim", TMPDIR=str(temporary))
    process = call("run", model, environment=places)
    assert process.returncode == 0, process.stderr
    assert not list(temporary.iterdir())  # unless something must be kept
    process = call("sweep", "mnist", "--pes", "32", "--out", tmp_path / "out", environment=places)
    assert process.returncode == 0, process.stderr
    (folder,) = temporary.iterdir()
    assert folder.stat().st_mode & 0o777 == 0o700


# --- two at once ---


@pytest.mark.slow
def test_first_runs_share_one_cache(model: Path, tmp_path: Path) -> None:
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    together = [
        subprocess.Popen(
            [*COMPILING, "run", str(model), "--json"], env=environment, stdout=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    outputs = [process.communicate(timeout=300)[0] for process in together]
    assert [process.returncode for process in together] == [0, 0]
    assert all('"cycles"' in output for output in outputs)
    assert {file.suffix for file in (tmp_path / "dlasim").rglob("*") if file.is_file()} == {".o"}


@pytest.mark.slow
def test_a_damaged_kernel_is_built_anew(model: Path, tmp_path: Path) -> None:
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    run = [*COMPILING, "run", str(model)]
    subprocess.run(run, env=environment, check=True)
    (kernel,) = (tmp_path / "dlasim").glob("kernels-*.o")
    whole = kernel.read_bytes()
    kernel.write_bytes(whole[: len(whole) // 2])
    subprocess.run(run, env=environment, check=True)
    assert kernel.stat().st_size == len(whole)
