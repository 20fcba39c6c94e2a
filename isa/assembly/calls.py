"""Host calls whose operands are still text, because their tensors may come later."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from dlasim.errors import suggestion
from dlasim.isa.assembly.expressions import number
from dlasim.isa.assembly.lexer import Kind, Token
from dlasim.isa.assembly.source import Source
from dlasim.isa.program import HostCall, TensorDescriptor


@dataclass(frozen=True, slots=True)
class Call:
    """A host call and the tokens that name its tensors."""

    call: HostCall
    inputs: tuple[Token, ...]
    outputs: tuple[Token, ...]

    def resolve(self, tensors: Tensors) -> HostCall:
        """The call with its tensors by number."""
        return replace(
            self.call,
            inputs=tuple(tensors.number(token) for token in self.inputs),
            outputs=tuple(tensors.number(token) for token in self.outputs),
        )


class Tensors:
    """The tensors of a program by name."""

    def __init__(self, source: Source, tensors: Sequence[TensorDescriptor]) -> None:
        self._source = source
        self._count = len(tensors)
        self._by_name: dict[str, list[int]] = {}
        for i, tensor in enumerate(tensors):
            self._by_name.setdefault(tensor.name, []).append(i)

    def number(self, token: Token) -> int:
        """The number of the tensor that a token names."""
        if token.kind is Kind.NUMBER:
            return self._numbered(token)
        found = self._by_name.get(token.text, [])
        if not found:
            hint = suggestion(token.text, self._by_name)
            self._source.fail(token.place, f"no tensor {token} (allowed: a .tensor, its number){hint}")
        if len(found) > 1:
            numbers = ", ".join(str(i) for i in found[:8])
            self._source.fail(token.place, f"{token} names several tensors (allowed: a number of {numbers})")
        return found[0]

    def _numbered(self, token: Token) -> int:
        value = number(self._source, token)
        if value >= self._count:
            allowed = f"0 to {self._count - 1}" if self._count else "none, there are no tensors"
            self._source.fail(token.place, f"no tensor {token} (allowed: {allowed})")
        return value
