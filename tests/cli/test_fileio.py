"""Files are written whole or not at all."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from dlasim.errors import InputError, RunError
from dlasim.fileio import atomic_write, cache_folder


def test_text_and_bytes_arrive(tmp_path: Path) -> None:
    atomic_write(tmp_path / "a", "ä\n")
    atomic_write(str(tmp_path / "b"), b"\0\1")
    assert (tmp_path / "a").read_bytes() == "ä\n".encode()
    assert (tmp_path / "b").read_bytes() == b"\0\1"


def test_a_new_file_has_the_usual_mode_and_an_old_one_keeps_its_own(tmp_path: Path) -> None:
    plain, old, new = tmp_path / "plain", tmp_path / "old", tmp_path / "new"
    plain.write_bytes(b"")
    old.write_bytes(b"before")
    old.chmod(0o640)
    atomic_write(new, b"x")
    atomic_write(old, b"after")
    assert new.stat().st_mode == plain.stat().st_mode
    assert stat.S_IMODE(old.stat().st_mode) == 0o640
    assert old.read_bytes() == b"after"


def test_a_failure_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "a"
    file.write_bytes(b"before")

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(RunError, match=r"cannot write .*a: No space left on device"):
        atomic_write(file, b"after")
    assert file.read_bytes() == b"before"
    assert os.listdir(tmp_path) == ["a"]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "target")
    atomic_write(tmp_path / "link", b"x")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_bytes() == b"x"


def test_a_device_is_written_to_and_not_replaced() -> None:
    atomic_write("/dev/null", b"x")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_a_wrong_path_is_an_input_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    for path in (tmp_path / "missing" / "a", tmp_path, tmp_path / "file" / "a"):
        with pytest.raises(InputError, match="cannot write"):
            atomic_write(path, b"x")


def test_the_cache_is_the_users_or_a_private_temporary_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert cache_folder() == tmp_path / "cache" / "dlasim"
    (tmp_path / "blocked").write_bytes(b"")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "blocked"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    folder = cache_folder()
    assert folder.parent == tmp_path
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    folder.rmdir()
    folder.write_bytes(b"")
    with pytest.raises(RunError, match="no folder to keep compiled code in"):
        cache_folder()
