"""Reports a failed command: one clear line on stderr and an exit code for any kind of error."""

from __future__ import annotations

import os
import sys

import click

from dlasim.cli.terminal import say
from dlasim.errors import WRONG_PATH, DlasimError, is_interrupt, printable
from dlasim.system import interrupts

RUN_FAILED = 1
BAD_INPUT = 2
PIPE_CLOSED = 141  # 128 + SIGPIPE


def report(error: BaseException, program: str) -> int:
    """Print the error on stderr and return the exit code."""
    interrupts.end()
    if isinstance(error, BrokenPipeError):
        _drop_stdout()  # the reader of our output has closed the pipe
        return PIPE_CLOSED
    message, code = _describe(error, program)
    try:
        say(message, err=True, is_error=True)
    except OSError:
        return code
    if isinstance(error, OSError):
        _drop_stdout()  # on a full disk the interpreter's own flush would fail again
    return code


def _describe(error: BaseException, program: str) -> tuple[str, int]:
    if isinstance(error, click.ClickException):
        return _describe_click(error, program)
    if isinstance(error, DlasimError):
        return f"{program}: {error}{_suggestion(error, program)}", error.exit_code
    if isinstance(error, click.Abort) or is_interrupt(error):
        word, code = interrupts.ending()
        said = printable(str(error)) if isinstance(error, KeyboardInterrupt) else ""
        return f"{program}: {word}{f': {said}' if said else ''}", code
    if isinstance(error, MemoryError):
        return f"{program}: out of memory", RUN_FAILED
    if isinstance(error, ImportError) and error.name and not error.name.startswith("dlasim"):
        return f"{program}: cannot load {error.name}: {_line(error)} (see `dlasim doctor`)", RUN_FAILED
    if isinstance(error, OSError) and error.strerror:
        path = f"{printable(_path(error.filename))}: " if error.filename is not None else ""
        return f"{program}: {path}{error.strerror}", BAD_INPUT if _is_path(error) else RUN_FAILED
    said = f"{type(error).__name__}: {_line(error)}"
    return f"{program}: internal error, please report it: {said} (`dlasim --debug …` shows where)", RUN_FAILED


def _describe_click(error: click.ClickException, program: str) -> tuple[str, int]:
    message = " ".join(error.format_message().split()).removesuffix(".")
    if isinstance(error, click.UsageError) and message[1:2].islower():  # not of a name in capitals
        message = message[:1].lower() + message[1:]
    context = getattr(error, "ctx", None)
    if isinstance(error, click.UsageError) and context is not None:
        return f"{context.command_path}: {message} (see `{context.command_path} --help`)", error.exit_code
    code = BAD_INPUT if isinstance(error, click.FileError) else error.exit_code
    return f"{program}: {message}", code


def _suggestion(error: BaseException, program: str) -> str:
    """A suggestion for a file that does not exist, else an empty string."""
    missing = error.__context__
    if not isinstance(missing, FileNotFoundError) or missing.filename is None:
        return ""
    from difflib import get_close_matches

    folder, name = os.path.split(_path(missing.filename))
    try:
        names = os.listdir(folder or ".")
    except OSError:
        return ""
    close = get_close_matches(name, names, n=2, cutoff=0.7)
    if close:
        return "; did you mean " + " or ".join(os.path.join(folder, match) for match in close) + "?"
    return _built_in(name, program)


def _built_in(name: str, program: str) -> str:
    network = name.removesuffix(".tflite")
    if "." in network:
        return ""
    from dlasim.compiler_shim.topologies import topology_names

    if network not in topology_names():
        return ""
    return f"; `{program} model {network} -o {network}.tflite` writes the built-in network of that name"


def _is_path(error: OSError) -> bool:
    return error.filename is not None and isinstance(error, WRONG_PATH)


def _path(name: object) -> str:
    return os.fsdecode(name) if isinstance(name, str | bytes) else str(name)


def _line(error: BaseException) -> str:
    return printable(" ".join(str(error).split()))


def _drop_stdout() -> None:
    try:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)
    except (OSError, ValueError, AttributeError):  # no real stdout: nothing to flush either
        return
