"""Runs a command whose output goes to a terminal."""

import os
import pty
import subprocess
from collections.abc import Mapping, Sequence


def run_in_terminal(
    command: Sequence[str], streams: Sequence[str], environment: Mapping[str, str], columns: int = 80
) -> bytes:
    """What a command writes to these of its streams, a terminal; it must succeed."""
    ours, theirs = pty.openpty()
    subprocess.run(["stty", "cols", str(columns)], stdin=theirs, check=True)
    others = {"stdout": subprocess.DEVNULL} if "stdout" not in streams else {}
    process = subprocess.Popen(command, env=environment, **others, **dict.fromkeys(streams, theirs))
    os.close(theirs)
    shown = b""
    while True:
        try:
            part = os.read(ours, 4096)
        except OSError:  # the command has ended
            break
        if not part:
            break
        shown += part
    os.close(ours)
    assert process.wait() == 0
    return shown
