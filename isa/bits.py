"""Bit fields: where a value sits in a word, what it may be, and what it means."""

from __future__ import annotations

from dlasim.dataclass import dataclass
from dlasim.errors import InputError


@dataclass(frozen=True, slots=True)
class Field:
    """`width` bits from bit `low`; a number in [minimum, maximum] or one of `names`."""

    name: str
    low: int
    width: int
    doc: str
    signed: bool = False
    minimum: int | None = None
    maximum: int | None = None
    default: int = 0
    names: tuple[str, ...] = ()

    @property
    def lowest(self) -> int:
        """Smallest legal value."""
        if self.minimum is not None:
            return self.minimum
        return -(1 << (self.width - 1)) if self.signed else 0

    @property
    def highest(self) -> int:
        """Largest legal value."""
        if self.names:
            return len(self.names) - 1
        if self.maximum is not None:
            return self.maximum
        return (1 << (self.width - 1)) - 1 if self.signed else (1 << self.width) - 1

    @property
    def mask(self) -> int:
        """The bits of the word that belong to this field."""
        return ((1 << self.width) - 1) << self.low

    @property
    def allowed(self) -> str:
        """The legal values, as a message goes on after `must be`."""
        if self.names:
            return f"{', '.join(self.names[:-1])} or {self.names[-1]}"
        return f"from {self.lowest} to {self.highest}"

    def insert(self, value: int) -> int:
        """The bits of `value` in place; the caller has checked the range."""
        return (value & ((1 << self.width) - 1)) << self.low

    def extract(self, word: int) -> int:
        """The value that `word` holds, sign-extended where signed."""
        raw = (word >> self.low) & ((1 << self.width) - 1)
        return raw - (1 << self.width) if self.signed and raw >> (self.width - 1) else raw

    def holds(self, value: int) -> bool:
        """Whether `value` is legal."""
        return self.lowest <= value <= self.highest

    def check(self, value: int, owner: str) -> int:
        """`value`, or an error that names the field and what it allows."""
        if not self.holds(value):
            raise InputError(f"{owner}: {self.name} must be {self.allowed} (got {value})")
        return value

    def text(self, value: int) -> str:
        """The value as the assembler writes it."""
        return self.names[value] if self.names and 0 <= value < len(self.names) else str(value)
