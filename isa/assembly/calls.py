"""Host calls whose operands are still names, because their tensors may be defined later."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dlasim.dataclass import dataclass
from dlasim.isa.assembly.lexer import Kind, Token
from dlasim.isa.assembly.source import Refused, SourceText, joined, suggestion_text
from dlasim.isa.assembly.symbol_expressions import number
from dlasim.isa.program import HostCall, TensorDescriptor


@dataclass(frozen=True, slots=True)
class UnresolvedCall:
    """A host call and the tokens that name its tensors."""

    call: HostCall
    inputs: tuple[Token, ...]
    outputs: tuple[Token, ...]

    def resolve(self, tensors: Tensors) -> HostCall:
        """The call with its tensors by number; tensors that are not there are errors."""
        return replace(
            self.call,
            inputs=tuple(tensors.number(token) for token in self.inputs),
            outputs=tuple(tensors.number(token) for token in self.outputs),
        )


class FailedDefinitions:
    """Names whose definitions have errors; using them is not reported as a further error."""

    def __init__(self) -> None:
        self._names: set[str] = set()
        self._any_name = False

    def add(self, name: str | None) -> None:
        """A definition with an error, perhaps even in its name."""
        self._names.add(name or "")
        self._any_name |= name is None

    def may_hold(self, name: str) -> bool:
        """Whether a name may belong to one of them."""
        return self._any_name or name in self._names

    def __bool__(self) -> bool:
        return bool(self._names)


class Tensors:
    """The tensors of a program by name."""

    def __init__(
        self, source: SourceText, tensors: Sequence[TensorDescriptor], failed: FailedDefinitions
    ) -> None:
        self._source = source
        self._count = len(tensors)
        self._failed = failed
        self._by_name: dict[str, list[int]] = {}
        for i, tensor in enumerate(tensors):
            self._by_name.setdefault(tensor.name, []).append(i)

    def number(self, token: Token) -> int:
        """The number of the tensor that a token names; -1 after an error."""
        found = -1
        with self._source.collect():
            found = self._numbered(token) if token.kind is Kind.NUMBER else self._named(token)
        return found  # noqa: RET504 (collect ends the block at an error)

    def _named(self, token: Token) -> int:
        found = self._by_name.get(token.text, [])
        if self._failed.may_hold(token.text):
            raise Refused
        if not found:
            hint = suggestion_text(token.text, self._by_name, "the tensors are")
            self._source.fail(token.place, f"unknown tensor {token}{hint}")
        if len(found) > 1:
            numbers = joined(str(i) for i in found[:8])
            self._source.fail(
                token.place, f"{token} names several tensors; write the number instead: {numbers}"
            )
        return found[0]

    def _numbered(self, token: Token) -> int:
        value = number(self._source, token)
        if value >= self._count and not self._failed:
            known = (
                f"they are numbered 0 to {self._count - 1}" if self._count else "the program has no tensors"
            )
            self._source.fail(token.place, f"there is no tensor {token}; {known}")
        return value
