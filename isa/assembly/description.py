"""Directives that describe the program: its name, its configuration, symbols and tensors."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from dlasim.isa import program as p
from dlasim.isa.assembly.lexer import Kind, Token
from dlasim.isa.assembly.parser import Line
from dlasim.isa.assembly.program_builder import DEFAULT_CONFIG, U32_MAX, Builder
from dlasim.isa.assembly.source import Refused
from dlasim.isa.assembly.symbol_expressions import SymbolicExpression
from dlasim.isa.file_records import ELEMENT_BYTES, DataType, Role
from dlasim.isa.limits import MAX_LANES, MAX_RANK, MAX_SRAM_BYTES
from dlasim.isa.registers import HOMES, Region

_REGIONS = tuple(region.name for region in HOMES if region is not Region.COMMANDS)
_DATA_TYPES = tuple(member.name for member in DataType)
_ROLES = tuple(role.name.lower() for role in Role)
_PARALLEL = ("input", "output")
SCALAR = "scalar"


def _program(builder: Builder, line: Line, directive: Token) -> None:
    if builder.name is not None:
        line.fail("a program has only one .program", directive)
    builder.name = line.expect_kind("the model's name", Kind.STRING, Kind.NAME).text
    line.expect_end()


def _equ(builder: Builder, line: Line, directive: Token) -> None:
    name = line.expect_kind("the symbol", Kind.NAME)
    try:
        line.expect(",")
        value = builder.now(line, -(1 << 63), (1 << 64) - 1)
        line.expect_end()
    except Refused:
        builder.symbols.mark_erroneous(name)
        raise
    builder.symbols.define(name, value)


def _config(builder: Builder, line: Line, directive: Token) -> None:
    if builder.config is not None:
        line.fail("a program has only one .config", directive)
    builder.sizes_are_unknown = True
    builder.set_config(*_machine(builder, line, directive))
    builder.sizes_are_unknown = False


def _machine(builder: Builder, line: Line, directive: Token) -> tuple[p.Requirement, frozenset[Region]]:
    """What a program needs, and the regions whose sizes it gives."""

    def size() -> int:
        return builder.now(line)

    given = line.keywords(
        {
            "pes": lambda: builder.now(line, 1, MAX_LANES**2),
            "grid": lambda: _grid(line),
            "parallel": lambda: line.choice("a parallel mode", _PARALLEL),
            "sram": lambda: builder.now(line, 1, MAX_SRAM_BYTES),
            "arena": size,
            "inputs": size,
            "outputs": size,
            "peak": size,
        }
    )
    sizes = {f"{name}_bytes": given[name] for name in ("sram", "arena", "inputs", "outputs") if name in given}
    if "peak" in given:
        sizes["sram_peak_bytes"] = given["peak"]
    pes, lanes = _spread(line, directive, given)
    config = replace(DEFAULT_CONFIG, pes=pes, input_lanes=lanes[0], output_lanes=lanes[1], **sizes)
    if config.sram_peak_bytes > config.sram_bytes:
        line.fail(f"peak must be at most sram, {config.sram_bytes} (got {config.sram_peak_bytes})", directive)
    return config, frozenset(Region[name.upper()] for name in given if name.upper() in _REGIONS)


def _grid(line: Line) -> tuple[int, ...]:
    token = line.next
    lanes = line.by_x("a grid")
    if len(lanes) not in (2, 3) or not all(1 <= count <= MAX_LANES for count in lanes):
        line.fail(
            f"{token} is not a grid; write INPUTxOUTPUT or INPUTxOUTPUTxPIXELS, each from 1 to {MAX_LANES}",
            token,
        )
    return lanes


def _spread(line: Line, directive: Token, given: dict[str, Any]) -> tuple[int, tuple[int, ...]]:
    """The PEs, and how they spread over input and output channels."""
    if "grid" in given and "parallel" in given:
        line.fail("grid and parallel say the same thing; leave one of them out", directive)
    if "grid" not in given:
        pes = given.get("pes", DEFAULT_CONFIG.pes)
        if pes > MAX_LANES:
            line.fail(f"one row has at most {MAX_LANES} PEs (got {pes}); write grid=INPUTxOUTPUT", directive)
        return pes, ((pes, 1) if given.get("parallel") == _PARALLEL.index("input") else (1, pes))
    lanes = given["grid"]
    pes = math.prod(lanes)
    if given.get("pes", pes) != pes:
        line.fail(
            f"a grid of {'x'.join(map(str, lanes))} has {pes} PEs (got pes={given['pes']}); leave pes out",
            directive,
        )
    return pes, lanes[:2]


def _tensor(builder: Builder, line: Line, directive: Token) -> None:
    """`name, type, role, REGION+offset, shape=…, scale=…, zero_point=…`."""
    name: Token | None = None
    try:
        name = line.expect_kind("the tensor's name", Kind.STRING, Kind.NAME)
        _describe_tensor(builder, line, name)
    except Refused:
        builder.failed_tensors.add(name.text if name else None)
        raise


def _describe_tensor(builder: Builder, line: Line, name: Token) -> None:
    line.expect(",")
    kind = DataType(line.choice("an element type", _DATA_TYPES))
    line.expect(",")
    role = Role(line.choice("a role", _ROLES))
    line.expect(",")
    region = Region[_REGIONS[line.choice("a region", _REGIONS)]]
    offset = line.expression() if line.accept("+") else None
    line.accept(",")
    shape, quantization = _keywords(builder, line)
    size = math.prod(shape) * ELEMENT_BYTES[kind]
    if size > U32_MAX:
        line.fail(f"a tensor has at most {U32_MAX} bytes (this one has {size})", name)
    tensor = p.TensorDescriptor(name.text, kind, role, region, 0, size, shape, *quantization)
    builder.tensors.append(tensor)
    builder.tensor_places.append(name.place)
    if offset is not None:
        _place(builder, line, len(builder.tensors) - 1, offset)


def _keywords(builder: Builder, line: Line) -> tuple[tuple[int, ...], tuple[float, int]]:
    start = line.next
    found = line.keywords(
        {
            "shape": lambda: _shape(line),
            "scale": lambda: _scale(line),
            "zero_point": lambda: builder.now(line, -(1 << 31), (1 << 31) - 1),
        }
    )
    if "shape" not in found:
        line.fail("the tensor has no shape; add one such as shape=1x8x8x3 or shape=scalar", start)
    return found["shape"], (found.get("scale", 0.0), found.get("zero_point", 0))


def _place(builder: Builder, line: Line, index: int, offset: SymbolicExpression) -> None:
    """Put a tensor where it belongs once its offset is known."""
    unit = ELEMENT_BYTES[builder.tensors[index].type]

    def put(values: list[int]) -> None:
        value = builder.in_range(offset, values[0], 0, U32_MAX)
        if value % unit:
            kind = builder.tensors[index].type.name
            line.fail(
                f"the offset of {kind} tensors must be a multiple of {unit} (got {value})", offset.start
            )
        builder.tensors[index] = replace(builder.tensors[index], offset=value)

    builder.when_known([offset], put)


def _shape(line: Line) -> tuple[int, ...]:
    if line.next.kind is Kind.NAME and line.next.text == SCALAR:
        line.take()
        return ()
    token = line.next
    shape = line.by_x("a shape")
    if len(shape) > MAX_RANK or max(shape) > U32_MAX:
        line.fail(f"{token} is too large: a shape has up to {MAX_RANK} dimensions of up to {U32_MAX}", token)
    return shape


def _scale(line: Line) -> float:
    """A number that is rounded to float32, as the file stores it."""
    sign = line.accept("-")
    token = line.expect_kind("a scale", Kind.NUMBER)
    value = _float32(token.text)
    if value is None or (sign is not None and value != 0.0):
        line.fail(
            f"{sign or ''}{token} is not a scale; write 0 or a positive decimal number up to 3.4e38",
            sign or token,
        )
    return -value if sign else value


def _float32(text: str) -> float | None:
    """The float32 nearest to a decimal number, None for what is none."""
    try:
        value: float = struct.unpack("<f", struct.pack("<f", float(text)))[0]
    except (ValueError, OverflowError):
        return None
    return value if math.isfinite(value) else None


DIRECTIVES: dict[str, Callable[[Builder, Line, Token], None]] = {
    ".program": _program,
    ".config": _config,
    ".equ": _equ,
    ".tensor": _tensor,
}
