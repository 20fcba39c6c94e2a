"""Accesses of the SRAM against words counted one by one."""

import numpy as np
import pytest

from dlasim.isa import codec, registers
from dlasim.isa.instruction_rows import Unit
from dlasim.isa.instructions import BY_MNEMONIC
from dlasim.isa.registers import Region
from dlasim.native.storage import Store
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.configuration.machine_files import preset, preset_names
from dlasim.sim.physical.activity import ACTIVITY, count_operations
from dlasim.sim.programs.footprint import Box
from dlasim.sim.programs.legality import word_rules
from dlasim.sim.timing.cost import unit_costs, word_costs
from dlasim.sim.timing.operation_costs import mac_costs, read_sizes
from dlasim.sim.timing.plan import Plan
from dlasim.sim.timing.sram_words import Crossing, CrossingList, list_crossings, touch_words
from tests.compiled import counted, in_python
from tests.sim_machine.test_energy import CONFIG, plan_of

WIDTH = 16


def words(box: Box, part: int) -> float:
    """What the simulator counts."""
    count, size = touch_words(box, part, WIDTH)
    return count * size / WIDTH


def touched(box: Box, part: int) -> int:
    """Words of a box, in the order in which they cross: a part of each run, then the next part of each. The
    word that crossed last is still there."""
    count, last = 0, -1
    for done in range(0, box.run_bytes, part):
        size = min(part, box.run_bytes - done)
        for plane in range(box.planes):
            for run in range(box.runs):
                first = box.address + plane * box.plane_stride + run * box.run_stride + done
                for word in range(first // WIDTH, (first + size - 1) // WIDTH + 1):
                    count, last = count + (word != last), word
    return count


@pytest.mark.parametrize("seed", range(40))
def test_words_of_aligned_boxes_are_counted(seed: int) -> None:
    """Where each line begins at the same place of a word, the count is exact."""
    rng = np.random.default_rng(seed)
    planes, runs, run_bytes = (int(rng.integers(1, most)) for most in (5, 5, 50))
    run_stride = WIDTH * int(rng.integers(-(-run_bytes // WIDTH) + 1, 8))
    plane_stride = runs * run_stride + WIDTH * int(rng.integers(1, 4))
    box = Box(int(rng.integers(0, 100)), planes, plane_stride, runs, run_stride, run_bytes)
    assert words(box, run_bytes) == touched(box, run_bytes)


@pytest.mark.parametrize("seed", range(40))
def test_words_of_dense_pictures_are_counted(seed: int) -> None:
    """Pixels that follow each other are one run."""
    rng = np.random.default_rng(seed)
    planes, runs, run_bytes = (int(rng.integers(1, most)) for most in (5, 5, 50))
    box = Box(int(rng.integers(0, 100)), planes, runs * run_bytes, runs, run_bytes, run_bytes)
    assert words(box, run_bytes) == touched(box, run_bytes)


@pytest.mark.parametrize("channels", [20, 24, 33, 47, 64, 100])
@pytest.mark.parametrize("part", [4, 6, 8, 16])
def test_groups_of_channels_cross_one_after_the_other(channels: int, part: int) -> None:
    """The mean over all places where the tensor may begin. Its runs are too far apart to share a word."""
    stride = 7 * WIDTH
    boxes = [Box(address, 3, 5 * stride, 4, stride, channels) for address in range(WIDTH)]
    counted = [touched(box, part) for box in boxes]
    assert np.mean([words(box, part) for box in boxes]) == pytest.approx(np.mean(counted))


@pytest.mark.parametrize("part", [8, 16, 64])
def test_a_picture_of_one_column_is_a_row(part: int) -> None:
    """Parts of pixels that follow each other lie as far apart, whichever way the picture lies."""
    for address in range(0, WIDTH, 8):
        column, row = Box(address, 13, 64, 1, 64, 64), Box(address, 1, 13 * 64, 13, 64, 64)
        assert words(column, part) == words(row, part) == touched(column, part)


def accesses(plan: Plan, config: DlaConfig) -> list[float]:
    """Of each operation."""
    assert config.sram_bandwidth == WIDTH
    with in_python(ACTIVITY):
        plain = count_operations(plan).accesses.tolist()
    with counted(ACTIVITY) as calls:
        assert count_operations(plan).accesses.tolist() == plain
    assert calls == ["activity"]
    return plain


def test_a_convolution_by_hand() -> None:
    """Four output lanes, seven channels. Input: 7 x 7 pixels of 9 bytes, one run of 441 bytes. Filters of 54
    bytes begin anywhere: five words each. Records: 48 and 36 bytes, aligned: three words each. Results: 30
    pixels that lie 28 bytes apart, in parts of 4 and 3 bytes that begin at multiples of 4: a word each."""
    plan = plan_of(("OP_CONV", {"init": 1}))
    assert accesses(plan, CONFIG) == [28 + 7 * 5 + 3 + 3 + 30 + 30]


@pytest.mark.parametrize(
    ("accumulators", "crossings", "results"),
    [(60, 1, 30 * 1.25), (59, 2, 30 + 30)],
)
def test_a_convolution_in_blocks_by_hand(accumulators: int, crossings: int, results: float) -> None:
    """The same convolution, of 7 lines of 63 bytes, of which the line buffer holds 3. Accumulators for 60
    results of a lane hold both groups of 30 pixels: they read the input once, and write 7 bytes of each pixel
    together. Those begin at multiples of 4, and take two words in one of four places. With fewer, the
    groups are apart."""
    config = CONFIG.replace(mac_handover="blocks", accumulators=accumulators, line_buffer=3 * 63)
    plan = plan_of(("OP_CONV", {"init": 1}), config=config)
    assert plan.costs.sram_bytes.tolist() == [crossings * 441 + 7 * 54 + 12 * 7 + 30 * 7]
    assert accesses(plan, config) == [crossings * 28 + 7 * 5 + 3 + 3 + results]


MAC_MNEMONICS = [name for name, instruction in BY_MNEMONIC.items() if instruction.unit is Unit.MAC]


def random_operation(rng: np.random.Generator, mnemonic: str) -> tuple[int, list[int]]:
    """The word of an operation, and the registers; from lone pixels to layers that no buffer holds."""
    instruction = BY_MNEMONIC[mnemonic]

    def number(most: int) -> int:
        return int(np.exp(rng.uniform(0, np.log(most + 1))))

    depth, channels = number(300), number(300)
    values = {
        "IN_CHANNELS": depth, "OUT_CHANNELS": depth * number(3) if instruction.is_depthwise else channels,
        **{name: number(40) | number(40) << 16 for name in ("IN_SIZE", "OUT_SIZE")},
        **{name: number(5) | number(5) << 16 for name in ("KERNEL", "STRIDE", "DILATION")},
        "IN_PIXEL_STRIDE": depth, "OUT_PIXEL_STRIDE": 4 * channels, "IN_ROW_STRIDE": depth * number(40),
        "OUT_ROW_STRIDE": 4 * channels * number(40), "WEIGHT_ADDR": number(9999),
    }  # fmt: skip
    fields = {field.name: int(rng.integers(0, 2)) for field in instruction.fields}
    return codec.encode(mnemonic, **fields), [values.get(each.name, 0) for each in registers.OPERANDS]


@pytest.mark.parametrize("mnemonic", MAC_MNEMONICS)
@pytest.mark.parametrize("name", preset_names())
def test_what_is_left_for_weights_is_all_of_them(name: str, mnemonic: str) -> None:
    """Each weight crosses at least once, and the costs round down by less than a byte of a channel."""
    rng, crossings = np.random.default_rng(len(name)), Store(Crossing, 8)
    for _ in range(100):
        word, file = random_operation(rng, mnemonic)
        costs, found = word_costs(preset(name), word), CrossingList(WIDTH)
        found.crossings = crossings.pointer
        read_sizes(found.sizes, file)
        moved = mac_costs(costs.unit, costs.kind, found.sizes)[3]
        list_crossings(found, 0, costs, word_rules(word, True, True), file, moved)
        weights = crossings[found.count - 1]
        assert weights.moved > weights.size - found.sizes.channels


def test_a_table_and_a_transfer_by_hand() -> None:
    """5 x 6 pixels of 7 bytes that follow each other: 14 words, both ways; a table of 256 bytes."""
    plan = plan_of(
        ("OP_ACT_LUT", {}), ("OP_DMA_READ", {}), IN_PIXEL_STRIDE=7, IN_ROW_STRIDE=42, OUT_PIXEL_STRIDE=7,
        OUT_ROW_STRIDE=42, LUT_ADDR=32768, DMA_IN_REGION=Region.CONSTANTS, DMA_IN_RUN_BYTES=3,
        DMA_IN_RUNS=5, DMA_IN_RUN_STRIDE=3, DMA_IN_RUN_SRAM_STRIDE=32,
    )  # fmt: skip
    assert accesses(plan, CONFIG) == [14 + 14 + 16, 5]


def test_no_access_carries_more_than_a_word() -> None:
    plan = plan_of(
        ("OP_CONV", {"init": 1}), ("OP_E32_ADD", {}), IN2_ADDR=0, IN_PIXEL_STRIDE=12, IN_ROW_STRIDE=84
    )
    assert unit_costs(CONFIG, "OP_CONV").output_lanes == 4
    full = plan.costs.sram_bytes / WIDTH
    assert (np.array(accesses(plan, CONFIG)) >= full).all()
