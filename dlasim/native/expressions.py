"""Expressions of routines in LLVM's language; what every part of a function under translation shares.

Every number is a 64-bit integer, every record and array a pointer to such with what it points at, a tuple its
parts. Division rounds down as in Python; by zero it gives 0, since nothing can be raised. What a routine
must not use is refused by line.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Iterable
from functools import reduce
from types import FunctionType
from typing import Any

from llvmlite import ir

from dlasim.named_tuple import NamedTuple
from dlasim.native.record import Array, Integer, is_record, layout, slots_of
from dlasim.native.routine import (
    VECTOR,
    RoutineError,
    TupleKind,
    is_foreign,
    is_intrinsic,
    is_named_tuple,
    is_routine,
)

NUMBER, FLAG = ir.IntType(64), ir.IntType(1)
MEMORY = NUMBER.as_pointer()
_COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
}  # fmt: skip
_OPERATIONS: dict[type[ast.operator], str] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.BitAnd: "and_", ast.BitOr: "or_", ast.BitXor: "xor",
    ast.LShift: "shl", ast.RShift: "ashr",
}  # fmt: skip
_SMALLER = {min: "<", max: ">"}

LANES = ir.VectorType(ir.IntType(32), 16)  # what a `Vector` is

Value = Any  # an ir.Value of a number, a TypedPointer, or a list of them for a tuple


class TypedPointer(NamedTuple):
    """A pointer, and what it points at: a record's class, or an array."""

    pointer: ir.Value
    kind: Any


class Parts(list[Any]):
    """The values of a tuple, which a NamedTuple names."""

    def __init__(self, values: Iterable[Value], names: type | None = None) -> None:
        super().__init__(values)
        self.names = names


def kind_of_value(value: Value) -> Any:
    """What a parameter that takes a value has to be."""
    if isinstance(value, Parts):
        return TupleKind(value.names, tuple(map(kind_of_value, value)))
    if isinstance(value, TypedPointer):
        return value.kind
    return VECTOR if value.type == LANES else int


def llvm_type(kind: Any) -> ir.Type:
    """The type of a parameter, or of what a routine returns."""
    if isinstance(kind, TupleKind):
        return ir.LiteralStructType([llvm_type(part) for part in kind.parts])
    return NUMBER if kind is int else LANES if kind is VECTOR else MEMORY


def pack_value(builder: ir.IRBuilder, value: Value) -> ir.Value:
    """A value as functions take it."""
    if isinstance(value, TypedPointer):
        return value.pointer
    if not isinstance(value, Parts):
        return value
    struct: ir.Value = ir.Constant(llvm_type(kind_of_value(value)), ir.Undefined)
    for number, part in enumerate(value):
        struct = builder.insert_value(struct, pack_value(builder, part), number)
    return struct


def unpack_value(builder: ir.IRBuilder, given: ir.Value, kind: Any) -> Value:
    """A value of a kind, as a function got it."""
    if isinstance(kind, TupleKind):
        parts = enumerate(kind.parts)
        return Parts(
            [unpack_value(builder, builder.extract_value(given, n), part) for n, part in parts], kind.names
        )
    return given if kind in (int, VECTOR) or kind is None else TypedPointer(given, kind)


def constant(number: int) -> ir.Constant:
    """A number that is known."""
    assert -(1 << 63) <= number < 1 << 63, f"{number} is no 64-bit number"
    return ir.Constant(NUMBER, int(number))


class Expressions:
    """The values in one function; `ask` gives the function of a routine for arguments of some kinds, and the
    kind of what it returns; None where it does not take them."""

    def __init__(
        self,
        python: Callable[..., Any],
        function: ir.Function,
        ask: Callable[[Callable[..., Any], tuple[Any, ...]], tuple[ir.Function, Any] | None],
    ) -> None:
        assert isinstance(python, FunctionType)
        self._python, self._function, self._ask = python, function, ask
        self._builder = ir.IRBuilder(function.append_basic_block("entry"))
        self._variables: dict[str, Value] = {}  # where each is: a TypedPointer for a record or an array

    @property
    def _is_over(self) -> bool:
        """Whether nothing can follow."""
        over: bool = self._builder.block.is_terminated
        return over

    def _refuse(self, node: ast.AST) -> RoutineError:
        place = f"{self._python.__module__}.{self._python.__name__}, line {getattr(node, 'lineno', '?')}"
        return RoutineError(f"{place}: a routine cannot use `{ast.unparse(node).splitlines()[0]}`")

    def _branch(self, truth: ir.Value, then: Callable[[], None], otherwise: Callable[[], None]) -> None:
        yes, no, after = (self._function.append_basic_block() for _ in range(3))
        self._builder.cbranch(truth, yes, no)
        for block, run in ((yes, then), (no, otherwise)):
            self._builder.position_at_end(block)
            run()
            if not self._is_over:
                self._builder.branch(after)
        self._builder.position_at_end(after)

    def _value(self, node: ast.expr) -> Value:
        builder = self._builder
        match node:
            case ast.Name(id=name) if name in self._variables:
                return self._read(self._variables[name])
            case ast.Attribute(value=whole, attr=name) if self._is_local(whole):
                value = self._value(whole)
                if isinstance(value, Parts) and name in getattr(value.names, "_fields", ()):
                    return value[value.names._fields.index(name)]  # type: ignore[union-attr]
                return self._load(self._field(node, value))
            case ast.Constant() | ast.Name() | ast.Attribute():
                return self._known(node)
            case ast.Tuple(elts=parts):
                return Parts([self._value(part) for part in parts])
            case ast.Subscript(value=whole, slice=place):
                values = self._value(whole)
                if isinstance(values, TypedPointer):
                    return self._load(self._element(node, values, place))
                match place:
                    case ast.Constant(value=int(number)) if isinstance(values, Parts) and number < len(
                        values
                    ):
                        return values[number]
                raise self._refuse(node)
            case ast.BinOp(left=left, op=op, right=right):
                return self._operate(node, op, self._value(left), self._value(right))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return builder.neg(self._value(operand))
            case ast.Compare() | ast.UnaryOp(op=ast.Not()):
                return builder.zext(self._truth(node), NUMBER)
            case ast.BoolOp(op=op, values=[first, *rest]):
                given = self._value(first)
                others = rest[0] if len(rest) == 1 else ast.BoolOp(op, rest)
                is_and = isinstance(op, ast.And)
                return self._choose(
                    builder.icmp_signed("!=", given, constant(0)),
                    lambda: self._value(others) if is_and else given,
                    lambda: given if is_and else self._value(others),
                )
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return self._choose(self._truth(test), lambda: self._value(body), lambda: self._value(orelse))
            case ast.Call(func=ast.Attribute(value=whole, attr=name), args=[other], keywords=[]) if (
                self._is_local(whole)
            ):
                return self._method(node, name, self._value(whole), self._value(other))
            case ast.Call(func=func, args=arguments, keywords=[]):
                return self._call(node, self._resolve(func), [self._value(each) for each in arguments])
            case _:
                raise self._refuse(node)

    def _truth(self, node: ast.expr) -> ir.Value:
        """Whether a value is not 0."""
        builder = self._builder
        match node:
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return builder.not_(self._truth(operand))
            case ast.BoolOp(op=op, values=[first, *rest]):
                others = rest[0] if len(rest) == 1 else ast.BoolOp(op, rest)
                sure = ir.Constant(FLAG, isinstance(op, ast.Or))
                is_and = isinstance(op, ast.And)
                return self._choose(
                    self._truth(first),
                    lambda: self._truth(others) if is_and else sure,
                    lambda: sure if is_and else self._truth(others),
                )
            case ast.Compare(left=left, ops=ops, comparators=comparators):
                values = [self._value(each) for each in (left, *comparators)]
                truth = None
                for number, how in enumerate(map(type, ops)):
                    one, other = values[number : number + 2]
                    if how is ast.In and isinstance(other, Parts):
                        holds = reduce(builder.or_, [self._compare("==", one, each) for each in other])
                    elif how in _COMPARISONS:
                        holds = self._compare(_COMPARISONS[how], one, other)
                    else:
                        raise self._refuse(node)
                    truth = holds if truth is None else builder.and_(truth, holds)
                return truth
            case _:
                return builder.icmp_signed("!=", self._value(node), constant(0))

    def _choose(self, truth: ir.Value, then: Callable[[], Value], otherwise: Callable[[], Value]) -> Value:
        """One of two values, of which only that one is worked out."""
        found: list[tuple[Value, ir.Block]] = []

        def note(work: Callable[[], Value]) -> None:
            value = work()
            found.append((value, self._builder.block))

        self._branch(truth, lambda: note(then), lambda: note(otherwise))
        (one, _), (other, _) = found
        if isinstance(one, TypedPointer):
            assert one.kind == other.kind, "one type"
            return TypedPointer(self._merge([(value.pointer, block) for value, block in found]), one.kind)
        if isinstance(one, Parts):
            assert len(one) == len(other), "one type"
            merged = [self._merge([(value[n], block) for value, block in found]) for n in range(len(one))]
            return Parts(merged, one.names)
        return self._merge(found)

    def _merge(self, values: list[tuple[ir.Value, ir.Block]]) -> ir.Value:
        merged = self._builder.phi(values[0][0].type)
        for value, block in values:
            merged.add_incoming(value, block)
        return merged

    def _compare(self, how: str, one: Value, other: Value) -> ir.Value:
        """Numbers, or tuples: by the first numbers that differ."""
        if not isinstance(one, Parts):
            return self._builder.icmp_signed(how, one, other)
        *rest, (last, opposite) = zip(one, other, strict=True)
        truth = self._builder.icmp_signed(how, last, opposite)
        for left, right in reversed(rest):
            same = self._builder.icmp_signed("==", left, right)
            differs = self._builder.icmp_signed(how, left, right)
            truth = self._builder.select(same, truth, differs)
        return truth

    def _operate(self, node: ast.AST, op: ast.operator, left: ir.Value, right: ir.Value) -> ir.Value:
        name = _OPERATIONS.get(type(op))
        if name is not None:
            return getattr(self._builder, name)(left, right)
        if isinstance(op, ast.FloorDiv | ast.Mod):
            quotient, rest = self._divide(left, right)
            return quotient if isinstance(op, ast.FloorDiv) else rest
        raise self._refuse(node)

    def _divide(self, left: ir.Value, right: ir.Value) -> tuple[ir.Value, ir.Value]:
        """Rounded down, and what is left, which has the divisor's sign. 0 by 0, and without the one division
        that overflows."""
        builder, zero = self._builder, constant(0)
        is_none = builder.icmp_signed("==", right, zero)
        is_minus_one = builder.icmp_signed("==", right, constant(-1))
        safe = builder.select(builder.or_(is_none, is_minus_one), constant(1), right)
        quotient, rest = builder.sdiv(left, safe), builder.srem(left, safe)
        differs = builder.icmp_signed("<", builder.xor(rest, safe), zero)
        is_above = builder.and_(builder.icmp_signed("!=", rest, zero), differs)
        quotient = builder.sub(quotient, builder.zext(is_above, NUMBER))
        rest = builder.select(is_above, builder.add(rest, safe), rest)
        quotient = builder.select(is_minus_one, builder.neg(left), builder.select(is_none, zero, quotient))
        return quotient, rest

    def _call(self, node: ast.AST, called: Any, arguments: list[Value]) -> Value:
        builder = self._builder
        if called in _SMALLER:
            best, *others = arguments
            for other in others:
                best = builder.select(builder.icmp_signed(_SMALLER[called], other, best), other, best)
            return best
        if is_named_tuple(called) and len(arguments) == len(called._fields):
            return Parts(arguments, called)
        if is_intrinsic(called):
            return called(builder, *arguments)
        if is_foreign(called):
            return self._call_foreign(*arguments)
        asked = self._ask(called, tuple(map(kind_of_value, arguments))) if is_routine(called) else None
        if asked is None:
            raise self._refuse(node)
        function, kind = asked
        given = builder.call(function, [pack_value(builder, value) for value in arguments])
        return unpack_value(builder, given, kind)

    def _call_foreign(self, address: ir.Value, *arguments: ir.Value) -> ir.Value:
        """A function that takes numbers and gives one."""
        kind = ir.FunctionType(NUMBER, [NUMBER] * len(arguments))
        return self._builder.call(self._builder.inttoptr(address, kind.as_pointer()), arguments)

    def _method(self, node: ast.AST, name: str, one: Value, other: Value) -> Value:
        """`assign` and `equals` of records: slot by slot."""
        is_of_one_kind = (
            isinstance(one, TypedPointer) and isinstance(other, TypedPointer) and one.kind == other.kind
        )
        if name not in ("assign", "equals") or not is_of_one_kind or not is_record(one.kind):
            raise self._refuse(node)
        builder, truth = self._builder, ir.Constant(FLAG, True)
        for slot in range(layout(one.kind).slots):
            mine, others = (builder.gep(each.pointer, [constant(slot)]) for each in (one, other))
            if name == "assign":
                builder.store(builder.load(others), mine)
            else:
                same = builder.icmp_signed("==", builder.load(mine), builder.load(others))
                truth = builder.and_(truth, same)
        return builder.zext(truth, NUMBER)

    def _is_local(self, node: ast.expr) -> bool:
        """Whether an expression begins with a variable of the function, and not with a module."""
        while isinstance(node, ast.Attribute | ast.Subscript):
            node = node.value
        return isinstance(node, ast.Call) or (isinstance(node, ast.Name) and node.id in self._variables)

    def _read(self, place: Value) -> Value:
        """What a variable holds."""
        if isinstance(place, Parts):
            return Parts([self._read(each) for each in place], place.names)
        if isinstance(place, TypedPointer):
            return TypedPointer(self._builder.load(place.pointer), place.kind)
        return self._builder.load(place)

    def _load(self, place: TypedPointer) -> Value:
        """What is at a place: a number is read; a record and an array are where they are."""
        if place.kind is int:
            return self._builder.load(place.pointer)
        if isinstance(place.kind, Integer):
            narrow = self._builder.load(place.pointer)
            return (self._builder.sext if place.kind.is_signed else self._builder.zext)(narrow, NUMBER)
        if isinstance(place.kind, Array) and place.kind.is_pointer:
            return TypedPointer(self._builder.inttoptr(self._builder.load(place.pointer), MEMORY), place.kind)
        return place

    def _field(self, node: ast.Attribute, whole: Value) -> TypedPointer:
        """Where a field of a record is."""
        if not isinstance(whole, TypedPointer) or not is_record(whole.kind):
            raise self._refuse(node)
        found = layout(whole.kind).fields.get(node.attr)
        if found is None:
            raise self._refuse(node)
        return TypedPointer(self._builder.gep(whole.pointer, [constant(found.slot)]), found.kind)

    def _element(self, node: ast.AST, whole: TypedPointer, place: ast.expr) -> TypedPointer:
        """Where an element of an array is."""
        if not isinstance(whole.kind, Array):
            raise self._refuse(node)
        element, number = whole.kind.element, self._value(place)
        if isinstance(element, Integer):
            first = self._builder.bitcast(whole.pointer, ir.IntType(element.bits).as_pointer())
            return TypedPointer(self._builder.gep(first, [number]), element)
        slots = slots_of(element)
        at = number if slots == 1 else self._builder.mul(number, constant(slots))
        return TypedPointer(self._builder.gep(whole.pointer, [at]), element)

    def _known(self, node: ast.expr) -> Value:
        """A number, or a tuple of numbers, that stands in the source or in a module."""
        known = self._resolve(node)
        if isinstance(known, int):
            return constant(known)
        if isinstance(known, tuple) and all(isinstance(number, int) for number in known):
            return Parts([constant(number) for number in known])
        raise self._refuse(node)

    def _resolve(self, node: ast.expr) -> Any:
        """What a name outside of the function stands for."""
        match node:
            case ast.Constant(value=value):
                return value
            case ast.Attribute(value=value, attr=name):
                return getattr(self._resolve(value), name)
            case ast.Name(id=name) if name in self._python.__globals__:
                return self._python.__globals__[name]
            case ast.Name(id=name) if hasattr(builtins, name):
                return getattr(builtins, name)
            case _:
                raise self._refuse(node)
