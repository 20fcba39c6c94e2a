"""Random legal operations: operands in a small SRAM, with slack, broadcast, apart, in place, interleaved."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dlasim.isa import registers
from dlasim.isa.instruction_rows import RECORD_BYTES, Extent, Instruction, Unit
from dlasim.isa.instructions import BY_MNEMONIC, INSTRUCTIONS
from dlasim.sim.programs.checks import operation_fault
from dlasim.sim.programs.footprint import all_footprints, footprints
from dlasim.sim.programs.operation import Operation

COMPUTED = tuple(row.mnemonic for row in INSTRUCTIONS if row.unit in (Unit.MAC, Unit.VECTOR))
COMPILED = tuple(name for name in COMPUTED if not BY_MNEMONIC[name].needs_int16)  # by the fast engine
_WINDOWED = ("OP_CONV", "OP_CONV_RELU", "OP_DEPTH_CONV", "OP_POOL")


@dataclass(frozen=True)
class Limits:
    """How large operations get."""

    pixels: int = 5
    channels: int = 6
    channel_step: int = 1  # what the channels of many operations are a multiple of
    kernel: int = 3
    sram_bytes: int = 8192


SMALL = Limits()
LARGE = Limits(pixels=20, channels=70, kernel=5, sram_bytes=1 << 18)


@dataclass(frozen=True)
class Scene:
    """An operation and the SRAM that it works on."""

    operation: Operation
    sram: NDArray[np.uint8]


def make_operation(mnemonic: str, fields: Mapping[str, int], values: Mapping[str, object]) -> Operation:
    """An operation from register values; a pair of numbers fills a packed register."""
    file = []
    for register in registers.OPERANDS:
        value = values.get(register.name)
        if value is None:
            file.append(register.reset)
        elif isinstance(value, tuple):
            file.append(register.pack(**{f.name: v for f, v in zip(register.fields, value, strict=True)}))
        else:
            file.append(register.pack(value=int(value)))
    instruction = BY_MNEMONIC[mnemonic]
    defaults = {field.name: field.default for field in instruction.fields}
    return Operation(0, instruction, defaults | dict(fields), file)


def is_legal(operation: Operation, sram_bytes: int) -> bool:
    """Whether the machine would run it."""
    return operation_fault(operation, sram_bytes, None) is None


def random_scene(
    rng: np.random.Generator, mnemonic: str, limits: Limits = SMALL, int16: bool = False, sums: bool = True
) -> Scene:
    """A legal operation of this instruction on random bytes; half of those that can take int16, or add a
    tensor to their results, do so if they may."""
    instruction = BY_MNEMONIC[mnemonic]
    while True:
        fields = {f.name: int(rng.integers(0, len(f.names))) for f in instruction.fields if f.names}
        if "elements" in fields:
            fields["elements"] &= int16
        if fields.get("elements") and instruction.unit is Unit.MAC:
            fields |= {"out": 0, "init": fields["init"] & 1, "sum": 0}
        if "weights" in fields:
            fields["weights"] &= fields["elements"]
        if "sum" in fields:
            fields["sum"] &= sums
        if fields.get("sum"):
            fields |= {"out": 0, "quant": 1, "init": fields["init"] & 1}
        values = {**_geometry(rng, mnemonic, limits), **_quantization(rng)}
        values.update(_placement(rng, instruction, fields, values, limits))
        operation = make_operation(mnemonic, fields, values)
        if is_legal(operation, limits.sram_bytes):
            sram = rng.integers(0, 256, limits.sram_bytes, np.uint8)
            if rng.random() < 0.6:
                _plausible_records(rng, operation, sram)
                _plausible_exponentials(rng, operation, sram)
            return Scene(operation, sram)


def _geometry(rng: np.random.Generator, mnemonic: str, limits: Limits) -> dict[str, object]:
    def size(most: int) -> int:
        return int(rng.integers(1, most + 1))

    def depth() -> int:
        step = limits.channel_step
        return step * size(limits.channels // step) if rng.random() < 0.8 else 1

    channels = depth()
    values: dict[str, object] = {
        "OUT_SIZE": (size(limits.pixels), size(limits.pixels)),
        "OUT_CHANNELS": channels,
        "IN_CHANNELS": depth(),
    }
    if mnemonic in _WINDOWED:
        values |= _window(rng, limits)
    if mnemonic == "OP_POOL":
        values["IN_CHANNELS"] = channels
    if mnemonic == "OP_DEPTH_CONV":
        divisors = [d for d in range(1, channels + 1) if channels % d == 0]
        values["IN_CHANNELS"] = channels if rng.random() < 0.7 else int(rng.choice(divisors))
    return values


def _window(rng: np.random.Generator, limits: Limits) -> dict[str, object]:
    """Kernel, stride, dilation and pads per axis, and an input that the outputs roughly cover."""
    columns = []
    for _ in range(2):
        kernel = 1 if rng.random() < 0.25 else int(rng.integers(1, limits.kernel + 1))
        stride = 1 if rng.random() < 0.5 else int(rng.integers(1, 4))
        dilation = 1 if rng.random() < 0.7 else int(rng.integers(1, 4))
        pad = 0 if rng.random() < 0.4 else int(rng.integers(0, (kernel - 1) * dilation + 1))
        columns.append((int(rng.integers(1, limits.pixels + 1)), kernel, stride, dilation, pad))
    names = ("IN_SIZE", "KERNEL", "STRIDE", "DILATION", "PAD")
    values: dict[str, object] = dict(zip(names, zip(*columns, strict=True), strict=True))
    outputs = tuple(
        max(1, (size + pad - (kernel - 1) * dilation - 1) // stride + 1 + int(rng.integers(0, 2)))
        for size, kernel, stride, dilation, pad in columns
    )
    return values | {"OUT_SIZE": outputs}


def _quantization(rng: np.random.Generator) -> dict[str, object]:
    wild = rng.random() < 0.3
    values: dict[str, object] = {
        name: int(rng.integers(-128, 128) if rng.random() < 0.8 else rng.choice([-128, 0, 127]))
        for name in ("PAD_VALUE", "IN_ZP", "IN2_ZP", "OUT_ZP", "FILL_VALUE", "SUM_ZP")
    }
    values["WEIGHT_ZP"] = int(rng.integers(-128, 128)) if rng.random() < 0.5 else 0
    for what in ("ACT", "SUM"):
        low, high = sorted(rng.integers(-128, 128, 2)) if rng.random() < 0.5 else (-128, 127)
        values |= {f"{what}_MIN": int(low), f"{what}_MAX": int(high)}
    values["SHIFT_AMOUNT"] = int(rng.integers(0, 32))
    values["LEFT_SHIFT"] = int(rng.integers(0, 32)) if wild else 20
    for name in ("IN", "IN2", "OUT"):
        values[f"{name}_MULT"] = int(rng.integers(0, 1 << 31) if wild else rng.integers(1 << 30, 1 << 31))
        values[f"{name}_SHIFT"] = int(rng.integers(-31, 32) if wild else rng.integers(-9, 2))
        if name != "OUT" and rng.random() < 0.2:  # as one input of a sum has it
            values[f"{name}_MULT"], values[f"{name}_SHIFT"] = 1 << 30, 0
    if not wild:
        values["OUT_SHIFT"] = int(rng.choice([-18, -10, -8, -5, -1, 0, 1]))
    values["LIMIT"] = int(rng.choice([1 << 15, (1 << 15) - 1, rng.integers(0, 1 << 15)]))
    return values


def _placement(
    rng: np.random.Generator,
    instruction: Instruction,
    fields: Mapping[str, int],
    values: Mapping[str, object],
    limits: Limits,
) -> dict[str, object]:
    """Strides and addresses; what is written comes last, often apart from the rest, sometimes upon it."""
    placed: dict[str, object] = {}
    loose = rng.random() < 0.5
    cursor = 0
    for operand in instruction.operands:
        probe = make_operation(instruction.mnemonic, fields, {**values, **placed})
        footprint = next(f for f in all_footprints(probe) if f.operand == operand)
        unit = int(footprint.element_bytes)
        strides: dict[str, object] = {}
        if operand.extent.is_view:
            strides = _strides(rng, operand.register, footprint.box, unit, loose, operand.writes)
            probe = make_operation(instruction.mnemonic, fields, {**values, **placed, **strides})
            footprint = next(f for f in all_footprints(probe) if f.operand == operand)
        kind = rng.random()
        reuse = _same_place(operand.register, placed)
        if operand.writes and kind < 0.4 and reuse:
            placed |= _near(rng, operand.address_register, reuse, unit * int(footprint.box.run_bytes))
            continue
        address = cursor + int(rng.integers(0, 9))
        if kind > 0.9:
            address = int(rng.integers(0, max(1, limits.sram_bytes - int(footprint.box.end))))
        address += -address % unit
        placed |= strides | {operand.address_register: address}
        cursor = max(cursor, address + int(footprint.box.end))
    return placed


def _strides(
    rng: np.random.Generator, prefix: str, box, unit: int, loose: bool, writes: bool
) -> dict[str, object]:
    def slack() -> int:
        return unit * int(rng.integers(0, 4)) if loose else 0

    if rng.random() < 0.05:  # rows closer together than pixels
        row = box.run_bytes + slack()
        pixel = box.planes * row + slack()
    else:
        pixel = box.run_bytes + slack()
        row = box.runs * pixel + slack()
    if not writes and rng.random() < 0.15:
        pixel = 0
    if not writes and rng.random() < 0.15:
        row = 0
    return {f"{prefix}_PIXEL_STRIDE": pixel, f"{prefix}_ROW_STRIDE": row}


def _same_place(prefix: str, placed: Mapping[str, object]) -> dict[str, object]:
    """In place: the output's registers with the values of an input or of the partial result."""
    for source in ("ACC", "IN2", "IN"):
        if f"{source}_ADDR" in placed and f"{source}_PIXEL_STRIDE" in placed:
            return {
                f"{prefix}_{part}": placed[f"{source}_{part}"]
                for part in ("ADDR", "PIXEL_STRIDE", "ROW_STRIDE")
            }
    return {}


def _near(
    rng: np.random.Generator, address: str, place: dict[str, object], run_bytes: int
) -> dict[str, object]:
    """In place, a little before it, or beside it in the same pixels."""
    at, kind = int(place[address]), rng.random()  # type: ignore[call-overload]
    if kind < 0.3:
        at -= min(at, 4 * int(rng.integers(0, 9)))
    elif kind < 0.5:
        at += int(rng.choice([-run_bytes, run_bytes])) if at >= run_bytes else run_bytes
    return place | {address: at}


def _plausible_exponentials(rng: np.random.Generator, operation: Operation, sram: NDArray[np.uint8]) -> None:
    for footprint in footprints(operation):
        if footprint.operand.extent is Extent.EXPONENTIALS:
            falling = np.exp(-np.arange(256) * rng.choice([0, 0.001, 0.02, 0.1, 1, 10])) * ((1 << 31) - 1)
            start = footprint.box.address
            sram[start : start + 1024] = falling.astype("<i4").view(np.uint8)
        if footprint.operand.extent is Extent.CURVES:
            start, curves = footprint.box.address, softmax_curves(10 * rng.random())
            sram[start : start + len(curves)] = curves


def softmax_curves(steepness: float, greatest: int = 1 << 15) -> NDArray[np.uint8]:
    """Tables of OP_E16_SOFTMAX: exponentials that rise to the greatest, and reciprocals of 1 to 2."""
    points = np.arange(513) / 512
    curves = np.stack([np.exp(steepness * (points - 1)) * greatest, (1 << 15) / (1 + points)])
    entries = np.minimum(np.rint(curves), 32767).astype("<i2")
    return np.stack([entries[:, :-1], np.diff(entries)], axis=-1).reshape(-1).view(np.uint8)


def _plausible_records(rng: np.random.Generator, operation: Operation, sram: NDArray[np.uint8]) -> None:
    for footprint in footprints(operation):
        if footprint.operand.extent is Extent.RECORDS:
            count = footprint.box.run_bytes // RECORD_BYTES
            records = np.empty((count, 3), "<i4")
            records[:, 0] = rng.integers(-20000, 20000, count)
            records[:, 1] = rng.integers(1 << 30, 1 << 31, count)
            records[:, 2] = rng.integers(-12, 2 if rng.random() < 0.5 else -2, count)
            start = footprint.box.address
            sram[start : start + footprint.box.run_bytes] = records.reshape(-1).view(np.uint8)
