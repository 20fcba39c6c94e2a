"""examples/: each program leaves the state that the file beside it says, on both engines.

The numbers in the `.expected` files follow from the comments beside them, not from a run.
"""

import itertools
import re
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from dlasim import api
from dlasim.errors import RunError
from dlasim.isa import codec
from dlasim.isa.assembly import assemble
from dlasim.isa.instructions import BY_MNEMONIC
from dlasim.isa.program import Program
from dlasim.isa.registers import BY_NAME
from dlasim.sim.execution.executor import make_executor
from dlasim.sim.execution.runner import Simulation, config_of
from dlasim.sim.races import check_program

FOLDER = Path(__file__).parents[2] / "examples"
NAMES = sorted(path.stem for path in FOLDER.glob("*.s"))
_ENTRY = re.compile(r"^(input|output|sram|register|race)(?: (\w+))? =(.*)$")


@dataclass
class Expected:
    """What a `.expected` file says."""

    inputs: dict[str, list[int]] = field(default_factory=dict)
    outputs: dict[str, list[int]] = field(default_factory=dict)
    sram: dict[int, list[int]] = field(default_factory=dict)
    registers: dict[str, int] = field(default_factory=dict)
    races: list[str] = field(default_factory=list)


def read_expected(name: str) -> Expected:
    """`kind name = numbers`, numbers over as many lines as they need; `;` begins a comment."""
    entries: list[tuple[str, str, str]] = []
    for line in (FOLDER / f"{name}.expected").read_text().splitlines():
        line = line.split(";")[0].rstrip()
        match = _ENTRY.match(line)
        if match:
            entries.append((match[1], match[2] or "", match[3].strip()))
        elif line:
            kind, key, text = entries[-1]
            entries[-1] = kind, key, f"{text} {line.strip()}"
    expected = Expected()
    for kind, key, text in entries:
        if kind == "race":
            expected.races.append(text)
            continue
        numbers = [int(number) for number in text.split()]
        if kind == "register":
            (expected.registers[key],) = numbers
        elif kind == "sram":
            expected.sram[int(key, 0)] = numbers
        else:
            (expected.inputs if kind == "input" else expected.outputs)[key] = numbers
    return expected


def load(name: str) -> Program:
    return assemble((FOLDER / f"{name}.s").read_text(), f"{name}.s")


@pytest.mark.parametrize("engine", ["fast", "reference"])
@pytest.mark.parametrize("name", NAMES)
def test_leaves_the_expected_state(name: str, engine: str) -> None:
    program, expected = load(name), read_expected(name)
    assert list(expected.inputs) == [tensor.name for tensor in program.inputs]
    assert list(expected.outputs) == [tensor.name for tensor in program.outputs]
    inputs = [np.array(expected.inputs[t.name], t.type.name).reshape(t.shape) for t in program.inputs]
    simulation = Simulation(program, config_of(program), make_executor(engine))
    inference = simulation.run(inputs)
    for tensor, output in zip(program.outputs, inference.outputs, strict=True):
        assert output.ravel().tolist() == expected.outputs[tensor.name]
    sram = simulation.dla.sram.view(np.int8)
    for address, values in expected.sram.items():
        assert sram[address : address + len(values)].tolist() == values
    for register, value in expected.registers.items():
        assert simulation.dla.load(BY_NAME[register].address, 4) == value, register
    assert expected.sram
    assert expected.registers


@pytest.mark.parametrize("name", NAMES)
def test_races_are_those_expected(name: str) -> None:
    found = check_program(load(name))
    assert [f"{race.wait} before word {race.later.word}" for race in found.races] == read_expected(name).races
    assert not found.uninitialised


def test_the_race_is_refused_and_mended_as_proposed(tmp_path: Path) -> None:
    from dlasim.isa.container import write

    (tmp_path / "race.bin").write_bytes(write(load("race")))
    with pytest.raises(RunError, match="insert `WAIT vector, 0` before word"):
        api.run(tmp_path / "race.bin")
    api.run(tmp_path / "race.bin", check_races=False)
    text = (FOLDER / "race.s").read_text()
    mended = text.replace("    ; `WAIT vector, 0` is missing here.", "    WAIT vector, 0")
    assert mended != text
    assert check_program(assemble(mended)).is_clean


@pytest.mark.parametrize("name", [name for name in NAMES if name != "race"])
def test_every_wait_is_necessary(name: str) -> None:
    program = load(name)
    waits = np.flatnonzero(codec.decode_opcodes(program.commands) == BY_MNEMONIC["WAIT"].opcode)
    assert len(waits)
    for word in waits:
        program = load(name)
        program.commands[word] = codec.encode("NOP")
        assert check_program(program).races, f"without word {word} nothing is reported"


def test_double_buffering_hides_its_transfers() -> None:
    """MAC goes from tile to tile without a gap; waiting for everything each time costs the transfers."""
    text = (FOLDER / "double_buffering.s").read_text()
    careful = re.sub(
        r"^    OP_(CONV|DMA_READ|DMA_WRITE).*$",
        lambda match: f"{match[0]}\n    WAIT dma_in, 0\n    WAIT mac, 0\n    WAIT dma_out, 0",
        text,
        flags=re.MULTILINE,
    )
    clever, slow = (_spans(assemble(source)) for source in (text, careful))
    assert all(end == start for (_, end), (start, _) in itertools.pairwise(clever))
    assert all(end < start for (_, end), (start, _) in itertools.pairwise(slow))


def _spans(program: Program) -> list[tuple[int, int]]:
    """Start and end of each MAC operation."""
    (run,) = Simulation(program, config_of(program), None).run().runs
    opcodes = run.plan.stream.opcodes[run.plan.stream.positions]
    mac = opcodes == BY_MNEMONIC["OP_CONV"].opcode
    timeline = run.plan.timeline
    return list(zip(timeline.start[mac].tolist(), timeline.end[mac].tolist(), strict=True))
