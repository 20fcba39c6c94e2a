"""`program.bin`: programs to bytes and back."""

from dlasim.isa.container.reader import read, read_file
from dlasim.isa.container.sections import is_program
from dlasim.isa.container.writer import write

__all__ = ["is_program", "read", "read_file", "write"]
