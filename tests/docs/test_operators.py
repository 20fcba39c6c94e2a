"""The operators' page says what the compiler does: networks of each operator are compiled and compared."""

from __future__ import annotations

import re

import pytest

from dlasim.compiler_shim import operators_page
from dlasim.compiler_shim.operators import HOST_KINDS, lower_host
from dlasim.compiler_shim.partition import partition
from dlasim.compiler_shim.rules import RULES
from dlasim.errors import InputError
from dlasim.isa import host_ops
from dlasim.isa.instructions import INSTRUCTIONS
from tests.tflite.one_operator import BUILDERS, random_graph

SEEDS = range(8)


@pytest.mark.parametrize("kind", sorted(set(BUILDERS) & HOST_KINDS))
def test_the_page_says_what_becomes_of_an_operator(kind: str) -> None:
    instructions = set(re.findall(r"OP_\w+", operators_page.instructions(kind)))
    for seed in SEEDS:
        graph = random_graph(kind, seed)
        try:
            calls = {call.name for operator in graph.operators for call in lower_host(operator, graph)}
            items = partition(graph).items
        except InputError:
            continue  # this one breaks a limit of its host operator
        assert calls <= set(operators_page.host_forms(kind))
        for item in items:
            assert item.dla is None or item.dla.mnemonic in instructions
            assert item.dla is not None or not instructions or item.dla_refusal


def test_names_exist() -> None:
    mnemonics = {instruction.mnemonic for instruction in INSTRUCTIONS}
    for kind in HOST_KINDS:
        assert set(operators_page.host_forms(kind)) <= set(host_ops.BY_NAME)
        assert set(re.findall(r"OP_\w+", operators_page.instructions(kind))) <= mnemonics


def test_every_operator_and_every_rule_is_on_the_page() -> None:
    page = operators_page.page()
    assert sorted(re.findall(r"^\| ([A-Z0-9_]+) \|", page, re.MULTILINE)) == sorted(HOST_KINDS)
    for rule in RULES:
        assert rule.__doc__ is not None
        assert rule.__doc__.splitlines()[0] in page
