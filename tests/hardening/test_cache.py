"""The folder that compiled code is loaded from is ours alone."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dlasim.cache import cache_folder
from dlasim.errors import RunError


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A temporary folder of the test's own, and no cache of the user's."""
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path / f"dlasim-cache-{os.getuid()}"


def test_without_a_home_it_is_a_private_temporary_one(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nobody() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", nobody)
    assert cache_folder() == temporary
    assert temporary.stat().st_mode & 0o777 == 0o700


def test_one_that_others_can_write_is_not_used(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = temporary.parent / "home"
    shared = home / ".cache" / "dlasim"
    shared.mkdir(parents=True)
    shared.chmod(0o777)
    monkeypatch.setattr(Path, "home", lambda: home)
    assert cache_folder() == temporary
    temporary.chmod(0o775)
    with pytest.raises(RunError, match="no folder to keep compiled code in"):
        cache_folder()
