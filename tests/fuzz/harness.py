"""Tries one input: what may come of it, how long it may take, and how much memory."""

from __future__ import annotations

import gc
import hashlib
import resource
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
SECONDS = 5.0  # of processor time, so that a busy machine changes nothing; what is slower is a defect
WAITING_SECONDS = 600.0  # by the clock, however busy the machine is: nothing here has anything to wait for
MEMORY_BYTES = 1 << 30  # beyond what the process has; what asks for more is a defect
MAX_MESSAGE_LENGTH = 2000
COLLECT_EVERY = 20
RUNNING = "running"  # the input that is being tried: what is there after a crash of the process caused it


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
    longest_message: int = MAX_MESSAGE_LENGTH
    reserved_bytes: int = 0  # of addresses that stay unused, as an emulator reserves them
    damage: Callable[[Random, Sequence[bytes]], bytes] | None = None  # instead of that to bytes and text

    def corpus(self) -> list[Path]:
        """Inputs that once found a defect."""
        return sorted((CORPUS / self.name).glob("*"))


def attempt(target: Target, data: bytes) -> bool:
    """Whether the input is taken; a DefectError unless it is, or is refused in one readable line."""
    try:
        with _time_limit(), _memory_limit(target.reserved_bytes), warnings.catch_warnings():
            warnings.simplefilter("error")
            target.check(data)
    except (InputError, RunError) as error:
        _check_message(str(error), target)
        return False
    except (Exception, RecursionError) as error:
        raise DefectError(f"{target.name}: {type(error).__name__}: {error}") from error
    return True


def _check_message(message: str, target: Target) -> None:
    if not message or len(message) > target.longest_message:
        raise DefectError(f"a message of {len(message)} characters: {message[:100]!r}")
    shown = message.split("\n")
    if len(shown) > target.lines or not all(line.replace("\t", " ").isprintable() for line in shown):
        raise DefectError(f"a message that is not {target.lines} printable lines: {message[:200]!r}")


@contextmanager
def _time_limit() -> Iterator[None]:
    def expire(number: int, _frame: FrameType | None) -> None:
        spent = f"{SECONDS:g} s" if number == signal.SIGPROF else f"{WAITING_SECONDS:g} s, waiting"
        raise TimeoutError(f"more than {spent}")

    limits = (
        (signal.SIGPROF, signal.ITIMER_PROF, SECONDS),
        (signal.SIGALRM, signal.ITIMER_REAL, WAITING_SECONDS),
    )
    previous = [signal.signal(number, expire) for number, _, _ in limits]
    for _, timer, seconds in limits:
        signal.setitimer(timer, seconds)
    try:
        yield
    finally:
        for (number, timer, _), handler in zip(limits, previous, strict=True):
            signal.setitimer(timer, 0)
            signal.signal(number, handler)


@contextmanager
def _memory_limit(reserved_bytes: int) -> Iterator[None]:
    """Of addresses: an input that asks for more gets a MemoryError, and the machine does not swap."""
    limits = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    most = pages * resource.getpagesize() + reserved_bytes + MEMORY_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (most, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limits)


def inputs(target: Target, count: int, seed: int) -> Iterator[bytes]:
    """The seeds, then damaged copies of them; the same for the same seed."""
    random = Random(f"{target.name} {seed}")
    seeds = list(target.seeds())
    yield from seeds[:count]
    for _ in range(count - len(seeds)):
        yield target.damage(random, seeds) if target.damage else mutated(random, seeds, target.is_text)


def fuzz(target: Target, count: int, seed: int, folder: Path | None = None) -> tuple[int, list[str]]:
    """How many inputs were taken, and what was wrong, each kind once; culprits are kept in `folder`."""
    taken, defects = 0, {}
    gc.freeze()  # what was imported stays
    for number, data in enumerate(inputs(target, count, seed)):
        if number % COLLECT_EVERY == 0:
            gc.collect()  # boards map a lot of memory, and are cycles
        if folder is not None:
            _keep(folder / target.name, data, RUNNING)
        try:
            taken += attempt(target, data)
        except DefectError as error:
            kind = str(error)[:60]
            if kind not in defects:
                defects[kind] = str(error)
                if folder is not None:
                    _keep(folder / target.name, data)
    if folder is not None:
        (folder / target.name / RUNNING).unlink(missing_ok=True)
    return taken, list(defects.values())


def _keep(folder: Path, data: bytes, name: str = "") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / (name or hashlib.sha256(data).hexdigest()[:12])).write_bytes(data)
