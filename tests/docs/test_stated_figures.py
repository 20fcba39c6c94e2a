"""Figures in sentences of pages: those that tests hold, and those that are quick to find."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from dlasim.compiler_shim.tosa.tosa_values import Rescaling, nearest_factors
from dlasim.isa.host_op_rows import BinaryFunction, UnaryFunction
from dlasim.sim.host_time import host_estimate
from dlasim.sim.host_time.host_estimate import RATES
from dlasim.sim.physical.supply import supply_for
from dlasim.sim.physical.technology import technology
from tests.compiler import test_estimates
from tests.host import test_normalization
from tests.onnx import float_networks, test_networks, test_operators_in_float32
from tests.tosa import test_tosa_operators, tosa_networks

DOCS = Path(__file__).parents[2] / "docs"
FACTORS = 200


def page(name: str) -> str:
    """A page's text, without its line breaks."""
    return " ".join((DOCS / name).read_text(encoding="utf-8").split())


def numbers_of(name: str, pattern: str) -> list[tuple[str, ...]]:
    found = re.findall(pattern, (DOCS / name).read_text(encoding="utf-8"), re.MULTILINE)
    assert found
    return found


STATED = {
    "timing-model.md": (
        f"between {test_estimates.MIN_RATIO} and {test_estimates.MAX_RATIO} times the machine's cycles, and "
        f"typically within {round(100 * (test_estimates.TYPICAL - 1))} %",
    ),
    "numerics.md": (
        f"at most {100 * test_networks.MAX_SHARE:.2f} % of the elements may differ",
        f"averages and SOFTMAX aside, and {100 * test_networks.MAX_SHARE_OF_ALL:.1f} % of all",
        f"in most of the {len(float_networks.NETWORKS) * len(test_networks.FORMS)} cases",
        f"up to {100 * test_operators_in_float32.MAX_SHARE:.1f} % of elements differ, by one step",
        f"lie within {test_normalization.NEAR_HALF:.4f} steps of the middle",
        f"{len(test_tosa_operators.CASES)} cases of single operators",
        f"of the {2 * len(test_tosa_operators.CASES)} single operators",
    ),
}


@pytest.mark.parametrize("name", STATED)
def test_a_page_states_what_tests_hold(name: str) -> None:
    text = page(name)
    assert [sentence for sentence in STATED[name] if sentence not in text] == []


def test_the_networks_of_tosa_are_ten() -> None:
    assert "and ten networks, each with DOUBLE_ROUND" in page("numerics.md")
    assert len(tosa_networks.NETWORKS) == 10


def test_the_page_has_the_rates_of_every_host_operator() -> None:
    pattern = r"^\| ([A-Z0-9_, ]+) \|" + 4 * r" ?([\d.]*) \|" + "( .*)? ?\\|$"
    rows = {
        name: (*map(float, (cell or "0" for cell in cells)), more)
        for names, *cells, more in numbers_of("timing-model.md", pattern)
        for name in names.split(", ")
    }
    for name, rates in RATES.items():
        call, *others, _ = rows[name]
        assert call == rates.call
        expected = (rates.mac, rates.read, rates.written)
        assert all(value in (0, shown) for shown, value in zip(others, expected, strict=True)), name
    text = page("timing-model.md")
    for function, rate in host_estimate._FLOAT_UNARY_RATES.items():
        assert f"{UnaryFunction(function).name} {rate:g}" in text.partition("| UNARY of float32 |")[2]
    for function, rate in host_estimate._FLOAT_RATES.items():
        assert f"{BinaryFunction(function).name} {rate:g}" in text.partition("| BINARY of float32 |")[2]


def test_estimates_on_the_cpu_are_within_four_percent() -> None:
    """Of the cycles that the page shows, which a test of its commands compares."""
    rows = numbers_of("timing-model.md", r"^(\S+) +512K 64 O +(none|riscv) +([\d,]+) ")
    cycles = {(network, host): int(count.replace(",", "")) for network, host, count in rows}
    ratios = [cycles[network, "none"] / cycles[network, "riscv"] for network in {name for name, _ in cycles}]
    assert len(ratios) == 6
    assert 0.03 < max(abs(ratio - 1) for ratio in ratios) < 0.04
    assert "estimates (`none`) are within 4 % of the board's counts" in page("timing-model.md")


def test_how_far_the_fit_of_memories_is_off() -> None:
    """As `tools/memory_macros.py` wrote it beside the tables."""
    tables = files("dlasim.sim.physical").joinpath("technologies/45nm.toml").read_text(encoding="utf-8")
    energy, leakage, area, *two_ports = re.findall(r"off, (\d+)% in the mean", tables)
    energy_2, leakage_2, area_2 = two_ports
    assert (
        f"the fit is {area} % (two ports {area_2} %) off the points' area, {energy} % ({energy_2} %) off the "
        f"energy of an access and {leakage} % ({leakage_2} %) off leakage"
    ) in page("area.md")


def test_supplies_and_their_clocks() -> None:
    rows = numbers_of("cost-model.md", r"^\| `(\w+)` \|" + 3 * r" ([\d.]+) V, (\d+) MHz \|" + "$")
    assert len(rows) == 3
    for name, *cells in rows:
        known, clocks = technology(name), [int(cell) for cell in cells[1::2]]
        limits = [known.value(f"{limit}_supply_v") for limit in ("least", "most")]
        assert [float(cells[0]), float(cells[4])] == limits
        for volts, clock in zip(map(float, cells[::2]), clocks, strict=True):
            assert supply_for(known, clock).volts == pytest.approx(volts, abs=0.002)
        assert supply_for(known, clocks[0] + 2).volts > limits[0]
        assert supply_for(known, clocks[-1] - 2).volts < limits[1]


def test_rescalings_that_round_once_exactly() -> None:
    """Over all sums that do not exceed the limits of int8."""
    rng = np.random.default_rng(0)
    rows = numbers_of("numerics.md", r"^\| 2\^-(\d+) to 2\^-(\d+) \| (\d+) % \|$")
    assert len(rows) == 5
    found = []
    for least, most, _ in rows:
        exact = 0
        for factor in 2 ** rng.uniform(-int(least), -int(most), FACTORS):
            mantissa, exponent = np.frexp(factor)
            multiplier, shift = np.array([round(mantissa * 2**31)]), np.array([31 - exponent])
            rescaling = Rescaling(multiplier, shift, False, 0, int(rng.integers(-128, 128)), "int8")
            limit = np.array([int(300 / factor)])
            exact += nearest_factors(rescaling, -limit, limit, rounds_once=True)[1]
        found.append((least, most, f"{100 * exact / FACTORS:.0f}"))
    assert found == rows
