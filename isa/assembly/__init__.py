"""Programs as text: the assembler, and the disassembler whose output assembles back to the same bytes.

Read in this order: source, lexer, expressions, parser, instructions, builder, directives, assembler;
then text, disassembler and annotate for the way back. The language is described in docs/assembly.md.
"""

from dlasim.isa.assembly.annotate import operation_comments
from dlasim.isa.assembly.assembler import assemble
from dlasim.isa.assembly.disassembler import disassemble

__all__ = ["assemble", "disassemble", "operation_comments"]
