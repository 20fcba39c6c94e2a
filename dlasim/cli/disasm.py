"""`dlasim disasm`: disassembles a program into text."""

from __future__ import annotations

import sys

import click

_EPILOG = """\b
Examples:
  dlasim disasm program.bin
  dlasim disasm program.bin --annotate | less
  dlasim disasm program.bin -o program.s && dlasim asm program.s -o same.bin
"""


@click.command("disasm", epilog=_EPILOG)
@click.argument("file", metavar="FILE.bin")
@click.option("--annotate", is_flag=True, help="Add comments: the operands of each operation, and its layer.")
@click.option("-o", "--output", metavar="FILE", help="The text to write.  [default: standard output]")
def command(file: str, annotate: bool, output: str | None) -> None:
    """Disassemble FILE.bin into text that `dlasim asm` assembles to the same bytes."""
    from dlasim.isa.assembly import disassemble
    from dlasim.isa.container import read_file
    from dlasim.system.fileio import atomic_write, keep_apart

    keep_apart((file,), (output,))
    text = disassemble(read_file(file), annotate)
    if output is None:
        sys.stdout.buffer.write(text.encode())
    else:
        atomic_write(output, text)
