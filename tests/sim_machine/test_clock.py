"""The fastest clock: the slowest block of those that a machine has, by its technology."""

import csv

import pytest

from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.physical.clock import block_delays, max_clock_hz
from tests.tool_module import tool_module


def test_the_slowest_block_of_the_machine_counts() -> None:
    delays = block_delays()
    assert max_clock_hz(DlaConfig()) == round(1e9 / max(delays.values()))
    limited = "ports", "crossbar", "arrivals", "departures", "mac_words", "vector_words", "writers"
    free = [ns for name, ns in delays.items() if name not in limited]
    assert max_clock_hz(DlaConfig(sram_bandwidth=0)) == round(1e9 / max(free))


def test_elements_of_int16_have_longer_blocks() -> None:
    """A machine that has them is no faster."""
    delays, longer = block_delays(), block_delays("int16")
    assert set(longer) <= set(delays)
    slowest = max(*delays.values(), *longer.values())
    assert max_clock_hz(DlaConfig(int16=1)) == round(1e9 / slowest)


def test_several_pixels_have_longer_blocks() -> None:
    """One of them limits the clock, with elements of int16 theirs; nothing makes a machine faster."""
    delays, longer = block_delays(), block_delays("pixels")
    assert set(longer) <= set(delays)
    one, several = DlaConfig(), DlaConfig().replace(parallel="8x8x4")
    assert max_clock_hz(several) == round(1e9 / max(longer.values())) < max_clock_hz(one)
    both = max_clock_hz(several.replace(int16=1))
    assert both == min(max_clock_hz(several), max_clock_hz(one.replace(int16=1)))


def test_another_technology_is_as_much_faster_as_its_logic() -> None:
    """28 nm: 570 MHz where 45 nm reach 500."""
    ratio = max_clock_hz(DlaConfig(technology="28nm")) / max_clock_hz(DlaConfig())
    assert ratio == pytest.approx(570 / 500)


def test_every_module_is_in_a_block_that_is_timed() -> None:
    """But an array of bytes, and what only machines that decode have."""
    timing = tool_module("static_timing")
    timed = set().union(*(timing.parts(block) for block in timing.BLOCKS.values()))
    modules = {path.stem for path in timing.synthesis.RTL.glob("*.sv")}
    assert modules - timed == {"dla_sram", "dla_decoding", "dla_weight_decoder"}


def test_points_and_titles_are_of_blocks() -> None:
    timing = tool_module("static_timing")
    with timing.POINTS.open(newline="") as file:
        points = [(row["block"], row["parameters"]) for row in csv.DictReader(file)]
    wanted = [
        (name, timing.parameters_text(parameters))
        for name, block in timing.BLOCKS.items()
        for parameters in block.points
    ]
    assert set(points) <= set(wanted)
    assert len(points) == len(set(points))
    assert set(tool_module("generators.timing_table").TITLES) == set(timing.BLOCKS)


def test_a_digest_of_sources_takes_no_notice_of_comments(monkeypatch: pytest.MonkeyPatch) -> None:
    timing = tool_module("static_timing")
    texts = {"dla_a": "module dla_a; dla_b #(.W(1)) part (); endmodule", "dla_b": "module dla_b; endmodule"}
    monkeypatch.setitem(timing.BLOCKS, "a", timing.RtlBlock("dla_a"))
    digests = []
    for end in ("", " // a comment", " logic wire_;"):
        monkeypatch.setattr(
            timing, "_text", lambda module, end=end: timing.without_comments(texts[module] + end)
        )
        timing.sources.cache_clear()
        digests.append(timing.sources("a"))
    timing.sources.cache_clear()
    assert digests[0] == digests[1] != digests[2]


def test_outputs_that_are_inputs_are_dropped() -> None:
    ports = {
        "clock": {"direction": "input", "bits": [2]},
        "word": {"direction": "input", "bits": [3, 4]},
        "pin": {"direction": "output", "bits": [4, "0", 3]},
        "sum": {"direction": "output", "bits": [3, 5]},
    }
    tool_module("static_timing").drop_ways_through({"ports": ports})
    assert list(ports) == ["clock", "word", "sum"]
