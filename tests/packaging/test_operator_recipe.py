"""The recipe for adding an operator, followed to the letter in a copy of the tree."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.packaging.recipe import followed, rewrite, run, run_tests

KINDS = ("FILL", "BITWISE_XOR")
TESTS = (
    "tests/tflite/test_round_trip.py",
    "tests/tflite/test_schema.py",
    "tests/host/test_every_operator.py",
    "tests/host/test_table.py",
    "tests/docs/test_operators.py",
)

USE = """
from generators import operators_page
from dlasim.compiler_shim.options import CompileOptions
from generators import pages
from generators.c_host_checks import render

assert "| FILL | [OP_POOL](isa.md#op_pool) | [STRIDED_COPY]" in operators_page.page()
assert "| BITWISE_XOR | - | [BITWISE_XOR]" in operators_page.page()
assert "## BITWISE_XOR" in pages.host_operators_page()
assert "BITWISE_XOR" in render()
CompileOptions(dla_ops=frozenset({"FILL"}))
"""


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four pieces for an operator of what there is, nine for one with a kernel of its own."""
    return followed("add-an-operator.md", tmp_path_factory.mktemp("recipe"), 13)


def test_the_new_operators_are_known_everywhere(tree: Path) -> None:
    run(tree, "-c", USE)


def test_their_tests_pass(tree: Path) -> None:
    chosen = " or ".join((*KINDS, "test_schema", "stable", "kernel", "page"))
    run_tests(tree, "-k", chosen, *TESTS)


@pytest.mark.parametrize(
    ("file", "right", "wrong"),
    [
        (
            "dlasim/compiler_shim/operators/strided.py",
            "View(0, size, (0,) * len(size))",
            "View(0, size, (1,) * len(size))",
        ),
        ("dlasim/sim/host/elementwise.py", "np.bitwise_xor", "np.bitwise_or"),
    ],
)
def test_the_tests_would_notice_a_wrong_body(tree: Path, file: str, right: str, wrong: str) -> None:
    source = tree / file
    text = source.read_text(encoding="utf-8")
    assert text.count(right) == 1
    rewrite(source, text.replace(right, wrong))
    try:
        with pytest.raises(AssertionError, match="1 failed"):
            run_tests(tree, "-k", " or ".join(KINDS), "tests/host/test_every_operator.py")
    finally:
        rewrite(source, text)
