"""docs/architecture.md and docs/numerics.md: paths exist, folders are all there, examples are true."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = ("architecture.md", "numerics.md")


@pytest.mark.parametrize("page", PAGES)
def test_every_path_exists(page: str) -> None:
    text = (ROOT / "docs" / page).read_text()
    paths = re.findall(r"`([a-z_]+/[a-z_/]*(?:\.[a-z]+)?)`", text)
    assert len(paths) >= 3
    assert [path for path in paths if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("page", PAGES)
def test_every_link_leads_somewhere(page: str) -> None:
    found = re.findall(r"\]\(([^)#]+)", (ROOT / "docs" / page).read_text())
    links = [link for link in found if not link.startswith("https://")]
    assert links
    assert [link for link in links if not (ROOT / "docs" / link).exists()] == []


def test_every_folder_is_described() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text()
    for folder in ("isa", "sim", "compiler_shim", "vp", "firmware", "sweeps", "dlasim"):
        assert f"| `{folder}/` |" in text
