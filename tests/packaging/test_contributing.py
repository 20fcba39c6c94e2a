"""What CONTRIBUTING.md says of a term of a transfer's time and of a device, done in a copy of the tree."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.packaging.recipe import copied, rewrite, run

TERM = {
    "sim/configuration/machine_table.py": (
        "    dma_burst_overhead: int = row(0, ",
        '    dma_turnaround: int = row(0, "Cycles lost per run.", part="DMA", flag="--dma-turnaround")\n'
        "    dma_burst_overhead: int = row(0, ",
    ),
    "sim/timing/formulas.py": (
        "    step_cycles: int = 0\n\n\nclass UnitCosts",
        "    step_cycles: int = 0\n    turnaround: int = 0\n\n\nclass UnitCosts",
    ),
    "sim/timing/formulas.py, the formula": (
        "    return runs * ceil_div(run_bytes * bus.rate_cycles, bus.rate) if bus.rate else 0 * runs\n",
        "    beats = runs * ceil_div(run_bytes * bus.rate_cycles, bus.rate) if bus.rate else 0 * runs\n"
        "    return beats + runs * bus.turnaround\n",
    ),
    "sim/timing/cost.py": (
        "        decoding_cycles(config, rate),\n",
        "        decoding_cycles(config, rate), config.dma_turnaround,\n",
    ),
}
USE_TERM = """
import dlasim
from click.testing import CliRunner
from dlasim.cli import main
from generators import choices_module, parameters_page

fast, slow = (
    dlasim.run("mnist", timing_only=True, dma_turnaround=cycles, place="dla").cycles for cycles in (0, 500)
)
assert fast + 500 <= slow, (fast, slow)
rows = list(dlasim.sweep("mnist", dma_turnaround=[0, 500], place="dla", jobs=1))
assert [row["cycles_total"] for row in rows] == [fast, slow]
assert "--dma-turnaround" in CliRunner().invoke(main, ["run", "--help"]).output
assert "dma_turnaround: int" in choices_module.module()
assert "dma_turnaround" in parameters_page.page()
"""
DEVICE = {
    "vp/devices/memory_map.py": (
        "DEVICES = (EXIT, CLINT, UART, DLA)\n",
        'DICE = AddressRange("DICE", 0x1200_0000, PAGE_BYTES, "a number from 1 to 6")\n'
        "DEVICES = (EXIT, CLINT, UART, DLA, DICE)\n",
    ),
    "vp/system/board.py": (
        "            (self.clint, memory_map.CLINT),\n",
        "            (self.clint, memory_map.CLINT),\n            (Dice(), memory_map.DICE),\n",
    ),
    "vp/system/board.py, the class": (
        "from dlasim.vp.devices.clint import Clint\n",
        "from dlasim.vp.devices.clint import Clint\nfrom dlasim.vp.devices.dice import Dice\n",
    ),
    "../tools/generators/board_files.py": (
        '    "UART": uart.REGISTERS,\n',
        '    "UART": uart.REGISTERS,\n    "DICE": dice.REGISTERS,\n',
    ),
    "../tools/generators/board_files.py, the module": (
        "from dlasim.vp.devices import clint, exit_device,",
        "from dlasim.vp.devices import clint, dice, exit_device,",
    ),
}
DICE = """
from dlasim.vp.devices.device import Device
from dlasim.vp.devices.memory_map import DeviceRegister

REGISTERS = (DeviceRegister("PIPS", 0, 4, "what was thrown"),)


class Dice(Device):
    registers = REGISTERS

    def load(self, offset: int, size: int) -> int:
        return 4
"""
USE_DEVICE = """
from dlasim.vp.devices import memory_map
from dlasim.vp.system.board import Board
from generators import board_files

assert Board().bus.load(memory_map.DICE.base, 4) == 4
assert "DLASIM_DICE_PIPS (DLASIM_DICE_BASE + 0x0000u)" in board_files.c_header()
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return copied(tmp_path)


def change(tree: Path, steps: dict[str, tuple[str, str]]) -> None:
    """Do the steps: in each file, one text for another."""
    for step, (old, new) in steps.items():
        file = tree / "dlasim" / step.partition(",")[0]
        text = file.read_text(encoding="utf-8")
        assert text.count(old) == 1, step
        rewrite(file, text.replace(old, new))


def test_a_term_of_a_transfer_is_three_files_of_the_product(tree: Path) -> None:
    change(tree, TERM)
    run(tree, "-c", USE_TERM)


def test_a_device_is_four_files_of_python(tree: Path) -> None:
    change(tree, DEVICE)
    (tree / "dlasim/vp/devices/dice.py").write_text(DICE, encoding="utf-8")
    run(tree, "-c", USE_DEVICE)
