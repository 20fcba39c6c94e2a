"""Where lowering says that SRAM is sufficient, more of it changes no figure but those of the SRAM itself."""

import numpy as np
import pytest

from dlasim.compiler_shim.compile import load_model, lower_for
from dlasim.compiler_shim.network.graph import Graph, Operator
from dlasim.compiler_shim.options import CompileOptions
from dlasim.compiler_shim.tflite.writer import write_tflite
from dlasim.compiler_shim.topologies import build_topology
from dlasim.errors import InputError
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.configuration.sizes import MIB
from dlasim.sim.execution.runner import Simulation
from dlasim.sim.reports.figure_parts import ENERGY_COMPONENTS
from dlasim.sim.reports.report import report
from dlasim.sweeps.evaluation.evaluate import layer_rows, row_figures
from tests.compiler.cases import random_case, striped_case, write_model
from tests.tflite.maker import Maker


def figures(network, config, options):
    """The sufficient amount, and a row of a sweep with its layers. Left out is what changes with the size of
    the SRAM: its own area and energy, and those of the logic, where addresses have more bits."""
    lowered = lower_for(network, config, options, with_constants=False)
    inference = Simulation(lowered.program, config, None).run()
    run_report = report(lowered.program, config, inference)
    elsewhere = {
        part: run_report["energy_nj"][part]
        for part in ENERGY_COMPONENTS
        if part not in ("sram", "sram_leakage", "clock", "logic_leakage")
    }
    for part in (run_report, *run_report["layers"]):
        part["energy_nj"] = {} if isinstance(part["energy_nj"], dict) else 0
    run_report["sram_kib"] = run_report["area_kge"] = run_report["area_mm2"] = {}
    return lowered.sufficient_sram_bytes, row_figures(run_report), layer_rows(run_report), elsewhere


def check(network, config, options, rng) -> bool:
    """From the sufficient amount on the row is that of the largest machine. False if no amount is named."""
    sufficient, *most = figures(network, config.replace(sram_bytes=64 * MIB), options)
    if sufficient is None:
        return False
    for size in (sufficient, sufficient + int(rng.integers(1, 64)), int(sufficient * rng.uniform(1, 4))):
        _, *row = figures(network, config.replace(sram_bytes=max(size, 16)), options)
        assert row == most, f"{size} bytes of SRAM"
    return True


# Striped cases get all the SRAM that they need here, so they add only another form of network.
@pytest.mark.parametrize(("make_case", "cases"), [(random_case, 40), (striped_case, 16)])
def test_more_than_sufficient_sram_changes_nothing(make_case, cases, tmp_path):
    held = 0
    for seed in range(cases):
        case = make_case(seed)
        network = load_model(write_model(case, tmp_path))
        config, options = DlaConfig().replace(**case.machine), CompileOptions(**case.options)
        held += check(network, config, options, np.random.default_rng(seed))
    assert held >= cases // 2


def built_in(name, folder):
    """A built-in network, partitioned."""
    path = folder / f"{name}.tflite"
    path.write_bytes(write_tflite(build_topology(name)))
    return load_model(path)


@pytest.mark.parametrize("name", ["resnet8", "mobilenet_v1", "ds_cnn"])
def test_built_in_networks(name, tmp_path):
    network, rng = built_in(name, tmp_path), np.random.default_rng(0)
    assert check(network, DlaConfig(), CompileOptions(), rng) or name == "mobilenet_v1"
    assert check(network, DlaConfig(), CompileOptions(fusion="none", tiling="output-channel"), rng)


def resident_only() -> Graph:
    """A network whose largest step, the sum, needs no buffers beside the tensors that stay in SRAM."""
    make, operators = Maker(0), []
    quantization, image = make.quantization(), (1, 16, 16, 8)
    window = {"padding": "SAME", "stride_h": 1, "stride_w": 1, "filter_height": 3, "filter_width": 3}

    def operator(kind, inputs, options, shape=image):
        result = make.tensor(kind, shape, quantization)
        location = f"operator {len(operators)}"
        operators.append(Operator(kind, tuple(inputs), (result,), options, location))
        return result

    source = make.input((1, 16, 16, 1), quantization)
    conv = operator("CONV_2D", [source, *make.weights((8, 1, 1, 1), 0, source)], {"padding": "SAME"})
    total = operator("ADD", [conv, operator("MAX_POOL_2D", [conv], window)], {})
    whole = {"padding": "VALID", "filter_height": 16, "filter_width": 16}
    pooled = operator("MAX_POOL_2D", [total], window)
    output = operator("AVERAGE_POOL_2D", [pooled], whole, (1, 1, 1, 8))
    return Graph("resident", tuple(make.tensors), tuple(operators), tuple(make.inputs), (output,))


def test_a_step_that_needs_no_buffers_needs_a_byte(tmp_path):
    path = tmp_path / "resident.tflite"
    path.write_bytes(write_tflite(resident_only()))
    assert check(load_model(path), DlaConfig(), CompileOptions(), np.random.default_rng(0))


def test_a_machine_short_of_sram_names_no_more_than_it_has(tmp_path):
    network = built_in("resnet8", tmp_path)
    sufficient, *most = figures(network, DlaConfig(sram_bytes=MIB), CompileOptions())
    assert sufficient is not None
    short = DlaConfig(sram_bytes=16 << 10)
    sufficient, *row = figures(network, short, CompileOptions())
    assert sufficient is None or sufficient <= short.sram_bytes
    assert row != most
    with pytest.raises(InputError):
        figures(network, DlaConfig(sram_bytes=16), CompileOptions(tiling="output-channel"))
