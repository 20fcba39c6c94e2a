"""Routines in LLVM's language: the small part of Python that they are written in, statement by statement.

Every number is a 64-bit integer, every memory a pointer to such, a tuple its numbers. Division rounds down as
in Python; by zero it gives 0, since nothing can be raised. What a routine must not use is refused by line.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FunctionType
from typing import Any

from llvmlite import ir

from dlasim.native.routine import is_routine

_NUMBER, _FLAG, _STATUS = ir.IntType(64), ir.IntType(1), ir.IntType(32)
_MEMORY = _NUMBER.as_pointer()
_COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
}  # fmt: skip
_OPERATIONS: dict[type[ast.operator], str] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.BitAnd: "and_", ast.BitOr: "or_", ast.BitXor: "xor",
    ast.LShift: "shl", ast.RShift: "ashr",
}  # fmt: skip
_SMALLER = {min: "<", max: ">"}

Value = Any  # an ir.Value, or a list of them for a tuple
_Loop = tuple[ir.Block, ir.Block]  # where `continue` goes, and `break`


def translate(entry: Callable[..., Any], symbol: str) -> str:
    """A routine and all that it calls, to be called as `symbol` in numba's way: where the result goes, where
    an exception would go, then the arguments."""
    program = _Program()
    function = program.function(entry)
    kinds = (_MEMORY, _MEMORY, *function.function_type.args)
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
        return ir.LiteralStructType([_NUMBER] * name.count("int"))
    kinds = {"int": _NUMBER, "bool": _NUMBER, "None": ir.VoidType(), "Numbers": _MEMORY}
    if name not in kinds:
        raise NotImplementedError(f"a routine takes and gives `int` and `Numbers`, not `{name}`")
    return kinds[name]


def _descends(bounds: list[ast.expr]) -> bool:
    """Whether a range with these bounds has a step below 0."""
    return any(isinstance(step, ast.UnaryOp) for step in bounds[2:])


def _constant(number: int) -> ir.Constant:
    assert -(1 << 63) <= number < 1 << 63, f"{number} is no 64-bit number"
    return ir.Constant(_NUMBER, int(number))


class _Body:
    """One function as it is translated."""

    def __init__(
        self, program: _Program, python: Callable[..., Any], function: ir.Function, tree: ast.FunctionDef
    ) -> None:
        assert isinstance(python, FunctionType)
        self._program, self._python, self._function, self._tree = program, python, function, tree
        self._builder = ir.IRBuilder(function.append_basic_block("entry"))
        self._memories: dict[str, ir.Value] = {}
        self._places: dict[str, Value] = {}  # of local variables
        self._loops: list[_Loop] = []

    def translate(self) -> None:
        """The whole body."""
        for argument, value in zip(self._tree.args.args, self._function.args, strict=True):
            if value.type == _MEMORY:
                self._memories[argument.arg] = value
            else:
                self._set(argument.arg, value)
        self._run(self._tree.body)
        if not self._is_over:
            if isinstance(self._function.function_type.return_type, ir.VoidType):
                self._builder.ret_void()
            else:
                self._builder.unreachable()

    @property
    def _is_over(self) -> bool:
        """Whether nothing can follow."""
        over: bool = self._builder.block.is_terminated
        return over

    def _refuse(self, node: ast.AST) -> NotImplementedError:
        place = f"{self._python.__module__}.{self._python.__name__}, line {getattr(node, 'lineno', '?')}"
        return NotImplementedError(f"{place}: a routine cannot use `{ast.unparse(node).splitlines()[0]}`")

    # Statements

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
                made = [self._builder.alloca(_NUMBER) for _ in parts]
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

    def _branch(self, truth: ir.Value, then: Callable[[], None], otherwise: Callable[[], None]) -> None:
        yes, no, after = (self._function.append_basic_block() for _ in range(3))
        self._builder.cbranch(truth, yes, no)
        for block, run in ((yes, then), (no, otherwise)):
            self._builder.position_at_end(block)
            run()
            if not self._is_over:
                self._builder.branch(after)
        self._builder.position_at_end(after)

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
                first, end = numbers[:2] if len(numbers) > 1 else (_constant(0), numbers[0])
                step = numbers[2] if len(numbers) == 3 else _constant(1)
                with builder.goto_entry_block():
                    counter = builder.alloca(_NUMBER)
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

    # Expressions

    def _value(self, node: ast.expr) -> Value:
        builder = self._builder
        match node:
            case ast.Name(id=name) if name in self._memories:
                return self._memories[name]
            case ast.Name(id=name) if name in self._places:
                place = self._places[name]
                return (
                    [builder.load(each) for each in place] if isinstance(place, list) else builder.load(place)
                )
            case ast.Constant() | ast.Name() | ast.Attribute():
                return self._known(node)
            case ast.Tuple(elts=parts):
                return [self._value(part) for part in parts]
            case ast.Subscript(value=ast.Name(id=name), slice=place) if name in self._memories:
                return builder.load(self._element(name, place))
            case ast.Subscript(value=whole, slice=ast.Constant(value=int(number))):
                values = self._value(whole)
                if not isinstance(values, list) or not 0 <= number < len(values):
                    raise self._refuse(node)
                return values[number]
            case ast.BinOp(left=left, op=op, right=right):
                return self._operate(node, op, self._value(left), self._value(right))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return builder.neg(self._value(operand))
            case ast.Compare() | ast.UnaryOp(op=ast.Not()):
                return builder.zext(self._truth(node), _NUMBER)
            case ast.BoolOp(op=op, values=[first, *rest]):
                given = self._value(first)
                others = rest[0] if len(rest) == 1 else ast.BoolOp(op, rest)
                is_and = isinstance(op, ast.And)
                return self._choose(
                    builder.icmp_signed("!=", given, _constant(0)),
                    lambda: self._value(others) if is_and else given,
                    lambda: given if is_and else self._value(others),
                )
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return self._choose(self._truth(test), lambda: self._value(body), lambda: self._value(orelse))
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
                sure = ir.Constant(_FLAG, isinstance(op, ast.Or))
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
                    if how not in _COMPARISONS:
                        raise self._refuse(node)
                    holds = self._compare(_COMPARISONS[how], values[number], values[number + 1])
                    truth = holds if truth is None else builder.and_(truth, holds)
                return truth
            case _:
                return builder.icmp_signed("!=", self._value(node), _constant(0))

    def _choose(self, truth: ir.Value, then: Callable[[], Value], otherwise: Callable[[], Value]) -> Value:
        """One of two values, of which only that one is worked out."""
        found: list[tuple[Value, ir.Block]] = []

        def note(work: Callable[[], Value]) -> None:
            value = work()
            found.append((value, self._builder.block))

        self._branch(truth, lambda: note(then), lambda: note(otherwise))
        (one, _), (other, _) = found
        if isinstance(one, list):
            assert len(one) == len(other), "one type"
            return [self._merge([(value[n], block) for value, block in found]) for n in range(len(one))]
        return self._merge(found)

    def _merge(self, values: list[tuple[ir.Value, ir.Block]]) -> ir.Value:
        merged = self._builder.phi(values[0][0].type)
        for value, block in values:
            merged.add_incoming(value, block)
        return merged

    def _compare(self, how: str, one: Value, other: Value) -> ir.Value:
        """Numbers, or tuples: by the first numbers that differ."""
        if not isinstance(one, list):
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
        builder, zero = self._builder, _constant(0)
        is_none = builder.icmp_signed("==", right, zero)
        is_minus_one = builder.icmp_signed("==", right, _constant(-1))
        safe = builder.select(builder.or_(is_none, is_minus_one), _constant(1), right)
        quotient, rest = builder.sdiv(left, safe), builder.srem(left, safe)
        differs = builder.icmp_signed("<", builder.xor(rest, safe), zero)
        is_above = builder.and_(builder.icmp_signed("!=", rest, zero), differs)
        quotient = builder.sub(quotient, builder.zext(is_above, _NUMBER))
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
        if not is_routine(called):
            raise self._refuse(node)
        given = builder.call(self._program.function(called), arguments)
        if isinstance(given.type, ir.LiteralStructType):
            return [builder.extract_value(given, number) for number in range(len(given.type.elements))]
        return given

    def _element(self, memory: str, place: ast.expr) -> ir.Value:
        return self._builder.gep(self._memories[memory], [self._value(place)])

    def _known(self, node: ast.expr) -> Value:
        """A number, or a tuple of numbers, that stands in the source or in a module."""
        known = self._resolve(node)
        if isinstance(known, int):
            return _constant(known)
        if isinstance(known, tuple) and all(isinstance(number, int) for number in known):
            return [_constant(number) for number in known]
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
