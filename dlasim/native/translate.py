"""Routines in LLVM's language: the small part of Python that they are written in, statement by statement."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from llvmlite import ir

from dlasim.native.expressions import MEMORY, NUMBER, Expressions, RoutineError, Value, constant

_STATUS = ir.IntType(32)
_Loop = tuple[ir.Block, ir.Block]  # where `continue` goes, and `break`


def translate(entry: Callable[..., Any], symbol: str) -> str:
    """A routine and all that it calls, to be called as `symbol` in numba's way: where the result goes, where
    an exception would go, then the arguments."""
    program = _Program()
    function = program.function(entry)
    kinds = (MEMORY, MEMORY, *function.function_type.args)
    wrapper = ir.Function(program.module, ir.FunctionType(_STATUS, kinds), symbol)
    builder = ir.IRBuilder(wrapper.append_basic_block())
    builder.store(builder.call(function, wrapper.args[2:]), wrapper.args[0])
    builder.ret(ir.Constant(_STATUS, 0))
    return str(program.module)


class _Program:
    """The functions so far."""

    def __init__(self) -> None:
        self.module = ir.Module()
        self._functions: dict[Any, ir.Function] = {}

    def function(self, python: Callable[..., Any]) -> ir.Function:
        """A routine's function, translated when it is first asked for."""
        found = self._functions.get(python)
        if found is None:
            lines, first = inspect.getsourcelines(python)
            tree = ast.parse(textwrap.dedent("".join(lines))).body[0]
            assert isinstance(tree, ast.FunctionDef)
            ast.increment_lineno(tree, first - 1)
            kinds = [_kind(argument.annotation) for argument in tree.args.args]
            made = ir.FunctionType(_kind(tree.returns), kinds)
            found = ir.Function(self.module, made, f"{python.__module__}.{python.__name__}")
            self._functions[python] = found
            _Body(self, python, found, tree).translate()
        return found


def _kind(annotation: ast.expr | None) -> ir.Type:
    """The type that an annotation stands for."""
    name = ast.unparse(annotation).strip("'\"") if annotation else ""
    if name.startswith("tuple["):
        return ir.LiteralStructType([NUMBER] * name.count("int"))
    kinds = {"int": NUMBER, "bool": NUMBER, "None": ir.VoidType(), "Numbers": MEMORY}
    if name not in kinds:
        raise RoutineError(f"a routine takes and gives `int` and `Numbers`, not `{name}`")
    return kinds[name]


def _descends(bounds: list[ast.expr]) -> bool:
    """Whether a range with these bounds has a step below 0."""
    return any(isinstance(step, ast.UnaryOp) for step in bounds[2:])


class _Body(Expressions):
    """One function as it is translated."""

    def __init__(
        self, program: _Program, python: Callable[..., Any], function: ir.Function, tree: ast.FunctionDef
    ) -> None:
        super().__init__(python, function, program.function)
        self._tree = tree
        self._loops: list[_Loop] = []

    def translate(self) -> None:
        """The whole body."""
        for argument, value in zip(self._tree.args.args, self._function.args, strict=True):
            if value.type == MEMORY:
                self._memories[argument.arg] = value
            else:
                self._set(argument.arg, value)
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
            case ast.Subscript(value=ast.Name(id=name), slice=place) if name in self._memories:
                self._builder.store(value, self._element(name, place))
            case ast.Tuple(elts=targets) if isinstance(value, list) and len(value) == len(targets):
                for each, part in zip(targets, value, strict=True):
                    self._assign(each, part)
            case _:
                raise self._refuse(target)

    def _set(self, name: str, value: Value) -> None:
        """A local variable's value; a tuple has a place for each of its numbers."""
        parts = value if isinstance(value, list) else [value]
        if name not in self._places:
            with self._builder.goto_entry_block():
                made = [self._builder.alloca(NUMBER) for _ in parts]
            self._places[name] = made if isinstance(value, list) else made[0]
        places = self._places[name]
        for place, part in zip(places if isinstance(places, list) else [places], parts, strict=True):
            self._builder.store(part, place)

    def _return(self, value: Value) -> None:
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
