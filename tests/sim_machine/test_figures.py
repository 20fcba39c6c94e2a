"""The table of figures is the report, a sweep's row and the summary: nothing is in one of them alone."""

from collections.abc import Iterator
from typing import Any

import pytest

from dlasim.cli.summary import print_summary
from dlasim.isa.assembly import assemble
from dlasim.sim.execution.runner import Simulation, config_of
from dlasim.sim.reports.figures import LAYER_FIGURES, RUN_FIGURES, UNIT_FIGURES, Figure, cells, columns
from dlasim.sim.reports.report import report

# Two transfers at once on a shared bus, a narrow SRAM, full queues and a WAIT: every unit term is above 0.
PROGRAM = """
.program "all terms"
.config pes=16 parallel=output sram=64KiB arena=8KiB
.stream
.layer "conv", CONV_2D, CONV
    CFG DMA_IN_REGION, ARENA
    CFG DMA_IN_RUN_BYTES, 4096
    CFG DMA_OUT_REGION, ARENA
    CFG DMA_OUT_RUN_BYTES, 4096
    CFG DMA_OUT_SRAM_ADDR, 8192
    OP_DMA_READ
    OP_DMA_WRITE
    OP_DMA_READ
    OP_DMA_READ
    CFG OUT_CHANNELS, 16
    CFG OUT_SIZE, height=8, width=8
    CFG OUT_PIXEL_STRIDE, 16
    CFG OUT_ROW_STRIDE, 128
    CFG OUT_ADDR, 16384
    OP_FILL
    OP_MAT_MUL
    WAIT dma_in, 0
.endlayer
    HALT
"""
TEXT_FIGURES = {"schema", "program", "config", "outputs"}
OBJECTS = {"memories"}  # by names that are the user's


@pytest.fixture(scope="module")
def made() -> dict[str, Any]:
    program = assemble(PROGRAM)
    config = config_of(program).replace(
        dma_shared_bandwidth=8,
        dma_bandwidth=8,
        sram_bandwidth=1,
        mac_results=0.1,
        queue_depth=1,
    )
    return report(program, config, Simulation(program, config, None).run())


def leaves(value: Any, name: str = "") -> Iterator[str]:
    """The names of all that is no object."""
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from leaves(inner, f"{name}.{key}" if name else key)
    else:
        yield name


def test_every_figure_of_a_report_is_in_the_table_and_no_other(made: dict[str, Any]) -> None:
    named = {figure.name for figure in RUN_FIGURES if figure.name}
    board_only = {figure.name for figure in RUN_FIGURES if "only with --host riscv" in figure.text}
    objects = {"units", "cycles.by_kind"}
    found = {
        name
        for key, value in made.items()
        if key not in TEXT_FIGURES | OBJECTS
        for name in leaves(value, key)
    }
    assert found == named - board_only - objects - OBJECTS
    assert set(made["memories"]) == {"system"}
    assert set(made["memories"]["system"]) == {"read", "write"}
    for layer in made["layers"]:
        assert set(leaves(layer)) == {figure.name for figure in LAYER_FIGURES}
    for unit in made["units"].values():
        assert set(unit) == {figure.name for figure in UNIT_FIGURES}


@pytest.mark.parametrize("table", [RUN_FIGURES, LAYER_FIGURES, UNIT_FIGURES])
def test_no_name_or_column_occurs_twice(table: tuple[Figure, ...]) -> None:
    for names in ([figure.name for figure in table if figure.name], columns(table)):
        assert len(set(names)) == len(names)
    assert all(figure.text and figure.unit for figure in table)


def test_a_row_has_the_cell_that_its_column_names(made: dict[str, Any]) -> None:
    row = dict(zip(columns(RUN_FIGURES), cells(RUN_FIGURES, made), strict=True))
    assert row["cycles_total"] == made["cycles"]["total"]
    assert row["unit_dma_in_latency"] == made["units"]["DMA_IN"]["latency"]
    assert row["cycles_act"] == made["cycles"]["by_kind"]["ACT"]
    assert (row["layers_dla"], row["layers_cpu"], row["stack_peak_bytes"]) == (1, 0, None)
    nothing = {**made, "units": {}}
    assert dict(zip(columns(RUN_FIGURES), cells(RUN_FIGURES, nothing), strict=True))["unit_mac_work"] == 0


def test_the_summary_shows_what_the_table_labels(
    made: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    print_summary(made)
    text = capsys.readouterr().out
    shown = [f.label for f in (*RUN_FIGURES, *LAYER_FIGURES) if f.label]
    assert made["bound_cycles"] is None  # a program written by hand does not state its compulsory work
    shown.remove("bound")
    shown += [f.label for f in UNIT_FIGURES if any(unit[f.name] for unit in made["units"].values())]
    assert [label for label in shown if label not in text] == []
    assert [f.name for f in UNIT_FIGURES if f.label not in text] in ([], ["drain"])
