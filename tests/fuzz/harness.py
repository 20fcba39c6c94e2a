"""Tries one input: what may come of it, and how long it may take."""

from __future__ import annotations

import gc
import hashlib
import signal
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from types import FrameType

from dlasim.errors import InputError, RunError
from tests.fuzz.mutate import mutated

CORPUS = Path(__file__).parent / "corpus"
SECONDS = 10.0  # on a busy machine; what is slower is a defect
LONGEST_MESSAGE = 2000
COLLECT_EVERY = 20


class DefectError(Exception):
    """An input that did what none may."""


@dataclass(frozen=True, slots=True)
class Target:
    """A parser: inputs to start from, and what is done with one. `check` raises what users would get."""

    name: str
    seeds: Callable[[], Sequence[bytes]]
    check: Callable[[bytes], None]
    is_text: bool = False
    lines: int = 1  # of a message

    def corpus(self) -> list[Path]:
        """Inputs that once found a defect."""
        return sorted((CORPUS / self.name).glob("*"))


def attempt(target: Target, data: bytes) -> bool:
    """Whether the input is taken; a DefectError unless it is, or is refused in one readable line."""
    try:
        with _time_limit(), warnings.catch_warnings():
            warnings.simplefilter("error")
            target.check(data)
    except (InputError, RunError) as error:
        _check_message(str(error), target.lines)
        return False
    except (Exception, RecursionError) as error:
        raise DefectError(f"{target.name}: {type(error).__name__}: {error}") from error
    return True


def _check_message(message: str, lines: int) -> None:
    if not message or len(message) > LONGEST_MESSAGE:
        raise DefectError(f"a message of {len(message)} characters: {message[:100]!r}")
    shown = message.split("\n")
    if len(shown) > lines or not all(line.replace("\t", " ").isprintable() for line in shown):
        raise DefectError(f"a message that is not {lines} printable lines: {message[:200]!r}")


@contextmanager
def _time_limit() -> Iterator[None]:
    def expire(_number: int, _frame: FrameType | None) -> None:
        raise TimeoutError(f"more than {SECONDS:g} s")

    previous = signal.signal(signal.SIGALRM, expire)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


def inputs(target: Target, count: int, seed: int) -> Iterator[bytes]:
    """The seeds, then damaged copies of them; the same for the same seed."""
    random = Random(f"{target.name} {seed}")
    seeds = list(target.seeds())
    yield from seeds[:count]
    for _ in range(count - len(seeds)):
        yield mutated(random, seeds, target.is_text)


def fuzz(target: Target, count: int, seed: int, folder: Path | None = None) -> tuple[int, list[str]]:
    """How many inputs were taken, and what was wrong, each kind once; culprits are kept in `folder`."""
    taken, defects = 0, {}
    for number, data in enumerate(inputs(target, count, seed)):
        if number % COLLECT_EVERY == 0:
            gc.collect()  # boards map a lot of memory, and are cycles
        try:
            taken += attempt(target, data)
        except DefectError as error:
            kind = str(error)[:60]
            if kind not in defects:
                defects[kind] = str(error)
                if folder is not None:
                    _keep(folder / target.name, data)
    return taken, list(defects.values())


def _keep(folder: Path, data: bytes) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / hashlib.sha256(data).hexdigest()[:12]).write_bytes(data)
