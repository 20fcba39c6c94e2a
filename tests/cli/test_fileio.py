"""Files are written whole or not at all."""

from __future__ import annotations

import fcntl
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from dlasim.errors import InputError, RunError
from dlasim.system import fileio
from dlasim.system.cache import cache_folder
from dlasim.system.fileio import atomic_write, open_file, read_file


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


def test_what_is_no_file_is_refused_at_once(tmp_path: Path) -> None:
    """A device may never end, and a pipe without a writer never begins."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(InputError, match=r"pipe: expected a file, got a pipe"):
        open_file(pipe)
    for read in (read_file, open_file):
        with pytest.raises(InputError, match=r"cannot read /dev/zero: expected a file, got a device"):
            read("/dev/zero")
        with pytest.raises(InputError, match=r"cannot read .*: Is a directory"):
            read(tmp_path)
        with pytest.raises(InputError, match=r"cannot read .*: embedded null byte"):
            read("a\0b")


def test_a_pipe_is_read_whole_and_no_further_than_allowed(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    text = bytes(range(256)) * 1000
    for most, expected in ((len(text), text), (len(text) - 1, None)):
        writer = threading.Thread(target=lambda: pipe.write_bytes(text))
        writer.start()
        if expected is None:
            with pytest.raises(InputError, match="larger than 255,999 bytes"):
                read_file(pipe, most)
        else:
            assert read_file(pipe, most) == expected
        writer.join()


def test_a_file_beyond_the_limit_is_refused(tmp_path: Path) -> None:
    large = tmp_path / "large"
    large.write_bytes(bytes(11))
    assert read_file(large, 11) == bytes(11)
    with pytest.raises(InputError, match="larger than 10 bytes"):
        read_file(large, 10)


# --- what killed processes leave ---


def unfinished(target: Path) -> tuple[int, Path]:
    handle, name = fileio._unfinished(target)
    return handle, Path(name)


def test_the_unfinished_file_of_a_killed_process_is_removed(tmp_path: Path) -> None:
    target = tmp_path / "results.csv"
    program = f"""
import os, signal, pathlib
from dlasim.system import fileio
with fileio.replacement(pathlib.Path({str(target)!r})) as file:
    file.write(b"half")
    os.kill(os.getpid(), signal.SIGKILL)
"""
    subprocess.run([sys.executable, "-P", "-c", program], check=False)
    assert len(list(tmp_path.iterdir())) == 1
    atomic_write(target, b"whole")
    assert list(tmp_path.iterdir()) == [target]


def test_an_unfinished_file_at_work_and_files_of_others_stay(tmp_path: Path) -> None:
    target = tmp_path / "results.csv"
    handle, busy = unfinished(target)
    others = [
        tmp_path / name
        for name in (
            ".results.csv.backup",
            ".results.csv.swp",
            "results.csv.x.unfinished",
            ".other.csv.x.unfinished",
        )
    ]
    for other in others:
        other.touch()
    atomic_write(target, b"whole")
    assert set(tmp_path.iterdir()) == {target, busy, *others}
    os.close(handle)
    atomic_write(target, b"again")
    assert set(tmp_path.iterdir()) == {target, *others}


def test_a_file_that_is_removed_before_it_is_locked_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, real, removed = tmp_path / "t", fcntl.flock, []

    def flock(handle: int, how: int) -> None:
        if not removed:
            (found,) = tmp_path.glob(".t.*")
            found.unlink()
            removed.append(found)
        real(handle, how)

    monkeypatch.setattr(fcntl, "flock", flock)
    atomic_write(target, b"whole")
    assert removed
    assert target.read_bytes() == b"whole"
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize("name", ["a" * 255, "\u4e2d" * 85])
def test_the_longest_names_can_be_written(name: str, tmp_path: Path) -> None:
    atomic_write(tmp_path / name, b"x")
    assert (tmp_path / name).read_bytes() == b"x"
    assert len(list(tmp_path.iterdir())) == 1
