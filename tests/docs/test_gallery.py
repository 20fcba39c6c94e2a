"""The gallery's pictures are what its commands draw today; `make golden` copies them anew."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from matplotlib.image import imread

from tests.docs.pages import steps
from tests.docs.test_commands import ROOT, perform
from tests.docs.test_readme import DIFFERENT, differing, painter

PAGE = ROOT / "docs" / "gallery.md"
PICTURES = ROOT / "docs" / "images" / "gallery"


def test_the_pictures_are_todays(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    for step in steps(PAGE):
        perform(step, tmp_path)
    shown = set(re.findall(r"\(images/gallery/(\w+\.png)\)", PAGE.read_text(encoding="utf-8")))
    assert shown == {path.name for path in tmp_path.glob("*.png")}
    for name in sorted(shown) if request.config.getoption("--update-golden") else ():
        shutil.copy(tmp_path / name, PICTURES / name)
    assert shown == {path.name for path in PICTURES.iterdir()}
    for name in sorted(shown):
        if painter(tmp_path / name) != painter(PICTURES / name):
            pytest.skip(f"the pictures are by {painter(PICTURES / name)}; others set letters otherwise")
        drawn, kept = imread(tmp_path / name), imread(PICTURES / name)
        assert drawn.shape == kept.shape, f"{name}: run `make golden`"
        assert differing(drawn, kept) < DIFFERENT, f"{name}: run `make golden`"
