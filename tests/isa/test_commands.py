"""`dlasim asm` and `dlasim disasm` as a user runs them."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

_EXAMPLE = Path(__file__).parents[2] / "examples" / "relu.s"


def dlasim(*arguments: str | Path, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """The command in a process of its own."""
    return subprocess.run(
        [sys.executable, "-P", "-m", "dlasim", *map(str, arguments)],
        input=stdin,
        capture_output=True,
        check=False,
    )


def test_there_and_back(tmp_path: Path) -> None:
    first, second, text = tmp_path / "a.bin", tmp_path / "b.bin", tmp_path / "a.s"
    done = dlasim("asm", _EXAMPLE, "-o", first)
    assert (done.returncode, done.stdout) == (0, b"")
    assert b"wrote" in done.stderr
    assert dlasim("disasm", first, "--annotate", "-o", text).returncode == 0
    assert dlasim("asm", text, "-o", second).returncode == 0
    assert first.read_bytes() == second.read_bytes()


def test_pipes(tmp_path: Path) -> None:
    program = tmp_path / "a.bin"
    assert dlasim("asm", "-", "-o", program, stdin=_EXAMPLE.read_bytes()).returncode == 0
    done = dlasim("disasm", program)
    assert done.stderr == b""
    assert b"OP_ACT_RELU" in done.stdout


def test_the_default_name(tmp_path: Path) -> None:
    source = tmp_path / "program.s"
    source.write_text(".stream\nHALT\n")
    assert dlasim("asm", source).returncode == 0
    assert (tmp_path / "program.bin").exists()
    done = dlasim("asm", "-", stdin=b".stream\nHALT\n")
    assert done.returncode == 2
    assert b"-o FILE" in done.stderr


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b".stream\nHALTT\n", b"bad.s:2:1: unknown instruction HALTT; did you mean HALT?"),
        (b".program \"\xff\"\n", b"bad.s:1: this line is not valid UTF-8"),
        *(
            (nothing, b"bad.s is empty or has comments only: there is nothing to assemble\n")
            for nothing in (b"", b"\xef\xbb\xbf; a comment\r\n\n  # .stream")
        ),
        (b"\x7fELF\x00\x00", b"bad.s:1:1: unexpected character"),
    ],
)  # fmt: skip
def test_a_bad_text_leaves_the_old_file(tmp_path: Path, text: bytes, message: bytes) -> None:
    source, target = tmp_path / "bad.s", tmp_path / "out.bin"
    source.write_bytes(text)
    target.write_bytes(b"old")
    done = dlasim("asm", source, "-o", target)
    assert done.returncode == 2
    assert message in done.stderr
    assert b"Traceback" not in done.stderr
    assert target.read_bytes() == b"old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.s", "out.bin"]


def test_missing_and_wrong_files(tmp_path: Path) -> None:
    for verb in ("asm", "disasm"):
        done = dlasim(verb, tmp_path / "none", "-o", tmp_path / "out")
        assert (done.returncode, done.stdout) == (2, b"")
        assert b"cannot read" in done.stderr
        assert b"No such file" in done.stderr
    done = dlasim("disasm", _EXAMPLE)
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"is not a valid program: it does not start with DLAPROG" in done.stderr


@pytest.mark.parametrize("name", ["", "/", "."])
def test_a_file_without_a_name(name: str) -> None:
    done = dlasim("asm", name)
    assert done.returncode == 2
    assert done.stderr.decode().startswith(f"dlasim: cannot read {name}")
    assert done.stderr.count(b"\n") == 1


def test_output_that_cannot_be_written(tmp_path: Path) -> None:
    done = dlasim("asm", _EXAMPLE, "-o", tmp_path / "none" / "a.bin")
    assert done.returncode == 2
    assert b"cannot write" in done.stderr


def test_nothing_heavy_is_loaded(tmp_path: Path) -> None:
    """LLVM alone would cost more than all the work."""
    code = (
        "import sys; from dlasim.cli import main\n"
        "try: main(['asm', sys.argv[1], '-o', sys.argv[2]])\n"
        "except SystemExit as end: assert not end.code\n"
        "print(sorted({name.split('.')[0] for name in sys.modules}))"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", code, str(_EXAMPLE), str(tmp_path / "a.bin")],
        capture_output=True,
        text=True,
        check=True,
    )
    for heavy in ("numba", "llvmlite", "matplotlib", "unicorn", "tensorflow", "flatbuffers"):
        assert f"'{heavy}'" not in done.stdout, heavy


@pytest.mark.parametrize("verb", ["asm", "disasm"])
def test_help_shows_examples(verb: str) -> None:
    done = dlasim(verb, "--help")
    assert done.returncode == 0
    assert b"Examples:" in done.stdout


def test_the_example_computes_what_it_says(tmp_path: Path) -> None:
    """Text, file and simulator in a row: max(x, 0), as scale and zero point do not change."""
    values = np.arange(-8, 8, dtype=np.int8).reshape(1, 4, 4, 1)
    np.save(tmp_path / "x.npy", values)
    program = tmp_path / "relu.bin"
    assert dlasim("asm", _EXAMPLE, "-o", program).returncode == 0
    done = dlasim("run", program, "--input", tmp_path / "x.npy", "--output", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    np.testing.assert_array_equal(np.load(tmp_path / "out" / "output_0.npy"), np.maximum(values, 0))
