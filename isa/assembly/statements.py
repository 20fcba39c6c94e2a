"""Statements that become one command word, encoded once every symbol is known."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from dlasim.dataclass import dataclass
from dlasim.errors import counted
from dlasim.isa import registers
from dlasim.isa.assembly.lexer import Kind, Token
from dlasim.isa.assembly.parser import Line
from dlasim.isa.assembly.source import SourceText, joined, suggestion_text
from dlasim.isa.assembly.symbol_expressions import SymbolicExpression
from dlasim.isa.bits import Field
from dlasim.isa.instruction_rows import OPCODE, WORD_BITS, Instruction
from dlasim.isa.instructions import BY_MNEMONIC
from dlasim.isa.registers import Register

_CFG = BY_MNEMONIC["CFG"]
_REGISTER, _VALUE = _CFG.field("register"), _CFG.field("value")
_RAW = Field("raw", 0, registers.REGISTER_BITS, "any 32-bit pattern")
_WORD = Field("word", 0, WORD_BITS, "any 64-bit pattern")
_ONLY_FIELDS = ("value", "word")
_OPERAND_NAMES = tuple(register.name for register in registers.OPERANDS)


@dataclass(frozen=True, slots=True)
class WordPart:
    """A field of the word whose value is an expression; `shift` is where the field's own word starts."""

    owner: str
    field: Field
    shift: int
    expression: SymbolicExpression

    @property
    def name(self) -> str:
        """Its name in errors: the field, or the owner if the owner has no other field."""
        return self.owner if self.field.name in _ONLY_FIELDS else f"{self.owner}: {self.field.name}"


@dataclass(frozen=True, slots=True)
class Statement:
    """A command word with the parts still to be put into it."""

    word: int
    parts: tuple[WordPart, ...]

    def encode(self, source: SourceText, values: list[int]) -> int:
        """The word with these values of its parts, each checked against its field."""
        word = self.word
        for part, value in zip(self.parts, values, strict=True):
            if not part.field.holds(value):
                place = part.expression.start.place
                source.note(place, f"{part.name} must be {part.field.allowed} (got {value})")
            word |= part.field.insert(value) << part.shift
        return word


def parse_word(line: Line) -> Statement:
    """What follows `.word`: any 64 bits."""
    expression = line.expression()
    line.expect_end()
    return Statement(0, (WordPart(".word", _WORD, 0, expression),))


def parse_instruction(line: Line, mnemonic: Token, macros: Iterable[str] = ()) -> Statement:
    """An instruction; its mnemonic has just been taken. `macros` may have been meant instead."""
    instruction = BY_MNEMONIC.get(mnemonic.text.upper())
    if instruction is None:
        hint = suggestion_text(mnemonic.text, (*BY_MNEMONIC, *macros))
        line.fail(
            f"unknown instruction {mnemonic}{hint}; `dlasim isa` lists all".replace("?;", "?"), mnemonic
        )
    statement = _parse_cfg(line) if instruction is _CFG else _parse_fields(line, instruction)
    line.expect_end()
    return statement


def _parse_fields(line: Line, instruction: Instruction) -> Statement:
    """Fields by position, then by name; operations may leave out a field that has a default."""
    word = OPCODE.insert(instruction.opcode)
    parts: list[WordPart] = []
    missing = list(instruction.fields)
    while not line.at_end:
        field = _next_field(line, instruction, missing)
        missing.remove(field)
        if field.names and line.next.kind is not Kind.NUMBER:
            word |= field.insert(line.choice(field.name, field.names))
        else:
            parts.append(WordPart(instruction.mnemonic, field, 0, line.expression()))
        if not line.accept(",") and not line.at_end and not line.starts_keyword():
            line.fail(f"expected a comma or the end of the line, found {line.next}")
    if missing and not instruction.is_operation:
        names = joined([field.name for field in missing], "and")
        line.fail(
            f"{instruction.mnemonic} needs {names} as well; {missing[0].name} must be {missing[0].allowed}"
        )
    for field in missing:
        word |= field.insert(field.default)
    return Statement(word, tuple(parts))


def _next_field(line: Line, instruction: Instruction, missing: list[Field]) -> Field:
    if not line.starts_keyword():
        if not missing:
            takes = counted(len(instruction.fields), "field")
            line.fail(f"unexpected {line.next}: {instruction.mnemonic} takes {takes}")
        return missing[0]
    key = line.take()
    line.expect("=")
    name = key.text.casefold()
    found = next((field for field in missing if field.name == name), None)
    if found is None:
        names = [field.name for field in instruction.fields]
        if name in names:
            line.fail(f"{key} is given twice", key)
        line.fail(
            f"{instruction.mnemonic} has no field {key}{suggestion_text(name, names, 'its fields are')}", key
        )
    return found


def _parse_cfg(line: Line) -> Statement:
    word = OPCODE.insert(_CFG.opcode)
    if line.next.kind is Kind.NUMBER:
        number = WordPart("CFG", _REGISTER, 0, line.expression())
        line.expect(",")
        return Statement(word, (number, _raw(line, "CFG")))
    register = _register(line)
    word |= _REGISTER.insert(register.index)
    line.expect(",")
    if not line.starts_keyword():
        return Statement(word, (_plain(line, register),))
    if line.next.text == "raw":
        return Statement(word, (_raw(line, register.name),))
    return _parse_packed(line, register, word)


def _register(line: Line) -> Register:
    token = line.expect_kind("a register", Kind.NAME, Kind.NUMBER)
    register = registers.BY_NAME.get(token.text.upper())
    if register is None:
        hint = suggestion_text(token.text, _OPERAND_NAMES) or "; `dlasim isa registers` lists all"
        line.fail(f"unknown register {token}{hint}", token)
    if not register.is_operand:
        line.fail(
            f"CFG cannot write {register.name}, which is not an operand register; to see it fault, write the "
            f"register's number, {register.index}",
            token,
        )
    return register


def _raw(line: Line, owner: str) -> WordPart:
    if line.starts_keyword():
        line.choice("the keyword", (_RAW.name,))
        line.expect("=")
    return WordPart(owner, _RAW, _VALUE.low, line.expression())


def _plain(line: Line, register: Register) -> WordPart:
    if not register.is_plain:
        parts = joined([f"{field.name}=" for field in register.fields], "and")
        line.fail(f"{register.name} has several parts; write {parts}, or raw=")
    return WordPart(register.name, register.fields[0], _VALUE.low, line.expression())


def _parse_packed(line: Line, register: Register, word: int) -> Statement:
    given = line.keywords({field.name: line.expression for field in register.fields})
    parts = []
    for field in register.fields:
        if field.name in given:
            parts.append(WordPart(register.name, field, _VALUE.low, given[field.name]))
        else:
            word |= field.insert(field.default) << _VALUE.low
    return Statement(word, tuple(parts))


@cache
def _plain_registers() -> dict[str, tuple[int, Field]]:
    """What a CFG of a plain register starts with, by the register's name and a comma."""
    start = OPCODE.insert(_CFG.opcode)
    return {
        f"{register.name},": (start | _REGISTER.insert(register.index), register.fields[0])
        for register in registers.OPERANDS
        if register.is_plain
    }


def quick_word(text: str) -> int | None:
    """The word of a line like `CFG NAME, 12` or `.word 12`, the most frequent; None for any other."""
    parts = text.split()
    if len(parts) == 2 and parts[0] == ".word" and len(parts[1]) <= 20 and text.isascii():
        value = _integer(parts[1])
        return value if value is not None and _WORD.holds(value) else None
    if len(parts) != 3 or parts[0] != "CFG" or len(parts[2]) > 12 or not text.isascii():
        return None
    known = _plain_registers().get(parts[1])
    if known is None:
        return None
    start, field = known
    value = _integer(parts[2])
    return None if value is None or not field.holds(value) else start | field.insert(value) << _VALUE.low


def _integer(text: str) -> int | None:
    try:
        return int(text, 0)
    except ValueError:
        return None
