"""The recipe for adding an instruction, followed to the letter in a copy of the tree."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.packaging.recipe import followed, rewrite, run, run_tests

USE = """
from dlasim.isa import codec, container
from dlasim.isa.assembly import assemble, disassemble
from generators import pages, sv_package
from generators.c_isa import render

text = '''
.config pes=64 parallel=output sram=512KiB
.stream
    CFG OUT_CHANNELS, 4
    CFG IN2_ADDR, 16
    CFG OUT_ADDR, 32
    OP_E_XOR
    HALT
'''
program = assemble(text, "xor.s")
assert container.read(container.write(program)).features == program.features
assert "OPCODE_OP_E_XOR: return (word" not in sv_package.render()  # the RTL reports it as illegal
assert [codec.decode(int(word)).is_legal for word in program.commands] == [True] * 5
assert "OP_E_XOR" in disassemble(program)
assert "## OP_E_XOR" in pages.isa_page()
assert "dla_encode_op_e_xor" in render()
"""


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A row, a body, its binding and its test."""
    return followed("add-an-instruction.md", tmp_path_factory.mktemp("recipe"), 4)


def test_the_new_instruction_is_known_everywhere(tree: Path) -> None:
    run(tree, "-c", USE)
    run_tests(tree, "tests/isa/test_tables.py")


def test_its_random_test_passes(tree: Path) -> None:
    run_tests(tree, "-k", "XOR", "tests/sim_engines/test_reference.py")


def test_the_tests_would_notice_a_wrong_body(tree: Path) -> None:
    file = tree / "dlasim/sim/readable_engine/vector.py"
    right = file.read_text(encoding="utf-8")
    wrong = right.replace('context.view("IN") ^ context', 'context.view("IN") | context')
    assert wrong != right
    rewrite(file, wrong)
    try:
        with pytest.raises(AssertionError, match="1 failed"):
            test_its_random_test_passes(tree)
    finally:
        rewrite(file, right)
