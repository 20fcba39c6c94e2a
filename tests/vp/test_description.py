"""The memory map and what is generated from it, the decoder, the cost tables, the bus."""

import re
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from dlasim.errors import InputError
from dlasim.vp.devices import memory_map
from dlasim.vp.devices.bus import Bus
from dlasim.vp.devices.clint import COMPARE_HIGH, COMPARE_LOW, TIME_HIGH, TIME_LOW, Clint
from dlasim.vp.devices.device import Device
from dlasim.vp.devices.exit_device import RegionMark, RegionSpan, region_spans
from dlasim.vp.devices.memory_map import MemoryMap
from dlasim.vp.riscv import costs
from dlasim.vp.riscv.block_counters import EXECUTIONS, SUMS, BlockCounters
from dlasim.vp.riscv.decode import CLASSES, CodeTable, classify, decode
from dlasim.vp.riscv.instruction_table import InstructionClass
from dlasim.vp.riscv.interceptions import instructions
from tests.compiled import counted, in_python
from tests.tool_module import tool_module

board_files = tool_module("generators.board_files")
CODE_AT = 0x2000_0000


def test_regions_do_not_overlap_and_own_whole_pages():
    board = MemoryMap()
    regions = sorted((board.flash, board.ram, *memory_map.DEVICES), key=lambda region: region.base)
    for region in regions:
        assert region.base % memory_map.PAGE_BYTES == region.size_bytes % memory_map.PAGE_BYTES == 0
    for before, after in pairwise(regions):
        assert before.end <= after.base


def test_the_header_gives_the_registers_their_addresses():
    header = board_files.c_header()
    assert re.search(r"#define DLASIM_RAM_BASE 0x80000000u", header)
    for region in memory_map.DEVICES:
        assert f"#define DLASIM_{region.name}_BASE 0x{region.base:08x}u" in header
    assert "DLASIM_CLINT_TIME_LOW (DLASIM_CLINT_BASE + 0xbff8u)" in header


@pytest.mark.parametrize("sizes", [{"ram_bytes": 1000}, {"ram_bytes": 1 << 32}, {"flash_bytes": 4096}])
def test_bad_memory_sizes_are_refused(sizes):
    with pytest.raises(InputError, match="must be a multiple of 4096"):
        MemoryMap(**sizes)


# One of each, as the assembler spells it, and the class that the privileged and unprivileged manuals imply.
_EXAMPLES = {
    InstructionClass.ALU: "lui a0,5; auipc a0,5; addi a0,a0,100; slti a0,a1,1; srai a0,a1,3; add a0,a1,a2; "
    "sub a0,a1,a2; sra a0,a1,a2; sltu a0,a1,a2; c.addi4spn a0,sp,4; c.addi a0,1; c.nop; c.li a0,1; "
    "c.lui a0,1; c.addi16sp sp,16; c.srli a0,1; c.srai a0,1; c.andi a0,1; c.sub a0,a1; c.xor a0,a1; "
    "c.or a0,a1; c.and a0,a1; c.slli a0,1; c.mv a0,a1; c.add a0,a1",
    InstructionClass.MULTIPLY: "mul a0,a1,a2",
    InstructionClass.MULTIPLY_HIGH: "mulh a0,a1,a2; mulhsu a0,a1,a2; mulhu a0,a1,a2",
    InstructionClass.DIVIDE: "div a0,a1,a2; divu a0,a1,a2; rem a0,a1,a2; remu a0,a1,a2",
    InstructionClass.LOAD: "lb a0,0(a1); lbu a0,0(a1); lh a0,0(a1); lhu a0,0(a1); lw t0,0(a1); "
    "c.lw a0,0(a1); c.lwsp a0,0(sp)",
    InstructionClass.STORE: "sb a0,0(a1); sh a0,0(a1); sw t0,0(a1); c.sw a0,0(a1); c.swsp a0,0(sp)",
    InstructionClass.ATOMIC: "lr.w a0,(a1); sc.w a0,a2,(a1); amoadd.w a0,a2,(a1); amomaxu.w a0,a2,(a1)",
    InstructionClass.BRANCH: "beq a0,a1,.; bne a0,t1,.; blt a0,a1,.; bge a0,a1,.; bltu a0,a1,.; "
    "bgeu a0,a1,.; c.beqz a0,.; c.bnez a0,.",
    InstructionClass.JUMP: "jal t0,.; c.j .; c.jal .",
    InstructionClass.JUMP_REGISTER: "jalr t0,4(a0); c.jr a0; c.jalr a0",
    InstructionClass.CSR: "csrr a0,mstatus; csrw mie,a0; csrsi mstatus,8; csrrc a0,mie,a1",
    InstructionClass.SYSTEM: "fence; fence.i; ecall; ebreak; mret; wfi; c.ebreak",
    InstructionClass.ILLEGAL: ".word 0xffffffff; .half 0; .word 0x0000707b; .half 0x9c01",
}


@pytest.mark.parametrize("kind", InstructionClass)
def test_every_instruction_has_its_class(kind, build):
    from dlasim.vp.programs.elf import read_elf

    lines = [line.strip() for line in _EXAMPLES[kind].split(";")]
    # Written long, an instruction stays long; the compressed ones are asked for by name.
    text = "\n".join(f".option {'rvc' if line.startswith('c.') else 'norvc'}\n{line}" for line in lines)
    source = f'.section .text.start, "ax"\n.globl _start\n_start:\n{text}\n'
    segment = read_elf(build(source=source, assembly=True, boot=False)).segments[0]
    found = [classify(word).name for _, word in instructions(segment.data, segment.address)][: len(lines)]
    assert found == [kind.name] * len(lines)


@pytest.mark.parametrize("how", [in_python, counted])
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 1])
def test_sums_and_counts_are_right_wherever_the_cpu_enters(share, how):
    """Over random code with this share of wide instructions, against going from one to the next."""
    draw = np.random.default_rng(3)
    is_wide = draw.random(200) < share
    costs = draw.integers(1, 100, 200)
    ran = dict.fromkeys(range(200), 0)
    with how(SUMS, EXECUTIONS):
        counters = BlockCounters(CodeTable(CODE_AT, is_wide, costs, 3 * costs))
        for first in range(200):
            slot, number, spent = first, 0, 0
            for _ in range(1 + first % 7):
                if slot < 200:
                    ran[slot] += 1
                    number, spent = number + 1, spent + costs[slot]
                    slot += 1 + int(is_wide[slot])
            before = counters.instructions, counters.cycles
            counters.counts.open_first, counters.counts.open_end = first, CODE_AT + 2 * slot
            counters.close(CODE_AT + 2 * slot)
            assert counters.instructions - before[0] == number
            assert counters.cycles - before[1] == spent
        slots, times = counters.executed()
    assert dict(zip(slots.tolist(), times.tolist(), strict=True)) == ran


def test_all_slots_are_decoded_like_single_instructions():
    """Over random halves of words, as machine code and as Python."""
    code = np.random.default_rng(4).integers(0, 1 << 16, 600).astype("<u2")
    words = code[:-1].astype(np.uint32) | code[1:].astype(np.uint32) << 16
    single = [classify(int(word if word & 3 == 3 else word & 0xFFFF)) for word in words]
    for how in (in_python, counted):
        with how(CLASSES):
            decoded = decode(0, code.tobytes())
        assert decoded.classes[:-1].tolist() == single
        assert decoded.is_wide.tolist() == ((code & 3) == 3).tolist()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("alu = 1", "alu = 0"), r"alu must be from 1 to 10000 \(got 0\)"),
        (("alu = 1", "alu = 1.5"), r"alu must be from 1 to 10000 \(got 1.5\)"),
        (("alu = 1", "alu = true"), r"alu must be .* \(got True\)"),
        (("alu = 1", ""), r"must have exactly the keys alu, "),
        (("alu = 1", "alu = 1\nalusion = 1"), r"must have exactly the keys"),
        (("branch_taken = 2", "branch_taken = -1"), r"branch_taken must be from 0 to 10000 \(got -1\)"),
        (("[cycles]", "[cycle]"), r"unknown key 'cycle'"),
        (("[cycles]", "[cycles"), r"not valid TOML"),
    ],
)
def test_bad_cost_tables_are_refused(tmp_path, change, message):
    text = Path(costs.__file__).with_name("presets").joinpath("two_stage.toml").read_text()
    assert change[0] in text
    path = tmp_path / "core.toml"
    path.write_text(text.replace(*change))
    with pytest.raises(InputError, match=message):
        costs.load_costs(path)


def test_costs_by_name_and_by_path(tmp_path):
    for name in costs.PRESETS:
        assert costs.load_costs(name).name == name
    with pytest.raises(InputError, match="cpu must be ideal, two_stage, five_stage, or a path"):
        costs.load_costs("six_stage")
    with pytest.raises(InputError, match="cannot read"):
        costs.load_costs(tmp_path / "none.toml")


class _Echo(Device):
    def __init__(self) -> None:
        self.line = False
        self.event: int | None = None
        self.stored: list[tuple[int, int, int]] = []

    def load(self, offset: int, size: int) -> int:
        return 0x1_2345_6700 + offset

    def store(self, offset: int, size: int, value: int) -> None:
        self.stored.append((offset, size, value))

    def interrupt(self) -> bool:
        return self.line

    def next_event(self) -> int | None:
        return self.event


def test_the_bus_routes_by_address_and_sums_up():
    bus, first, second = Bus(), _Echo(), _Echo()
    bus.attach(first, 0x1000, 0x1000, irq=11)
    bus.attach(second, 0x3000, 0x2000, irq=3)
    assert bus.load(0x1004, 4) == 0x2345_6704
    assert bus.load(0x4FF8, 1) == 0xF8
    assert bus.load(0x2000, 4) == bus.load(0x5000, 4) == 0
    bus.store(0x3010, 2, 7)
    bus.store(0x2010, 2, 8)
    assert (first.stored, second.stored) == ([], [(0x10, 2, 7)])
    assert bus.pending() == 0
    assert bus.next_event() is None
    first.line, second.event = True, 9
    assert (bus.pending(), bus.next_event()) == (1 << 11, 9)
    with pytest.raises(InputError, match="_Echo at 0x00004000 to 0x00004fff overlaps _Echo at 0x00003000"):
        bus.attach(_Echo(), 0x4000, 0x1000)


def test_the_timer_compares_64_bits():
    clint = Clint()
    clint.tick(10)
    assert clint.next_event() is None
    clint.store(COMPARE_LOW.offset, 4, 5)
    clint.store(COMPARE_HIGH.offset, 4, 1)
    assert clint.next_event() == (1 << 32) + 5
    clint.tick((1 << 32) + 4)
    assert not clint.timer_interrupt()
    clint.tick((1 << 32) + 5)
    assert clint.timer_interrupt()
    assert clint.next_event() is None
    assert (clint.load(TIME_LOW.offset, 4), clint.load(TIME_HIGH.offset, 4)) == ((1 << 32) + 5, 1)
    clint.store(TIME_HIGH.offset, 4, 0)
    assert not clint.timer_interrupt()
    assert clint.time == 5
    assert clint.next_event() == (1 << 33) + 5


def test_marks_pair_up_into_regions():
    def mark(region_id, is_begin, at):
        return RegionMark(region_id, is_begin, at, 10 * at, idle_cycles=0)

    marks = [mark(1, True, 0), mark(2, True, 5), mark(2, False, 7), mark(3, False, 8), mark(1, True, 9)]
    marks += [mark(1, False, 11), mark(1, False, 20), mark(4, True, 30)]
    assert region_spans(marks) == (
        RegionSpan(2, 50, 70, 2),
        RegionSpan(1, 90, 110, 2),
        RegionSpan(1, 0, 200, 20),
    )
