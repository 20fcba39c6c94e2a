"""Networks: what the compiler writes runs on the RTL in the simulator's cycles, with its bytes."""

from pathlib import Path

import pytest

from tests.rtl.machines import LARGE, MACHINES, machine
from tests.rtl.networks import lowered, run_on_both

BUILT_IN = {
    "mnist": tuple(MACHINES),
    "autoencoder": tuple(MACHINES),
    "ds_cnn": ("grid", "output"),
    "resnet8": ("grid",),
}
REAL = ("aww", "resnet", "toycar", "vww")  # MLPerf Tiny


def built_in(name: str, folder: Path, *options: str) -> Path:
    """The file of a built-in network."""
    from click.testing import CliRunner

    from dlasim.cli import main

    path = folder / f"{name}.tflite"
    done = CliRunner().invoke(main, ["model", name, *options, "-o", str(path)])
    assert done.exit_code == 0, done.output
    return path


def assert_equal(model: Path, name: str) -> None:
    """The model's streams on a machine."""
    config = machine(name)
    outcome = run_on_both(lowered(model, config), config)
    assert outcome.comparisons
    assert not outcome.differences
    assert outcome.rtl_cycles == outcome.simulator_cycles


@pytest.mark.parametrize(
    ("network", "name"), [(network, name) for network, names in BUILT_IN.items() for name in names]
)
def test_built_in_networks(network: str, name: str, tmp_path: Path) -> None:
    assert_equal(built_in(network, tmp_path), name)


@pytest.mark.slow
@pytest.mark.parametrize("name", LARGE)
@pytest.mark.parametrize("network", ["ds_cnn", "autoencoder", "resnet8"])
def test_built_in_networks_on_large_machines(network: str, name: str, tmp_path: Path) -> None:
    assert_equal(built_in(network, tmp_path), name)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["output", "grid", "shared", *LARGE])
@pytest.mark.parametrize("network", REAL)
def test_real_networks(network: str, name: str, model_zoo: Path) -> None:
    assert_equal(model_zoo / "mlperf_tiny" / f"{network}.tflite", name)
