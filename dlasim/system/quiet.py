"""Hides what other libraries say, whose errors dlasim reports in a line of its own."""

from __future__ import annotations

import io
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout


@contextmanager
def quiet() -> Iterator[None]:
    """Hide warnings, what is printed, and what C code writes to standard error."""
    sys.stderr.flush()
    with warnings.catch_warnings(), redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        try:
            saved = os.dup(2)
        except OSError:
            yield
            return
        sink = os.open(os.devnull, os.O_WRONLY)
        os.dup2(sink, 2)
        try:
            yield
        finally:
            os.dup2(saved, 2)
            os.close(saved)
            os.close(sink)
