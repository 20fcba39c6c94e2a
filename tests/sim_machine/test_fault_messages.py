"""What a fault says: instruction, operand, extent, limit, and the source line, on either host."""

# ruff: noqa: E501

import re
from pathlib import Path

import pytest

import dlasim
from dlasim.errors import RunError
from dlasim.isa.assembly import assemble
from dlasim.isa.container import write
from tests.sim_machine.bench import HALT, Bench
from tests.sim_machine.test_faults import CASES

_HEAD = ".config sram=4KiB arena=256 outputs=16\n.layer conv, CONV_2D, CONV\n.endlayer\n"

# The instructions before the fault, the one at fault, and what is said of it.
_MESSAGES = [
    (
        "CFG PARAM_ADDR, 0x442",
        "OP_CONV init=bias",
        "MISALIGNED|OP_CONV|operand PARAM_ADDR holds records, so PARAM_ADDR = 0x442 must be a multiple of 4",
    ),
    (
        "CFG IN_ADDR, 0x441\nCFG IN_PIXEL_STRIDE, 2\nCFG OUT_CHANNELS, 1",
        "OP_E32_SHIFT",
        (
            "MISALIGNED|OP_E32_SHIFT|operand IN holds int32 values, so IN_ADDR = 0x441 and "
            "IN_PIXEL_STRIDE = 2 must be a multiple of 4"
        ),
    ),
    (
        "CFG OUT_ADDR, 0xff0\nCFG OUT_SIZE, height=4, width=2\nCFG OUT_PIXEL_STRIDE, 8\nCFG OUT_ROW_STRIDE, 16",
        "OP_ACT_RELU",
        (
            "SRAM_RANGE|OP_ACT_RELU|operand OUT covers bytes 0xff0 to 0x1028 in 4 x 2 runs of 1, but the "
            "SRAM has 0x1000 bytes"
        ),
    ),
    (
        "CFG OUT_SIZE, height=1, width=3\nCFG OUT_CHANNELS, 4\nCFG OUT_PIXEL_STRIDE, 2",
        "OP_ACT_RELU",
        "OVERLAP|OP_ACT_RELU|operand OUT overlaps itself: its runs have 4 bytes each, and 3 runs are 2 bytes apart",
    ),
    (
        "CFG DMA_IN_REGION, ARENA\nCFG DMA_IN_OFFSET, 0x80\nCFG DMA_IN_RUN_BYTES, 256",
        "OP_DMA_READ",
        "REGION_RANGE|OP_DMA_READ|it covers bytes 0x80 to 0x17f of region ARENA, which has 0x100 bytes",
    ),
    ("CFG DMA_OUT_REGION, COMMANDS", "OP_DMA_WRITE", "REGION_READ_ONLY|OP_DMA_WRITE|region COMMANDS cannot be written"),
    (
        "CFG ACT_MIN, 5\nCFG ACT_MAX, 4",
        "OP_ACT_RELU",
        "BAD_OPERANDS|OP_ACT_RELU|ACT_MIN = 5 is above ACT_MAX = 4",
    ),
    (
        "CFG IN_CHANNELS, 2\nCFG OUT_CHANNELS, 3",
        "OP_DEPTH_CONV",
        "BAD_OPERANDS|OP_DEPTH_CONV|OUT_CHANNELS = 3 must be a multiple of IN_CHANNELS = 2",
    ),
    ("NOP", "CFG ACT_MIN, raw=400", "BAD_VALUE|CFG|ACT_MIN must be from -128 to 127 (CFG writes 400)"),
    ("NOP", "CFG KERNEL, raw=1", "BAD_VALUE|CFG|KERNEL: width must be from 1 to 65535 (CFG writes 0)"),
    ("NOP", "CFG 9, 0", "BAD_REGISTER|CFG|CFG writes STATUS (register 9), which is not an operand register"),
    (
        "NOP",
        ".word 0xFF",
        "ILLEGAL_INSTRUCTION|an illegal word|the word 0x00000000000000ff has the unknown opcode 0xff",
    ),
]  # fmt: skip


@pytest.mark.parametrize("host", ["none", "riscv"])
@pytest.mark.parametrize(("before", "at", "message"), _MESSAGES, ids=[at for _, at, _ in _MESSAGES])
def test_messages(tmp_path: Path, before: str, at: str, message: str, host: str) -> None:
    text = f"{_HEAD}.stream\n{before}\n.layer conv\n{at}\n.endlayer\nHALT\n"
    word, line = before.count("\n") + 1, text.split("\n").index(at) + 1
    file = tmp_path / "p.bin"
    file.write_bytes(write(assemble(text, "dir/p.s")))
    with pytest.raises(RunError) as caught:
        dlasim.run(file, host=host, check_races=False)
    code, mnemonic, detail = message.split("|")
    expected = f"faulted: {code} at word {word} (dir/p.s:{line}), {mnemonic} in layer conv: {detail}"
    assert expected in str(caught.value)


@pytest.mark.parametrize("name", CASES)
def test_every_fault_has_words(name: str) -> None:
    before, word, code, _ = CASES[name]
    bench = Bench()
    bench.run([*before, word, HALT])
    assert bench.dla.fault.code is code
    assert re.search(r"[a-z]+ .*[a-z]+", bench.dla.fault.detail)


def test_single_commands_tell_the_word_of_the_program(tmp_path: Path) -> None:
    file = tmp_path / "p.bin"
    text = _HEAD + ".stream\nNOP\nOP_ACT_RELU\nCFG OUT_ADDR, 4096\nNOP\nOP_ACT_RELU\nHALT\n"
    file.write_bytes(write(assemble(text, "p.s")))
    with pytest.raises(RunError, match=r"SRAM_RANGE at word 4 \(p\.s:9\), OP_ACT_RELU: operand OUT"):
        dlasim.run(file, host="riscv", host_options={"submission": "registers"}, check_races=False)
