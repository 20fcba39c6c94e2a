"""Text to a program: every line in turn, each to the handler of its directive or to the encoder."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from dlasim.errors import InputError
from dlasim.isa.assembly import data_section, description, steps
from dlasim.isa.assembly.data_section import hex_bytes
from dlasim.isa.assembly.lexer import Kind, Token
from dlasim.isa.assembly.macros import Expander
from dlasim.isa.assembly.parser import Line
from dlasim.isa.assembly.program_builder import Builder, Mode
from dlasim.isa.assembly.source import UNNAMED, ErrorLimitError, Refused, SourceText, suggestion_text
from dlasim.isa.assembly.statements import parse_instruction, quick_word
from dlasim.isa.program import Program
from dlasim.system.fileio import read_file

MAX_TEXT_CHARACTERS = 1 << 29
_DIRECTIVES = description.DIRECTIVES | data_section.DIRECTIVES | steps.DIRECTIVES
_HEX = '.hex "'
_STATEMENT = re.compile(r"^[ \t\r\f]*[^\s;#]", re.MULTILINE)


def assemble(text: str, origin: str | None = None) -> Program:
    """The program that `text` describes; `origin` names it in errors, and as the source of each word.

    A text without a name gives a program that does not know its source lines. One InputError lists all that
    is wrong with the text.
    """
    if len(text) > MAX_TEXT_CHARACTERS:
        raise InputError(
            f"{origin or UNNAMED} must have at most {MAX_TEXT_CHARACTERS} characters (it has {len(text)})"
        )
    return _Assembler(SourceText(text.removeprefix("\ufeff"), origin)).run()


class _Assembler:
    """One pass over the lines and what macros expand to; later symbols are filled in at the end."""

    def __init__(self, source: SourceText) -> None:
        self._source = source
        self._builder = Builder(source)
        self._expander = Expander(source, self._builder)
        self._words: dict[str, int] = {}  # lines seen before whose word depends on no symbol

    def run(self) -> Program:
        try:
            lines = self._source.lines
            for number in self._expander:
                text = lines[number - 1]
                if self._builder.mode is Mode.NOTHING or not self._quick(number, text):
                    with self._source.collect():
                        self._line(number, text)
            return self._builder.finish()
        except ErrorLimitError:
            self._source.check()
            raise

    def _quick(self, number: int, text: str) -> bool:
        """Take the short way, which large programs need, where the line is of a common form."""
        builder = self._builder
        if builder.mode is Mode.STREAM:
            word = self._words.get(text)
            if word is None:
                word = quick_word(text)
            if word is not None:
                builder.add_known_word(word, number)
            return word is not None
        if not (text.startswith(_HEX) and text.endswith('"')):
            return False
        raw = hex_bytes(text[len(_HEX) : -1])
        return raw is not None and builder.add_bytes(raw)

    def _line(self, number: int, text: str) -> None:
        line = Line(self._source, number)
        labelled = False
        while line.starts_label():
            with self._source.collect():
                self._builder.add_label(line.take())
            line.expect(":")
            labelled = True
        if line.at_end:
            return
        token = line.expect_kind("an instruction, a directive or a label", Kind.NAME, Kind.DIRECTIVE)
        if token.kind is Kind.DIRECTIVE:
            self._directive(line, token)
        elif self._instruction(line, token) and not labelled:
            self._words[text] = self._builder.commands[-1]

    def _instruction(self, line: Line, token: Token) -> bool:
        """Whether its word is final already. The name may also be that of a macro."""
        macro = self._expander.macros.get(token.text)
        if macro is not None:
            self._expander.call(line, macro, token)
            return False
        try:
            statement = parse_instruction(line, token, self._expander.macros)
        except Refused:
            self._builder.add_placeholder_word(line.number)
            raise
        return self._builder.add_word(line, token, statement)

    def _directive(self, line: Line, token: Token) -> None:
        name = token.text.lower()
        if name in self._expander.directives:
            return self._expander.directives[name](line, token)
        handler = _DIRECTIVES.get(name)
        if handler is None:
            self._builder.mark_section_unknown()
            known = (*_DIRECTIVES, *self._expander.directives)
            hint = suggestion_text(token.text, known, "the directives are")
            line.fail(f"unknown directive {token}{hint}", token)
        return handler(self._builder, line, token)


def assemble_file(path: str | Path) -> Program:
    """The program in an assembly file; `-` is standard input."""
    if path != "-":
        return assemble_bytes(read_file(path), str(path))
    try:
        raw = sys.stdin.buffer.read()
    except OSError as error:
        raise InputError(f"cannot read standard input: {error.strerror}") from None
    return assemble_bytes(raw, "<stdin>")


def assemble_bytes(raw: bytes, origin: str) -> Program:
    """The program in the text of a file, which is UTF-8; `origin` names it in errors."""
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise InputError(f"{origin}:{line}: this line is not valid UTF-8") from None
    if _STATEMENT.search(text.removeprefix("\ufeff")) is None:
        raise InputError(f"{origin} is empty or has comments only: there is nothing to assemble")
    return assemble(text, origin)
