"""The programs of examples/, assembled for each of the machines."""

import re
from pathlib import Path

import pytest

from dlasim.isa.assembly import assemble
from dlasim.isa.program import Program
from dlasim.sim.configuration.config import DlaConfig
from tests.rtl.machines import MACHINES, machine
from tests.rtl.networks import run_on_both

FOLDER = Path(__file__).parents[2] / "examples"
NAMES = sorted(path.stem for path in FOLDER.glob("*.s"))
_MENDED = ("    ; `WAIT vector, 0` is missing here.", "    WAIT vector, 0")


def example(name: str, config: DlaConfig) -> Program:
    """An example for this machine; a race has no one result, so the one with a race is mended."""
    text = (FOLDER / f"{name}.s").read_text()
    assert (_MENDED[0] in text) == (name == "race")
    text = text.replace(*_MENDED)
    parallel = f"grid={config.lanes[0]}x{config.lanes[1]}"
    text, changed = re.subn(
        r"^\.config .*$", f".config {parallel} sram={config.sram_bytes}", text, flags=re.M
    )
    assert changed == 1
    return assemble(text, name)


@pytest.mark.parametrize("name", MACHINES)
@pytest.mark.parametrize("program", NAMES)
def test_equal_to_the_simulator(program: str, name: str) -> None:
    config = machine(name)
    outcome = run_on_both(example(program, config), config)
    assert outcome.comparisons
    assert not outcome.differences
