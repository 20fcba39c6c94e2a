"""`dlasim isa`: looks up the instruction set."""

from __future__ import annotations

import click

from dlasim.cli.help_sections import option, with_options
from dlasim.cli.option_types import Choice
from dlasim.cli.terminal import say

_FORMATS = ("text", "markdown", "json", "c")
_HEADERS = ("dla_isa.h", "dla_registers.h", "dla_program.h", "dla_host_ops.h", "dla_host_checks.h")
_EPILOG = """\b
Examples:
  dlasim isa                        one line for each item
  dlasim isa OP_CONV                one instruction
  dlasim isa KERNEL STRIDE          registers
  dlasim isa faults                 a topic; `dlasim isa` lists them
  dlasim isa --format c > dla.h     the C headers of the firmware in one file
"""


@click.command(epilog=_EPILOG)
@click.argument("names", metavar="[NAME]...", nargs=-1)
@with_options(
    option("--format", "Output format.", kind=Choice(_FORMATS), name="kind", default="text"),
)  # fmt: skip
def command(names: tuple[str, ...], kind: str) -> None:
    """Look up instructions, registers, faults, host operators, and program.bin's records and enumerations.

    Without a NAME, list all of them.
    """
    render = {"text": _text, "markdown": _markdown, "json": _json, "c": _c}[kind]
    say(render(names), newline=False)


def _text(names: tuple[str, ...]) -> str:
    from dlasim.isa.documents import plain_text
    from dlasim.isa.documents.catalogue import find_all, topics
    from dlasim.isa.documents.sheets import sheet

    if not names:
        return plain_text.overview(topics().values())
    return "\n".join(plain_text.render(sheet(entry)) for entry in find_all(names))


def _markdown(names: tuple[str, ...]) -> str:
    from dlasim.isa.documents import markdown
    from dlasim.isa.documents.catalogue import find_all
    from dlasim.isa.documents.sheets import sheet

    return "\n".join(markdown.render(sheet(entry)) for entry in find_all(names))


def _json(names: tuple[str, ...]) -> str:
    import json

    from dlasim.isa.documents.catalogue import find_all
    from dlasim.isa.documents.json_form import form

    return json.dumps([form(entry) for entry in find_all(names)], indent=2) + "\n"


def _c(names: tuple[str, ...]) -> str:
    """The firmware's headers, or of these the blocks that define what is named."""
    from importlib.resources import files

    from dlasim.isa.documents.catalogue import c_definition, find_all

    folder = files("dlasim.firmware").joinpath("include")
    headers = [folder.joinpath(name).read_text(encoding="utf-8") for name in _HEADERS]
    if not names:
        return "\n".join(headers)
    blocks = [block for header in headers for block in header.split("\n\n")]
    definitions = [c_definition(entry) for entry in find_all(names)]
    found = (block for start in definitions for block in blocks if start in block)
    return "\n\n".join(dict.fromkeys(found)) + "\n"
