"""When a process has its routines compiled, and that no build outlives, prints or breaks anything.

Each in a process of its own, where the tiny routine is the only one.
"""

import fcntl
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dlasim.native.library import start_build
from tests.native.processes import DEADLINE_SECONDS, is_alive, wait_until_gone
from tests.native.tiny import SUMS

PREFACE = """
import os, sys, time
from dlasim.native import demand as policy
from dlasim.native.demand import demand
from dlasim.native.routine import Memory
from tests.native.tiny import SUMS

def use(times):
    for _ in range(times):
        with demand.use():
            memory = Memory(SUMS.is_ready())
            memory.put(0, [1, 2])
            assert SUMS(memory, Memory(SUMS.is_ready(), 8), 2) == 3

def children():
    with open(f"/proc/self/task/{os.getpid()}/children") as file:
        return [int(pid) for pid in file.read().split()]
"""


def command(program: str) -> list[str]:
    return [sys.executable, "-X", "dev", "-c", PREFACE + program]


def run(program: str, **variables: str) -> str:
    """What a program prints, which says nothing else."""
    done = subprocess.run(
        command(program), env=os.environ | variables, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout.strip()


def test_twice_is_no_habit(built: Path) -> None:
    assert run("use(2); print(SUMS.is_ready(), 'llvmlite' in sys.modules)") == "False False"


def test_from_the_third_time_on_the_cache_is_used(built: Path) -> None:
    assert run("use(3); print(SUMS.is_ready(), 'numba' in sys.modules)") == "True False"


def test_little_work_builds_nothing(cache: Path) -> None:
    assert run("use(50); print(children())") == "[]"
    assert not SUMS.unit.path.exists()


def test_what_is_missing_is_built_meanwhile(cache: Path) -> None:
    program = """
use(3)
policy.BUILD_SECONDS = 0.0
end = time.monotonic() + 60
while not SUMS.is_ready() and time.monotonic() < end:
    use(1)
    time.sleep(0.02)
use(1)
time.sleep(0.3)
use(1)
print(SUMS.is_ready(), children(), repr(demand.failure()))
"""
    assert run(program) == "True [] ''"
    assert {path.suffix for path in cache.iterdir()} == {".o", ".lock"}


def test_work_ahead_counts_like_work_done(cache: Path) -> None:
    assert run("demand.foresee(1.0); print(len(children()))") == "0"
    assert run("demand.foresee(1e3); demand.foresee(1e3); print(len(children()))") == "1"


def test_workers_leave_it_to_whoever_sweeps(cache: Path) -> None:
    assert run("demand.leave_building(); demand.foresee(1e3); use(9); print(len(children()))") == "0"


def test_nothing_is_built_that_is_there(built: Path) -> None:
    assert run("demand.foresee(1e3); print(len(children()))") == "0"


@pytest.mark.parametrize("seconds", [0.0, 0.3, 0.8])
def test_a_build_ends_with_the_process(cache: Path, seconds: float) -> None:
    pids = run(f"demand.foresee(1e3); print(*children()); time.sleep({seconds})").split()
    assert len(pids) == 1
    assert not is_alive(int(pids[0]))
    assert list(cache.glob(".*")) == []


@pytest.mark.parametrize("way", [signal.SIGKILL, signal.SIGTERM])
def test_a_build_ends_however_the_process_does(cache: Path, way: signal.Signals) -> None:
    program = command("demand.foresee(1e3); print(*children(), flush=True); time.sleep(100)")
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        pids = [int(word) for word in process.stdout.readline().split()]
        assert len(pids) == 1
        process.send_signal(way)
    assert wait_until_gone(pids)
    assert list(cache.glob(".*")) == []


def test_a_fork_leaves_its_parents_builds_alone(cache: Path) -> None:
    program = """
demand.foresee(1e3)
(build,) = children()
fork = os.fork()
if fork == 0:
    demand.close()
    os._exit(0)
os.waitpid(fork, 0)
print(children() == [build] and demand._builds[0][1].poll() is None)
"""
    assert run(program) == "True"


def test_one_thread_at_a_time_looks_after_builds(cache: Path) -> None:
    program = """
import threading
demand.foresee(1e3)
here, most = [], []

def slow(*build):
    here.append(build)
    most.append(len(here))
    time.sleep(0.05)
    here.pop()
    return True

demand._goes_on = slow
threads = [threading.Thread(target=use, args=(2,)) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(max(most))
"""
    assert run(program) == "1"


def test_a_broken_compiler_is_one_line_for_who_asks(cache: Path, tmp_path: Path) -> None:
    (tmp_path / "faulty").mkdir()
    (tmp_path / "faulty" / "llvmlite.py").write_text("raise ImportError('out of order')")
    program = """
use(3)
demand.foresee(1e3)
end = time.monotonic() + 60
while not demand.failure() and time.monotonic() < end:
    use(1)
    time.sleep(0.02)
use(2)
print(demand.failure())
"""
    said = run(program, PYTHONPATH=os.pathsep.join([str(tmp_path / "faulty"), *sys.path]))
    assert said.startswith("cannot compile")
    assert said.endswith("out of order")
    assert "\n" not in said


def test_one_process_builds_and_others_wait_for_it(cache: Path, sums_object: bytes) -> None:
    path = SUMS.unit.path
    with open(cache / "sums.lock", "wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with start_build("beside", SUMS.unit, stdin=subprocess.PIPE) as waiting:
            time.sleep(0.5)
            assert waiting.poll() is None
            path.write_bytes(sums_object)
            before = path.stat().st_ino
            fcntl.flock(lock, fcntl.LOCK_UN)
            assert waiting.wait(DEADLINE_SECONDS) == 0
    assert path.stat().st_ino == before
