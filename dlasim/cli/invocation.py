"""The command line of this process, so that a reader can repeat it."""

from __future__ import annotations

import shlex
import sys


def invocation() -> str:
    """What was typed, as a shell takes it."""
    return shlex.join(["dlasim", *sys.argv[1:]])
