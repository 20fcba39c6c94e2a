"""Energy is counts times constants: counts by hand on small streams, constants from files."""

from pathlib import Path

import numpy as np
import pytest

from dlasim.errors import InputError
from dlasim.isa import codec
from dlasim.isa.instruction_rows import PoolMode
from dlasim.isa.registers import COUNTERS, Region
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.physical import area, block_areas, memory_macros
from dlasim.sim.physical.activity import count_operations
from dlasim.sim.physical.energy import Energies, EnergyModel
from dlasim.sim.physical.technology import technology
from dlasim.sim.programs.operation import reset_file
from dlasim.sim.timing.plan import Plan, plan_stream

CONFIG = DlaConfig().replace(parallel="4x4", sram_bytes=64 * 1024)
MEMORY = dict.fromkeys(Region, 1 << 16)
# 5 x 6 outputs of 7 channels, windows of 3 x 2 over 9 channels; a group of 4 output channels, then one of 3.
SIZES = {
    "IN_SIZE": 7 | 7 << 16, "IN_CHANNELS": 9, "IN_PIXEL_STRIDE": 9, "IN_ROW_STRIDE": 63,
    "OUT_SIZE": 5 | 6 << 16, "OUT_CHANNELS": 7, "OUT_PIXEL_STRIDE": 28, "OUT_ROW_STRIDE": 168,
    "KERNEL": 3 | 2 << 16, "OUT_ADDR": 8192, "WEIGHT_ADDR": 4096, "PARAM_ADDR": 6144,
}  # fmt: skip
RESULTS = 5 * 6 * 7


def plan_of(*operations: tuple[str, dict[str, int]], config: DlaConfig = CONFIG, **registers: int) -> Plan:
    """The plan of a stream of operations with these registers."""
    words = [codec.encode_cfg(name, value) for name, value in (SIZES | registers).items()]
    words += [codec.encode(mnemonic, **fields) for mnemonic, fields in operations]
    plan = plan_stream(config, np.array([*words, codec.encode("HALT")], np.uint64), reset_file(), MEMORY)
    assert plan.fault is None, plan.fault
    return plan


def energies(plan: Plan, model: EnergyModel | None = None) -> Energies:
    """What its operations take."""
    model = model or EnergyModel(technology("45nm"), CONFIG)
    return model.operations(count_operations(plan))


def test_a_convolution_counts_products_and_a_rescaling_for_each_result() -> None:
    plan = plan_of(("OP_CONV", {"init": 1}), ("OP_CONV", {"out": 1}))
    assert plan.costs.macs.tolist() == [RESULTS * 3 * 2 * 9] * 2
    assert count_operations(plan).requantizations.tolist() == [RESULTS, 0], "an int32 result is not rescaled"
    assert count_operations(plan).elements.tolist() == [0, 0]


def test_a_tensor_added_to_results_counts_a_byte_and_three_multiplications_for_each() -> None:
    """Of both parts, and of their sum."""
    fields = {"init": 1, "quant": 1}
    plain, added = plan_of(("OP_CONV", fields)), plan_of(
        ("OP_CONV", fields | {"sum": 1}), config=CONFIG.replace(mac_sums=1)
    )  # fmt: skip
    assert count_operations(added).requantizations.tolist() == [4 * RESULTS]
    assert (added.costs.sram_bytes - plain.costs.sram_bytes).tolist() == [RESULTS]


def test_a_convolution_moves_its_operands_as_the_timing_model_says() -> None:
    """Input once, weights once, records and output once."""
    operations = ("OP_CONV", {"init": 1}), ("OP_CONV", {"out": 1})
    both, weights = 7 * 7 * 9, 7 * 3 * 2 * 9
    moved = plan_of(*operations).costs.sram_bytes.tolist()
    assert moved == [both + weights + 12 * 7 + RESULTS, both + weights + 4 * RESULTS]
    assert plan_of(*operations, config=CONFIG.replace(timing="zero")).costs.sram_bytes.tolist() == moved


def test_small_buffers_move_operands_again() -> None:
    """Three blocks of up to 12 pixels: of the 216 bytes of weights of the first group all but 100 cross for
    each further one, of the 162 of the second all but 100. A line has 63 bytes. Two lines of three fit the
    line buffer: 15 rows of taps read 7 rows, and of the 8 more a third crosses again, in both groups."""
    small = CONFIG.replace(accumulators=12, weight_buffer=100, line_buffer=2 * 63)
    plan = plan_of(("OP_CONV", {"init": 1}), config=small)
    weights = 7 * 3 * 2 * 9 + 2 * (216 - 100) + 2 * (162 - 100)
    assert plan.costs.sram_bytes.tolist() == [2 * (7 + 8 // 3) * 63 + weights + 12 * 7 + RESULTS]


@pytest.mark.parametrize(
    ("mnemonic", "fields", "requantizations", "elements"),
    [
        ("OP_E_ADD", {}, 3 * RESULTS, RESULTS),
        ("OP_E_SUB", {}, 3 * RESULTS, RESULTS),
        ("OP_E_SQDIFF", {}, 3 * RESULTS, RESULTS),
        ("OP_E16_ADD", {}, 2 * RESULTS, RESULTS),
        ("OP_E16_MUL", {}, 0, RESULTS),
        ("OP_E16_SIGMOID", {}, 0, RESULTS),
        ("OP_E16_LUT", {}, 0, RESULTS),
        ("OP_E_MUL", {}, RESULTS, RESULTS),
        ("OP_E_ABS", {}, RESULTS, RESULTS),
        ("OP_C_MAX", {}, 0, RESULTS),
        ("OP_FILL", {}, 0, RESULTS),
        ("OP_ACT_LUT", {}, 0, RESULTS),
        ("OP_ACT_LRELU", {}, RESULTS, RESULTS),
        ("OP_REQUANT", {}, RESULTS, RESULTS),
        ("OP_E32_ADD", {}, 0, RESULTS),
        ("OP_POOL", {"mode": PoolMode.MAX}, 0, 6 * RESULTS),
        ("OP_POOL", {"mode": PoolMode.AVERAGE}, RESULTS, 6 * RESULTS),
        ("OP_POOL", {"mode": PoolMode.MEAN}, RESULTS, 6 * RESULTS),
    ],
)
def test_vector_operations(
    mnemonic: str, fields: dict[str, int], requantizations: int, elements: int
) -> None:
    """As docs/isa.md defines them: how often each calls requant or divides, for each result."""
    plan = plan_of(
        (mnemonic, fields), config=CONFIG.replace(int16=1), IN_CHANNELS=7, IN_PIXEL_STRIDE=28,
        IN_ROW_STRIDE=196, IN2_PIXEL_STRIDE=28, IN2_ROW_STRIDE=196, IN2_ADDR=16384, LUT_ADDR=32768,
    )  # fmt: skip
    assert count_operations(plan).requantizations.tolist() == [requantizations]
    assert count_operations(plan).elements.tolist() == [elements]


def test_the_counts_are_those_of_the_counters() -> None:
    """Of the performance counters, to which tests/rtl holds the RTL: MACs and bytes of each direction."""
    plan = plan_of(
        ("OP_CONV", {}), ("OP_DMA_READ", {}), ("OP_MAT_MUL", {}), ("OP_DMA_WRITE", {}), **TRANSFERS
    )
    counted = dict(zip((name for name, _ in COUNTERS), plan.counters, strict=True))
    found = {name: energy.sum() / 1000 for name, energy in energies(plan).items()}
    assert counted["MACS"] > 0
    assert found["mac"] == pytest.approx(0.3e-3 * counted["MACS"])
    moved = counted["BYTES_READ"] + counted["BYTES_WRITTEN"]
    assert moved == 350
    assert found["memory"] == pytest.approx(0.244 * moved)


TRANSFERS = {
    "DMA_IN_REGION": Region.CONSTANTS, "DMA_IN_RUN_BYTES": 100, "DMA_IN_RUNS": 3, "DMA_IN_RUN_STRIDE": 200,
    "DMA_IN_RUN_SRAM_STRIDE": 100, "DMA_OUT_REGION": Region.ARENA, "DMA_OUT_RUN_BYTES": 50,
}  # fmt: skip


def test_transfers_cost_by_memory_and_direction(tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    file.write_text(
        'base = "45nm"\n[memories.rom]\nread_pj_per_byte = 7\nwrite_pj_per_byte = 1000\nuncertainty = 0\n'
        'source = "test"\n[memories.dram]\nwrite_pj_per_byte = 11\n[regions]\nCONSTANTS = "rom"\n'
    )
    plan = plan_of(("OP_DMA_READ", {}), ("OP_DMA_WRITE", {}), **TRANSFERS)
    model = EnergyModel(technology(str(file)), CONFIG)
    assert energies(plan, model)["memory"].tolist() == [7 * 300, 11 * 50]
    access = memory_macros.sram_access_pj(CONFIG, model.technology)
    assert energies(plan, model)["sram"].tolist() == pytest.approx([access * 19, access * 4]), (
        "300 bytes in 19 words, and 50 in 4"
    )


def test_energies_are_counts_times_constants() -> None:
    plan = plan_of(
        ("OP_CONV", {"init": 1}), ("OP_E32_ADD", {}), IN2_ADDR=0, IN_PIXEL_STRIDE=12, IN_ROW_STRIDE=84
    )
    found = energies(plan)
    assert found["mac"].tolist() == pytest.approx([0.3 * RESULTS * 54, 0])
    assert found["requantization"].tolist() == pytest.approx([3.4 * RESULTS, 0])
    assert found["vector"].tolist() == pytest.approx([0, 0.2 * RESULTS])
    assert found["memory"].tolist() == [0, 0]


def test_the_clock_of_a_unit_runs_while_it_works() -> None:
    """By flip-flops of the synthesised blocks: 16 multipliers, of 4 lanes the accumulator and its input."""
    plan = plan_of(("OP_CONV", {}), ("OP_E32_ADD", {}), ("OP_DMA_READ", {}), **TRANSFERS, IN2_ADDR=0,
                   IN_PIXEL_STRIDE=12, IN_ROW_STRIDE=84)  # fmt: skip
    found = energies(plan)["clock"]
    cycles = plan.timeline.end - plan.timeline.start
    addresses = block_areas.block_area("mac", INPUT_LANES=4, OUTPUT_LANES=4).flip_flops
    addresses += 203  # of results that leave
    buffers = {"LINE_BUFFER_BYTES": CONFIG.line_buffer_bytes}
    both = {"WEIGHT_BUFFER_BYTES": CONFIG.weight_buffer_bytes, **buffers}
    addresses += block_areas.block_area("mac_words", BANK_BYTES=16, **both).flip_flops
    assert found[0] == pytest.approx(
        0.0083 * ((16 * 17 + 4 * 64 + addresses) * cycles[0] + (458 - 64) * RESULTS)
    )
    lanes = CONFIG.vector_lanes * 270 + 102  # what they are to do, decoded
    lanes += 4 * (259 - 32) + 215 + 2 * 32  # four ways to a result with requantizers, a divider, two squares
    lanes += block_areas.block_area("vector", LANES=CONFIG.vector_lanes).flip_flops
    lanes += 450  # of OP_SOFTMAX for 16 lanes, with four sums of four lanes each
    lanes += block_areas.block_area("vector_words", BANK_BYTES=16, **buffers).flip_flops
    assert found[1] == pytest.approx(0.0083 * lanes * cycles[1], rel=1e-4)
    assert 0 < found[2] / cycles[2] < found[1] / cycles[1]


def test_leakage_is_that_of_all_gates_and_macros() -> None:
    technology_ = technology("45nm")
    model = EnergyModel(technology_, CONFIG)
    gates = 1000 * sum(part.kge for part in area.areas(CONFIG).values())
    assert model.logic_leakage_mw() == pytest.approx(gates * 16e-6)
    expected = 8 * technology_.sram.leakage(8 * 1024, 16)  # 8 banks of 8 KiB
    expected += 2 * technology_.buffers.leakage(16 * 1024, 16)  # line buffers: 4 bytes of MAC, 16 of VECTOR
    expected += technology_.buffers.leakage(8 * 1024, 16)  # 16 weights
    expected += technology_.buffers.leakage(64 * 4 * 4, 4 * 4)  # 64 accumulators in each of 4 lanes
    assert model.memory_leakage_mw() == pytest.approx(expected)
    assert model.leaked_nj(3, 1000) == pytest.approx(3e-3 * 1000 / 500e6 * 1e9)
    assert model.control_clock_nj(1000) == pytest.approx(
        (1581 + 1724 + 1586 + area.areas(CONFIG)["ports"].flip_flops) * 0.0083 * 1000 / 1000
    )
    row = 20 - 4 - 3  # bits of an address, without those within 16 bytes and of 8 banks
    words = (2 * 2 + 8 * 4) * (1 + 3 + row)  # two of each transfer, four of eight streams: each with its bank
    banks = 8 * (1 + 4 + 2 + row)  # which word of which stream each serves
    reads = 4 * (1 + 3 + 4 + 8)  # likewise of each port, with its bank
    flip_flops = area.areas(CONFIG)["ports"].flip_flops
    assert flip_flops == pytest.approx(words + banks + reads + 10, rel=0.02), "and turns"


def test_buffers_give_an_input_each_cycle_and_weights_once_for_a_block() -> None:
    """30 pixels in one block of 32: 2 groups of 4 channels, 6 taps, 3 slices of 4 of the 9 input channels."""
    plan = plan_of(("OP_CONV", {"init": 1}))
    steps = 2 * 6 * 3
    assert plan.costs.work.tolist() == [steps * 30]
    technology_ = technology("45nm")
    model = EnergyModel(technology_, CONFIG.replace(accumulator_storage="flip-flops"))
    accesses = count_operations(plan).accesses
    lines = technology_.buffers.access(16 * 1024, 16) * (steps * 30 + accesses)
    weights = technology_.buffers.access(8 * 1024, 16) * steps
    assert energies(plan, model)["buffers"] == pytest.approx(lines + weights)


def test_a_turn_of_pixels_takes_weights_once() -> None:
    """5 x 6 pixels in 3 x 3 turns of four."""
    config = CONFIG.replace(parallel="4x4x4", accumulator_storage="flip-flops")
    one, four = (plan_of(("OP_CONV", {"init": 1}), config=each) for each in (CONFIG, config))
    assert (one.costs.work[0], four.costs.work[0]) == (2 * 6 * 3 * 30, 2 * 6 * 3 * 9)
    assert count_operations(four).weights.tolist() == [2 * 6 * 3]


def test_accumulators_in_a_memory_are_read_and_written_each_cycle() -> None:
    plan, bare = plan_of(("OP_CONV", {"init": 1})), CONFIG.replace(accumulator_storage="flip-flops")
    technology_ = technology("45nm")
    less, more = (energies(plan, EnergyModel(technology_, config))["buffers"] for config in (bare, CONFIG))
    access = technology_.buffers.access(64 * 4 * 4, 4 * 4)  # 64 words of 4 lanes
    assert more - less == pytest.approx(2 * access * plan.costs.work)


def test_an_access_costs_what_a_bank_costs_and_the_way_to_it() -> None:
    technology_, one = technology("45nm"), CONFIG.replace(sram_banks=1, sram="512KiB")
    eight = one.replace(sram_banks=8)
    bank = technology_.sram.access(64 * 1024, 16)
    side = (8 * technology_.sram.area(64 * 1024, 16)) ** 0.5
    way = 0.5 * (16 * 8 + 32) * 0.15 * side / 2
    assert memory_macros.sram_access_pj(eight, technology_) == pytest.approx(bank + way)
    assert (
        0.3
        < memory_macros.sram_access_pj(eight, technology_) / memory_macros.sram_access_pj(one, technology_)
        < 0.8
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[constants]\nmac = 1\n", "unknown constants 'mac'; did you mean mac_pj?"),
        ("[constants]\nmac_pj = -1\n", "constants.mac_pj.value must be a number from 0 to 1e12 (got -1)"),
        ("[constants]\nmac_pj = 'x'\n", "constants.mac_pj must be a table (got 'x')"),
        ("[regions]\nARENA = 'tape'\n", "regions.ARENA must be dram or flash or sram (got 'tape')"),
        ("[sram]\nleakage_mw = [1]\n", "sram.leakage_mw must have a row for each of 7 sizes (got [1])"),
        ("[sram]\naccess_pj = 3\n", "sram.access_pj must have a row for each of 7 sizes (got 3)"),
        ("[srm]\n", "unknown table 'srm'; did you mean sram?"),
        ("base = 3\n", "base must be text (got 3)"),
        ("base = 'own.toml'\n", "base leads back to itself"),
        ("[buffers]\narea_mm2 = [[1]]\n", "buffers.area_mm2 must have a row for each of 7 sizes"),
        ("[constants]\nthreshold_v = 1\n", "constants must ascend from threshold_v to most_supply_v"),
        ("[constants]\nutilization = 0\n", "constants.utilization must be above 0 and at most 1 (got 0)"),
        ("[scaling.area]\nvalue = 1\n", "unknown scaling 'area'; known are logic_energy"),
        ("[scaling.logic_area]\nvalue = 1\n", "scaling.logic_area must have value, uncertainty and source"),
        ("scaling = 0\n", "scaling must be a table (got 0)"),
        (
            "[scaling.logic_area]\nvalue = 0\nuncertainty = 0\nsource = ''\n",
            "must be a number above 0 and below",
        ),
        ("base = '14nm'\n", "unknown technology '14nm'"),
        ("[constants", "is not valid TOML"),
    ],
)
def test_a_bad_file_is_refused_in_one_line(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "own.toml"
    file.write_text(text)
    with pytest.raises(InputError) as error:
        technology(str(file))
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_a_number_alone_replaces_a_constant(tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    file.write_text("[constants]\nmac_pj = 0.1\n")
    own = technology(str(file))
    assert own.value("mac_pj") == 0.1
    assert own.value("element_pj") == technology("45nm").value("element_pj")
