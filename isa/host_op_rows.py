"""What a row of the table of host operators says: functions to choose from, attributes, operands."""

from __future__ import annotations

import enum

from dlasim.dataclass import dataclass

# ADD and SUB keep this many bits below the point while they add.
ADD_LEFT_SHIFT = 20
INT16_ADD_LEFT_SHIFT = 15  # of int16
# SQUARED_DIFFERENCE keeps so many while it subtracts, and twice as many in the square.
DIFFERENCE_LEFT_SHIFT = 7
# COMPARE keeps so many.
COMPARE_LEFT_SHIFT = 8
# CUMULATIVE_SUM of int8 keeps so many.
SUM_LEFT_SHIFT = 19
# RESIZE_BILINEAR weighs its pixels in units of 2^-10.
RESIZE_FRACTION_BITS = 10
PLACE_CURSOR = 66  # the operator that moves a region


class Word(enum.Enum):
    """What an attribute word holds."""

    INTEGER = "an int32"
    FLOAT32 = "the bit pattern of a float32"
    ELEMENT = "a value of the output's type: the bit pattern of a float32, else an int32"


class BinaryFunction(enum.IntEnum):
    """What BINARY computes."""

    ADD = 0
    SUB = 1
    MUL = 2
    DIV = 3
    FLOOR_DIV = 4
    MAXIMUM = 5
    MINIMUM = 6
    FLOOR_MOD = 7
    SQUARED_DIFFERENCE = 8
    POW = 9


class ReduceFunction(enum.IntEnum):
    """What REDUCE computes."""

    SUM = 0
    PROD = 1
    MAX = 2
    MIN = 3
    ANY = 4
    ALL = 5


class CompareFunction(enum.IntEnum):
    """What COMPARE asks."""

    EQUAL = 0
    NOT_EQUAL = 1
    LESS = 2
    LESS_EQUAL = 3
    GREATER = 4
    GREATER_EQUAL = 5


class WideFunction(enum.IntEnum):
    """What ARITHMETIC_16 computes."""

    ADD = 0
    SUB = 1
    MUL = 2
    DIV = 3
    SQUARED_DIFFERENCE = 4


class PoolFunction(enum.IntEnum):
    """What POOL_16 computes."""

    AVERAGE = 0
    MAX = 1


class SigmoidFunction(enum.IntEnum):
    """What SIGMOID_16 computes."""

    LOGISTIC = 0
    TANH = 1


class UnaryFunction(enum.IntEnum):
    """What UNARY computes."""

    ABS = 0
    NEG = 1
    SQRT = 2
    SQUARE = 3
    FLOOR = 4
    CEIL = 5
    ROUND = 6
    RSQRT = 7
    EXP = 8
    LOGISTIC = 9
    ELU = 10


MIN_INT32, _MAX_INT32 = -(1 << 31), (1 << 31) - 1
MAX_FLOAT, ONE = 0x7F7FFFFF, 0x3F800000  # as bit patterns


@dataclass(frozen=True, slots=True)
class Attribute:
    """One named attribute: a word, or `count` of them in a row, each from `least` to `greatest`."""

    name: str
    doc: str
    word: Word = Word.INTEGER
    count: int = 1
    values: type[enum.IntEnum] | None = None
    least: int = MIN_INT32
    greatest: int = _MAX_INT32

    @property
    def range_text(self) -> str | None:
        """What its words must be; None where any will do."""
        if (self.least, self.greatest) == (MIN_INT32, _MAX_INT32):
            return None
        if self.word is Word.FLOAT32:
            end = "finite" if self.greatest == MAX_FLOAT else "at most 1"
            return f"{self.name} must be above 0 and {end}"
        if self.greatest == _MAX_INT32:
            return f"{self.name} must be at least {self.least}"
        return f"{self.name} must be {self.least} to {self.greatest}"


@dataclass(frozen=True, slots=True)
class HostOperand:
    """A tensor's role, and the element types it may have; `repeated` stands for one or more."""

    name: str
    types: tuple[str, ...]
    doc: str
    repeated: bool = False


@dataclass(frozen=True, slots=True)
class HostOperator:
    """One row of the table; `firmware` is the C function that computes it on the board, empty for none."""

    name: str
    code: int
    doc: str
    inputs: tuple[HostOperand, ...]
    outputs: tuple[HostOperand, ...]
    attributes: tuple[Attribute, ...] = ()
    firmware: str = ""

    @property
    def words(self) -> int:
        """Number of attribute words."""
        return sum(attribute.count for attribute in self.attributes)
