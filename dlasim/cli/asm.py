"""`dlasim asm`: assembles text into a program."""

from __future__ import annotations

import os

import click

from dlasim.cli.terminal import say
from dlasim.errors import counted

_EPILOG = """\b
Examples:
  dlasim asm relu.s                      write relu.bin
  dlasim asm relu.s -o program.bin
  dlasim disasm program.bin | dlasim asm - -o same.bin
"""


@click.command("asm", epilog=_EPILOG)
@click.argument("file", metavar="FILE.s")
@click.option("-o", "--output", metavar="FILE", help="The program to write.  [default: FILE.bin]")
@click.option("--json", "as_json", is_flag=True, help="Print what was written as JSON.")
def command(file: str, output: str | None, as_json: bool) -> None:
    """Assemble FILE.s (- for standard input) into a program.

    docs/assembly.md describes the language, `dlasim isa` the instructions. All errors are reported at once,
    each with its line and column. The program contains its source lines, so that faults and races can name
    them.
    """
    import json

    if output is None:
        if file == "-":
            raise click.UsageError("-o FILE is required when the source is standard input")
        output = os.path.splitext(file)[0] + ".bin"
    from dlasim.isa.assembly.assembler import assemble_file
    from dlasim.isa.container import write
    from dlasim.system.fileio import atomic_write, keep_apart

    keep_apart(("/dev/stdin" if file == "-" else file,), (output,))
    program = assemble_file(file)
    data = write(program)
    atomic_write(output, data)
    if as_json:
        summary = {"output": output, "bytes": len(data), "words": len(program.commands)}
        say(json.dumps(summary | {"streams": len(program.streams)}, indent=2))
    streams, words = counted(len(program.streams), "stream"), counted(len(program.commands), "word")
    say(f"wrote {output}: {streams}, {words}, {len(data):,} bytes", err=True)
