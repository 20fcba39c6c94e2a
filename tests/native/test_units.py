"""An object's name changes with everything that its code depends on."""

import dataclasses
import sys
from importlib import metadata
from pathlib import Path

import pytest

from dlasim.native import target
from dlasim.native.compilation_unit import CompilationUnit


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package of two modules."""
    folder = tmp_path / "apart" / "some_sources"
    folder.mkdir(parents=True)
    for name in ("__init__", "one", "other"):
        (folder / f"{name}.py").write_text(f"{name} = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("apart", "apart.some_sources"):
        sys.modules.pop(name, None)  # of the test before
    return folder


def digest(*sources: str, kind: str = "") -> str:
    return CompilationUnit("name", "module", "function", 1, sources, kind).digest


def test_the_same_is_the_same(package: Path) -> None:
    assert digest("apart.some_sources") == digest("apart.some_sources")


def test_a_source_counts(package: Path) -> None:
    whole, module = digest("apart.some_sources"), digest("apart.some_sources.one")
    (package / "other.py").write_text("other = 2\n")
    assert digest("apart.some_sources") != whole
    assert digest("apart.some_sources.one") == module
    (package / "one.py").write_text("one = 2\n")
    assert digest("apart.some_sources.one") != module


def test_a_file_that_is_added_counts(package: Path) -> None:
    before = digest("apart.some_sources")
    (package / "third.py").write_text("")
    assert digest("apart.some_sources") != before


def test_the_kind_counts(package: Path) -> None:
    assert digest("apart.some_sources", kind="a") != digest("apart.some_sources", kind="b")


@pytest.mark.parametrize("change", [{"cpu": "another"}, {"features": "+none"}])
def test_the_cpu_counts(package: Path, monkeypatch: pytest.MonkeyPatch, change: dict[str, str]) -> None:
    before, elsewhere = digest("apart.some_sources"), dataclasses.replace(target.host(), **change)
    monkeypatch.setattr(target, "host", lambda: elsewhere)
    assert digest("apart.some_sources") != before


@pytest.mark.parametrize("compiler", ["numba", "llvmlite"])
def test_the_compilers_version_counts(package: Path, monkeypatch: pytest.MonkeyPatch, compiler: str) -> None:
    before, real = digest("apart.some_sources"), metadata.version
    monkeypatch.setattr(metadata, "version", lambda name: "0.1" if name == compiler else real(name))
    assert digest("apart.some_sources") != before
