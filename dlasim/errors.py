"""The errors that a user can cause: one base class, each message a single clear line."""

from __future__ import annotations

from collections.abc import Iterable

# Errors of a path that the user gave, as opposed to those of a disk.
WRONG_PATH = (FileNotFoundError, FileExistsError, IsADirectoryError, NotADirectoryError, PermissionError)
_MAX_LINE_LENGTH = 1000
_MAX_LIST_LENGTH = 40  # names
_MAX_NAME_LENGTH = 100  # characters


class DlasimError(Exception):
    """Any error that a user can cause; the command prints it as one line and exits with `exit_code`."""

    exit_code = 2

    def __str__(self) -> str:
        """The message, safe to print: text from a file in it cannot control the terminal or flood it."""
        return "\n".join(map(_shown, super().__str__().split("\n")))


class InputError(DlasimError):
    """A file, flag or value is wrong; the message says which, what was given, and what to do."""


class RunError(DlasimError):
    """A program or check failed while running."""

    exit_code = 1


def suggestion(name: str, known: Iterable[str]) -> str:
    """`; did you mean X?` if a known name is similar, else an empty string."""
    import difflib  # only errors need it

    sought = name[:64].casefold()
    by_folded = {candidate.casefold(): candidate for candidate in known}
    close = difflib.get_close_matches(sought, by_folded, n=1, cutoff=0.6)
    close = close or [folded for folded in by_folded if len(sought) > 2 and folded.startswith(sought)]
    return f"; did you mean {by_folded[close[0]]}?" if close else ""


def unknown(what: str, name: str, known: Iterable[str]) -> str:
    """`unknown preset 'papr'; did you mean paper?`, or all the known names if none is similar."""
    names = tuple(known)
    hint = suggestion(name, names)
    if not hint:
        rest = ", …" if len(names) > _MAX_LIST_LENGTH else ""
        hint = f"; known are {', '.join(names[:_MAX_LIST_LENGTH])}{rest}"
    return f"unknown {what} {name[:_MAX_NAME_LENGTH]!r}{hint}"


def one_of(choices: Iterable[str]) -> str:
    """The choices as text: `a, b or c`."""
    *others, last = choices
    return f"{', '.join(others)} or {last}" if others else last


def counted(count: int, noun: str) -> str:
    """`1 input`, `1,024 inputs`, `no inputs`."""
    number = f"{count:,}" if count else "no"
    return f"{number} {noun}{'' if count == 1 else 's'}"


def printable(text: str, also: str = "") -> str:
    """The text with every control character and line end replaced by `?`.

    Names from files pass through this before they are printed. Characters in `also` are kept.
    """
    return text if text.isprintable() else "".join(c if c.isprintable() or c in also else "?" for c in text)


def is_interrupt(error: BaseException) -> bool:
    """Whether Ctrl-C caused it. In the middle of a class statement Python turns that into a RuntimeError."""
    return isinstance(error, KeyboardInterrupt) or isinstance(error.__cause__, KeyboardInterrupt)


def _shown(line: str) -> str:
    return printable(line if len(line) <= _MAX_LINE_LENGTH else line[:_MAX_LINE_LENGTH] + "…", also="\t")
