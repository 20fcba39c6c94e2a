"""Routines in LLVM's language: the small part of Python that they are written in, statement by statement."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import reduce
from typing import Any

from llvmlite import ir

from dlasim.native.expressions import (
    MEMORY,
    NUMBER,
    NUMBERS,
    Expressions,
    RoutineError,
    RoutineSignature,
    TypedPointer,
    Value,
    constant,
)
from dlasim.native.record import Array, is_record
from dlasim.native.routine import foreign_symbol

_STATUS = ir.IntType(32)
_Loop = tuple[ir.Block, ir.Block]  # where `continue` goes, and `break`


def translate(entry: Callable[..., Any], symbol: str) -> str:
    """A routine and all that it calls, to be called as `symbol` in numba's way: where the result goes, where
    an exception would go, then the arguments."""
    unit = TranslationUnit()
    function, _ = unit.function(entry)
    kinds = (MEMORY, MEMORY, *function.function_type.args)
    wrapper = ir.Function(unit.module, ir.FunctionType(_STATUS, kinds), symbol)
    builder = ir.IRBuilder(wrapper.append_basic_block())
    builder.store(builder.call(function, wrapper.args[2:]), wrapper.args[0])
    builder.ret(ir.Constant(_STATUS, 0))
    return str(unit.module)


class TranslationUnit:
    """Routines that are translated into one module, each when it is first asked for."""

    def __init__(self) -> None:
        self.module = ir.Module()
        self._functions: dict[Any, tuple[ir.Function, RoutineSignature]] = {}

    def function(self, python: Callable[..., Any]) -> tuple[ir.Function, RoutineSignature]:
        """A routine's function, translated when it is first asked for, and its signature."""
        found = self._functions.get(python)
        if found is None:
            lines, first = inspect.getsourcelines(python)
            tree = ast.parse(textwrap.dedent("".join(lines))).body[0]
            assert isinstance(tree, ast.FunctionDef)
            ast.increment_lineno(tree, first - 1)
            names = python.__globals__
            kinds = [_kind(argument.annotation, names) for argument in tree.args.args]
            signature = RoutineSignature(kinds, _returned(tree.returns, names))
            made = ir.FunctionType(_returned_type(signature.returned), [_type(kind) for kind in kinds])
            symbol = foreign_symbol(python)
            function = ir.Function(self.module, made, symbol or f"{python.__module__}.{python.__name__}")
            found = self._functions[python] = function, signature
            if symbol is None:
                _Body(self, python, function, tree, signature).translate()
        return found


def _kind(annotation: ast.expr | None, names: dict[str, Any]) -> Any:
    """What a parameter's annotation stands for: `int`, a record's class, or an array."""
    name = ast.unparse(annotation).strip("'\"") if annotation else ""
    if name in ("int", "bool"):
        return int
    if name == "Numbers":
        return NUMBERS
    first, *rest = name.split(".")
    found = reduce(lambda whole, part: getattr(whole, part, None), rest, names.get(first))
    if is_record(found):
        return found
    raise RoutineError(f"a routine takes and gives `int`, `Numbers` and records, not `{name}`")


def _returned(annotation: ast.expr | None, names: dict[str, Any]) -> Any:
    """What a routine returns: nothing, what it may take, or a tuple of as many numbers."""
    name = ast.unparse(annotation).strip("'\"") if annotation else ""
    if name.startswith("tuple["):
        return (int,) * name.count("int")
    return None if name == "None" else _kind(annotation, names)


def _type(kind: Any) -> ir.Type:
    return NUMBER if kind is int else MEMORY


def _returned_type(kind: Any) -> ir.Type:
    if isinstance(kind, tuple) and not isinstance(kind, Array):
        return ir.LiteralStructType([NUMBER] * len(kind))
    return ir.VoidType() if kind is None else _type(kind)


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
        signature: RoutineSignature,
    ) -> None:
        super().__init__(python, function, unit.function)
        self._tree, self._signature = tree, signature
        self._loops: list[_Loop] = []

    def translate(self) -> None:
        """The whole body."""
        kinds = self._signature.parameters
        for argument, value, kind in zip(self._tree.args.args, self._function.args, kinds, strict=True):
            self._set(argument.arg, value if kind is int else TypedPointer(value, kind))
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
                self._store(target, value, self._field(target))
            case ast.Subscript(value=whole, slice=place) if self._is_local(whole):
                self._store(target, value, self._element(target, self._value(whole), place))
            case ast.Tuple(elts=targets) if isinstance(value, list) and len(value) == len(targets):
                for each, part in zip(targets, value, strict=True):
                    self._assign(each, part)
            case _:
                raise self._refuse(target)

    def _store(self, target: ast.expr, value: Value, place: TypedPointer) -> None:
        """A number into a record or an array; records are copied by `assign`."""
        if place.kind is not int or isinstance(value, list | TypedPointer):
            raise self._refuse(target)
        self._builder.store(value, place.pointer)

    def _set(self, name: str, value: Value) -> None:
        """A local variable's value; a tuple has a place for each of its numbers."""
        if name not in self._variables:
            with self._builder.goto_entry_block():
                self._variables[name] = self._room(value)
        self._keep(self._variables[name], value)

    def _room(self, value: Value) -> Value:
        if isinstance(value, list):
            return [self._room(part) for part in value]
        if isinstance(value, TypedPointer):
            return TypedPointer(self._builder.alloca(MEMORY), value.kind)
        return self._builder.alloca(NUMBER)

    def _keep(self, room: Value, value: Value) -> None:
        if isinstance(value, list):
            for each, part in zip(room, value, strict=True):
                self._keep(each, part)
        elif isinstance(value, TypedPointer):
            assert room.kind == value.kind, "one type"
            self._builder.store(value.pointer, room.pointer)
        else:
            self._builder.store(value, room)

    def _return(self, value: Value) -> None:
        if isinstance(value, TypedPointer):
            value = value.pointer
        if isinstance(value, list):
            struct: ir.Value = ir.Constant(self._function.function_type.return_type, ir.Undefined)
            for number, part in enumerate(value):
                struct = self._builder.insert_value(struct, part, number)
            value = struct
        self._builder.ret(value)

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
                if not isinstance(values, list):
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
