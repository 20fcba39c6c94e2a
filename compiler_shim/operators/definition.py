"""What a row of the operator table says."""

from __future__ import annotations

import enum
import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from dlasim.compiler_shim.operators.bound import BoundOperator, KernelCall, Shape
from dlasim.compiler_shim.operators.fields import SchemaField, left_out
from dlasim.dataclass import dataclass
from dlasim.errors import counted

ShapeRule = Callable[[BoundOperator], list[Shape]]
LoweringRule = Callable[[BoundOperator], list[KernelCall]]
MacRule = Callable[[BoundOperator], int]
_MANY = 1 << 31


@dataclass(frozen=True, slots=True)
class Options:
    """A table of options in the TFLite schema; a field's place is its slot, None holds the place of one.

    Those of a custom operator are `flexible`: numbers by name in a FlexBuffer.
    """

    table: str
    fields: tuple[SchemaField | None, ...] = ()
    flexible: bool = False


NO_OPTIONS = Options("")


class Trait(enum.Flag):
    """What passes besides lowering must know of an operator."""

    NONE = 0
    FOLDS = enum.auto()
    """Computed at import where all inputs are constant: its work grows with its inputs and outputs only."""
    VIEW = enum.auto()
    """The same elements in the same order: a view of the same bytes, where it can be."""
    REARRANGES = enum.auto()
    """Changes no value: a message about types names the operator behind it instead."""
    CONVERTS = enum.auto()
    """Converts between types, and so may read an input and write an output of the model that are not int8."""
    CONVOLVES = enum.auto()
    """A PAD before it can become part of it, and so can dilation as Keras writes it."""
    STEPWISE = enum.auto()
    """Becomes many calls; each runs on the DLA or on the CPU for itself."""
    UPDATES = enum.auto()
    """Its output is its first input with some elements replaced: their bytes may be the same."""


CLASSES: Mapping[str, tuple[str, ...]] = {
    "q": ("int8",),
    "a": ("int8", "int16"),
    "s": ("int8", "int16"),
    "h": ("int16",),
    "r": ("int8", "int16", "float32"),
    "b": ("int32", "int64"),
    "i": ("int32", "int64"),
    "c": ("bool",),
    "x": ("int8", "int16", "int32", "int64", "bool", "float32"),
}
"""Element types by class of operand; all operands of class x have one type, and so have all of class a. An
operand of * has any type."""
_QUANTIZED = {letter for letter, types in CLASSES.items() if {"int8", "int16"}.issuperset(types)}


@dataclass(frozen=True, slots=True)
class Signature:
    """The class of each input and output: a letter of `CLASSES`, or *.

    A "?" marks an operand that may be left out, "+" one that may be repeated.
    """

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]

    @property
    def fewest_inputs(self) -> int:
        """Inputs that must be there."""
        return sum(not operand.endswith("?") for operand in self.inputs)

    @property
    def most_inputs(self) -> int:
        """Inputs that may be there."""
        return _MANY if self.inputs[-1].endswith("+") else len(self.inputs)

    @property
    def inputs_text(self) -> str:
        """How many inputs it takes: `1 input`, `2 to 3 inputs`, `1 input or more`."""
        fewest, most = self.fewest_inputs, self.most_inputs
        if most == _MANY:
            return f"{counted(fewest, 'input')} or more"
        return counted(most, "input") if fewest == most else f"{fewest} to {counted(most, 'input')}"

    @property
    def many_outputs(self) -> bool:
        """Whether there may be more than one output."""
        return self.outputs[-1].endswith("+")

    def is_optional(self, position: int) -> bool:
        """Whether the input at this position may be left out."""
        return position < len(self.inputs) and self.inputs[position].endswith("?")

    def classes(self, input_count: int, output_count: int) -> list[str]:
        """The class of each input, then of each output."""
        inputs = [self.inputs[min(number, len(self.inputs) - 1)][0] for number in range(input_count)]
        outputs = [self.outputs[min(number, len(self.outputs) - 1)][0] for number in range(output_count)]
        return [*inputs, *outputs]


@dataclass(frozen=True, slots=True)
class OperatorDefinition:
    """One TFLite operator.

    `operands` names the types of inputs and outputs in order, "q q b? -> q": see `Signature`. `lower` makes
    calls of the `host` operators; without it the operator is only computed at import. `dla` are the
    instructions that may compute it instead, `dla_note` what the page of operators adds to them. `version` is
    that of the int8 operator in the file. `states` are the inputs, by position, that it updates in place: its
    memory of earlier inferences. `name_words` are the last words of the names that TensorFlow gives the
    tensors which such an operator writes, the most telling first.
    """

    name: str
    operands: str
    shapes: ShapeRule
    lower: LoweringRule | None
    host: tuple[str, ...]
    dla: tuple[str, ...] = ()
    options: Options = NO_OPTIONS
    version: int = 1
    traits: Trait = Trait.NONE
    macs: MacRule | None = None
    states: tuple[int, ...] = ()
    name_words: tuple[str, ...] = ()
    dla_note: str = ""

    @property
    def signature(self) -> Signature:
        """What `operands` says."""
        return _signature(self.operands)

    @property
    def option_defaults(self) -> Mapping[str, Any]:
        """Every option as it is where a graph leaves it out."""
        return _defaults(self.options)

    @property
    def takes_floats(self) -> bool:
        """Whether none of its operands has to be quantized."""
        return not _QUANTIZED & set(self.operands)


def row(
    name: str, operands: str, shapes: ShapeRule, lower: LoweringRule | None, host: str, dla: str = "",
    *fields: SchemaField | None, table: str | None = None, flexible: bool = False, **more: Any,
) -> OperatorDefinition:  # fmt: skip
    """A row with host operators and instructions as words. Its options have these fields; their table is
    called after the operator unless `table` is its name, which is empty where there are no options."""
    usual = "".join(part.capitalize() for part in name.split("_")) + "Options"
    options = Options(usual if table is None else table, fields, flexible)
    host_operators, instructions = tuple(host.split()), tuple(dla.split())
    return OperatorDefinition(name, operands, shapes, lower, host_operators, instructions, options, **more)


def alike(names: str, *rest: Any, **more: Any) -> Iterator[OperatorDefinition]:
    """Operators that have one row but for their names."""
    return (row(name, *rest, **more) for name in names.split())


@functools.cache
def _signature(operands: str) -> Signature:
    inputs, outputs = operands.split("->")
    return Signature(tuple(inputs.split()), tuple(outputs.split()))


@functools.cache
def _defaults(options: Options) -> Mapping[str, Any]:
    return {field.name: left_out(field) for field in options.fields if field is not None}
