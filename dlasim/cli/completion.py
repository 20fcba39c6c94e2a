"""What the shell offers for values: files, folders, and the words that an option knows."""

from __future__ import annotations

import glob
import re
from collections.abc import Callable, Iterable

import click
from click.shell_completion import CompletionItem

Words = Callable[[], Iterable[str]]
_NETWORKS = (("model", "name"), ("run", "file"))  # besides what is called MODEL
_FILES = re.compile(r"FILE|MODEL|CHART|\.(html|json|csv|toml)")  # in what the help calls a value


class _Completed(click.types.StringParamType):
    """Text with what the shell offers for it."""

    def __init__(self, kind: str, words: Words | None) -> None:
        self._kind, self._words = kind, words

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Files or folders, where there are such; else words, of which the last in a list counts."""
        is_file = self._kind and (not incomplete or glob.glob(f"{glob.escape(incomplete)}*"))
        if is_file or self._words is None:
            return [CompletionItem(incomplete, type=self._kind)] if self._kind else []
        before, comma, begun = incomplete.rpartition(",")
        return [CompletionItem(before + comma + word) for word in self._words() if word.startswith(begun)]


def add_completion(command: click.Command) -> None:
    """Let the shell complete the values of a command's arguments and options."""
    for parameter in command.params:
        if type(parameter.type) is type(click.STRING):
            kind, words = _kind(parameter.metavar or ""), _words(command, parameter)
            if kind or words is not None:
                parameter.type = _Completed(kind, words)


def _kind(metavar: str) -> str:
    if metavar == "DIR":
        return "dir"
    return "file" if _FILES.search(metavar) else ""


def _words(command: click.Command, parameter: click.Parameter) -> Words | None:
    if (command.name, parameter.name) in _NETWORKS or "MODEL" in (parameter.metavar or ""):
        return _networks
    if parameter.name == "preset":
        return _presets
    if command.name == "isa":
        return _instructions
    from dlasim.cli.config_options import COMPILE, MACHINE

    for _, name, kind, *_ in (*COMPILE, *MACHINE):
        if name == parameter.name and isinstance(kind, click.Choice):
            return lambda: map(str, kind.choices)
    return None


def _networks() -> Iterable[str]:
    from dlasim.compiler_shim.topologies import topology_names

    return topology_names()


def _presets() -> Iterable[str]:
    from dlasim.sim.configuration.machine_files import preset_names

    return preset_names()


def _instructions() -> Iterable[str]:
    from dlasim.isa.instructions import INSTRUCTIONS

    return (instruction.mnemonic for instruction in INSTRUCTIONS)
