"""Whole commands as processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

DLASIM = (sys.executable, "-P", "-m", "dlasim")
# As on a CPU for which no machine code ships.
COMPILING = (
    sys.executable, "-P", "-c",
    "from dlasim.native import levels; levels.PLATFORMS = levels.LEVELS = ();"
    "from dlasim.cli import main; main()",
)  # fmt: skip
# Options whose plans are made at once, for sweeps of which only the processes and files matter.
QUICK_PLANS = ("--fusion", "none", "--tiling", "output-channel")
EXAMPLE = Path(__file__).parents[2] / "examples" / "relu.s"


def call(
    *arguments: str | Path, environment: Mapping[str, str] | None = None, **more: object
) -> subprocess.CompletedProcess[str]:
    """A command run to its end."""
    return subprocess.run(  # type: ignore[call-overload,no-any-return]
        [*DLASIM, *map(str, arguments)], capture_output=True, text=True, check=False, env=environment, **more
    )


def assert_one_line(process: subprocess.CompletedProcess[str], code: int, expected: str) -> None:
    """That the command failed as it should."""
    assert process.returncode == code, process.stderr
    assert len(process.stderr.splitlines()) == 1, process.stderr
    assert expected in process.stderr
    assert "internal error" not in process.stderr


@contextmanager
def started(
    *arguments: str | Path,
    environment: Mapping[str, str] | None = None,
    command: Sequence[str] = DLASIM,
) -> Iterator[subprocess.Popen[str]]:
    """A command under way in a session of its own, as a terminal has it; none of it outlives the test."""
    process = subprocess.Popen(
        [*command, *map(str, arguments)], env=environment, preexec_fn=listen_to_ctrl_c,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    try:
        yield process
    finally:
        for left in session(process.pid):
            os.kill(left, signal.SIGKILL)
        process.communicate()


def interrupt(process: subprocess.Popen[str]) -> tuple[str, str]:
    """Ctrl-C as a terminal does it, to the command and all that runs with it; what it said until its end."""
    os.killpg(process.pid, signal.SIGINT)
    return process.communicate(timeout=60)


def session(leader: int) -> list[int]:
    """The processes of a session that still run."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                state, _, _, number = (entry / "stat").read_text().rpartition(")")[2].split()[:4]
            except OSError:
                continue
            if int(number) == leader and state != "Z":
                found.append(int(entry.name))
    return found


def wait_for_work(process: subprocess.Popen[str], seconds: float) -> None:
    """Until the process has used so much of a processor, however busy the machine is."""
    ticks = os.sysconf("SC_CLK_TCK")
    for _ in range(6000):
        assert process.poll() is None, process.communicate()
        fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
        if (int(fields[11]) + int(fields[12])) / ticks >= seconds:
            return
        time.sleep(0.01)
    raise AssertionError("the process does not work")


def listen_to_ctrl_c() -> None:
    """For a new process: a shell's background jobs ignore Ctrl-C, and all that they start inherit that."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
