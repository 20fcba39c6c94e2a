"""`docs/operators.md`: what becomes of each TFLite operator, from the rules and tables that decide it."""

from __future__ import annotations

import re
from collections.abc import Iterable

from dlasim.compiler_shim.forms.dla_forms import RULES
from dlasim.compiler_shim.onnx.onnx_import import HANDLERS, IN_REAL
from dlasim.compiler_shim.operators.definition import OperatorDefinition, Trait
from dlasim.compiler_shim.operators.table import OPERATORS
from dlasim.compiler_shim.tosa.tosa_import import TOSA_HANDLERS
from generators.written import prose

_NOT_OPERATORS = {"BiasScale", "DequantizeLinear", "QuantizeLinear"}


def page() -> str:
    """The whole page."""
    rows = [OPERATORS[kind] for kind in sorted(OPERATORS)]
    lowered = [row for row in rows if row.lower]
    return prose("operators.md").format(
        rules="\n".join(f"{number}. {_one_line(rule.__doc__)}" for number, rule in enumerate(RULES, start=1)),
        on_dla=_table(row for row in lowered if row.dla),
        on_cpu=_table(row for row in lowered if not row.dla),
        folded=", ".join(row.name for row in rows if not row.lower),
        onnx_integers=", ".join(sorted(HANDLERS.keys() - _NOT_OPERATORS)),
        onnx_floats=", ".join(sorted(IN_REAL)),
        tosa=", ".join(sorted(TOSA_HANDLERS)),
        floats=", ".join(row.name for row in lowered if row.takes_floats),
    )


def _one_line(docstring: str | None) -> str:
    assert docstring, "a rule's docstring is its text on the page"
    return " ".join(docstring.split())


def _table(rows: Iterable[OperatorDefinition]) -> str:
    lines = ["| TFLite operator | on the DLA | on the CPU |", "| --- | --- | --- |"]
    for row in rows:
        note = f" ({row.dla_note})" if row.dla_note else ""
        forms = ", ".join(f"[{name}](host-operators.md#{name.lower()})" for name in row.host)
        view = " (none if it can be a view of the same bytes)" if Trait.VIEW in row.traits else ""
        lines.append(f"| {row.name} | {_linked(', '.join(row.dla) + note) or '-'} | {forms}{view} |")
    return "\n".join(lines)


def _linked(text: str) -> str:
    return re.sub(r"OP_\w+", lambda found: f"[{found[0]}](isa.md#{found[0].lower()})", text)
