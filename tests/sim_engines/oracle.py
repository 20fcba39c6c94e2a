"""What instructions compute, from the manual's text alone: plain Python integers, one element at a time.

Nothing here is shared with the engines: not the numerics, not the operand layout.
"""

import math
from collections.abc import Callable
from fractions import Fraction

from dlasim.sim.programs.operation import Operation


def wrap(value: int) -> int:
    """Two's complement at 32 bits."""
    return (value + (1 << 31)) % (1 << 32) - (1 << 31)


def round_shift(value: int, amount: int) -> int:
    """value / 2^amount to nearest, halves away from zero."""
    if amount == 0:
        return value
    magnitude = (abs(value) + (1 << (amount - 1))) >> amount
    return magnitude if value >= 0 else -magnitude


def requant(value: int, multiplier: int, shift: int) -> int:
    """The double rounding of the reference kernels; the first rounds halves up, the second away from zero."""
    shift = min(31, max(-31, shift))
    moved = wrap(value << shift) if shift > 0 else wrap(value)
    high = min((moved * multiplier + (1 << 30)) // (1 << 31), (1 << 31) - 1)
    return wrap(round_shift(high, -shift) if shift < 0 else high)


class Memory:
    """Bytes as the operation sees them before it starts, and what it writes."""

    def __init__(self, operation: Operation, sram: bytes) -> None:
        self.operation = operation
        self.before = sram
        self.after = bytearray(sram)

    @property
    def is_int16(self) -> bool:
        short = self.operation.instruction.mnemonic in ("OP_E16_SOFTMAX", "OP_E16_LUT")
        return short or self.operation.fields.get("elements", 0) == 1

    def number(self, name: str) -> int:
        return self.operation.value(name)

    def halves(self, name: str) -> tuple[int, int]:
        return self.operation.pair(name)

    def read(self, address: int, size: int = 1) -> int:
        return int.from_bytes(self.before[address : address + size], "little", signed=True)

    def at(self, name: str, y: int, x: int, c: int, size: int = 1) -> int:
        if self.is_int16:
            size = 2
        return self.read(self._address(name, y, x) + c * size, size)

    def put(self, y: int, x: int, c: int, value: int, size: int = 1) -> None:
        address = self._address("OUT", y, x) + c * size
        self.after[address : address + size] = value.to_bytes(size, "little", signed=True)

    def record(self, channel: int, member: int) -> int:
        return self.read(self.number("PARAM_ADDR") + 12 * channel + 4 * member, 4)

    def _address(self, name: str, y: int, x: int) -> int:
        row, pixel = self.number(f"{name}_ROW_STRIDE"), self.number(f"{name}_PIXEL_STRIDE")
        return self.number(f"{name}_ADDR") + y * row + x * pixel


def execute(operation: Operation, sram: bytes) -> bytes:
    """SRAM after the operation."""
    memory = Memory(operation, sram)
    element = _ELEMENTS[operation.instruction.mnemonic]
    size = 2 if memory.is_int16 else 4 if _is_wide(operation) else 1
    height, width = memory.halves("OUT_SIZE")
    for y in range(height):
        for x in range(width):
            for c in range(memory.number("OUT_CHANNELS")):
                memory.put(y, x, c, element(memory, y, x, c), size)
    return bytes(memory.after)


def _is_wide(operation: Operation) -> bool:
    name = operation.instruction.mnemonic
    return name.startswith(("OP_E32", "OP_E16")) or operation.fields.get("out", 0) == 1


def _clamp(m: Memory, value: int, lowest: int | None = None) -> int:
    low, high = m.number("ACT_MIN") if lowest is None else lowest, m.number("ACT_MAX")
    if m.is_int16:
        low, high = 256 * low, 256 * high + 255
    return min(max(value, low), high)


def _to_output(m: Memory, value: int, which: str = "OUT") -> int:
    scaled = requant(value, m.number(f"{which}_MULT"), m.number(f"{which}_SHIFT"))
    return wrap(m.number("OUT_ZP") + scaled)


def _rescale(m: Memory, value: int, channel: int, lowest: int | None = None) -> int:
    if m.operation.fields["quant"] == 1:
        scaled = wrap(m.number("OUT_ZP") + requant(value, m.record(channel, 1), m.record(channel, 2)))
        return _clamp(m, scaled, lowest)
    return _clamp(m, _to_output(m, value), lowest)


def _taps(m: Memory, y: int, x: int) -> list[tuple[int, int, int, int]]:
    """(kernel row, kernel column, input row, input column) of one output pixel."""
    (kernel_h, kernel_w), (stride_h, stride_w) = m.halves("KERNEL"), m.halves("STRIDE")
    (dilation_h, dilation_w), (top, left) = m.halves("DILATION"), m.halves("PAD")
    return [
        (j, i, y * stride_h + j * dilation_h - top, x * stride_w + i * dilation_w - left)
        for j in range(kernel_h)
        for i in range(kernel_w)
    ]


def _is_inside(m: Memory, row: int, column: int) -> bool:
    height, width = m.halves("IN_SIZE")
    return 0 <= row < height and 0 <= column < width


def _pixel(m: Memory, row: int, column: int, channel: int) -> int:
    return m.at("IN", row, column, channel) if _is_inside(m, row, column) else m.number("PAD_VALUE")


def _start(m: Memory, y: int, x: int, o: int) -> int:
    match m.operation.fields["init"]:
        case 1:
            return m.record(o, 0)
        case 2:
            return m.at("ACC", y, x, o, 4)
        case _:
            return 0


def _product16(m: Memory, y: int, x: int, o: int) -> int:
    """Of int16: the products of any MAC instruction, 48 bits of their sum, a multiplier of 16 bits."""
    inputs, outputs = m.number("IN_CHANNELS"), m.number("OUT_CHANNELS")
    name = m.operation.instruction.mnemonic
    depthwise, matrix = name == "OP_DEPTH_CONV", name == "OP_MAT_MUL"
    total = 0
    for j, i, row, column in [(0, 0, y, x)] if matrix else _taps(m, y, x):
        if not matrix and not _is_inside(m, row, column):
            continue
        kernel_h, kernel_w = (1, 1) if matrix else m.halves("KERNEL")
        for c in [o * inputs // outputs] if depthwise else range(inputs):
            place = (j * kernel_w + i) * outputs + o if depthwise else (
                ((o * kernel_h + j) * kernel_w + i) * inputs + c
            )  # fmt: skip
            size = 1 + m.operation.fields.get("weights", 0)
            total += m.at("IN", row, column, c) * m.read(m.number("WEIGHT_ADDR") + size * place, size)
    if m.operation.fields["quant"] == 1 or m.operation.fields["init"] == 1:
        low, middle, shift = (m.record(o, member) for member in range(3))
    if m.operation.fields["init"] == 1:
        total += (middle // (1 << 16)) * (1 << 32) + low % (1 << 32)
    if m.operation.fields["quant"] == 0:
        middle, shift = m.number("OUT_MULT"), m.number("OUT_SHIFT")
    total = (total + (1 << 47)) % (1 << 48) - (1 << 47)
    shift = min(max(shift, -31), 14)
    scaled = math.floor(Fraction(total * (middle % (1 << 16)), 1 << (15 - shift)) + Fraction(1, 2))
    return _clamp(m, wrap(scaled))


def _accumulator(m: Memory, y: int, x: int, o: int) -> int:
    inputs = m.number("IN_CHANNELS")
    kernel_h, kernel_w = m.halves("KERNEL")
    total = _start(m, y, x, o)
    for j, i, row, column in _taps(m, y, x):
        for c in range(inputs):
            place = ((o * kernel_h + j) * kernel_w + i) * inputs + c
            weight = m.read(m.number("WEIGHT_ADDR") + place) - m.number("WEIGHT_ZP")
            total += (_pixel(m, row, column, c) - m.number("IN_ZP")) * weight
    return wrap(total)


def _complete(m: Memory, total: int, y: int, x: int, o: int) -> int:
    if m.operation.fields["out"] == 1:
        return total
    own = _rescale(m, total, o)
    if m.operation.fields["sum"] == 0:
        return own
    parts = (own - m.number("OUT_ZP"), "IN"), (m.at("ACC", y, x, o) - m.number("IN2_ZP"), "IN2")
    both = sum(
        requant(part * 2**20, m.number(f"{name}_MULT"), min(m.number(f"{name}_SHIFT"), 0))
        for part, name in parts
    )
    scaled = requant(both, m.number("OUT_MULT"), m.number("OUT_SHIFT"))
    return min(max(wrap(m.number("SUM_ZP") + scaled), m.number("SUM_MIN")), m.number("SUM_MAX"))


def _conv(m: Memory, y: int, x: int, o: int) -> int:
    if m.is_int16:
        return _product16(m, y, x, o)
    total = _accumulator(m, y, x, o)
    return _complete(m, total, y, x, o)


def _conv_relu(m: Memory, y: int, x: int, o: int) -> int:
    return _rescale(m, _accumulator(m, y, x, o), o, max(m.number("ACT_MIN"), m.number("OUT_ZP")))


def _depth_conv(m: Memory, y: int, x: int, o: int) -> int:
    if m.is_int16:
        return _product16(m, y, x, o)
    outputs = m.number("OUT_CHANNELS")
    channel = o // (outputs // m.number("IN_CHANNELS"))
    total = _start(m, y, x, o)
    for j, i, row, column in _taps(m, y, x):
        weight = m.read(m.number("WEIGHT_ADDR") + (j * m.halves("KERNEL")[1] + i) * outputs + o)
        total += (_pixel(m, row, column, channel) - m.number("IN_ZP")) * (weight - m.number("WEIGHT_ZP"))
    total = wrap(total)
    return _complete(m, total, y, x, o)


def _mat_mul(m: Memory, y: int, x: int, o: int) -> int:
    if m.is_int16:
        return _product16(m, y, x, o)
    inputs = m.number("IN_CHANNELS")
    total = _start(m, y, x, o)
    for i in range(inputs):
        weight = m.read(m.number("WEIGHT_ADDR") + o * inputs + i) - m.number("WEIGHT_ZP")
        total += (m.at("IN", y, x, i) - m.number("IN_ZP")) * weight
    total = wrap(total)
    return _complete(m, total, y, x, o)


def _shift(m: Memory, y: int, x: int, c: int) -> int:
    value, amount = m.at("IN", y, x, c, 4), m.number("SHIFT_AMOUNT")
    return (
        lambda: wrap(value << amount),
        lambda: value // (1 << amount),
        lambda: round_shift(value, amount),
    )[m.operation.fields["mode"]]()


def _pool(m: Memory, y: int, x: int, c: int) -> int:
    seen = [m.at("IN", row, column, c) for _, _, row, column in _taps(m, y, x) if _is_inside(m, row, column)]
    match m.operation.fields["mode"]:
        case 0:
            return _clamp(m, max(seen))
        case 1:
            total, count = sum(seen), len(seen)
            magnitude = (2 * abs(total) + count) // (2 * count)
            return _clamp(m, magnitude if total >= 0 else -magnitude)
        case 3:
            return _clamp(m, math.floor(Fraction(sum(seen), len(seen)) + Fraction(1, 2)))
        case _:
            return _clamp(m, _to_output(m, wrap(sum(value - m.number("IN_ZP") for value in seen))))


def _difference(m: Memory, y: int, x: int, c: int, name: str = "IN") -> int:
    return m.at(name, y, x, c) - m.number(f"{name}_ZP")


def _relu(m: Memory, y: int, x: int, c: int) -> int:
    scaled = _to_output(m, _difference(m, y, x, c))
    return _clamp(m, scaled, max(m.number("ACT_MIN"), m.number("OUT_ZP")))


def _leaky(m: Memory, y: int, x: int, c: int) -> int:
    value = _difference(m, y, x, c)
    return _clamp(m, _to_output(m, value, "OUT" if value >= 0 else "IN"))


def _aligned(m: Memory, y: int, x: int, c: int, name: str) -> int:
    value = wrap(_difference(m, y, x, c, name) << m.number("LEFT_SHIFT"))
    return requant(value, m.number(f"{name}_MULT"), m.number(f"{name}_SHIFT"))


def _sum(m: Memory, y: int, x: int, c: int, sign: int) -> int:
    total = wrap(_aligned(m, y, x, c, "IN") + sign * _aligned(m, y, x, c, "IN2"))
    return _clamp(m, _to_output(m, total))


def _squared_difference(m: Memory, y: int, x: int, c: int) -> int:
    difference = _aligned(m, y, x, c, "IN") - _aligned(m, y, x, c, "IN2")
    return _clamp(m, _to_output(m, wrap(difference**2)))


def _mul(m: Memory, y: int, x: int, c: int) -> int:
    return _clamp(m, _to_output(m, _difference(m, y, x, c) * _difference(m, y, x, c, "IN2")))


def _exponential(m: Memory, y: int, x: int, c: int) -> int:
    row = [m.at("IN", y, x, each) for each in range(m.number("OUT_CHANNELS"))]
    return m.read(m.number("LUT_ADDR") + 4 * (max(row) - row[c]), 4)


def _high_half(a: int, b: int) -> int:
    """The product over 2^31, halves up."""
    return min(math.floor(Fraction(a * b, 1 << 31) + Fraction(1, 2)), (1 << 31) - 1)


def _softmax(m: Memory, y: int, x: int, c: int) -> int:
    channels = range(m.number("OUT_CHANNELS"))
    total = sum(round_shift(_exponential(m, y, x, each), 12) for each in channels) % (1 << 32) or 1
    zeros = 32 - len(f"{total:b}")
    divisor = total * 2**zeros // 2
    guess = 1515870810 + _high_half(divisor, -1010580540)
    for _ in range(3):
        guess += 4 * _high_half(guess, 2**29 - _high_half(divisor, guess))
    share = _high_half(_exponential(m, y, x, c), min(2 * guess, 2**31 - 1))
    return min(max(round_shift(share, 35 - zeros) - 128, -128), 127)


def _limit16(value: int) -> int:
    return min(max(value, -(1 << 15)), (1 << 15) - 1)


def _low16(value: int) -> int:
    return (value + (1 << 15)) % (1 << 16) - (1 << 15)


def _add16(m: Memory, y: int, x: int, c: int) -> int:
    parts = (
        requant(m.at(name, y, x, c, 4), m.number(f"{name}_MULT"), m.number(f"{name}_SHIFT"))
        for name in ("IN", "IN2")
    )
    total = _limit16(sum(_limit16(part) for part in parts))
    return min(max(total, -m.number("LIMIT")), m.number("LIMIT"))


def _sigmoid16(m: Memory, y: int, x: int, c: int) -> int:
    amount, is_tanh = m.number("SHIFT_AMOUNT"), m.operation.fields["mode"] == 1
    product = _low16(m.at("IN", y, x, c, 4)) * (m.number("IN_MULT") % (1 << 16))
    place = wrap(product + (1 << amount) // 2) // (1 << amount)
    size = 256 if is_tanh else 512
    entry, rest = divmod(abs(place), size)
    if entry < 255:
        at = m.number("LUT_ADDR") + 4 * entry
        total = (m.read(at, 2) % (1 << 16)) * size + rest * (m.read(at + 2, 2) % (1 << 10))
    else:
        total = (65535 if is_tanh else 65534) * size
    if is_tanh:
        result = (total - (1 << 23) + 128 if place >= 0 else (1 << 23) - total + 127) // 256
    else:
        result = (total + 512 if place >= 0 else (1 << 25) - total + 511) // 1024
    return _low16(result) if m.is_int16 else result


def _between(m: Memory, place: int) -> int:
    """A table's entry, of 128 steps to the next."""
    at, rest = m.number("LUT_ADDR") + 4 * (place // 128), place % 128
    return m.read(at, 2) + (rest * m.read(at + 2, 2) + 64) // 128


def _softmax16(m: Memory, y: int, x: int, c: int) -> int:
    row = [m.at("IN", y, x, each, 2) for each in range(m.number("OUT_CHANNELS"))]
    scale = m.number("IN_MULT"), m.number("IN_SHIFT")
    shares = [
        _between(m, _limit16(wrap(requant(element - max(row), *scale) + 32767)) + 32768) for element in row
    ]
    total = sum(shares) % (1 << 32) or 1
    zeros = 32 - len(f"{total:b}")
    place = min((total * 2**zeros // 2 + 2**13) // 2**14 - 65536, 65535)
    multiplier = wrap(_between(m, 65536 + place) * 2 ** max(zeros - 1, 0))
    return min(max(requant(2 * shares[c], multiplier, 0), 0), 32767)


_ELEMENTS: dict[str, Callable[[Memory, int, int, int], int]] = {
    "OP_FILL": lambda m, y, x, c: m.number("FILL_VALUE"),
    "OP_E16_ADD": _add16,
    "OP_E16_MUL": lambda m, y, x, c: _low16(m.at("IN", y, x, c, 4)) * _low16(m.at("IN2", y, x, c, 4)),
    "OP_E16_SIGMOID": _sigmoid16,
    "OP_E16_SOFTMAX": _softmax16,
    "OP_E16_LUT": lambda m, y, x, c: _low16(_between(m, m.at("IN", y, x, c, 2) + 32768)),
    "OP_CONV": _conv,
    "OP_CONV_RELU": _conv_relu,
    "OP_DEPTH_CONV": _depth_conv,
    "OP_MAT_MUL": _mat_mul,
    "OP_REQUANT": lambda m, y, x, c: _rescale(m, m.at("IN", y, x, c, 4), c),
    "OP_E32_SHIFT": _shift,
    "OP_E32_ADD": lambda m, y, x, c: wrap(m.at("IN", y, x, c, 4) + m.at("IN2", y, x, c, 4)),
    "OP_POOL": _pool,
    "OP_ACT_RELU": _relu,
    "OP_ACT_LRELU": _leaky,
    "OP_ACT_LUT": lambda m, y, x, c: m.read(m.number("LUT_ADDR") + m.at("IN", y, x, c) + 128),
    "OP_E_ADD": lambda m, y, x, c: _sum(m, y, x, c, 1),
    "OP_E_SUB": lambda m, y, x, c: _sum(m, y, x, c, -1),
    "OP_E_SQDIFF": _squared_difference,
    "OP_E_MUL": _mul,
    "OP_E_ABS": lambda m, y, x, c: _clamp(m, _to_output(m, abs(_difference(m, y, x, c)))),
    "OP_C_MIN": lambda m, y, x, c: min(m.at("IN", y, x, c), m.at("IN2", y, x, c)),
    "OP_C_MAX": lambda m, y, x, c: max(m.at("IN", y, x, c), m.at("IN2", y, x, c)),
    "OP_SOFTMAX": _softmax,
}
