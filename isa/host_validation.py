"""Whether a host call may be made: its operands' types, its attributes' ranges, the rules of `host_checks`.

The firmware has the same in C, generated from the same tables, and gives the same refusal word for word.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import product
from types import CodeType
from typing import Any

from dlasim.dataclass import dataclass
from dlasim.isa.file_records import DataType
from dlasim.isa.host_checks import RULES
from dlasim.isa.host_op_rows import HostOperand, HostOperator, Word
from dlasim.isa.limits import MAX_RANK


@dataclass(frozen=True, slots=True)
class OperandView:
    """A tensor as rules name it."""

    type: int
    rank: int
    elements: int
    shape: tuple[int, ...]
    back: tuple[int, ...]


def view(dtype: str, shape: Sequence[int]) -> OperandView:
    """The view of a tensor with this type and shape."""
    ones = (1,) * (MAX_RANK - len(shape))
    return OperandView(
        DataType[dtype], len(shape), math.prod(shape), (*shape, *ones), (*reversed(shape), *ones)
    )


def refusal(
    operator: HostOperator,
    words: Sequence[int],
    inputs: Sequence[OperandView],
    outputs: Sequence[OperandView],
) -> str | None:
    """Why the call must not be made, None where it may; its numbers of operands and words are right."""
    found = (
        _wrong_type(operator.inputs, inputs)
        or _wrong_type(operator.outputs, outputs)
        or _out_of_range(operator, words)
    )
    if found or not outputs[0].elements:
        return found
    return _broken_rule(operator, words, inputs, outputs)


def type_text(operand: HostOperand) -> str:
    """What an operand's type must be."""
    return f"{operand.name} must be {' or '.join(operand.types)}"


def is_for_each(operator: HostOperator, condition: str) -> bool:
    """Whether a rule's condition holds for each of the operator's repeated inputs."""
    last = operator.inputs[-1]
    return last.repeated and f"{last.name}." in condition


def _wrong_type(operands: Sequence[HostOperand], views: Sequence[OperandView]) -> str | None:
    for number, tensor in enumerate(views):
        operand = operands[min(number, len(operands) - 1)]
        if DataType(tensor.type).name not in operand.types:
            return f"{type_text(operand)} (got {DataType(tensor.type).name})"
    return None


def _out_of_range(operator: HostOperator, words: Sequence[int]) -> str | None:
    position = 0
    for attribute in operator.attributes:
        for word in words[position : position + attribute.count]:
            if not attribute.least <= word <= attribute.greatest:
                got = "" if attribute.word is Word.FLOAT32 else f" (got {word})"
                return f"{attribute.range_text}{got}"
        position += attribute.count
    return None


def _broken_rule(
    operator: HostOperator,
    words: Sequence[int],
    inputs: Sequence[OperandView],
    outputs: Sequence[OperandView],
) -> str | None:
    names: dict[str, Any] = {**_attributes(operator, words), **_FUNCTIONS, **_TYPES}
    names |= zip((operand.name for operand in operator.outputs), outputs, strict=True)
    repeated = operator.inputs[-1].repeated
    names |= zip((operand.name for operand in operator.inputs), inputs, strict=not repeated)
    names["total"] = lambda _: sum(tensor.elements for tensor in inputs)
    for condition, text, for_each, dimensions in _compiled(operator):
        for tensor, names["k"] in product(inputs if for_each else inputs[:1], dimensions or (0,)):
            if for_each:
                names[operator.inputs[-1].name] = tensor
            if not eval(condition, {"__builtins__": {}}, names):
                return text
    return None


def _attributes(operator: HostOperator, words: Sequence[int]) -> dict[str, int | tuple[int, ...]]:
    values: dict[str, int | tuple[int, ...]] = {}
    position = 0
    for attribute in operator.attributes:
        items = tuple(words[position : position + attribute.count])
        values[attribute.name] = items if attribute.count > 1 else items[0]
        position += attribute.count
    return values


@cache
def _compiled(operator: HostOperator) -> tuple[tuple[CodeType, str, bool, range], ...]:
    return tuple(
        (
            compile(rule.condition, operator.name, "eval"),
            rule.text,
            is_for_each(operator, rule.condition),
            rule.dimensions,
        )
        for rule in RULES[operator.name]
    )


def _product(tensor: OperandView, first: int, end: int) -> int:
    return math.prod(tensor.shape[first:end])


def _kept(tensor: OperandView, mask: int) -> int:
    return math.prod(size for k, size in enumerate(tensor.shape) if not mask >> k & 1)


_FUNCTIONS: Mapping[str, Any] = {"product": _product, "kept": _kept, "volume": math.prod}
_TYPES: Mapping[str, Any] = {kind.name: kind.value for kind in DataType}
