"""The commands of README, tutorial and how-to guides run as they stand, and show what the pages say."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.docs.pages import Step, shows, steps
from tests.docs.refresh import refresh

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    ROOT / "examples" / "README.md",
    ROOT / "docs" / "tutorial.md",
    ROOT / "docs" / "firmware.md",
    ROOT / "docs" / "planner.md",
    ROOT / "docs" / "sweeps.md",
    ROOT / "docs" / "timing-model.md",
    ROOT / "docs" / "virtual-prototype.md",
    *sorted((ROOT / "docs" / "how-to").glob("*.md")),
]
SECONDS, SLOW_SECONDS = 600, 3600
SLOW = {
    "find-the-least-energy.md",  # MobileNetV2 on 256 machines
    "reproduce-the-paper.md",  # dozens of whole MobileNets
    "get-an-int8-network.md",  # loads TensorFlow and converts a network
}


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=[pytest.mark.slow] * (page.name in SLOW)) for page in PAGES],
    ids=[str(page.relative_to(ROOT)) for page in PAGES],
)
def test_a_page_works(page: Path, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    follow(page, [step for step in steps(page) if not step.is_slow], tmp_path, request)


@pytest.mark.slow
def test_what_takes_minutes_on_a_page(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """Commands with a mark, on pages whose others are quick."""
    for page in PAGES:
        if chosen := [step for step in steps(page) if step.is_slow]:
            if shutil.which("verilator") is None:
                pytest.skip("verilator is not installed: `dlasim confirm` needs it")
            follow(page, chosen, tmp_path / page.stem, request)


def follow(page: Path, chosen: Iterable[Step], folder: Path, request: pytest.FixtureRequest) -> None:
    """Do what a page says, in a folder of its own."""
    page_to_refresh = page if request.config.getoption("--update-golden") else None
    folder.mkdir(exist_ok=True)
    (folder / "examples").symlink_to(ROOT / "examples")
    done = 0
    for step in chosen:
        if step.kind == "needs":
            if importlib.util.find_spec(step.name) is None:
                pytest.skip(f"{step.name} is not installed")
        elif step.kind == "file":
            (folder / step.name).write_text(step.text, encoding="utf-8")
        else:
            perform(step, folder, page_to_refresh)
            done += 1
    assert done, "nothing of this page is tested"


def perform(step: Step, folder: Path, page_to_refresh: Path | None = None) -> None:
    """Run a command or a script; what the page shows must be in its output, or is put right."""
    command = ["bash", "-euo", "pipefail", "-c", step.text]
    if step.kind == "script":
        command = [sys.executable, "-c", step.text]
    binaries = str(Path(sys.executable).parent)
    environment = os.environ | {"PATH": f"{binaries}{os.pathsep}{os.environ['PATH']}", "COLUMNS": "200"}
    seconds = SLOW_SECONDS if step.is_slow else SECONDS
    process = subprocess.run(
        command, cwd=folder, env=environment, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=seconds, check=False,
    )  # fmt: skip
    assert process.returncode == step.exit_code, f"{step.text}\n{process.stdout}"
    if page_to_refresh is not None:
        refresh(page_to_refresh, step.output, process.stdout)
        return
    missing = shows(step.output, process.stdout)
    assert missing is None, f"{step.text}\ndoes not show: {missing}\nbut\n{process.stdout}"


def test_what_a_page_shows_is_compared() -> None:
    assert shows(("total … cycles", "DMA"), "x\ntotal   5 cycles\nDMA read\n") is None
    assert shows(("DMA", "total … cycles"), "total 5 cycles\nDMA read\n") == "total … cycles"
    assert shows(("total 6",), "total 5\n") == "total 6"


def test_a_page_gets_todays_figures(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("$ x\nnet  16 O  1,234  5.0 %\n… cycles\ntotal 7\n")
    refresh(
        page,
        ("net  16 O  1,234  5.0 %", "… cycles", "total 7"),
        "net 8 I 9\nnet  16 O  99  4.5 %\n3 cycles\ntotal  8\n",
    )
    assert page.read_text() == "$ x\nnet  16 O  99  4.5 %\n… cycles\ntotal  8\n"


def test_a_page_keeps_the_names_of_layers(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("stage_3/conv_2  8x8x64/2  1,234\n")
    refresh(
        page, ("stage_3/conv_2  8x8x64/2  1,234",), "stage_1/conv_2 4x8x64/2 9\nstage_3/conv_2 4x4x64/2 7\n"
    )
    assert page.read_text() == "stage_3/conv_2 4x4x64/2 7\n"


def test_a_sign_alone_is_no_number(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("x  cycles / bound\nnet  1.2\n")
    refresh(page, ("x  cycles / bound", "net  1.2"), "x cycles / bound\nnet  1.3\n")
    assert page.read_text() == "x cycles / bound\nnet  1.3\n"


def test_a_page_keeps_numbers_that_nothing_printed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text('run(sram="128KiB")\nprint(pes)     # 128\n')
    refresh(page, ("128",), "resnet8 5\n64\n")
    assert page.read_text() == 'run(sram="128KiB")\nprint(pes)     # 64\n'


def test_a_page_gets_todays_units(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("layer  read\n─────  ─────\nconv   4.2 KiB  1.3 µJ\n")
    shown = ("layer  read", "─────  ─────", "conv   4.2 KiB  1.3 µJ")
    refresh(page, shown, "layer    read\n───────  ───\nconv     812 B   970 nJ\n")
    assert page.read_text() == "layer    read\n───────  ───\nconv     812 B   970 nJ\n"


def test_the_steps_of_a_page(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "```console\n$ a \\\n  b\nout\n$ c\n```\n<!-- file: x.toml -->\n```toml\npes = 1\n```\n"
        "```\ndlasim isa\nother\n```\n```python\nimport dlasim\n```\n```python\n>>> 1\n```\n"
        "<!-- exits: 2 -->\n```console\n$ d\n$ e\n```\n"
        "<!-- takes: minutes -->\n```console\n$ f\nout\n```\n"
    )
    assert list(steps(page)) == [
        Step("command", "a b", output=("out",)),
        Step("command", "c"),
        Step("file", "pes = 1\n", "x.toml"),
        Step("command", "dlasim isa"),
        Step("script", "import dlasim\n"),
        Step("command", "d"),
        Step("command", "e", exit_code=2),
        Step("command", "f", output=("out",), is_slow=True),
    ]


@pytest.mark.parametrize(
    "page",
    [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.md")],
    ids=lambda page: str(page.relative_to(ROOT)),
)
def test_readers_see_no_scaffolding_of_tests(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert not re.search(r"\|\| true|2>&1|head -c", text)
