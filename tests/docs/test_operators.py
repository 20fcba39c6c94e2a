"""The operators' page says what the compiler does: networks of each operator are compiled and compared."""

from __future__ import annotations

import re

import pytest

from dlasim.compiler_shim.forms.dla_forms import DLA_FORMS, RULES
from dlasim.compiler_shim.forms.partition import partition
from dlasim.compiler_shim.operators.table import CUSTOM_NAMES, OPERATORS
from dlasim.errors import InputError
from dlasim.isa.instructions import INSTRUCTIONS
from tests.host.models import lower_operator
from tests.tflite.one_operator import random_graph
from tests.tool_module import tool_module

SEEDS = range(8)


HOST_KINDS = {row.name for row in OPERATORS.values() if row.lower}


@pytest.mark.parametrize("kind", sorted(HOST_KINDS - set(CUSTOM_NAMES)))
def test_the_page_says_what_becomes_of_an_operator(kind: str) -> None:
    """Each host operator and instruction of a row comes about, and none that is not in it."""
    calls, mnemonics = set(), set()
    for seed in SEEDS:
        graph = random_graph(kind, seed)
        try:
            own = [operator for operator in graph.operators if operator.kind == kind]
            calls |= {call.name for operator in own for call in lower_operator(operator, graph)}
            items = partition(graph).items
        except InputError:
            continue  # this one breaks a limit of its host operator
        mnemonics |= {node.mnemonic for item in items if item.operator == kind for node in item.dla}
        assert all(item.dla or item.dla_refusal for item in items)
    assert calls <= set(OPERATORS[kind].host)
    assert mnemonics <= set(OPERATORS[kind].dla)
    has_no_variable = kind == "DYNAMIC_UPDATE_SLICE"  # to update in place
    assert bool(mnemonics) == (bool(OPERATORS[kind].dla) and not has_no_variable)


def test_instructions_exist() -> None:
    mnemonics = {instruction.mnemonic for instruction in INSTRUCTIONS}
    assert {name for form in DLA_FORMS.values() for name in form.mnemonics} <= mnemonics


def test_every_operator_and_every_rule_is_on_the_page() -> None:
    page = tool_module("generators.operators_page").page()
    assert sorted(re.findall(r"^\| ([A-Z0-9_]+) \|", page, re.MULTILINE)) == sorted(HOST_KINDS)
    for rule in RULES:
        assert rule.__doc__ is not None
        assert " ".join(rule.__doc__.split()) in page
