"""The RTL's page: how much its tests compare, and what they tolerate."""

from __future__ import annotations

import re
from pathlib import Path

from dlasim.sim.configuration.machine_files import preset, preset_names
from dlasim.sim.configuration.machine_table import PARAMETERS
from tests.rtl import test_faults, test_limits
from tests.rtl.machines import INT16_DRAWN, MACHINES, PIXELS, PIXELS_LIMITED
from tests.rtl.mutations import (
    BLOCK_MUTATIONS,
    BLOCK_PORT_MUTATIONS,
    BUS_MUTATIONS,
    INT16_MUTATIONS,
    LIMIT_MUTATIONS,
    MEMORY_MUTATIONS,
    MEMORY_PORT_MUTATIONS,
    MUTATIONS,
    ONE_PORT_MUTATIONS,
    PACE_MUTATIONS,
    PIXEL_BLOCK_MUTATIONS,
    PIXEL_MUTATIONS,
    PIXEL_ONE_PORT_MUTATIONS,
    PIXEL_PORT_MUTATIONS,
    PRODUCT_MUTATIONS,
)
from tests.rtl.test_streams import STREAMS

ROOT = Path(__file__).parents[2]
PAGE, MAKEFILE = ROOT / "docs" / "rtl.md", ROOT / "Makefile"
NUMBERS = {3: "three", 4: "four", 8: "eight", 9: "nine", 10: "ten", 11: "eleven"}


def test_the_page_says_what_is_compared() -> None:
    text = " ".join(PAGE.read_text(encoding="utf-8").split())
    machines = NUMBERS[len(MACHINES)]
    mistakes, in_int16 = len(MUTATIONS), len(INT16_MUTATIONS)
    in_limits = len(LIMIT_MUTATIONS + ONE_PORT_MUTATIONS)
    in_pixels = PIXEL_MUTATIONS + PIXEL_BLOCK_MUTATIONS + PIXEL_PORT_MUTATIONS + PIXEL_ONE_PORT_MUTATIONS
    ports, one_port = (test_limits.SMALL_OPERATIONS[name] for name in ("ports", "one port"))
    sentences = (
        f"builds and compares {machines} machines",
        f"random streams over {machines} machines",
        f"| {STREAMS} for each of {machines} machines in `make rtl` |",
        f"elements of int16 | {STREAMS} for each of {NUMBERS[len(INT16_DRAWN)]} machines drawn by chance |",
        f"| damaged streams | {test_faults.STREAMS} for each of two machines",
        f"| all, on each of the {machines} machines |",
        f"| networks | mnist and autoencoder on each of the {machines} machines",
        f"The {machines} machines are output parallel",
        f"| {mistakes}, {in_int16} in int16, {in_limits} in its limits, {len(PACE_MUTATIONS)} in what "
        f"paces the array, {len(BLOCK_MUTATIONS + BLOCK_PORT_MUTATIONS)} in whole blocks, "
        f"{len(in_pixels)} in several pixels, "
        f"{len(MEMORY_MUTATIONS + BUS_MUTATIONS + MEMORY_PORT_MUTATIONS)} in its memories, and "
        f"{len(PRODUCT_MUTATIONS)} in its multipliers (`make rtl-all`) |",
        f"| several pixels at once | {STREAMS} for each of {NUMBERS[len(PIXELS | PIXELS_LIMITED)]} machines",
        f"holds networks to {100 * test_limits.NETWORKS:.0f} %",
        f"allow their sum {100 * ports:.0f} % more cycles than the simulator says on `ports`, and "
        f"{100 * one_port:.0f} % on `one port`",
        f"In random streams it is {100 * test_limits.SAME_BYTES:.0f} % and more",
        f"are within {100 * test_limits.WORDS:.1f} % of the RTL's, those of random streams within "
        f"{100 * test_limits.SMALL_WORDS:.0f} % in the sum",
    )
    assert [sentence for sentence in sentences if sentence not in text] == []


def test_the_page_lists_each_file() -> None:
    listed = [name for line in _rows("| file | holds |") for name in re.findall(r"`(\w+\.sv)`", line)]
    assert sorted(listed) == sorted(path.name for path in (ROOT / "rtl").glob("*.sv"))


def _rows(head: str) -> list[str]:
    """The first cells of a table of the page."""
    rows = PAGE.read_text(encoding="utf-8").partition(head)[2].partition("\n\n")[0]
    return [row.split("|")[1] for row in rows.splitlines()[2:]]


def test_each_seeded_mistake_has_its_place() -> None:
    """Here, because the tests that seed them take an hour."""
    everything = (
        *MUTATIONS, *PRODUCT_MUTATIONS, *INT16_MUTATIONS, *LIMIT_MUTATIONS, *ONE_PORT_MUTATIONS,
        *PACE_MUTATIONS, *BLOCK_MUTATIONS, *BLOCK_PORT_MUTATIONS, *PIXEL_MUTATIONS,
        *PIXEL_BLOCK_MUTATIONS, *PIXEL_PORT_MUTATIONS, *PIXEL_ONE_PORT_MUTATIONS, *MEMORY_MUTATIONS,
        *BUS_MUTATIONS, *MEMORY_PORT_MUTATIONS,
    )  # fmt: skip
    texts = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "rtl").glob("*.sv")}
    assert [one.name for one in everything if texts[one.file].count(one.old) != 1] == []


def test_the_page_says_how_many_streams_a_target_runs() -> None:
    (recipe,) = re.findall(r"random_streams\.py --count \$\(or \$\(COUNT\),(\d+)\)", MAKEFILE.read_text())
    assert f"`make rtl-streams` runs {int(recipe):,} random streams" in PAGE.read_text(encoding="utf-8")


def test_the_page_names_the_networks_beyond_two_per_cent() -> None:
    text = " ".join(PAGE.read_text(encoding="utf-8").split())
    assert (
        "One of these twelve runs takes more than 2 % more cycles than the simulator says: mnist with one "
        "port of 8 bytes."
    ) in text
    assert set(test_limits.EXCEPTIONS) == {("mnist", "default, one port of 8")}


def test_the_page_has_what_presets_in_blocks_take_longer() -> None:
    rows = [
        f"| {network} | {' | '.join(f'{share:+.2f}'.replace('-', '−') for share in shares)} |"
        for network, shares in test_limits.IN_BLOCKS.items()
    ]
    assert "\n".join(rows) in PAGE.read_text(encoding="utf-8")


def test_the_page_says_why_presets_are_rejected() -> None:
    """The parameters whose limits a preset's values break."""
    found = {}
    for name in preset_names():
        machine = preset(name)
        limits = {
            parameter
            for parameter, row in PARAMETERS.items()
            if row.rtl_limit and not row.rtl_limit.allows(getattr(machine, parameter))
        }
        if limits:
            found[name] = limits
    pipelines = {"mac_fill", "mac_drain", "vector_fill", "vector_drain"}
    assert found == {"paper": pipelines | {"dma_bandwidth", "issue_cycles", "check_cycles"}}
    assert (
        "It supports all presets but `paper`, which has no bus, no pipelines and no cycles to issue or check"
    ) in " ".join(PAGE.read_text(encoding="utf-8").split())
