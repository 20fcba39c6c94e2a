"""What a board leaves to the next one carries nothing over: a run finds everything as new."""

import pytest

from dlasim.isa.registers import BY_NAME
from dlasim.sim.configuration.config import DlaConfig
from dlasim.vp.devices import memory_map
from dlasim.vp.devices.dla_device import attach_dla
from dlasim.vp.programs.elf import read_elf
from dlasim.vp.system import spare_parts
from dlasim.vp.system.board import Board, BoardConfig
from dlasim.vp.system.board_result import Reason

# Adds up what a guest finds after reset, prints it, spoils it all, and ends as a word in flash says.
SPOILER = r"""
    .section .text.start, "ax"
    .globl _start
_start:
    .irp n, 2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
    or x1, x1, x\n
    .endr
    .irp csr, mie, mtvec, mscratch, mepc, mcause, mtval, mcycle, minstret, mcycleh
    csrr x2, \csr
    add x1, x1, x2
    .endr
    li x3, 0x80100000       /* was an atomic access begun? */
    sc.w x2, x2, (x3)
    slli x2, x2, 8
    add x1, x1, x2
    li x4, 1000
1:  lw x2, 0(x3)            /* RAM */
    add x1, x1, x2
    addi x3, x3, 2000
    addi x4, x4, -1
    bnez x4, 1b
    li x3, 0x02004000       /* the timer's comparison, and the accelerator's registers */
    lw x2, 0(x3)
    not x2, x2
    add x1, x1, x2
    li x3, REGISTER
    lw x2, 0(x3)
    add x1, x1, x2
    lla x5, code            /* code that is copied to RAM, runs there, and is replaced */
    li x3, 0x80200000
    li x6, 8
1:  lw x2, 0(x5)
    sw x2, 0(x3)
    addi x5, x5, 4
    addi x3, x3, 4
    addi x6, x6, -1
    bnez x6, 1b
    li x3, 0x80200000
    fence.i
    jalr x6, x3
    lla x5, code2
    lw x2, 0(x5)
    sw x2, 0(x3)
    fence.i
    jalr x6, x3
    mv x7, x1
    li x8, 8
1:  srli x9, x7, 28
    addi x9, x9, 65
    li x3, 0x10000000
    sb x9, 0(x3)
    slli x7, x7, 4
    addi x8, x8, -1
    bnez x8, 1b
    li x3, 0x80100000
    li x4, 1000
    li x2, -1
1:  sw x2, 0(x3)
    addi x3, x3, 2000
    addi x4, x4, -1
    bnez x4, 1b
    .irp csr, mscratch, mepc, mcause, mtval, mcycle, minstret, mcycleh
    csrw \csr, x3
    .endr
    li x3, 0x02004000
    sw zero, 4(x3)
    sw x4, 0(x3)
    li x3, REGISTER
    sw x2, 0(x3)
    li x3, 0x80100000
    lr.w x2, (x3)
    li x2, ENDING
    beqz x2, exit
    addi x2, x2, -1
    beqz x2, fault
    addi x2, x2, -1
    beqz x2, sleep
    j .
exit:
    li x2, 0x5555
    lui x3, 0x100
    sw x2, 0(x3)
    j .
fault:
    .half 0x2000
sleep:
    csrw mie, zero
    wfi
    .balign 4
code:
    addi x1, x1, 1
    jr x6
code2:
    addi x1, x1, 2
    jr x6
"""
ENDINGS = {"exit": 0, "fault": 1, "sleep": 2, "limit": 3}


@pytest.fixture(autouse=True)
def no_spare():
    """No test finds parts that another left."""
    spare_parts.clear()
    yield
    spare_parts.clear()


def spoiler(build, ending):
    """The program's path."""
    register = memory_map.DLA.base + BY_NAME["REGION0_BASE"].address
    source = SPOILER.replace("ENDING", str(ENDINGS[ending])).replace("REGISTER", hex(register))
    return build(source=source, assembly=True, boot=False)


def run(firmware, **config):
    board = Board(BoardConfig(**config))
    attach_dla(board, DlaConfig(), None)
    board.load(firmware)
    result = board.run(max_instructions=2_000_000)
    board.retire()
    return result


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_run_finds_what_the_first_run_found(build, ending):
    firmware = read_elf(spoiler(build, ending))
    first = run(firmware)
    cpu = spare_parts.kept().cpu
    assert (first.reason is Reason.EXIT) == (ending == "exit"), first.last_exception
    for _ in range(3):
        assert run(firmware) == first
        assert spare_parts.kept().cpu is cpu


def test_code_that_the_guest_left_in_ram_is_gone(build):
    body = """
    .section .text.start, "ax"
    .globl _start
_start:
    lla t0, handler
    csrw mtvec, t0
    li t0, 0x80300000
    jalr t0                 /* nothing is there */
    li a0, 0x30003333       /* but there was */
    j exit
    .balign 4
handler:
    li t1, 0x8082           /* ret */
    sw t1, 0(t0)
    fence.i
    jalr t0
    li a0, 0x5555
exit:
    lui a1, 0x100
    sw a0, 0(a1)
    j ."""
    firmware = read_elf(build(source=body, assembly=True, boot=False))
    assert [run(firmware).exit_code for _ in range(3)] == [0, 0, 0]


def test_other_firmware_and_other_costs_do_not_meet_kept_code(build):
    ways = [
        (read_elf(spoiler(build, "exit")), "ideal"),
        (read_elf(build("sort")), "ideal"),
        (read_elf(build("sort")), "five_stage"),
    ]
    fresh = []
    for firmware, cpu in ways:
        spare_parts.clear()
        fresh.append(run(firmware, cpu=cpu))
    for number in (0, 1, 2, 1, 1, 0, 0, 2, 2):
        firmware, cpu = ways[number]
        assert run(firmware, cpu=cpu) == fresh[number]


def test_code_that_the_loader_changes_is_translated_anew(build):
    source = """
    .section .text.start, "ax"
    .globl _start
_start:
    c.li a0, 3
    slli a0, a0, 16
    li a1, 0x3333
    or a0, a0, a1
    lui a1, 0x100
    sw a0, 0(a1)
    j ."""
    firmware = read_elf(build(source=source, assembly=True, boot=False))
    for code in (3, 5, 3):
        board = Board()
        board.load(firmware)
        if code != 3:
            board.memories.write(firmware.entry, (0x4501 | code << 2).to_bytes(2, "little"))
        assert board.run(max_instructions=1000).exit_code == code
        board.retire()


def test_who_debugs_or_traces_leaves_nothing(build):
    firmware = read_elf(build("calls"))
    board = Board()
    board.load(firmware)
    board.run(trace_instructions=lambda line: None)
    board.retire()
    assert spare_parts.kept() is None
    board = Board(BoardConfig(log_functions=True))
    board.load(firmware)
    board.run()
    board.retire()
    assert spare_parts.kept() is None


def test_two_boards_at_once_share_nothing(build):
    firmware = read_elf(build("sort"))
    first = run(firmware)
    one, other = Board(), Board()
    for board in (one, other):
        board.load(firmware)
    results = []
    while len(results) < 2:
        results = [
            result
            for board in (one, other)
            if (result := board.run(max_instructions=board.counts.instructions + 9_973)).reason is Reason.EXIT
        ]
    assert results == [first, first]
    assert one.cpu is not other.cpu
