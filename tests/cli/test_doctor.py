"""`dlasim doctor`: what it says about what is there and what is not."""

from __future__ import annotations

import json
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from dlasim import __version__
from dlasim.cli import health, main
from dlasim.native.levels import this_platform


def call(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["doctor", *arguments], prog_name="dlasim")


def with_requirements(monkeypatch: pytest.MonkeyPatch, *lines: str) -> None:
    monkeypatch.setattr(metadata, "requires", lambda name: list(lines))


def test_this_machine_is_well() -> None:
    result = call()
    assert result.exit_code == 0
    assert result.stdout.startswith(f"dlasim {__version__}, Python 3.")
    assert "numpy" in result.stdout


def test_json_tells_the_installed_versions() -> None:
    data = json.loads(call("--json").stdout)
    found = {package["name"]: package["found"] for package in data["required"]}
    assert found["click"] == metadata.version("click")
    assert {extra["name"] for extra in data["extras"]} == set(health.EXTRAS)
    assert data["is_healthy"] is True


def test_every_extra_of_the_package_has_a_purpose() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))
    assert set(project["project"]["optional-dependencies"]) == set(health.EXTRAS)


@pytest.mark.parametrize(
    ("requirement", "state"),
    [
        ("click>=8.1", "ok"),
        ("click (>=8.1)", "ok"),
        ("click<100,>=8.1", "ok"),
        ("click>=1000", "old"),
        ("no-such-package-here>=1", "missing"),
    ],
)
def test_a_requirement_is_ok_old_or_missing(
    monkeypatch: pytest.MonkeyPatch, requirement: str, state: str
) -> None:
    with_requirements(monkeypatch, requirement)
    assert [package.state for package in health.examine().required] == [state]
    assert call().exit_code == (0 if state == "ok" else 1)


def test_core_health_comes_first_and_extras_are_a_line_each(monkeypatch: pytest.MonkeyPatch) -> None:
    extras = {name: [f"no-such-package-{number}" for number in range(3)] for name in health.EXTRAS}
    extras |= {"media": ["click>=1000"], "verify": ["click>=8", "no-such-package"], "onnx": ["click>=8"]}
    lines = [f'{package}; extra == "{name}"' for name, packages in extras.items() for package in packages]
    with_requirements(monkeypatch, "click>=8.1", *lines)
    result = call()
    assert result.exit_code == 0
    head, _, rest = result.stdout.partition("\n\nExtras; to add one: pip install 'dlasim[NAME]'\n")
    assert head.startswith(f"dlasim {__version__}, Python 3.")
    assert "everything that it needs is installed" in head.splitlines()[0]
    listed = rest.split("\n\n")[0].splitlines()
    shown = {line.split()[0]: line.split(maxsplit=1)[1] for line in listed}
    assert len(listed) == len(health.EXTRAS)
    assert shown["onnx"] == f"installed (for {health.EXTRAS['onnx']})"
    assert shown["distributed"] == f"not installed (needed for {health.EXTRAS['distributed']})"
    assert shown["verify"].startswith("partly installed: lacks no-such-package (needed for")
    version = metadata.version("click")
    assert shown["media"].startswith(
        f"partly installed: click {version} is too old, it must be >=1000 (needed"
    )
    assert "MISSING" not in result.stdout


def test_what_is_broken_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    with_requirements(monkeypatch, "click>=1000", "no-such-package-here>=1")
    result = call()
    assert result.exit_code == 1
    assert result.stdout.splitlines()[0].endswith(": a required package is missing or too old")
    assert result.stdout.splitlines()[1:4] == [
        f"  click {metadata.version('click')} is too old, it must be >=1000",
        "  no-such-package-here is missing",
        "  to mend it, run pip install . in the checkout of dlasim",
    ]


def test_processor_features_come_from_the_system(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    monkeypatch.setattr(health.platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(health, "_processor", lambda: ("Test CPU", frozenset({"avx2", "sse2"})))
    features = health.examine().features
    assert features["AVX2"] is True
    assert features["AVX-512 VNNI"] is False


def test_compiled_code_is_there_or_not(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from dlasim.cli import compiled_code
    from dlasim.machine_code import units_here
    from dlasim.native import library
    from dlasim.native.object_file import seal

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    shipped = {compiled.name: compiled.is_built for compiled in health.examine().compiled}
    assert shipped["states"] == (library.find_shipped(units_here()[0]) is not None)
    monkeypatch.setattr(library, "find_shipped", lambda _: None)  # as on another system
    monkeypatch.setattr(health, "_compiled", compiled_code.compiled_code)
    found = {compiled.name: compiled.is_built for compiled in health.examine().compiled}
    assert found.keys() == shipped.keys()
    assert not any(found.values())
    assert "states" in found
    assert any(name.startswith("kernels-") for name in found)
    assert "makes plans faster: not built yet: " in call().stdout
    assert "; the next run builds it\n" in call().stdout
    for unit in units_here():
        (tmp_path / "dlasim" / library.file_name(unit)).write_bytes(seal(b"code"))
    assert "makes plans faster: ready\n" in call().stdout


def test_compiled_code_where_the_compiler_is_broken(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "llvmlite.py").write_text("raise ImportError('out of order')")
    monkeypatch.syspath_prepend(tmp_path)
    result = call()
    assert result.exit_code == 0
    assert ("cannot be built" in result.stdout) == (this_platform() is None)  # else it ships
