"""Programs as text: the assembler, and the disassembler whose output assembles back to the same bytes.

Read in this order: `source`, `lexer`, `symbol_expressions`, `parser`, `statements` (command words),
`program_builder`, then the directives (`description`, `data_section`, `steps`, `calls`, `lines`),
`macros` and `assembler`; `word_text`, `disassembler` and `annotate` are the way back. docs/assembly.md
describes the language.
"""

from dlasim.isa.assembly.annotate import operation_comments
from dlasim.isa.assembly.assembler import assemble
from dlasim.isa.assembly.disassembler import disassemble

__all__ = ["assemble", "disassemble", "operation_comments"]
