"""Outputs that a program never writes are told, on either host, with figures counted byte by byte."""

from random import Random

import numpy as np
import pytest

import dlasim
from dlasim.isa.assembly import assemble
from dlasim.isa.container import write
from dlasim.isa.program import Program
from dlasim.sim.execution.executor import make_executor
from dlasim.sim.execution.runner import Simulation, config_of
from dlasim.sim.execution.unwritten import unwritten_outputs

_HEAD = """.config sram=4KiB
.tensor x, int8, input,  INPUTS,  shape=16
.tensor y, int8, output, OUTPUTS, shape={size}
.stream
    CFG DMA_IN_REGION, INPUTS
    CFG DMA_IN_RUN_BYTES, 16
    OP_DMA_READ
    WAIT dma_in, 0
    CFG DMA_OUT_REGION, OUTPUTS
"""


def _program(body: str, size: int = 16) -> Program:
    return assemble(_HEAD.format(size=size) + body + "    HALT\n")


def _lacks(program: Program) -> list[tuple[str, int, int]]:
    inference = Simulation(program, config_of(program), None).run()
    found = unwritten_outputs(program, inference)
    return [(output.name, output.missing_bytes, output.first_offset) for output in found]


@pytest.mark.parametrize(
    ("body", "lacks"),
    [
        ("", [("y", 16, 0)]),
        ("CFG DMA_OUT_RUN_BYTES, 16\nOP_DMA_WRITE\n", []),
        ("CFG DMA_OUT_RUN_BYTES, 8\nOP_DMA_WRITE\n", [("y", 8, 8)]),
        ("CFG DMA_OUT_RUN_BYTES, 8\nCFG DMA_OUT_OFFSET, 4\nOP_DMA_WRITE\n", [("y", 8, 0)]),
        (
            "CFG DMA_OUT_RUN_BYTES, 2\nCFG DMA_OUT_RUNS, 4\nCFG DMA_OUT_RUN_STRIDE, 4\nOP_DMA_WRITE\n",
            [("y", 8, 2)],
        ),
    ],
)
def test_bytes_that_nobody_wrote(body: str, lacks: list[tuple[str, int, int]]) -> None:
    assert _lacks(_program(body)) == lacks


def test_against_a_memory_that_shows_what_was_written() -> None:
    """Random transfers of ones from SRAM: what is still zero afterwards was not written."""
    random = Random(7)
    for _ in range(60):
        body = ""
        for _ in range(random.randint(0, 4)):
            runs, planes, run = random.randint(1, 4), random.randint(1, 3), random.randint(1, 5)
            values = {
                "RUNS": runs, "PLANES": planes, "RUN_BYTES": run, "OFFSET": random.randrange(20),
                "RUN_STRIDE": run + random.randrange(4),
                "PLANE_STRIDE": runs * (run + 4) + random.randrange(4),
            }  # fmt: skip
            body += "".join(f"CFG DMA_OUT_{name}, {value}\n" for name, value in values.items())
            body += "OP_DMA_WRITE\n"
        program = _program(body, size=160)
        simulation = Simulation(program, config_of(program), make_executor("reference"))
        simulation.dla.sram[:] = 1
        inference = simulation.run([np.ones(16, np.int8)])
        unwritten = np.flatnonzero(inference.outputs[0] == 0)
        expected = [("y", len(unwritten), int(unwritten[0]))] if len(unwritten) else []
        found = unwritten_outputs(program, inference)
        assert [(lack.name, lack.missing_bytes, lack.first_offset) for lack in found] == expected


@pytest.mark.parametrize("host", ["none", "riscv"])
@pytest.mark.parametrize("timing_only", [True, False])
def test_a_run_warns_on_either_host(tmp_path, host: str, timing_only: bool) -> None:  # type: ignore[no-untyped-def]
    file = tmp_path / "half.bin"
    file.write_bytes(write(_program("CFG DMA_OUT_RUN_BYTES, 12\nOP_DMA_WRITE\n")))
    result = dlasim.run(file, host=host, timing_only=timing_only)
    assert [output.missing_bytes for output in result.unwritten] == [4]
    assert result.report["outputs"][0]["unwritten_bytes"] == 4
    assert result.report["warnings"] == [
        "output y: nothing wrote 4 of its 16 bytes; the first is at offset 0xc of region OUTPUTS; check "
        "the size and strides of each OP_DMA_WRITE"
    ]


def test_single_commands_count_as_well(tmp_path) -> None:  # type: ignore[no-untyped-def]
    file = tmp_path / "none.bin"
    file.write_bytes(write(_program("")))
    result = dlasim.run(file, host="riscv", host_options={"submission": "registers"})
    assert result.report["warnings"] == [
        "output y: nothing wrote its 16 bytes; is an OP_DMA_WRITE to region OUTPUTS missing?"
    ]


def test_outputs_of_the_cpu_and_outputs_that_are_inputs_are_written() -> None:
    program = assemble(
        ".tensor x, int8, input, INPUTS, shape=4\n"
        ".tensor y, int32, output, OUTPUTS, shape=4\n"
        ".tensor z, int8, output, INPUTS, shape=4\n"
        ".layer c, CAST, HOST\n.host CAST, inputs=(x), outputs=(y)\n.endlayer\n"
    )
    assert _lacks(program) == []
