"""Objects in the cache: whole and used, or damaged and built anew; a routine that cannot be compiled."""

import errno
import os
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from dlasim.errors import RunError
from dlasim.native import library
from dlasim.native.unit import CodeUnit
from dlasim.system import cache as caches
from tests.native.tiny import SUMS

BROKEN = '''
from dlasim.native.routine import Numbers, routine

@routine
def broken(numbers: "Numbers") -> int:
    """No routine: it concatenates what cannot be."""
    return numbers + "text"
'''


def damaged(whole: bytes) -> dict[str, bytes]:
    middle = len(whole) // 2
    return {
        "empty": b"",
        "short": whole[:20],
        "cut": whole[:-1],
        "halved": whole[:middle],
        "longer": whole + b"\0",
        "one bit": whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :],
        "digest alone": whole[:32],
    }


@pytest.mark.parametrize("how", damaged(bytes(100)))
def test_a_damaged_object_is_never_used(built: Path, how: str) -> None:
    assert library.find_code(SUMS.unit) is not None
    built.write_bytes(damaged(built.read_bytes())[how])
    assert library.find_code(SUMS.unit) is None


def test_a_damaged_object_is_built_anew(built: Path, sums_object: bytes) -> None:
    built.write_bytes(sums_object[:-1])
    assert library.find_function(SUMS.unit) is not None
    assert library.find_code(SUMS.unit) is not None


def test_what_cannot_be_compiled_is_one_line(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken_routine.py").write_text(BROKEN)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(library, "STARTED", time.time() + 100)
    unit = CodeUnit("broken", "broken_routine", "broken")
    with pytest.raises(RunError, match=r"\Acannot compile broken: RoutineError: .*\Z") as caught:
        library.build(unit)
    assert "\n" not in str(caught.value)
    assert list(cache.glob("*")) == []


def test_sources_that_change_meanwhile_build_nothing(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "altered").mkdir()
    source = tmp_path / "altered" / "one.py"
    source.write_text(BROKEN.replace(' + "text"', "[0]"))
    monkeypatch.syspath_prepend(tmp_path)
    real = library._start_build

    def start(unit: CodeUnit, digest: str) -> AbstractContextManager[library._Build]:
        source.write_text(BROKEN.replace(' + "text"', "[1]"))
        return real(unit, digest)

    monkeypatch.setattr(library, "STARTED", time.time() + 100)
    with monkeypatch.context() as patch:
        patch.setattr(library, "_start_build", start)
        with pytest.raises(RunError, match="sources have changed"):
            library.build(CodeUnit("altered", "altered.one", "broken"))
    assert list(cache.glob("*")) == []
    assert library.build(CodeUnit("altered", "altered.one", "broken"))


def test_the_oldest_objects_go(built: Path) -> None:
    for number in range(caches.MAX_OBJECTS + 4):
        other = built.with_name(f"other-{number:020x}.o")
        other.touch()
        os.utime(other, (number, number))
    built.unlink()
    library.build(SUMS.unit)
    left = {path.name for path in built.parent.glob("*.o")}
    oldest = {f"other-{number:020x}.o" for number in range(5)}
    assert len(left) == caches.MAX_OBJECTS
    assert built.name in left
    assert not left & oldest


def test_those_who_ask_together_share_one_build(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, builds = library._start_build, []

    def start(unit: CodeUnit, digest: str) -> AbstractContextManager[library._Build]:
        builds.append(unit.name)
        return real(unit, digest)

    monkeypatch.setattr(library, "_start_build", start)
    with ThreadPoolExecutor(8) as pool:
        codes = list(pool.map(library.build, [SUMS.unit] * 8))
    assert builds == ["sums"]
    assert len(set(codes)) == 1


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EROFS, errno.EDQUOT])
def test_a_cache_that_cannot_be_written_is_no_hindrance(
    error: int, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(error, os.strerror(error))

    monkeypatch.setattr("dlasim.system.cache.Cache.write", fail)
    assert library.find_function(SUMS.unit) is not None
    assert library.find_code(SUMS.unit) is None


def test_without_any_folder_code_is_built_each_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "file"))
    assert library.find_code(SUMS.unit) is None
    assert library.find_function(SUMS.unit) is not None
