"""Every parameter of the machine has its price in area, leakage and energy, in the right direction; and the
sums against published figures."""

from typing import Any

import numpy as np
import pytest

from dlasim.isa import codec
from dlasim.isa.registers import Region
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.configuration.machine_files import preset
from dlasim.sim.configuration.machine_table import PARAMETERS
from dlasim.sim.configuration.parameters import Form
from dlasim.sim.physical import area, memory_macros
from dlasim.sim.physical.activity import count_operations
from dlasim.sim.physical.energy import EnergyModel
from dlasim.sim.physical.supply import supply_for
from dlasim.sim.physical.technology import technology, technology_names
from dlasim.sim.programs.operation import reset_file
from dlasim.sim.timing.plan import Plan, plan_stream

# From a machine in which nothing hides what is asked: a value of each parameter, and twice as much.
MACHINE: dict[str, Any] = {"parallel": "8x8", "mac_weights": 64, "dma_shared_bandwidth": 8}
DOUBLED: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "pes": ({"parallel": "8x8"}, {"parallel": "8x16"}),
    "mac_weights": ({"mac_weights": 32}, {"mac_weights": 64}),
    "int16": ({"int16": 0}, {"int16": 1}),
    "mac_sums": ({"mac_sums": 0}, {"mac_sums": 1}),
    "sram_dma_ports": ({"sram_dma_ports": 0}, {"sram_dma_ports": 1}),
    "vector_lanes": ({"vector_lanes": 16}, {"vector_lanes": 32}),
    "dma_bandwidth": ({"dma_bandwidth": 8}, {"dma_bandwidth": 16}),
    "dma_unpacking": ({"dma_unpacking": 4}, {"dma_unpacking": 8}),
    "dma_decoding": ({"dma_decoding": 0}, {"dma_decoding": 8}),
    "dma_shared_bandwidth": ({"dma_shared_bandwidth": 4}, {"dma_shared_bandwidth": 8}),
}
QUANTITIES = [name for name, row in PARAMETERS.items() if row.form in (Form.NUMBER, Form.SIZE)]
QUANTITIES.remove("technology")


def machines(name: str) -> tuple[DlaConfig, DlaConfig]:
    """A machine, and one with twice as much of a parameter."""
    fixed = {
        key: value for key, value in MACHINE.items() if key not in ("dma_shared_bandwidth", "mac_weights")
    }
    if name in DOUBLED:
        less, more = DOUBLED[name]
        return DlaConfig().replace(**fixed | less), DlaConfig().replace(**fixed | more)
    one = DlaConfig().replace(**fixed)
    value = getattr(one, name)
    return one, one.replace(**{name: min(2 * value, PARAMETERS[name].high)})


def size(config: DlaConfig) -> float:
    return sum(memory_macros.areas_mm2(config, technology("45nm")).values())


def leakage(config: DlaConfig) -> float:
    model = EnergyModel(technology("45nm"), config)
    return model.memory_leakage_mw() + model.logic_leakage_mw()


@pytest.mark.parametrize("name", QUANTITIES)
def test_more_takes_more_area_and_leaks_more_or_the_row_says_why_not(name: str) -> None:
    one, more = machines(name)
    if PARAMETERS[name].no_area:
        assert size(more) == size(one)
        assert name == "clock_mhz" or leakage(more) == leakage(one)
    else:
        assert size(more) > size(one)
        assert leakage(more) > leakage(one)


def test_rows_without_area_are_those_that_are_no_hardware() -> None:
    """What has no quantity has no doubling. A row that gains a reason must be looked at."""
    free = {name for name, row in PARAMETERS.items() if row.no_area}
    assert free == {
        "parallel", "mac_step_group", "mac_handover", "accumulator_storage", "dma_latency", "dma_burst_bytes",
        "dma_burst_overhead", "buses", "issue_cycles", "check_cycles",
        "compute_overlap", "clock_mhz", "timing", "technology",
    }  # fmt: skip
    assert free.isdisjoint(set(PARAMETERS) - free)


SIZES = {
    "IN_SIZE": 10 | 10 << 16, "IN_CHANNELS": 32, "IN_PIXEL_STRIDE": 32, "IN_ROW_STRIDE": 320,
    "OUT_SIZE": 8 | 8 << 16, "OUT_CHANNELS": 32, "OUT_PIXEL_STRIDE": 32, "OUT_ROW_STRIDE": 256,
    "KERNEL": 3 | 3 << 16, "WEIGHT_ADDR": 8192, "PARAM_ADDR": 20480, "OUT_ADDR": 24576,
    "IN2_PIXEL_STRIDE": 32, "IN2_ROW_STRIDE": 320, "IN2_ADDR": 28672,
    "DMA_IN_REGION": Region.CONSTANTS, "DMA_IN_RUN_BYTES": 1024,
}  # fmt: skip


def plan_of(config: DlaConfig) -> Plan:
    """A convolution, a sum and a transfer."""
    words = [codec.encode_cfg(name, value) for name, value in SIZES.items()]
    words += [codec.encode(name) for name in ("OP_CONV", "OP_E_ADD", "OP_DMA_READ", "HALT")]
    memory = dict.fromkeys(Region, 1 << 16)
    plan = plan_stream(config, np.array(words, np.uint64), reset_file(), memory)
    assert plan.fault is None, plan.fault
    return plan


def each_access(config: DlaConfig) -> dict[str, float]:
    """Picojoules of an access of each memory."""
    known = technology("45nm")
    found = {name: each.access_pj(known) for name, each in memory_macros.macros(config).items()}
    return found | {"sram": memory_macros.sram_access_pj(config, known)}


@pytest.mark.parametrize(
    ("name", "memory"),
    [
        ("sram_bytes", "sram"),
        ("sram_bandwidth", "sram"),
        ("line_buffer_bytes", "mac_lines"),
        ("line_buffer_bytes", "vector_lines"),
        ("weight_buffer_bytes", "weight_buffer"),
        ("mac_weights", "weight_buffer"),
        ("vector_lanes", "vector_lines"),
    ],
)
def test_an_access_of_a_larger_or_wider_memory_takes_more(name: str, memory: str) -> None:
    one, more = map(each_access, machines(name))
    assert more[memory] > one[memory]
    assert all(more[each] >= one[each] for each in one)


def test_an_access_of_one_of_more_banks_takes_less_and_more_banks_more_area() -> None:
    one, more = machines("sram_banks")
    assert each_access(more)["sram"] < each_access(one)["sram"]
    assert size(more) > size(one)


@pytest.mark.parametrize(
    "name", ["mac_fill", "mac_drain", "vector_fill", "vector_drain", "pes", "vector_lanes", "dma_bandwidth"]
)
def test_more_registers_take_more_energy_in_each_cycle_of_their_unit(name: str) -> None:
    power = []
    for config in machines(name):
        plan = plan_of(config)
        cycles = plan.timeline.end - plan.timeline.start
        model = EnergyModel(technology("45nm"), config)
        clock = model.operations(count_operations(plan))["clock"]
        power.append(clock / cycles)
    assert (power[1] > power[0]).any()


@pytest.mark.parametrize("name", technology_names())
def test_a_faster_clock_takes_a_greater_supply_and_never_less_energy(name: str) -> None:
    """From the clock that the least supply allows. Below it the supply stays, and a slower machine only leaks
    longer."""
    known = technology(name)
    energies = []
    for clock in (100, 200, 400, 450, 500, 550, 600, 700, 1000, 4000):
        config = DlaConfig().replace(clock_mhz=clock)
        model, plan = EnergyModel(known, config), plan_of(config)
        milliwatts = model.memory_leakage_mw() + model.logic_leakage_mw()
        used = sum(energy.sum() for energy in model.operations(count_operations(plan)).values()) / 1000
        if model.supply.volts > known.value("least_supply_v"):
            energies.append(used + model.leaked_nj(milliwatts, plan.timeline.total))
    assert len(energies) >= 6
    assert energies == sorted(energies)
    assert energies[0] < energies[-1]
    assert model.supply.volts == pytest.approx(known.value("most_supply_v"))


def test_the_supply_follows_the_alpha_power_law() -> None:
    """GAP9's two points (MLPerf Tiny v1.0): 370 MHz at 0.8 V and 240 MHz at 0.65 V."""
    known = technology("22nm")
    clock = known.value("clock_mhz")
    assert supply_for(known, clock).volts == pytest.approx(0.8)
    assert supply_for(known, clock * 240 / 370).volts == pytest.approx(0.65, rel=0.02)
    assert supply_for(known, clock / 10).volts == pytest.approx(0.65)
    half = supply_for(known, 0.8 * clock)
    assert half.energy == pytest.approx((half.volts / 0.8) ** 2)
    assert half.leakage == pytest.approx((half.volts / 0.8) ** 3)


# nvdla/doc, doc/primer.rst: estimated area of synthesis with all memories, 28 nm.
@pytest.mark.parametrize(
    ("name", "published_mm2"),
    [("nvdla-small", 0.91), ("nvdla-small-256", 1.7), ("nvdla-medium-512", 2.3), ("nvdla-large", 5.5)],
)
def test_area_against_that_of_nvdla(name: str, published_mm2: float) -> None:
    """Another machine with as many MACs and as much memory, but without Winograd, batches, compression of
    weights and lookup in two tables, which NVDLA has; and since 2026-11-27 its front end is leaner than
    NVDLA's, which has more than 811 kGE of logic at 64 MACs (nv_small, its parts synthesised one by one)
    where ours has 500. So it is smaller, by no more than half."""
    found = sum(memory_macros.areas_mm2(preset(name), technology("28nm")).values())
    assert 0.5 < found / published_mm2 < 1.1


def test_area_by_hand() -> None:
    """Gates by their size and the share that they fill; banks by the table."""
    config, known = DlaConfig(), technology("45nm")
    found = memory_macros.areas_mm2(config, known)
    assert list(found) == list(dict.fromkeys((*area.COMPONENTS, *memory_macros.MEMORIES)))
    assert found["vector"] == pytest.approx(area.areas(config)["vector"].kge * 1e3 * 0.798e-6 / 0.7)
    assert found["sram"] == pytest.approx(8 * 0.2277, rel=1e-3), "8 banks of 64 KiB and 16 bytes"
    assert 0.25 < found["sram"] * 1e6 / (8 * 512 * 1024) < 0.6, (
        "a bit of 45 nm has 0.30 um2, macros fill half"
    )
    bare = memory_macros.areas_mm2(config.replace(accumulator_storage="flip-flops"), known)
    assert found["accumulators"] < bare["accumulators"] / 5, "a memory instead of 131,072 flip-flops"


def test_a_memory_wider_than_any_macro_is_several_side_by_side() -> None:
    table = technology("45nm").buffers
    for figure in (table.access, table.leakage, table.area):
        assert figure(64 * 1024, 256) == pytest.approx(4 * figure(16 * 1024, 64))


def test_memories_by_hand() -> None:
    config = DlaConfig().replace(
        parallel="8x16", sram="96KiB", line_buffer="4KiB", weight_buffer="2KiB", accumulators=8
    )
    assert memory_macros.memory_kib(config) == {
        "sram": 96, "line_buffers": 8, "weight_buffer": 2, "accumulators": 16 * 2 * 8 * 4 / 1024,
    }  # fmt: skip
    unlimited = config.replace(line_buffer="unlimited", weight_buffer="unlimited", accumulators="unlimited")
    assert sum(memory_macros.memory_kib(unlimited).values()) == 96


def test_the_accumulators_of_a_preset_are_those_that_its_file_states() -> None:
    """ethos-u55-256: half of 32 KiB of int32, double-buffered, for 4 pixels at a time."""
    assert memory_macros.memory_kib(preset("ethos-u55-256"))["accumulators"] == 32


def test_a_scaled_technology_says_how(tmp_path: Any) -> None:
    """Factors apply to what the base has, not to what the file itself states."""
    file = tmp_path / "own.toml"
    file.write_text(
        'base = "45nm"\n[scaling.logic_energy]\nvalue = 0.5\nuncertainty = 1.2\nsource = "ours"\n'
        "[constants]\nelement_pj = 0.7\n"
    )
    own, base = technology(str(file)), technology("45nm")
    assert own.value("mac_pj") == pytest.approx(0.15)
    assert own.constants["mac_pj"].uncertainty == pytest.approx(1.3), "0.5 and 1.2, independent"
    assert own.constants["mac_pj"].source == f"{base.constants['mac_pj'].source}; times 0.5: ours"
    assert own.value("element_pj") == 0.7
    assert repr(own.sram) == repr(base.sram)
