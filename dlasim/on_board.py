"""Running on the virtual prototype: `--host riscv`, and ELF files of the user's own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dlasim.errors import InputError
from dlasim.vp.host import HostOptions, Prototype, Prototyped
from dlasim.vp.host_report import report
from dlasim.vp.launch import Completion, Submission

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dlasim.api import Loaded
    from dlasim.sim.executor import Executor

HOSTS = ("none", "riscv")


def check_host(host: str) -> None:
    """An InputError if there is no such host."""
    if host not in HOSTS:
        raise InputError(f"host = {host!r} is unknown (allowed: {', '.join(HOSTS)})")


def host_options(completion: str = "interrupt", submission: str = "queue", **others: Any) -> HostOptions:
    """Options by the names that the command line uses."""
    return HostOptions(
        completion=Completion(_number(Completion, "completion", completion)),
        submission=Submission(_number(Submission, "submission", submission)),
        **others,
    )


def _number(kind: type[Completion] | type[Submission], what: str, name: str) -> int:
    names = {member.name.lower(): int(member) for member in kind}
    if name not in names:
        raise InputError(f"{what} = {name!r} is unknown (allowed: {', '.join(names)})")
    return names[name]


def run_loaded(
    loaded: Loaded, executor: Executor | None, arrays: Sequence[NDArray[Any]], options: HostOptions
) -> tuple[Prototyped, dict[str, Any]]:
    """A program on the board, and the report of that."""
    done = Prototype(loaded.program, loaded.config, executor, options).run(arrays)
    seconds = {**loaded.seconds, "simulate": done.inference.wall_seconds}
    if len(done.wall_seconds) > 1:
        seconds["steady"] = min(done.wall_seconds[1:])
    figures = report(loaded.program, loaded.config, done, options, seconds, loaded.artifact_bytes)
    return done, figures
