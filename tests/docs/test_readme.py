"""The README beyond its commands: its picture is today's, and the targets and scripts that it names exist."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from matplotlib.image import imread
from PIL import Image

from tests.docs.pages import steps
from tests.docs.test_commands import ROOT, perform

README = ROOT / "README.md"
PICTURE = ROOT / "docs" / "images" / "machines.png"
DIFFERENT = 0.001  # share of pixels


def painter(picture: Path) -> str:
    """What drew a picture, with its version."""
    with Image.open(picture) as image:
        return str(image.info["Software"])


def test_the_picture_is_todays(tmp_path: Path) -> None:
    for step in steps(README):
        if re.match(r"dlasim (sweep|plot) ", step.text):
            perform(step, tmp_path)
    if painter(tmp_path / "study.png") != painter(PICTURE):
        pytest.skip(f"the picture is by {painter(PICTURE)}, and another one sets its letters otherwise")
    drawn, shown = imread(tmp_path / "study.png"), imread(PICTURE)
    hint = "copy the study.png of README's second task to docs/images/machines.png"
    assert drawn.shape == shown.shape, hint
    assert differing(drawn, shown) < DIFFERENT, hint


def differing(one: np.ndarray, other: np.ndarray) -> float:
    """The share of pixels that are quite another colour."""
    return float((np.abs(one - other).max(axis=-1) > 0.3).mean())


def test_a_higher_bar_is_seen() -> None:
    shown = imread(PICTURE)
    changed = shown.copy()
    changed[200:220, 100:160] = (0, 0, 0, 1)
    assert differing(shown, changed) > DIFFERENT > differing(shown, shown)


def test_targets_and_scripts_exist() -> None:
    text = README.read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    named = set(re.findall(r"(?:`|^)make ([a-z-]+)", text, re.MULTILINE))
    assert named, "the README names no target"
    assert named <= targets
    scripts = re.findall(r"`(\w+/\w+\.py)`", text)
    assert scripts, "the README names no script"
    assert [script for script in scripts if not (ROOT / script).exists()] == []
