"""Limits, defaults and sizes in sentences of pages are the constants of the product and of the tests."""

from __future__ import annotations

import importlib
import math
import re
import tomllib
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from dlasim.checking import onnx_comparison
from dlasim.cli.points import SHOWN_POINTS
from dlasim.compiler_shim.onnx import onnx_real
from dlasim.compiler_shim.operators import reduction
from dlasim.compiler_shim.planning import passes, worse_machines
from dlasim.compiler_shim.topologies import build_topology
from dlasim.compiler_shim.tosa import tosa_pairs
from dlasim.isa.assembly import assembler, macros, program_builder, source
from dlasim.sim.arithmetic import float_steps
from dlasim.sim.arithmetic.interpolation import SIGMOID_TABLE
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.configuration.sizes import KIB, MIB
from dlasim.sim.physical.technology import technology
from dlasim.sim.races import checker
from dlasim.sim.timing.cost import SUM_CYCLES
from dlasim.sim.timing.formulas import PORT_LATENCY
from dlasim.sweeps.charts import layers, stacked, style
from dlasim.sweeps.page import buffers, spans
from dlasim.sweeps.page import sweep as sweep_page
from dlasim.sweeps.results.sweep_tables import REFRESH_SECONDS
from dlasim.sweeps.search.machine_search import BATCH, SearchOrder
from dlasim.vp.devices import dla_device, exit_device
from dlasim.vp.riscv import block_records
from dlasim.vp.system import board, liveness
from tests.compiler import test_assumed_int8, test_constants_bound
from tests.docs import test_planner
from tests.docs.test_stated_figures import page
from tests.races import test_streams
from tests.rtl import limits
from tests.sim_timing import test_formulas
from tests.tosa import test_conformance
from tests.vp.test_encodings import is_legal_narrow

ROOT = Path(__file__).parents[2]
DEFAULT, NANGATE = DlaConfig(), technology("45nm")
LEAST_WIDTH, MOST_WIDTH = style._WIDTHS
FEW_PES, MANY_PES = test_formulas.PUBLISHED[64], test_formulas.PUBLISHED[128]
NARROW = [half for half in range(1 << 16) if half & 3 != 3]


def weights_of(name: str) -> list[int]:
    """How many weights each convolution and fully connected layer of a built-in network has."""
    graph = build_topology(name)
    return [
        graph.tensors[operator.inputs[1]].elements
        for operator in graph.operators
        if operator.kind in ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED")
    ]


STATED = {
    "sweeps.md": (
        f"or the {SHOWN_POINTS} with the fewest cycles",
        f"(`--evaluations`, {SearchOrder().evaluations:,} by default)",
        f"machines are proposed in batches of {BATCH},",
        f"writes such a table every {REFRESH_SECONDS:.0f} s",
        f"with more than {layers.MAX_LAYERS} layers",
        f"At most {stacked.MAX_IN_PANEL} bars fit a panel and {stacked.MAX_BARS} a chart",
        f"`width` is {LEAST_WIDTH:.0f}in to {MOST_WIDTH:.0f}in",
    ),
    "how-to/explore-a-run.md": (
        f"at most {sweep_page.MAX_POINTS:,} points",
        f"at most {spans.MAX_SPANS:,} spans",
        f"more than {buffers.MAX_OPERATIONS:,} operations",
    ),
    "planner.md": (
        f"at least {worse_machines._DEEP} cycles to fill and to drain, and a DMA latency of at least "
        f"{worse_machines._FAR}",
        f"a size takes {100 * passes.LESS_SRAM_LOSS:.0f} % more than the fastest",
        f"Plans of more than {passes.MAX_TASKS:,} tiles are not tried",
        f"at most {100 * passes.LESS_SRAM_LOSS:.0f} % longer than the fastest |",
        f"{passes.MIN_KINDS} kinds or more, {passes.KINDS_LAYERS} layers |",
        f"at most {100 * (test_planner.MOST - 1):.0f} % more cycles than with "
        f"{test_planner.ENOUGH // MIB} MiB",
        f"all orders of loads of {test_constants_bound.CASES} small networks",
        f"MobileNetV2 ends with {weights_of('mobilenet_v2')[-1] / MIB:.1f} MiB of weights of `logits`",
    ),
    "races.md": (
        f"stops after {checker.LIMIT} findings of each kind",
        f"holds streams of {test_streams.OPERATIONS:,} operations that wait for nothing to "
        f"{test_streams.SECONDS} s",
    ),
    "assembly.md": (
        f"at most the first {source.MAX_SHOWN_ERRORS}.",
        f"may nest {macros.MAX_DEPTH} deep and expand to {macros.MAX_EXPANDED_LINES:,} lines with "
        f"{macros.MAX_EXPANDED_CHARACTERS:,} characters in total",
        f"up to 2^{math.log2(assembler.MAX_TEXT_CHARACTERS):.0f} characters, constants up to "
        f"{program_builder.MAX_CONSTANT_BYTES // MIB} MiB",
    ),
    "how-to/get-an-int8-network.md": (
        "For a ResNet, a ShuffleNet and a vision transformer the cycles are within "
        f"{100 * test_assumed_int8.NEAR:.0f} % of those",
    ),
    "how-to/weights-in-flash.md": (f"Each of the {sum(weights_of('autoencoder')):,} weights is used once",),
    "numerics.md": (
        f"more than {tosa_pairs._MOST_WRONG} of the 65,536 pairs of bytes differ",
        f"at most {100 * onnx_comparison.MAX_SHARE:.1f} % of elements differ, averages and SOFTMAX aside, "
        "and the",
        f"groups of up to {reduction._LONGEST_ROW:,} elements",
        f"tosa-tools generates for {len(test_conformance.OPERATORS.split('|'))} operators",
    ),
    "timing-model.md": (
        f"take {FEW_PES[1]} million cycles output parallel and {FEW_PES[0]} input parallel with 64 PEs, "
        f"{MANY_PES[1]} and {MANY_PES[0]} with 128",
        f"a **port latency** of {PORT_LATENCY} cycles",
        f"pass {SUM_CYCLES} cycles more of the pipeline",
        f"for `issue_cycles` each ({DEFAULT.issue_cycles}; 0:",
        f"takes `check_cycles` ({DEFAULT.check_cycles}) more",
        f"fill ({DEFAULT.mac_fill}) is the pipeline up to the first product, drain ({DEFAULT.mac_drain})",
        f"`accumulators` ({DEFAULT.accumulators}).",
        f"The latency ({DEFAULT.dma_latency}) passes once",
        f"`sram_ports` ports ({DEFAULT.sram_ports}), each `sram_bandwidth` bytes wide "
        f"({DEFAULT.sram_bandwidth}), and `sram_banks` banks ({DEFAULT.sram_banks})",
    ),
    "virtual-prototype.md": (
        f"of the {len(NARROW):,} encodings of 16 bits, "
        f"{sum(not is_legal_narrow(half) for half in NARROW):,} ",
        f"at the same instruction {board._LOCKUP_REPEATS} times in a row",
        f"the last {block_records.RING_BLOCKS} basic blocks",
        f"It keeps the last {block_records.RING_BLOCKS} blocks",
        f"ends after {liveness.STUCK_AFTER_SECONDS:.0f} seconds",
        f"repeats at most {liveness._MAX_INSTRUCTIONS} instructions",
        f"the first {exit_device.MAX_MARKS:,} marks and the first {dla_device.MAX_RUNS:,} streams",
    ),
    "firmware.md": (f"a table of up to {float_steps.MAX_CELLS // KIB} KiB with the results",),
    "area.md": (
        f"`gate_um2` ({NANGATE.value('gate_um2')} µm² at 45 nm), divided by `utilization`: cells fill "
        f"{100 * NANGATE.value('utilization'):.0f} % of the",
        f"takes {DEFAULT.check_cycles} cycles (`check_cycles`) to issue",
    ),
    "rtl.md": (
        f"are within {100 * limits.NEAR:.0f} % or {limits.FEW} cycles of the",
        f"this costs: {PORT_LATENCY} cycles before the first step",
        f"are 16 bytes for each of {DEFAULT.lanes[1]} lanes, where all ports together carry "
        f"{DEFAULT.sram_ports * int(DEFAULT.sram_bandwidth)} bytes",
    ),
}


@pytest.mark.parametrize("name", STATED)
def test_a_page_states_the_products_limits(name: str) -> None:
    text = page(name)
    assert [sentence for sentence in STATED[name] if sentence not in text] == []


def test_the_default_space_has_two_billion_machines() -> None:
    text = files("dlasim.sweeps").joinpath("default_space.toml").read_text(encoding="utf-8")
    machines = math.prod(map(len, tomllib.loads(text).values()))
    assert round(machines / 1e9) == 2
    assert "clock, 2 · 10⁹ machines" in page("sweeps.md")


def test_the_board_is_as_fast_as_a_benchmark_demands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    demands = importlib.import_module("prototype")
    text = page("virtual-prototype.md")
    assert (
        f"takes more than {demands.EMULATION_SECONDS} s or `dlasim run --host riscv` more than "
        f"{demands.PROCESS_SECONDS} s"
    ) in text
    assert (
        f"takes more than {demands.FIRST_RUN_SECONDS} s of CPU, or {1000 * demands.READY_SECONDS:.0f} ms "
        f"without its imports, or later ones more than {1000 * demands.RUN_SECONDS:.0f} ms"
    ) in text
    estimates = importlib.import_module("cpu_estimate")
    share = f"is within {100 * estimates.MAX_SINGLE_ERROR:.0f} %"
    assert f"Every call that the benchmark makes {share}" in page("timing-model.md")


def test_the_error_function_is_within_the_stated_distance() -> None:
    """Of Python's, in float64; float32 adds its last bits."""
    x = np.linspace(0, 6, 10_001)
    part = 1 / (x * onnx_real._ERF_SCALE + 1)
    found = 1 - sum(f * part ** (n + 1) for n, f in enumerate(onnx_real._ERF)) * np.exp(-x * x)
    distance = np.abs(found - np.array([math.erf(value) for value in x.tolist()])).max()
    (stated,) = re.findall(r"erf by a polynomial that is within (\S+),", page("numerics.md"))
    assert float(stated) / 2 < distance < float(stated)


def test_entries_of_the_sigmoid_that_are_a_step_above() -> None:
    entries = np.array(SIGMOID_TABLE) & 0xFFFF
    above = entries - np.rint(65536 / (1 + np.exp(-np.arange(len(entries)) / 24)))
    assert set(above.tolist()) == {0, 1}
    assert f"{int(above.sum())} of TensorFlow's entries are one step above" in page("numerics.md")


def test_vela_reads_the_constants_of_the_autoencoder_in_as_many_cycles(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    cycles = importlib.import_module("compared.ethos_u55").VELA_FLASH
    assert f"Vela computes {cycles:,} cycles" in page("how-to/weights-in-flash.md")


def test_factors_between_technologies() -> None:
    """The rows of the table have the values and uncertainties of the files."""
    text = page("cost-model.md")
    rows = {
        "energy of logic": ("logic_energy",),
        "area of logic": ("logic_area",),
        "leakage of a gate": ("logic_leakage",),
        "energy and leakage of macros": ("memory_energy", "memory_leakage"),
        "area of macros": ("memory_area",),
    }
    scaling = {
        name: tomllib.loads(
            files("dlasim.sim.physical").joinpath(f"technologies/{name}.toml").read_text(encoding="utf-8")
        )["scaling"]
        for name in ("28nm", "22nm")
    }
    for title, names in rows.items():
        cells = (
            ", ".join(f"{each[name]['value']} ± {100 * each[name]['uncertainty']:.0f} %" for name in names)
            for each in scaling.values()
        )
        assert f"| {title} | {' | '.join(cells)} |" in text
    assert "energy would be 0.42 and 0.26." in text
    for each, bare in zip(scaling.values(), ("0.42", "0.26"), strict=True):
        assert each["logic_energy"]["source"].endswith(f"V^2 and length alone give {bare}")
