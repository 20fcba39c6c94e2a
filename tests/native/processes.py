"""Processes by their number: whether they live, and waiting for their end."""

import time
from pathlib import Path

DEADLINE_SECONDS = 60


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def wait_until_gone(pids: list[int]) -> bool:
    end = time.monotonic() + DEADLINE_SECONDS
    while any(map(is_alive, pids)) and time.monotonic() < end:
        time.sleep(0.02)
    return not any(map(is_alive, pids))
