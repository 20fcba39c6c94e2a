"""What a page tells its reader to do: commands, scripts and files, in order."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

_BLOCK = re.compile(
    r"(?:<!-- (file|needs|exits|takes): ([\w./-]+) -->\n+)?^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL
)
_PRINTED = re.compile(r"^print\(.*\) +# (.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Step:
    """A command with its output and exit code, a script, a file to write, or a package to have."""

    kind: str  # command, script, file, needs
    text: str
    name: str = ""
    output: tuple[str, ...] = ()
    exit_code: int = 0
    is_slow: bool = False


def steps(page: Path) -> Iterator[Step]:
    """The steps of a page.

    `console` blocks hold commands behind `$ ` and, below, lines of their output, in which … stands for
    anything. Blocks without a language may hold dlasim commands as they are. `python` blocks are scripts,
    unless they are sessions, which are tested elsewhere; what stands as a comment behind a `print(…)` is what
    it prints. A comment before a block names the file that it is, or says how its last
    command exits: `<!-- exits: 1 -->`. Blocks below `<!-- takes: minutes -->` run in a slow test only.
    """
    for mark, name, language, text in _BLOCK.findall(page.read_text(encoding="utf-8")):
        if mark == "needs":
            yield Step("needs", "", name)
        if mark == "file":
            yield Step("file", text, name)
        elif language == "console":
            *before, last = (replace(step, is_slow=mark == "takes") for step in _commands(text))
            yield from before
            yield replace(last, exit_code=int(name)) if mark == "exits" else last
        elif language in ("", "sh", "bash"):
            for line in text.splitlines():
                if line.startswith("dlasim "):
                    yield Step("command", line)
        elif language == "python" and ">>>" not in text:
            yield Step("script", text, output=tuple(_PRINTED.findall(text)))


def _commands(text: str) -> Iterator[Step]:
    command, output = "", []
    for line in text.splitlines():
        if line.startswith("$ "):
            if command:
                yield Step("command", command, output=tuple(output))
            command, output = line[2:], []
        elif command.endswith("\\"):
            command = command[:-1] + line.strip()
        elif line.strip():
            output.append(line.strip())
    if command:
        yield Step("command", command, output=tuple(output))


def shows(expected: tuple[str, ...], actual: str) -> str | None:
    """The first expected line that does not follow the ones before it; None if all do."""
    lines = iter([" ".join(line.split()) for line in actual.splitlines()])
    for wanted in expected:
        pattern = re.compile(
            ".*".join(re.escape(part.strip()) for part in " ".join(wanted.split()).split("…"))
        )
        if not any(pattern.search(line) for line in lines):
            return wanted
    return None
