"""Shifts, bits, products that are cut off, and tables of 16 bits: of one byte a table, else on the CPU."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dlasim.compiler_shim.network.graph import Quantization
from dlasim.compiler_shim.tosa.tosa_converter import TosaConverter
from dlasim.compiler_shim.tosa.tosa_pairs import common_shape, of_one
from dlasim.compiler_shim.tosa.tosa_reader import TosaOperator
from dlasim.compiler_shim.tosa.tosa_values import (
    Array,
    TosaActivation,
    TosaConstant,
    UnplacedError,
    Value,
    curve_of,
    with_curve,
)
from dlasim.sim.arithmetic.numerics import Integers

_WORD = 32
_TABLE_STEP, _TABLE_CELLS = 128, 512  # of a table of 16 bits, which is linear between its entries


class WideNumbers:
    """Integers of 64 bits on the CPU; every tensor is called by the result's name."""

    def __init__(self, converter: TosaConverter, name: str) -> None:
        self._converter, self._name = converter, name

    def constant(self, data: Array | int) -> int:
        """One for all elements, or as many as broadcast."""
        return self._converter.stored(f"{self._name}/constant", np.atleast_1d(np.asarray(data, np.int64)))

    def of(self, kind: str, *inputs: int, dtype: str = "int64") -> int:
        """The result of an operator."""
        return self._converter.compute(kind, list(inputs), dtype, self._name)

    def narrow(self, number: int, dtype: str, zero_point: int = 0) -> int:
        """The lowest bits as a smaller type."""
        if dtype != "int8":
            return self.of("CAST", number, dtype=dtype)
        return self._converter.emit("CAST", [number], Quantization((1.0,), (zero_point,)), self._name)

    def unsigned(self, number: int, dtype: str) -> int:
        """What the bits of a number of this type are without a sign."""
        return self.of("FLOOR_MOD", number, self.constant(1 << 8 * np.dtype(dtype).itemsize))

    def shifted(self, number: int, amounts: Value, is_rounded: bool) -> int:
        """Bits cut off from below; halves go up if it is rounded."""
        if is_rounded:
            number = self.of("ADD", number, self.looked_up(_half(np.arange(_WORD)), amounts))
        return self.of("FLOOR_DIV", number, self.powers(amounts))

    def powers(self, amounts: Value) -> int:
        """Two to the power of amounts."""
        return self.looked_up(np.int64(1) << np.arange(_WORD), amounts)

    def looked_up(self, entries: Integers, places: Value) -> int:
        """What a short list has at places from 0."""
        if isinstance(places, TosaConstant):
            return self.constant(entries[places.data.clip(0, len(entries) - 1)])
        place = self._converter.tensor(places, self._name)
        place = place if places.dtype == "int32" else self.of("CAST", place, dtype="int32")
        inputs = [self.constant(entries), place]
        return self._converter.compute("GATHER", inputs, "int64", self._name, axis=0, batch_dims=0)


def _half(amounts: Array) -> Integers:
    halves: Integers = (np.int64(1) << amounts) >> 1
    return halves


def _shifted_left(dtype: str, _is_rounded: bool, values: Integers, amounts: Integers) -> Integers:
    return (values << amounts).astype(dtype).astype(np.int64)


def _shifted_right(_dtype: str, is_rounded: bool, values: Integers, amounts: Integers) -> Integers:
    found: Integers = (values + is_rounded * _half(amounts)) >> amounts
    return found


def _unsigned_right(dtype: str, _is_rounded: bool, values: Integers, amounts: Integers) -> Integers:
    whole = values % (1 << 8 * np.dtype(dtype).itemsize)
    return (whole >> amounts).astype(dtype).astype(np.int64)


_SHIFTS: dict[str, Callable[[str, bool, Integers, Integers], Integers]] = {
    "ARITHMETIC_RIGHT_SHIFT": _shifted_right,
    "LOGICAL_LEFT_SHIFT": _shifted_left,
    "LOGICAL_RIGHT_SHIFT": _unsigned_right,
}
_BITWISE: dict[str, Callable[..., Array]] = {
    "BITWISE_AND": np.bitwise_and, "BITWISE_OR": np.bitwise_or, "BITWISE_XOR": np.bitwise_xor,
}  # fmt: skip


def shift(converter: TosaConverter, operator: TosaOperator) -> Value:
    """ARITHMETIC_RIGHT_SHIFT, LOGICAL_LEFT_SHIFT and LOGICAL_RIGHT_SHIFT."""
    values = [converter.value(operator, place) for place in (0, 1)]
    is_rounded = bool(operator.attributes.get("round"))
    most = 8 * np.dtype(values[0].dtype).itemsize - 1

    def function(numbers: Array, amounts: Array) -> Integers:
        wide = np.asarray(numbers, np.int64), np.asarray(amounts, np.int64).clip(0, most)
        return _SHIFTS[operator.kind](values[0].dtype, is_rounded, *wide)

    def computed(wide: WideNumbers, number: int) -> int:
        if operator.kind == "LOGICAL_LEFT_SHIFT":
            return wide.of("MUL", number, wide.powers(values[1]))
        if operator.kind == "LOGICAL_RIGHT_SHIFT":
            number = wide.unsigned(number, values[0].dtype)
        return wide.shifted(number, values[1], is_rounded)

    return _place(converter, operator, values, function, computed)


def cut_product(converter: TosaConverter, operator: TosaOperator) -> Value:
    """MUL of int32 with bits cut off, rounded half up."""
    values = [converter.value(operator, place) for place in (0, 1)]
    cut = converter.single(operator, 2)
    if not 0 < cut < 2 * _WORD - 1:
        raise UnplacedError(f"its shift must be from 0 to {2 * _WORD - 2} (got {cut})")
    half, power = 1 << (cut - 1), 1 << cut

    def function(one: Array, other: Array) -> Integers:
        return np.asarray((np.multiply(one, other, dtype=np.int64) + half) // power, np.int64)

    def computed(wide: WideNumbers, number: int) -> int:
        other = wide.of("CAST", converter.tensor(values[1], operator.outputs[0]))
        total = wide.of("ADD", wide.of("MUL", number, other), wide.constant(half))
        return wide.of("FLOOR_DIV", total, wide.constant(power))

    return _place(converter, operator, values, function, computed)


def bitwise(converter: TosaConverter, operator: TosaOperator) -> Value:
    """BITWISE_AND and the like of a byte and a number."""
    values = [converter.value(operator, place) for place in (0, 1)]
    return _place(converter, operator, values, _BITWISE[operator.kind], None)


def _place(
    converter: TosaConverter,
    operator: TosaOperator,
    values: list[Value],
    function: Callable[..., Integers],
    computed: Callable[[WideNumbers, int], int] | None,
) -> Value:
    """A function of two tensors: of constants, of one byte, or of int32 as `computed` from the first."""
    shape, dtype = common_shape(values), values[0].dtype
    if dtype == "bool":
        raise UnplacedError("its inputs must be integers")
    if isinstance(values[0], TosaConstant) and isinstance(values[1], TosaConstant):
        return TosaConstant(function(values[0].data, values[1].data).astype(dtype))
    curve = of_one(values, shape, function)
    if curve is not None:
        return curve
    if computed is None:
        raise UnplacedError(f"it is supported of one tensor of 8 bits and a number (got {dtype})")
    name = operator.outputs[0]
    wide = WideNumbers(converter, name)
    number = computed(wide, wide.of("CAST", converter.tensor(values[0], operator.inputs[0])))
    return TosaActivation(wide.narrow(number, dtype), shape, dtype)


def inverted(converter: TosaConverter, operator: TosaOperator) -> Value:
    """BITWISE_NOT."""
    value = converter.value(operator)
    curve = curve_of(value)
    if curve is not None:
        return with_curve(value, np.invert(curve))
    if value.dtype == "bool":
        raise UnplacedError("its input must be integers")
    name = operator.outputs[0]
    wide = WideNumbers(converter, name)
    number = wide.of("SUB", wide.constant(-1), wide.of("CAST", converter.tensor(value, name)))
    return TosaActivation(wide.narrow(number, value.dtype), value.shape, value.dtype)


def leading_zeros(converter: TosaConverter, operator: TosaOperator) -> Value:
    """CLZ of int32: 32 less how many powers of two are not above the unsigned number."""
    value, name = converter.value(operator), operator.outputs[0]
    if value.dtype != "int32" or isinstance(value, TosaConstant):
        raise UnplacedError(f"its input must be computed, and int32 (got {value.dtype})")
    powers = np.int64(1) << np.arange(_WORD)
    curve = curve_of(value)
    if curve is not None:
        counts = (curve[:, None] % (1 << _WORD) >= powers).sum(1)
        return with_curve(value, _WORD - counts)
    wide = WideNumbers(converter, name)
    flat = converter.compute(
        "RESHAPE", [converter.tensor(value, name)], "int32", name, new_shape=(int(np.prod(value.shape)), 1)
    )
    whole = wide.unsigned(wide.of("CAST", flat), "int32")
    reached = wide.of("GREATER_EQUAL", whole, wide.constant(powers[None]), dtype="bool")
    reached = wide.of("CAST", reached, dtype="int32")
    counts = converter.compute("SUM", [reached, converter.list_of(name, [1])], "int32", name, keep_dims=True)
    inputs = [converter.stored(f"{name}/constant", np.array([_WORD], np.int32)), counts]
    zeros = converter.compute("SUB", inputs, "int32", name)
    number = converter.compute("RESHAPE", [zeros], "int32", name, new_shape=value.shape)
    return TosaActivation(number, value.shape, "int32")


def table(converter: TosaConverter, operator: TosaOperator) -> Value:
    """TABLE, of 8 bits or of 16, which is linear between its entries."""
    value, entries = converter.value(operator), converter.constant(operator, 1).ravel()
    curve = curve_of(value)
    if curve is not None and (value.dtype, entries.dtype.name, entries.size) == ("int8", "int8", 256):
        return with_curve(value, entries.astype(np.int64)[curve + 128])
    if (value.dtype, entries.dtype.name, entries.size) != ("int16", "int16", _TABLE_CELLS + 1):
        raise UnplacedError("its input must be int8 and its table 256 of int8, or int16 and 513 of int16")
    ends = entries.astype(np.int64)
    low, slopes = _TABLE_STEP * ends[:-1], ends[1:] - ends[:-1]
    if curve is not None:
        cells, parts = curve // _TABLE_STEP + _TABLE_CELLS // 2, curve % _TABLE_STEP
        return with_curve(value, low[cells] + slopes[cells] * parts, "int32")
    name = operator.outputs[0]
    wide = WideNumbers(converter, name)
    number = wide.of("CAST", converter.tensor(value, operator.inputs[0]))
    step = wide.constant(_TABLE_STEP)
    cell = wide.of("ADD", wide.of("FLOOR_DIV", number, step), wide.constant(_TABLE_CELLS // 2))
    places = TosaActivation(wide.of("CAST", cell, dtype="int32"), value.shape, "int32")
    rest = wide.of("MUL", wide.looked_up(slopes, places), wide.of("FLOOR_MOD", number, step))
    found = wide.of("ADD", wide.looked_up(low, places), rest)
    return TosaActivation(wide.of("CAST", found, dtype="int32"), value.shape, "int32")


BITS = {
    **dict.fromkeys(_BITWISE, bitwise),
    **dict.fromkeys(_SHIFTS, shift),
    "BITWISE_NOT": inverted,
    "CLZ": leading_zeros,
    "TABLE": table,
}
