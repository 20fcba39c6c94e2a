"""Operand checks against a brute force that lays out every byte."""

import random
from itertools import product
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest

from dlasim import api
from dlasim.compiler_shim.tflite.writer import write_tflite
from dlasim.compiler_shim.topologies import build_topology
from dlasim.isa import codec
from dlasim.isa.faults import Fault
from dlasim.isa.instruction_rows import Extent, Unit
from dlasim.isa.instructions import INSTRUCTIONS
from dlasim.isa.registers import BY_NAME, OPERANDS
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.programs import checks
from dlasim.sim.programs.checks import first_fault
from dlasim.sim.programs.footprint import Box
from dlasim.sim.programs.legality import LEGALITY, find_doubtful
from dlasim.sim.programs.operation import reset_file
from dlasim.sim.programs.overlaps import are_slices
from dlasim.sim.programs.stream import decode_stream
from dlasim.sim.timing.plan import plan_stream
from tests.compiled import in_python

SRAM_BYTES = 512
REGIONS = {0: 300, 1: 400, 2: 0, 3: 200, 4: 100, 5: 250, 6: 0}
CONFIG = DlaConfig(sram_bytes=SRAM_BYTES, int16=1, mac_sums=1, dma_unpacking=8, dma_decoding=8)
OPERATIONS = [row for row in INSTRUCTIONS if row.is_operation]


class Values:
    """Registers by name, as the manual speaks of them."""

    def __init__(self, rng: random.Random) -> None:
        self._patterns = {register.name: register.reset for register in OPERANDS}
        for register in OPERANDS:
            if rng.random() < 0.9:
                drawn = {f.name: _small(rng, register.name, f) for f in register.fields}
                self._patterns[register.name] = register.pack(**drawn)

    def number(self, name: str) -> int:
        return BY_NAME[name].fields[0].extract(self._patterns[name])

    def pair(self, name: str) -> tuple[int, int]:
        first, second = BY_NAME[name].fields
        return first.extract(self._patterns[name]), second.extract(self._patterns[name])

    def words(self) -> list[int]:
        return [codec.encode_cfg(name, pattern) for name, pattern in self._patterns.items()]


def _small(rng: random.Random, name: str, field) -> int:
    """A value at which things nearly fit: the interesting ones are few bytes apart."""
    if name == "REQUIRE_CONFIG":
        return 0
    if name.startswith("ACT_M"):
        return rng.choice([field.default, field.default, rng.randint(-128, 127)])
    if name.endswith(("_ADDR", "_OFFSET")):
        return rng.choice([0, 4 * rng.randrange(100), rng.randrange(SRAM_BYTES + 9), field.highest])
    if name.endswith("STRIDE"):
        return rng.choice([0, 1, 4, 8, 12, rng.randrange(40), rng.randrange(200)]) or field.lowest
    high = min(field.highest, rng.choice([1, 2, 3, 3, 8]))
    return (
        rng.randint(min(field.lowest, high), high) if field.lowest >= 0 else rng.randint(field.lowest, high)
    )


def runs_of(values: Values, base: int, strides: tuple[int, int], counts: tuple[int, int], run: int):
    """Each run as (first byte, one past the last)."""
    return [
        (start := base + i * strides[0] + j * strides[1], start + run)
        for i in range(counts[0])
        for j in range(counts[1])
    ]


def operand_runs(values: Values, operand, size_bytes: int):
    """The runs of an SRAM operand, from the manual's extents."""
    number, pair = values.number, values.pair
    kernel_height, kernel_width = pair("KERNEL")
    outs, ins = number("OUT_CHANNELS"), number("IN_CHANNELS")
    lengths = {
        Extent.CONV_WEIGHTS: outs * kernel_height * kernel_width * ins,
        Extent.DEPTH_WEIGHTS: kernel_height * kernel_width * outs,
        Extent.MATRIX: outs * ins * size_bytes,
        Extent.RECORDS: 12 * outs,
        Extent.TABLE: 256,
        Extent.EXPONENTIALS: 1024,
        Extent.SEGMENTS: 1024,
        Extent.CURVE: 2048,
        Extent.CURVES: 4096,
    }
    if operand.extent in lengths:
        start = number(operand.register)
        return [(start, start + lengths[operand.extent])]
    if operand.extent is Extent.TRANSFER:
        return transfer_runs(values, operand.register, "SRAM_STRIDE")
    size = pair("IN_SIZE" if operand.extent is Extent.INPUT else "OUT_SIZE")
    channels = outs if operand.extent is Extent.OUTPUT else ins
    strides = (number(f"{operand.register}_ROW_STRIDE"), number(f"{operand.register}_PIXEL_STRIDE"))
    run = channels * size_bytes
    return runs_of(values, number(f"{operand.register}_ADDR"), strides, size, run)


def transfer_runs(values: Values, address: str, stride: str):
    prefix = "DMA_OUT" if address.startswith("DMA_OUT") else "DMA_IN"
    number = values.number
    strides = (number(f"{prefix}_PLANE_{stride}"), number(f"{prefix}_RUN_{stride}"))
    counts = (number(f"{prefix}_PLANES"), number(f"{prefix}_RUNS"))
    return runs_of(values, number(address), strides, counts, number(f"{prefix}_RUN_BYTES"))


def shares_a_byte(runs) -> bool:
    seen: set[int] = set()
    for start, end in runs:
        here = set(range(start, end))
        if seen & here:
            return True
        seen |= here
    return False


def interleaves(strides: tuple[int, int], counts: tuple[int, int], run: int) -> bool:
    """Disjoint, but not as nested loops: refused all the same, as documented."""
    (small, few), (large, many) = sorted(zip(strides, counts, strict=True))
    inner = (few - 1) * small + run if few > 1 else run
    return (few > 1 and small < run) or (many > 1 and large < inner)


def expected(values: Values, instruction, fields: dict[str, int]) -> set[Fault]:
    """Every fault that applies."""
    found = set()
    for operand in instruction.operands:
        conditions = operand.present_when
        if conditions and not any(fields[c.field] in c.values for c in conditions):
            continue
        size = element_size(operand, fields)
        runs = operand_runs(values, operand, size)
        if any(values.number(name) % size for name in operand.registers):
            found.add(Fault.MISALIGNED)
        if any(end > SRAM_BYTES for _, end in runs):
            found.add(Fault.SRAM_RANGE)
        if operand.writes or operand.extent is Extent.INPUT:
            found |= overlap(runs)
        if not operand.writes and instruction.is_compute:
            found |= on_output(values, instruction, fields, operand, runs, size)
    return found | of_system(values, instruction, fields) | of_shapes(values, instruction, fields)


def element_size(operand, fields: dict[str, int]) -> int:
    """Bytes of an element; int16 comes before int32."""
    if operand.int16_when and fields[operand.int16_when.field]:
        return 2
    if operand.int8_when and fields["sum"]:
        return 1
    int32_when = operand.int32_when
    return 4 if int32_when and fields[int32_when.field] in int32_when.values else operand.element_bytes


def on_output(values: Values, instruction, fields: dict[str, int], operand, runs, size) -> set[Fault]:
    """Whether a byte of OUT would be read after it is written, by a unit that works element by element: MAC
    in any order, VECTOR along the rows."""
    output = instruction.operands[-1]
    size_out = element_size(output, fields)
    written = operand_runs(values, output, size_out)
    read = {byte for run in runs for byte in range(*run)}
    shared = read & {byte for run in written for byte in range(*run)}
    if not shared:
        return set()
    if operand.extent is not Extent.OUTPUT or size != size_out:
        return {Fault.OVERLAP}
    if runs == written:
        return set()
    done: set[int] = set()
    for source, target in zip(runs, written, strict=True):
        for byte, place in zip(range(*source), range(*target), strict=True):
            if instruction.unit is Unit.MAC or byte in done:
                return {Fault.OVERLAP}
            done.add(place)
    return set()


def may_meet(values: Values, instruction) -> bool:
    """Whether OUT's range of bytes meets an operand's: refused, though no byte may be shared, unless both are
    slices of the same pixels or rows."""
    spans = []
    for operand in instruction.operands:
        runs = operand_runs(values, operand, 4)
        spans.append((min(run[0] for run in runs), max(run[1] for run in runs)))
    *others, (low, high) = spans
    return any(start < high and low < end for start, end in others)


def overlap(runs) -> set[Fault]:
    return {Fault.OVERLAP} if shares_a_byte(runs) else set()


def of_system(values: Values, instruction, fields: dict[str, int]) -> set[Fault]:
    if instruction.unit not in (Unit.DMA_IN, Unit.DMA_OUT):
        return set()
    prefix = "DMA_IN" if instruction.unit is Unit.DMA_IN else "DMA_OUT"
    runs = transfer_runs(values, f"{prefix}_OFFSET", "STRIDE")
    if instruction.mnemonic == "OP_DMA_UNPACK":  # two bytes become four
        runs = [(start, end - 2 * fields["packed"]) for start, end in runs]
    if instruction.mnemonic == "OP_DMA_DECODE":  # with words=1 and copied=2: 16 bytes and 8
        length = values.number("DMA_IN_RUN_BYTES")
        runs = [(start, end + 24 - length) for start, end in runs]
    region = values.number(f"{prefix}_REGION")
    found = {Fault.REGION_RANGE} if any(end > REGIONS[region] for _, end in runs) else set()
    if prefix == "DMA_OUT":
        found |= overlap(runs) | ({Fault.REGION_READ_ONLY} if region in (0, 4) else set())
    return found


def of_shapes(values: Values, instruction, fields: dict[str, int]) -> set[Fault]:
    bad = "ACT_MIN" in instruction.registers and values.number("ACT_MIN") > values.number("ACT_MAX")
    if instruction.unit is Unit.MAC and (fields.get("elements") or fields.get("sum")):
        bad |= fields["out"] == 1 or fields["init"] == 2
    if fields.get("weights"):
        bad |= fields["elements"] == 0
    if fields.get("sum"):
        bad |= (
            fields["quant"] == 0
            or fields["elements"] == 1
            or values.number("SUM_MIN") > values.number("SUM_MAX")
        )
    if instruction.mnemonic == "OP_DEPTH_CONV":
        bad |= values.number("OUT_CHANNELS") % values.number("IN_CHANNELS") != 0
    if instruction.mnemonic == "OP_POOL":
        bad |= values.number("OUT_CHANNELS") != values.number("IN_CHANNELS")
        bad |= any(has_empty_window(values, axis) for axis in (0, 1))
    if instruction.mnemonic == "OP_DMA_UNPACK":
        bad |= values.number("DMA_IN_RUN_BYTES") < 4 * fields["packed"]
        bad |= values.number("DMA_IN_RUNS") > 1
        bad |= values.number("DMA_IN_PLANES") > 1
    if instruction.mnemonic == "OP_DMA_DECODE":
        bad |= not 8 <= values.number("DMA_IN_RUN_BYTES") <= 8 + 64 * fields["steps"]
        bad |= fields["steps"] < 1 or values.number("DMA_IN_RUNS") > 1 or values.number("DMA_IN_PLANES") > 1
    return {Fault.BAD_OPERANDS} if bad else set()


def has_empty_window(values: Values, axis: int) -> bool:
    size, outs, kernel, stride, dilation, pad = (
        values.pair(name)[axis] for name in ("IN_SIZE", "OUT_SIZE", "KERNEL", "STRIDE", "DILATION", "PAD")
    )
    return any(
        not any(0 <= o * stride + k * dilation - pad < size for k in range(kernel)) for o in range(outs)
    )


def conservative(values: Values, instruction) -> bool:
    """Whether some operand that must not overlap lies interleaved, which is refused although it is free."""
    number, pair = values.number, values.pair
    boxes = []
    for operand in instruction.operands:
        if operand.extent is Extent.TRANSFER and operand.writes:
            boxes.append(_transfer_box(number, "DMA_IN", "SRAM_STRIDE"))
        elif operand.extent.is_view and (operand.writes or operand.extent is Extent.INPUT):
            size = pair("IN_SIZE" if operand.extent is Extent.INPUT else "OUT_SIZE")
            channels = number("OUT_CHANNELS" if operand.extent is Extent.OUTPUT else "IN_CHANNELS")
            strides = (number(f"{operand.register}_ROW_STRIDE"), number(f"{operand.register}_PIXEL_STRIDE"))
            boxes += [(strides, size, width * channels) for width in (1, 2, 4)]
    if instruction.unit is Unit.DMA_OUT:
        boxes.append(_transfer_box(number, "DMA_OUT", "STRIDE"))
    return any(interleaves(*box) for box in boxes)


def _transfer_box(number, prefix: str, stride: str):
    return (
        (number(f"{prefix}_PLANE_{stride}"), number(f"{prefix}_RUN_{stride}")),
        (number(f"{prefix}_PLANES"), number(f"{prefix}_RUNS")),
        number(f"{prefix}_RUN_BYTES"),
    )


def test_checks_agree_with_sets_of_bytes():
    rng = random.Random(1)
    seen = dict.fromkeys(Fault, 0)
    for _ in range(3200):
        instruction = rng.choice(OPERATIONS)
        fields = {field.name: rng.randint(field.lowest, field.highest) for field in instruction.fields}
        if "packed" in fields:
            fields["packed"] = rng.randint(0, 1)
        if "copied" in fields:
            fields |= {"words": 1, "steps": rng.randint(0, 2), "copied": 2}
        values = Values(rng)
        word = codec.encode(instruction.mnemonic, **fields)
        words = np.array([*values.words(), word, codec.encode("HALT")], np.uint64)
        plan = plan_stream(CONFIG, words, reset_file(), REGIONS)
        fault = plan.fault
        with patch.object(checks, "find_doubtful", lambda stream, *_: np.ones(len(stream), bool)):
            assert first_fault(plan.stream, SRAM_BYTES, REGIONS) == fault
        with in_python(LEGALITY):
            assert first_fault(plan.stream, SRAM_BYTES, REGIONS) == fault
        code = fault.code if fault else Fault.NONE
        lowest = min(expected(values, instruction, fields), default=Fault.NONE)
        seen[code] += 1
        if code is not lowest:
            assert code is Fault.OVERLAP, (instruction.mnemonic, code, lowest)
            is_wide_range = instruction.is_compute and may_meet(values, instruction)
            assert is_wide_range or conservative(values, instruction), (instruction.mnemonic, code, lowest)
        if fault is not None:
            assert fault.position == len(OPERANDS)
    common = (Fault.NONE, *list(Fault)[Fault.BAD_OPERANDS :])
    assert all(seen[fault] >= 10 for fault in common), seen


@pytest.mark.parametrize("network", ["resnet8", "ds_cnn"])
def test_no_operation_of_a_network_is_in_doubt(network: str, tmp_path: Path):
    """The point of it: what is left in doubt is examined in Python, which takes longer than all the rest."""
    path = tmp_path / "network.tflite"
    path.write_bytes(write_tflite(build_topology(network)))
    program = api.compile(path, sram_bytes=64 << 10).program
    sizes = {int(region): size for region, size in program.region_bytes.items()}
    for place in program.streams:
        words = program.commands[place.first_word : place.first_word + place.words]
        stream = decode_stream(words, reset_file(), program.requirement.fingerprint)
        assert not find_doubtful(stream, 64 << 10, sizes, np.zeros(len(sizes), bool)).any()
        assert find_doubtful(stream, 1 << 10, sizes, np.zeros(len(sizes), bool)).any()  # of 1 KiB


def test_interleaved_runs_are_refused_and_nested_ones_are_not():
    """The documented rule is sufficient, not necessary: the smaller stride clears a run, the larger those."""

    def fault_of(pixel: int, row: int) -> Fault:
        words = [codec.encode_cfg(name, value) for name, value in (
            ("OUT_SIZE", 2 | 3 << 16), ("OUT_CHANNELS", 2), ("OUT_PIXEL_STRIDE", pixel),
            ("OUT_ROW_STRIDE", row))]  # fmt: skip
        words += [codec.encode("OP_FILL"), codec.encode("HALT")]
        fault = plan_stream(CONFIG, np.array(words, np.uint64), reset_file(), REGIONS).fault
        return fault.code if fault else Fault.NONE

    assert fault_of(pixel=2, row=6) is Fault.NONE
    assert fault_of(pixel=4, row=12) is Fault.NONE
    assert fault_of(pixel=8, row=4) is Fault.NONE  # rows inside pixels: nested the other way round
    assert fault_of(pixel=4, row=6) is Fault.OVERLAP  # rows interleave: no byte is shared, yet refused
    assert fault_of(pixel=4, row=9) is Fault.OVERLAP
    assert fault_of(pixel=1, row=6) is Fault.OVERLAP


def output_fault(mnemonic: str, fields: dict[str, int] | None = None, **registers: int) -> Fault:
    """Of an operation on 2 x 3 pixels of 4 channels, 8 bytes apart, with these registers besides."""
    shape = {"OUT_SIZE": 2 | 3 << 16, "IN_SIZE": 2 | 3 << 16, "OUT_CHANNELS": 4, "IN_CHANNELS": 4}
    strides = {
        f"{view}_{which}_STRIDE": size
        for view in ("IN", "IN2", "OUT", "ACC")
        for which, size in (("PIXEL", 8), ("ROW", 24))
    }
    apart = {
        "IN_ADDR": 0,
        "IN2_ADDR": 50,
        "WEIGHT_ADDR": 100,
        "ACC_ADDR": 120,
        "LUT_ADDR": 196,
        "OUT_ADDR": 455,
    }
    words = [codec.encode_cfg(name, value) for name, value in (shape | strides | apart | registers).items()]
    words += [codec.encode(mnemonic, **(fields or {})), codec.encode("HALT")]
    fault = plan_stream(CONFIG, np.array(words, np.uint64), reset_file(), REGIONS).fault
    return fault.code if fault else Fault.NONE


def test_an_output_lies_apart_or_in_place_or_in_a_slice_of_its_own():
    fine, refused = Fault.NONE, Fault.OVERLAP
    assert output_fault("OP_ACT_LUT") is fine
    assert output_fault("OP_ACT_LUT", OUT_ADDR=190) is refused  # upon its table
    assert output_fault("OP_ACT_LUT", OUT_ADDR=0) is fine  # in place
    assert output_fault("OP_ACT_LUT", IN_ADDR=5, OUT_ADDR=0) is fine  # moved towards lower addresses
    assert output_fault("OP_ACT_LUT", IN_ADDR=0, OUT_ADDR=5) is refused
    assert output_fault("OP_ACT_LUT", OUT_ADDR=4) is fine  # other channels of the same pixels
    assert output_fault("OP_ACT_LUT", OUT_ADDR=4, OUT_ROW_STRIDE=32) is refused  # not the same pixels
    assert output_fault("OP_ACT_LUT", IN_ADDR=4, OUT_ADDR=0) is fine
    assert output_fault("OP_C_MAX", IN2_ADDR=0, OUT_ADDR=0) is fine
    assert output_fault("OP_C_MAX", IN_PIXEL_STRIDE=0, OUT_ADDR=0) is refused  # a broadcast
    rows_first = {"IN_PIXEL_STRIDE": 20, "IN_ROW_STRIDE": 4, "OUT_PIXEL_STRIDE": 20, "OUT_ROW_STRIDE": 4}
    assert output_fault("OP_ACT_LUT", **rows_first, OUT_ADDR=0) is fine
    assert output_fault("OP_ACT_LUT", **rows_first, IN_ADDR=16, OUT_ADDR=0) is refused  # not in order
    assert output_fault("OP_CONV", {"init": 0}, OUT_ADDR=0) is refused  # its input
    assert output_fault("OP_CONV", {"init": 0}, OUT_ADDR=4) is fine  # channels beside its input's
    assert output_fault("OP_CONV", {"init": 0}, OUT_ADDR=110) is refused  # its weights
    sums = {"init": 2, "out": 1}
    wide = {"OUT_CHANNELS": 2}
    assert output_fault("OP_CONV", sums, **wide, OUT_ADDR=120) is fine  # partial sums in place
    assert output_fault("OP_CONV", sums, **wide, OUT_ADDR=116) is refused
    assert output_fault("OP_CONV", {"init": 2, "out": 0}, **wide, OUT_ADDR=120) is refused
    assert output_fault("OP_REQUANT", IN_ROW_STRIDE=48, IN_PIXEL_STRIDE=16, OUT_ADDR=0) is refused


def test_legal_values_are_exactly_those_of_the_table():
    rng = random.Random(2)
    for _ in range(4000):
        register = rng.choice(OPERANDS)
        pattern = rng.choice([rng.getrandbits(32), rng.getrandbits(8), -rng.getrandbits(8) & 0xFFFF_FFFF])
        words = np.array([codec.encode_cfg(register.name, pattern), codec.encode("HALT")], np.uint64)
        fault = plan_stream(CONFIG, words, reset_file(), REGIONS).fault
        if not register.is_legal(pattern):
            assert fault.code is Fault.BAD_VALUE
            assert fault.address == register.address
        elif register.name == "REQUIRE_CONFIG" and pattern not in (0, CONFIG.fingerprint):
            assert fault.code is Fault.CONFIG_MISMATCH
        else:
            assert fault is None


def test_garbage_in_registers_never_raises():
    """Any legal patterns at all, huge ones included, end in a fault or a plan."""
    rng = random.Random(3)
    for number in range(300):
        config = CONFIG if number % 2 else DlaConfig(sram_bytes=1 << 31, sram_bandwidth=1, dma_burst_bytes=1,
                                                     dma_burst_overhead=1 << 20, dma_bandwidth=1)  # fmt: skip
        words = []
        for _ in range(20):
            for register in rng.sample(OPERANDS, 40):
                pattern = rng.choice(
                    [rng.getrandbits(32), rng.getrandbits(31), rng.getrandbits(rng.randint(1, 20))]
                )
                if register.is_legal(pattern) and register.name != "REQUIRE_CONFIG":
                    words.append(codec.encode_cfg(register.name, pattern))
            words.append(codec.encode(rng.choice(OPERATIONS).mnemonic))
        words.append(codec.encode("HALT"))
        plan = plan_stream(config, np.array(words, np.uint64), reset_file(), rng.choice([REGIONS, None]))
        assert plan.timeline.total >= 0


def test_time_stops_where_counters_end():
    """Half a million years of pooling: no exception, and a total that still is a number."""
    sizes = {"IN_SIZE": 1 | 1 << 16, "OUT_SIZE": 1 | 1 << 16, "KERNEL": 0xFFFF_FFFF}
    words = [codec.encode_cfg(name, value) for name, value in sizes.items()]
    words += [codec.encode_cfg("OUT_CHANNELS", 1 << 15), codec.encode_cfg("IN_CHANNELS", 1 << 15)]
    words += [codec.encode_cfg("OUT_ADDR", 1 << 15)]
    words += [codec.encode("OP_POOL", mode=0)] * 70_000 + [codec.encode("HALT")]
    config = DlaConfig(vector_lanes=1)
    plan = plan_stream(config, np.array(words, np.uint64), reset_file())
    assert plan.fault is None
    assert plan.timeline.total == 1 << 62


def test_boxes_that_count_as_slices_share_no_byte():
    """Channels of the same pixels, columns of the same rows: the rule that needs no list of bytes."""
    rng = random.Random(5)
    found = 0
    for _ in range(20_000):
        row, pixel = rng.randint(1, 60), rng.randint(1, 12)
        first, second = (
            Box(
                rng.randint(0, 80), rng.randint(1, 4), rng.choice([row, row, rng.randint(1, 60)]),
                rng.randint(1, 4), rng.choice([pixel, pixel, rng.randint(1, 12)]), rng.randint(1, 7),
            )
            for _ in range(2)
        )  # fmt: skip
        if are_slices(first, second):
            found += 1
            assert not bytes_of(first) & bytes_of(second), (first, second)
    assert found > 1000


def bytes_of(box: Box) -> set[int]:
    starts = product(range(box.planes), range(box.runs), range(box.run_bytes))
    return {
        box.address + row * box.plane_stride + pixel * box.run_stride + byte for row, pixel, byte in starts
    }
