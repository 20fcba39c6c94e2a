"""Instruction counts equal QEMU's, and cycles follow from the cost tables."""

from itertools import pairwise

import pytest

from dlasim.vp.system.board import Board, BoardConfig
from dlasim.vp.system.board_result import Reason

PROGRAMS = ("sort", "convolution", "calls", "exceptions", "traps_counted", "middle")


@pytest.mark.parametrize("name", PROGRAMS)
def test_counts_and_outputs_equal_qemu(name, build, qemu):
    elf = build(name)
    board = Board()
    board.load_elf(elf)
    result = board.run(max_instructions=10_000_000)
    assert result.exit_code == 0
    assert result.uart.decode() == qemu(elf)
    assert result.uncounted_blocks == 0


@pytest.mark.parametrize("name", PROGRAMS)
def test_two_runs_are_the_same(name, build):
    elf = build(name)
    results = []
    for _ in range(2):
        board = Board(BoardConfig(cpu="five_stage"))
        board.load_elf(elf)
        results.append(board.run())
    assert results[0] == results[1]


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_profile_accounts_for_every_instruction(name, build):
    board = Board(BoardConfig(cpu="two_stage"))
    board.load_elf(build(name))
    result = board.run()
    traps = next((row.entries for row in result.profile if row.name == "trap_entry"), 0)
    assert sum(row.instructions for row in result.profile) == result.instructions
    busy = result.cycles - result.idle_cycles - traps * board.costs.trap_entry_cycles
    assert sum(row.cycles for row in result.profile) == busy
    entries = {row.name: row.entries for row in result.profile}
    assert entries["_start"] == entries["main"] == 1


_LOOP = """
    .section .text.start, "ax"
    .globl _start
_start:
    lui sp, 0x80001
    li t0, 100
    lla t1, _start
1:  lw t2, 0(t1)
    mul t3, t0, t2
    mulhu t3, t0, t2
    div t4, t0, t1
    c.addi t0, -1
    sw t0, -4(sp)
    bnez t0, 1b
    j 2f
    nop
2:  csrr t5, mscratch
    li t0, 0x100000
    li t1, 0x5555
    sw t1, 0(t0)
3:  j 3b
"""


# Cycles of load, multiply, multiply_high, divide, store, branch, its taken extra, jump, csr.
@pytest.mark.parametrize(
    ("cpu", "costs"),
    [
        ("ideal", (1, 1, 1, 1, 1, 1, 0, 1, 1)),
        ("two_stage", (2, 3, 4, 37, 2, 1, 2, 2, 1)),
        ("five_stage", (1, 2, 2, 17, 1, 1, 1, 2, 3)),
    ],
)
def test_cycles_are_the_sum_of_the_costs(build, cpu, costs):
    board = Board(BoardConfig(cpu=cpu))
    board.load_elf(build(source=_LOOP, assembly=True, boot=False))
    result = board.run()
    assert result.reason is Reason.EXIT
    load, multiply, high, divide, store, branch, taken, jump, csr = costs
    before = 1 + 1 + 2  # lui, li, lla
    body = load + multiply + high + divide + 1 + store + branch
    after = jump + csr + 1 + 2 + store + jump
    assert result.instructions == before + 100 * 7 + 1 + 1 + 1 + 2 + 1 + 1
    assert result.cycles == before + 100 * body + 99 * taken + after


def test_counter_registers_read_guest_time(build):
    source = r"""
    int main(void)
    {
        uint32_t a, b, c, d, e, f, g, h, i;
        __asm__ volatile("csrr %0, mcycle\n csrr %1, minstret\n csrr %2, time\n nop\n nop\n"
                         "csrr %3, mcycle\n csrr %4, minstret\n csrr %5, time\n csrr %6, cycle\n"
                         "csrw minstret, 5\n csrr %7, instret\n csrw mcycleh, 7\n csrr %8, cycleh\n"
                         : "=&r"(a), "=&r"(b), "=&r"(c), "=&r"(d), "=&r"(e), "=&r"(f), "=&r"(g), "=&r"(h),
                           "=&r"(i));
        put_hex(d - a); put_hex(e - b); put_hex(f - c); put_hex(g - d); put_hex(h); put_hex(i);
        put_hex(csr_read(mcycleh) | csr_read(minstreth) | csr_read(timeh));
        csr_set(mip, 8);
        put_hex(csr_read(mip));
        return 0;
    }
    """
    board = Board()
    board.load_elf(build(source=source))
    values = [int(line, 16) for line in board.run().uart.split()]
    apart = 5  # the ideal core: as many cycles as instructions, from each register's read to its second
    # What is written is what the next instruction reads.
    assert values == [apart, apart, apart, 3, 5, 7, 7, 0]


@pytest.mark.parametrize("name", ["calls", "nesting"])
def test_function_spans_agree_with_the_profile(name, build):
    elf = build(name)
    board = Board(BoardConfig(cpu="two_stage", log_functions=True))
    board.load_elf(elf)
    result = board.run()
    assert result.function_spans_lost == 0
    assert result.function_spans[0].name == "_start"
    for before, after in pairwise(result.function_spans):
        assert before.end_cycles <= after.start_cycles
    spent: dict[str, int] = {}
    for span in result.function_spans:
        spent[span.name] = spent.get(span.name, 0) + span.end_cycles - span.start_cycles
    assert sum(spent.values()) == result.cycles
    # A span runs to the next function's first block: an interrupt's entry falls to whom it interrupted.
    entries = sum(row.entries for row in result.profile if row.name == "trap_entry")
    for row in result.profile:
        assert 0 <= spent[row.name] - row.cycles <= entries * board.costs.trap_entry_cycles
    plain = Board(BoardConfig(cpu="two_stage"))
    plain.load_elf(elf)
    assert plain.run().cycles == result.cycles
    assert plain.run().function_spans == ()


@pytest.mark.parametrize("name", ["sort", "calls"])
def test_each_word_fetched_from_flash_waits(name, build):
    """The trace shows what ran: 16-bit instructions in the second half of a word need no fetch."""
    elf, lines = build(name), []
    board = Board()
    board.load_elf(elf)
    plain = board.run(trace_instructions=lines.append)
    pcs = [int(line.split()[1], 16) for line in lines]
    is_wide = [len(line.split()[3]) == 8 for line in lines]  # cycle, pc, function, code, text
    flash = board.config.memory_map.flash
    words = sum(flash.holds(pc) and (pc % 4 == 0 or wide) for pc, wide in zip(pcs, is_wide, strict=True))
    assert plain.instructions > words > plain.instructions // 3
    slow = Board(BoardConfig(fetch_wait_cycles=5))
    slow.load_elf(elf)
    assert slow.run().cycles == plain.cycles + 5 * words
