"""`dla_host_checks.h`: what a host call must fulfil, as C translated from the conditions of `host_checks`."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator

from dlasim.isa.file_records import ELEMENT_BYTES, DataType
from dlasim.isa.host_checks import RULES, Rule
from dlasim.isa.host_op_rows import HostOperand, HostOperator, Word
from dlasim.isa.host_ops import HOST_OPERATORS
from dlasim.isa.host_validation import is_for_each, type_text
from generators import c_text
from generators.written import prose

FILE_NAME = "dla_host_checks.h"
_OPERATORS: dict[type[ast.AST], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.RShift: ">>",
    ast.BitAnd: "&", ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
    ast.And: "&&", ast.Or: "||",
}  # fmt: skip
_MEMBERS = {"rank": "dla_host_rank", "elements": "dla_host_elements", "type": "dla_host_type"}


def render() -> str:
    """The header."""
    doc = (
        "What a host call must fulfil: types of its operands, ranges of its attributes, and rules for shapes "
        "and attributes together. The simulator refuses the same calls with the same words."
    )
    return c_text.header(FILE_NAME, doc, "dlasim/isa/host_ops.py and dlasim/isa/host_checks.py", _lines())


def _lines() -> Iterator[str]:
    yield "#include <stddef.h>"
    yield ""
    yield '#include "dla_program.h"'
    yield ""
    sizes = ", ".join(str(ELEMENT_BYTES[kind]) for kind in DataType)
    yield f"static const uint8_t dla_element_bytes[] = {{ {sizes} }};"
    names = ", ".join(_text(kind.name) for kind in DataType)
    yield f"static const char *const dla_type_names[] = {{ {names} }};"
    yield ""
    yield from prose(FILE_NAME).splitlines()
    yield ""
    for operator in HOST_OPERATORS:
        yield from _operator_lines(operator)
    yield "static const struct dla_host_check dla_host_checks[] = {"
    for operator in HOST_OPERATORS:
        name = operator.name.lower()
        ranges = f"dla_{name}_ranges" if operator.attributes else "NULL"
        yield (
            f"    [{operator.code}] = {{ {_text(operator.name)}, {ranges}, dla_{name}_inputs, "
            f"dla_{name}_outputs,"
        )
        yield (
            f"        dla_{name}_broken_rule, {len(operator.attributes)}, {len(operator.inputs)}, "
            f"{len(operator.outputs)} }},"
        )
    yield "};"
    yield ""


def _operator_lines(operator: HostOperator) -> Iterator[str]:
    name = operator.name.lower()
    if operator.attributes:
        yield f"static const struct dla_host_range dla_{name}_ranges[] = {{"
        for attribute in operator.attributes:
            text = "NULL" if attribute.range_text is None else _text(attribute.range_text)
            shown = int(attribute.word is not Word.FLOAT32)
            limits = f"{_int32(attribute.least)}, {attribute.greatest}"
            yield f"    {{ {text}, {limits}, {attribute.count}, {shown} }},"
        yield "};"
    yield from _types(f"dla_{name}_inputs", operator.inputs)
    yield from _types(f"dla_{name}_outputs", operator.outputs)
    yield f"static const char *dla_{name}_broken_rule(const struct dla_host_arguments *c)"
    yield "{"
    if operator.attributes:
        yield "    const int32_t *w = c->words;"
        yield "    (void)w;"
    yield "    (void)c;"
    for rule in RULES[operator.name]:
        yield from _rule_lines(operator, rule)
    yield "    return NULL;"
    yield "}"
    yield ""


def _rule_lines(operator: HostOperator, rule: Rule) -> Iterator[str]:
    loops = []
    if is_for_each(operator, rule.condition):
        loops.append("for (uint32_t each = 0; each < c->inputs; each++)")
    if rule.dimensions:
        loops.append(f"for (int64_t k = {rule.dimensions.start}; k < {rule.dimensions.stop}; k++)")
    condition = _Translator(operator).expression(ast.parse(rule.condition, mode="eval").body)
    lines = [*loops, f"if (!{condition})", f"return {_text(rule.text)};"]
    for depth, line in enumerate(lines, start=1):
        yield from c_text.code(line, depth)


def _types(name: str, operands: tuple[HostOperand, ...]) -> Iterator[str]:
    yield f"static const struct dla_host_types {name}[] = {{"
    for operand in operands:
        mask = sum(1 << DataType[kind] for kind in operand.types)
        yield f"    {{ {_text(type_text(operand))}, 0x{mask:02x} }},"
    yield "};"


def _text(text: str) -> str:
    return json.dumps(text)


def _int32(value: int) -> str:
    return str(value) if value > -(1 << 31) else "INT32_MIN"


class _Translator:
    """An expression of a rule as C on int64_t."""

    def __init__(self, operator: HostOperator) -> None:
        self._operands: dict[str, str] = {}
        for number, operand in enumerate(operator.outputs):
            self._operands[operand.name] = f"c->inputs + {number}"
        for number, operand in enumerate(operator.inputs):
            self._operands[operand.name] = "each" if operand.repeated else str(number)
        self._words: dict[str, tuple[int, int]] = {}
        position = 0
        for attribute in operator.attributes:
            self._words[attribute.name] = position, attribute.count
            position += attribute.count

    def expression(self, node: ast.expr) -> str:
        """The expression in parentheses."""
        match node:
            case ast.Constant(value=int(value)):
                # What it is combined with has 64 bits.
                return str(value) if value < 1 << 31 else f"INT64_C({value})"
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return f"(-{self.expression(operand)})"
            case ast.Name(id=name) if name in self._words:
                return f"(int64_t)w[{self._words[name][0]}]"
            case ast.Name(id="k"):
                return "k"
            case ast.Name(id=name):
                return str(DataType[name].value)
            case ast.BinOp(left=left, op=(ast.FloorDiv() | ast.Mod()) as op, right=right):
                # 64-bit division needs a library; dimensions and numbers of elements have 32.
                sign = "/" if isinstance(op, ast.FloorDiv) else "%"
                return (
                    f"(int64_t)((uint32_t){self.expression(left)} {sign} (uint32_t){self.expression(right)})"
                )
            case ast.BinOp(left=left, op=op, right=right):
                return f"({self.expression(left)} {_OPERATORS[type(op)]} {self.expression(right)})"
            case ast.BoolOp(op=op, values=values):
                return f"({f' {_OPERATORS[type(op)]} '.join(map(self.expression, values))})"
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                return f"({self.expression(left)} {_OPERATORS[type(op)]} {self.expression(right)})"
            case ast.IfExp(test=test, body=body, orelse=other):
                return f"({self.expression(test)} ? {self.expression(body)} : {self.expression(other)})"
            case ast.Attribute(value=ast.Name(id=name), attr=member):
                return f"{_MEMBERS[member]}(c, {self._operands[name]})"
            case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=int(index))):
                return f"(int64_t)w[{self._words[name][0] + index}]"
            case ast.Subscript(value=ast.Name(id=name), slice=ast.Name(id="k")):
                return f"(int64_t)w[{self._words[name][0]} + k]"
            case ast.Subscript(value=ast.Attribute(value=ast.Name(id=name), attr=member), slice=index):
                return f"dla_host_{member}(c, {self._operands[name]}, {self.expression(index)})"
            case ast.Call(func=ast.Name(id="product"), args=[ast.Name(id=name), first, end]):
                bounds = f"{self.expression(first)}, {self.expression(end)}"
                return f"dla_host_product(c, {self._operands[name]}, {bounds})"
            case ast.Call(func=ast.Name(id="kept"), args=[ast.Name(id=name), mask]):
                return f"dla_host_kept(c, {self._operands[name]}, {self.expression(mask)})"
            case ast.Call(func=ast.Name(id="volume"), args=[ast.Name(id=name)]):
                position, count = self._words[name]
                return f"dla_host_volume(w + {position}, {count})"
            case ast.Call(func=ast.Name(id="total")):
                return "dla_host_total(c)"
        raise AssertionError(f"no C for {ast.unparse(node)}")
