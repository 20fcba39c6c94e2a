"""Routines in LLVM's language: the small part of Python that they are written in, statement by statement."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from llvmlite import ir

from dlasim.named_tuple import NamedTuple
from dlasim.native.expressions import (
    MEMORY,
    NUMBER,
    Expressions,
    Parts,
    TypedPointer,
    Value,
    constant,
    llvm_type,
    pack_value,
    unpack_value,
)
from dlasim.native.record import Array, Integer
from dlasim.native.routine import ANY, TupleKind, attributes, kind_of

_Loop = tuple[ir.Block, ir.Block]  # where `continue` goes, and `break`


class _Signature(NamedTuple):
    """What a routine takes and returns: `int`, None, a record's class, an array, a vector, as many numbers as
    a tuple has, or ANY for a pointer as the caller has it."""

    parameters: tuple[Any, ...]
    returned: Any


def translate(entry: Callable[..., Any], symbol: str) -> str:
    """A routine and all that it calls; others call it as `symbol`, like a function of C."""
    unit = TranslationUnit()
    unit.add(entry, _parse(entry), _signature(entry, _parse(entry)), symbol)
    return str(unit.module)


class TranslationUnit:
    """Routines that are translated into one module, each when it is first asked for with such arguments."""

    def __init__(self) -> None:
        self.module = ir.Module()
        self._functions: dict[Any, tuple[ir.Function, Any]] = {}
        self._known: dict[Any, tuple[ast.FunctionDef, _Signature]] = {}

    def ask(self, python: Callable[..., Any], kinds: tuple[Any, ...]) -> tuple[ir.Function, Any] | None:
        """The function for arguments of some kinds, and the kind that it returns; None if it does not take
        them."""
        if python not in self._known:
            tree = _parse(python)
            self._known[python] = tree, _signature(python, tree)
        tree, signature = self._known[python]
        if len(kinds) != len(signature.parameters) or not all(map(_takes, signature.parameters, kinds)):
            return None
        found = self._functions.get((python, kinds))
        if found is None:
            function = self.add(python, tree, signature._replace(parameters=kinds), "")
            found = self._functions[python, kinds] = function, signature.returned
        return found

    def add(
        self, python: Callable[..., Any], tree: ast.FunctionDef, signature: _Signature, symbol: str
    ) -> ir.Function:
        """Translate a routine, which only the others see where it has no symbol."""
        returned = ir.VoidType() if signature.returned is None else llvm_type(signature.returned)
        made = ir.FunctionType(returned, list(map(llvm_type, signature.parameters)))
        name = symbol or self.module.get_unique_name(f"{python.__module__}.{python.__name__}")
        function = ir.Function(self.module, made, name)
        function.linkage = "" if symbol else "internal"
        for attribute in attributes(python):
            function.attributes.add(attribute)
        _Body(self, python, function, tree, signature).translate()
        return function


def _takes(kind: Any, given: Any) -> bool:
    """Whether a parameter takes a value. What is in a named tuple may be of any kind."""
    if isinstance(kind, TupleKind) and kind.names:
        return isinstance(given, TupleKind) and given.names is kind.names
    return isinstance(given, Array) if kind is ANY else given == kind


def _parse(python: Callable[..., Any]) -> ast.FunctionDef:
    lines, first = inspect.getsourcelines(python)
    tree = ast.parse(textwrap.dedent("".join(lines))).body[0]
    assert isinstance(tree, ast.FunctionDef)
    ast.increment_lineno(tree, first - 1)
    return tree


def _signature(python: Callable[..., Any], tree: ast.FunctionDef) -> _Signature:
    names = python.__globals__
    kinds = [kind_of(_text(argument.annotation), names) for argument in tree.args.args]
    returned = _text(tree.returns)
    return _Signature(tuple(kinds), None if returned == "None" else kind_of(returned, names))


def _text(annotation: ast.expr | None) -> str:
    return ast.unparse(annotation).strip("'\"") if annotation else ""


def _descends(bounds: list[ast.expr]) -> bool:
    """Whether a range with these bounds has a step below 0."""
    return any(isinstance(step, ast.UnaryOp) for step in bounds[2:])


class _Body(Expressions):
    """One function as it is translated."""

    def __init__(
        self,
        unit: TranslationUnit,
        python: Callable[..., Any],
        function: ir.Function,
        tree: ast.FunctionDef,
        signature: _Signature,
    ) -> None:
        super().__init__(python, function, unit.ask)
        self._tree, self._signature = tree, signature
        self._loops: list[_Loop] = []

    def translate(self) -> None:
        """The whole body."""
        kinds = self._signature.parameters
        for argument, value, kind in zip(self._tree.args.args, self._function.args, kinds, strict=True):
            self._set(argument.arg, unpack_value(self._builder, value, kind))
        self._run(self._tree.body)
        if not self._is_over:
            if isinstance(self._function.function_type.return_type, ir.VoidType):
                self._builder.ret_void()
            else:
                self._builder.unreachable()

    def _run(self, statements: list[ast.stmt]) -> None:
        for statement in statements:
            if self._is_over:
                return
            self._statement(statement)

    def _statement(self, node: ast.stmt) -> None:
        builder = self._builder
        match node:
            case ast.Assign(targets=targets, value=value):
                given = self._value(value)
                for target in targets:
                    self._assign(target, given)
            case ast.AugAssign(target=target, op=op, value=value):
                before = self._value(target)
                self._assign(target, self._operate(node, op, before, self._value(value)))
            case ast.Expr(value=ast.Constant()) | ast.Pass():
                pass
            case ast.Expr(value=value):
                self._value(value)
            case ast.Return(value=None):
                builder.ret_void()
            case ast.Return(value=value) if value is not None:
                self._return(self._value(value))
            case ast.If(test=test, body=body, orelse=orelse):
                self._branch(self._truth(test), lambda: self._run(body), lambda: self._run(orelse))
            case ast.While(test=test, body=body, orelse=[]):
                self._while(lambda: self._truth(test), lambda: self._run(body), lambda: None)
            case ast.For(target=ast.Name(id=name), iter=iterated, body=body, orelse=[]):
                self._for(name, iterated, body)
            case ast.Break():
                builder.branch(self._loops[-1][1])
            case ast.Continue():
                builder.branch(self._loops[-1][0])
            case _:
                raise self._refuse(node)

    def _assign(self, target: ast.expr, value: Value) -> None:
        match target:
            case ast.Name(id=name):
                self._set(name, value)
            case ast.Attribute() if self._is_local(target.value):
                self._store(target, value, self._field(target, self._value(target.value)))
            case ast.Subscript(value=whole, slice=place) if self._is_local(whole):
                self._store(target, value, self._element(target, self._value(whole), place))
            case ast.Tuple(elts=targets) if isinstance(value, Parts) and len(value) == len(targets):
                for each, part in zip(targets, value, strict=True):
                    self._assign(each, part)
            case _:
                raise self._refuse(target)

    def _store(self, target: ast.expr, value: Value, place: TypedPointer) -> None:
        """A number into a record or an array; records are copied by `assign`."""
        is_number = place.kind is int or isinstance(place.kind, Integer)
        if not is_number or isinstance(value, Parts | TypedPointer):
            raise self._refuse(target)
        if place.kind is not int:
            value = self._builder.trunc(value, ir.IntType(place.kind.bits))
        self._builder.store(value, place.pointer)

    def _set(self, name: str, value: Value) -> None:
        """A local variable's value; a tuple has a place for each of its numbers."""
        if name not in self._variables:
            with self._builder.goto_entry_block():
                self._variables[name] = self._room(value)
        self._keep(self._variables[name], value)

    def _room(self, value: Value) -> Value:
        if isinstance(value, Parts):
            return Parts([self._room(part) for part in value], value.names)
        if isinstance(value, TypedPointer):
            return TypedPointer(self._builder.alloca(MEMORY), value.kind)
        return self._builder.alloca(value.type)

    def _keep(self, room: Value, value: Value) -> None:
        if isinstance(value, Parts):
            for each, part in zip(room, value, strict=True):
                self._keep(each, part)
        elif isinstance(value, TypedPointer):
            assert room.kind == value.kind, "one type"
            self._builder.store(value.pointer, room.pointer)
        else:
            self._builder.store(value, room)

    def _return(self, value: Value) -> None:
        self._builder.ret(pack_value(self._builder, value))

    def _while(
        self, truth: Callable[[], ir.Value], run: Callable[[], None], advance: Callable[[], None]
    ) -> None:
        test, body, step, after = (self._function.append_basic_block() for _ in range(4))
        self._builder.branch(test)
        self._builder.position_at_end(test)
        self._builder.cbranch(truth(), body, after)
        self._builder.position_at_end(body)
        with self._loop(step, after):
            run()
        if not self._is_over:
            self._builder.branch(step)
        self._builder.position_at_end(step)
        advance()
        self._builder.branch(test)
        self._builder.position_at_end(after)

    def _for(self, name: str, iterated: ast.expr, body: list[ast.stmt]) -> None:
        """Over a range that ascends, or over the numbers of a tuple."""
        builder = self._builder
        match iterated:
            case ast.Call(func=ast.Name(id="range"), args=bounds) if not _descends(bounds):
                numbers = [self._value(bound) for bound in bounds]
                first, end = numbers[:2] if len(numbers) > 1 else (constant(0), numbers[0])
                step = numbers[2] if len(numbers) == 3 else constant(1)
                with builder.goto_entry_block():
                    counter = builder.alloca(NUMBER)
                builder.store(first, counter)

                def run() -> None:
                    self._set(name, builder.load(counter))
                    self._run(body)

                self._while(
                    lambda: builder.icmp_signed("<", builder.load(counter), end),
                    run,
                    lambda: builder.store(builder.add(builder.load(counter), step), counter),
                )
            case _:
                values = self._value(iterated)
                if not isinstance(values, Parts):
                    raise self._refuse(iterated)
                after = self._function.append_basic_block()
                for value in values:
                    following = self._function.append_basic_block()
                    self._set(name, value)
                    with self._loop(following, after):
                        self._run(body)
                    if not self._is_over:
                        builder.branch(following)
                    builder.position_at_end(following)
                builder.branch(after)
                builder.position_at_end(after)

    @contextmanager
    def _loop(self, following: ir.Block, after: ir.Block) -> Iterator[None]:
        self._loops.append((following, after))
        yield
        self._loops.pop()
