"""Generates `docs/cli.md`: the help of every command on one page, the same with any version of click."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Iterator

import click

from dlasim.cli.help_sections import SectionedCommand, SharedOption, in_sections
from generators.written import prose


def page() -> str:
    """The whole page."""
    from dlasim.cli import COMMANDS, main

    parent = click.Context(main, info_name="dlasim")
    lines = [prose("cli.md")]
    for title, section in COMMANDS.items():
        lines.append(f"## {title}\n")
        for name in section:
            command = main.get_command(parent, name)
            assert command is not None
            lines += _command(name, command)
    return "\n".join(lines).rstrip("\n") + "\n"


def _command(name: str, command: click.Command) -> Iterator[str]:
    arguments = [parameter for parameter in command.params if isinstance(parameter, click.Argument)]
    usage = " ".join(["dlasim", name, "[OPTIONS]", *(_metavar(item) for item in arguments)])
    yield f"### dlasim {name}\n\n```text\n{usage}\n```\n"
    yield f"{_plain(command.help)}\n"
    options = [each for each in command.params if isinstance(each, click.Option) and not each.hidden]
    sections = in_sections(options) if isinstance(command, SectionedCommand) else [("option", options)]
    for title, some in sections:
        yield f"| {title} | |\n| --- | --- |"
        for option in some:
            yield f"| `{_option(option)}` | {option.help or ''}{_default(option)} |"
        yield ""
    if command.epilog:
        yield from _epilog(_plain(command.epilog))


def _epilog(text: str) -> Iterator[str]:
    """The examples as a code block, and the text after them."""
    examples, _, rest = text.partition("\n\n")
    title, *lines = examples.splitlines()
    commands = textwrap.dedent("\n".join(lines))
    yield f"{title}\n\n```text\n{commands}\n```\n"
    if rest:
        yield f"{rest}\n"


def _metavar(argument: click.Argument) -> str:
    return argument.metavar or (argument.name or "").upper()


def _option(option: click.Option) -> str:
    names = ", ".join(option.opts) + "".join(f"/{name}" for name in option.secondary_opts)
    return names if option.is_flag else f"{names} {_values(option)}"


def _values(option: click.Option) -> str:
    if option.metavar:
        return option.metavar
    if isinstance(option.type, click.Choice):
        return f"{{{','.join(map(str, option.type.choices))}}}"
    name = option.type.name
    return f"{{{name.replace('|', ',')}}}" if "|" in name else name.upper()


def _default(option: click.Option) -> str:
    shared = option.default_text() if isinstance(option, SharedOption) else ""
    own = option.default if isinstance(option.default, int | float | str) and not option.is_flag else ""
    text = shared or str(own)
    return f" Default: {text}." if text else ""


def _plain(text: str | None) -> str:
    """The help text without click's marks for paragraphs that must not be wrapped."""
    return "\n\n".join(inspect.cleandoc(part) for part in (text or "").split("\b\n") if part.strip())
