"""The folder that compiled code is loaded from is ours alone."""

from __future__ import annotations

import os
import stat
import threading
import time
from pathlib import Path

import pytest

from dlasim.errors import RunError
from dlasim.system.cache import MAX_LIBRARIES, MAX_OBJECTS, Cache, cache_folder, open_cache

NOBODY = 65534
OBJECT = f"search-{7:020x}.o"


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


# --- whose folder, whose files ---


@pytest.fixture
def private(tmp_path: Path) -> Path:
    folder = tmp_path / "private"
    folder.mkdir(mode=0o700)
    return folder


@pytest.mark.parametrize("where", ["home", "temporary"])
def test_a_link_is_not_followed(where: str, temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    victim = temporary.parent / "victim"
    victim.mkdir(mode=0o700)
    home = temporary.parent / "home"
    (home / ".cache").mkdir(parents=True)
    monkeypatch.setattr(Path, "home", lambda: home)
    (home / ".cache" / "dlasim").symlink_to(victim)
    if where == "home":
        assert cache_folder() == temporary
    else:
        temporary.symlink_to(victim)
        with pytest.raises(RunError, match="no folder to keep compiled code in"):
            cache_folder()
    assert list(victim.iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a folder of somebody else's")
def test_a_folder_of_somebody_else_is_not_used(private: Path) -> None:
    os.chown(private, NOBODY, NOBODY)
    with pytest.raises(PermissionError):
        Cache(private)


def test_a_folder_that_others_read_is_closed_to_them(private: Path) -> None:
    private.chmod(0o755)
    Cache(private).close()
    assert stat.S_IMODE(private.stat().st_mode) == 0o700


@pytest.mark.parametrize("variable", ["XDG_CACHE_HOME", "HOME"])
def test_a_relative_path_is_no_place(variable: str, temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work = temporary.parent / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    monkeypatch.setenv("HOME", "/proc/nowhere")
    monkeypatch.setenv(variable, "here")
    assert cache_folder() == temporary
    assert list(work.iterdir()) == []


def test_the_current_folder_is_no_temporary_one(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python takes it where it finds no other."""
    monkeypatch.setenv("HOME", "/proc/nowhere")
    monkeypatch.chdir(temporary.parent)
    with pytest.raises(RunError, match="no folder to keep compiled code in"):
        cache_folder()


def test_a_folder_that_is_replaced_meanwhile_stays_the_one_that_was_checked(private: Path) -> None:
    with Cache(private) as cache:
        cache.write(OBJECT, b"ours")
        moved = private.rename(private.with_name("moved"))
        private.mkdir()
        (private / OBJECT).write_bytes(b"theirs")
        assert cache.read(OBJECT) == b"ours"
        cache.write(OBJECT, b"anew")
    assert (moved / OBJECT).read_bytes() == b"anew"
    assert (private / OBJECT).read_bytes() == b"theirs"


def test_only_a_plain_file_of_ours_is_read(private: Path) -> None:
    with Cache(private) as cache:
        cache.write(OBJECT, b"code")
        assert cache.read(OBJECT) == b"code"
        file = private / OBJECT
        for mode in (0o660, 0o606):
            file.chmod(mode)
            assert cache.read(OBJECT) is None
        file.chmod(0o600)
        (private / "link").symlink_to(file)
        assert cache.read("link") is None
        os.mkfifo(private / "pipe")
        assert cache.read("pipe") is None
        (private / "folder").mkdir()
        assert cache.read("folder") is None
        if os.geteuid() == 0:
            os.chown(file, NOBODY, NOBODY)
            assert cache.read(OBJECT) is None


def test_only_files_of_our_names_are_pruned(private: Path) -> None:
    """The 50 oldest are somebody's: of his 50 objects, 19 used to go."""
    theirs = [private / f"module{number}.o" for number in range(50)]
    theirs += [private / "search-.o", private / f"search-{1:020x}.o.txt", private / f".notes.{OBJECT}"]
    for file in theirs:
        file.touch()
        os.utime(file, (1, 1))
    (private / f"linked-{1:020x}.o").symlink_to(theirs[0])
    ours = [private / f"search-{number:020x}.o" for number in range(MAX_OBJECTS + 5)]
    for number, file in enumerate(ours):
        file.touch()
        os.utime(file, (100 + number, 100 + number))
    with Cache(private) as cache:
        cache.prune()
    assert all(file.exists() for file in theirs)
    assert [file.exists() for file in ours] == [False] * 5 + [True] * MAX_OBJECTS


def test_kernels_and_libraries_do_not_displace_each_other(private: Path) -> None:
    libraries = [private / f"rtl-{number:020x}.o" for number in range(MAX_LIBRARIES + 2)]
    kernels = [private / f"search-{number:020x}.o" for number in range(MAX_OBJECTS + 3)]
    for age, file in enumerate((*libraries, *kernels)):  # every library is older than every kernel
        file.touch()
        os.utime(file, (100 + age, 100 + age))
    with Cache(private) as cache:
        cache.prune()
    assert [file.exists() for file in libraries] == [False] * 2 + [True] * MAX_LIBRARIES
    assert [file.exists() for file in kernels] == [False] * 3 + [True] * MAX_OBJECTS


def test_what_a_killed_process_began_is_pruned(private: Path) -> None:
    old, new = (private / f".{OBJECT}.{number:016x}" for number in (1, 2))
    for file in (old, new):
        file.touch()
    os.utime(old, (time.time() - 7200,) * 2)
    with Cache(private) as cache:
        cache.prune()
    assert (old.exists(), new.exists()) == (False, True)


def test_one_at_a_time_holds_the_lock(private: Path) -> None:
    inside, most = [], []

    def work() -> None:
        with Cache(private) as cache, cache.lock():
            inside.append(1)
            most.append(len(inside))
            time.sleep(0.02)
            inside.pop()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1] * 4
    assert list(private.iterdir()) == []


def test_a_failed_write_leaves_nothing(private: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setenv("XDG_CACHE_HOME", str(private))
    monkeypatch.setattr(os, "fsync", full)
    with open_cache() as cache, pytest.raises(OSError, match="No space left"):
        cache.write(OBJECT, b"code")
    assert list((private / "dlasim").iterdir()) == []
