"""docs/assembly.md: its examples assemble, and it mentions every directive."""

from pathlib import Path

import pytest

from dlasim.errors import InputError
from dlasim.isa.assembly import assemble
from dlasim.isa.assembly.assembler import _DIRECTIVES
from dlasim.isa.container import read, write

_PAGE = (Path(__file__).parents[2] / "docs" / "assembly.md").read_text()
_BLOCKS = [block.split("```")[0] for block in _PAGE.split("```asm\n")[1:]]


@pytest.mark.parametrize("text", _BLOCKS, ids=range(len(_BLOCKS)))
def test_examples_assemble(text: str) -> None:
    program = assemble(text)
    assert write(read(write(program))) == write(program)


def test_every_directive_is_described() -> None:
    from dlasim.isa.assembly.macros import END_MACRO, END_REPEAT, MACRO, REPEAT

    known = (*_DIRECTIVES, MACRO, END_MACRO, REPEAT, END_REPEAT)
    assert [name for name in known if f"`{name}" not in _PAGE] == []


def test_the_error_shown_is_the_error_given() -> None:
    shown = _PAGE.split("```text\ndlasim: ")[1].split("```")[0].rstrip("\n")
    text = "\n" * 11 + "  OP_CONV init=bais"
    with pytest.raises(InputError) as caught:
        assemble(text, "model.s")
    assert str(caught.value) == shown


def test_the_limits_of_macros_are_those_stated() -> None:
    from dlasim.isa.assembly import macros

    said = f"may nest {macros.MAX_DEPTH} deep and expand to {macros.MAX_EXPANDED_LINES:,} lines with "
    assert said + f"{macros.MAX_EXPANDED_CHARACTERS:,} characters" in " ".join(_PAGE.split())
