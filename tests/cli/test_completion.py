"""The shell completes commands, options, files and words, with the lines that docs/cli.md gives."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.hardening.commands import DLASIM

PAGE = (Path(__file__).parents[2] / "docs" / "cli.md").read_text(encoding="utf-8")
LINES = dict(re.findall(r"\| (bash|zsh|fish) \| `[^`]+` \| `([^`]+)` \|", PAGE))


def offered(words: str, folder: Path) -> list[str]:
    """What is offered for the last word: `plain,NAME`, `file,…` or `dir,…`."""
    environment = os.environ | {
        "_DLASIM_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" ")),
    }  # fmt: skip
    done = subprocess.run(DLASIM, env=environment, cwd=folder, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("dlasim sw", ["plain,sweep"]),
        ("dlasim run --fus", ["plain,--fusion"]),
        ("dlasim run model.tflite --fusion f", ["plain,full"]),
        ("dlasim sweep model.tflite --fusion none,f", ["plain,none,full"]),
        (
            "dlasim sweep x --preset paper,ethos-u55-12",
            [f"plain,paper,ethos-u55-128{end}" for end in ("", "-flash")],
        ),
        ("dlasim run x --host r", ["plain,riscv"]),
        ("dlasim run mod", ["file,mod"]),
        ("dlasim run ", ["file,"]),
        ("dlasim run resn", ["plain,resnet50", "plain,resnet8"]),
        ("dlasim sweep mob", ["plain,mobile_bert", "plain,mobilenet_v1", "plain,mobilenet_v2"]),
        ("dlasim model ds", ["plain,ds_cnn"]),
        ("dlasim run model.tflite --output ", ["dir,"]),
        ("dlasim run model.tflite --config mac", ["file,mac"]),
        ("dlasim plot ", ["file,"]),
        ("dlasim report x -o ", ["file,"]),
        ("dlasim isa OP_SOFT", ["plain,OP_SOFTMAX"]),
        ("dlasim run model.tflite --normalize ", []),
    ],
)
def test_what_is_offered(words: str, expected: list[str], tmp_path: Path) -> None:
    for name in ("model.tflite", "machine.toml"):
        (tmp_path / name).touch()
    assert offered(words, tmp_path) == expected


def test_the_page_has_a_line_for_each_shell() -> None:
    assert sorted(LINES) == ["bash", "fish", "zsh"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_line_gives_a_script(shell: str) -> None:
    (name,) = re.findall(r"_DLASIM_COMPLETE=\w+", LINES[shell])
    variable, _, value = name.partition("=")
    environment = os.environ | {variable: value}
    done = subprocess.run(DLASIM, env=environment, capture_output=True, text=True, check=True)
    assert "_dlasim_completion" in done.stdout


def test_bash_completes_after_that_line(tmp_path: Path) -> None:
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("bash is not installed")
    (tmp_path / "dlasim").write_text(f'#!/bin/sh\nexec {sys.executable} -P -m dlasim "$@"\n')
    (tmp_path / "dlasim").chmod(0o755)
    script = f"""{LINES["bash"]}
        COMP_WORDS=(dlasim run --timi) COMP_CWORD=2
        _dlasim_completion dlasim
        echo "${{COMPREPLY[@]}}" """
    path = {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        [bash, "-c", script], env=os.environ | path, capture_output=True, text=True, check=True
    )
    assert sorted(done.stdout.split()) == ["--timing", "--timing-only"]
