"""Programs that go wrong: what the guest's handler sees, and what the report says."""

import re
import signal

import pytest

from dlasim.errors import InputError
from dlasim.vp.devices import memory_map
from dlasim.vp.devices.memory_map import MemoryMap
from dlasim.vp.programs.elf import parse_elf
from dlasim.vp.system.board import Board, BoardConfig
from dlasim.vp.system.board_result import Reason, fold

UNHANDLED_TRAP_EXIT_CODE = 127


def run(elf, **limits):
    board = Board()
    board.load_elf(elf)
    return board, board.run(**limits)


def bare(body):
    """A program without start-up code: no trap handler unless it sets one."""
    return f'    .section .text.start, "ax"\n    .globl _start\n_start:\n{body}\n'


def test_an_illegal_instruction_nobody_handles_is_reported_twice(build):
    source = r"""
    __attribute__((noinline)) static void broken(void)
    {
        __asm__ volatile("li a5, 0x1234\n.word 0xffffffff");
    }
    int main(void) { broken(); return 0; }
    """
    board, result = run(build(source=source))
    assert result.exit_code == UNHANDLED_TRAP_EXIT_CODE
    assert b"unhandled trap: cause 00000002" in result.uart  # by the guest
    crash = result.last_exception
    assert crash is not None
    assert (crash.cause, crash.value) == (2, 0xFFFFFFFF)
    assert crash.registers[15] == 0x1234
    report = result.summary(board.firmware)  # by the board
    assert "illegal instruction" in report
    assert f"0x{crash.pc:08x}" in report
    assert "broken+" in report
    assert re.search(r"broken\+0x\w+ \(program\d+\.c:5\)", report.splitlines()[1])
    assert "a5 00001234" in report
    blocks = report[report.index("last basic blocks") :]
    assert "main" in blocks
    assert board.firmware.function_at(crash.recent_blocks[-1]).name in ("main", "broken")


def test_a_fault_without_a_handler_ends_the_run(build):
    board, result = run(build(source=bare("    li t0, 0x40\n    sw zero, 4(t0)"), assembly=True, boot=False))
    assert result.reason is Reason.UNHANDLED_EXCEPTION
    assert result.exit_code is None
    assert (result.last_exception.cause, result.last_exception.value) == (7, 0x44)
    assert result.instructions == 1
    assert "store access fault" in result.summary(board.firmware)


def test_a_handler_that_retries_forever_is_a_lockup(build):
    body = "    lla t0, handler\n    csrw mtvec, t0\n    .word 0xffffffff\n    .balign 4\nhandler: mret"
    _, result = run(build(source=bare(body), assembly=True, boot=False))
    assert result.reason is Reason.LOCKUP


def test_a_handler_that_faults_itself_is_a_lockup(build):
    body = "    lla t0, handler\n    csrw mtvec, t0\n    ecall\n    .balign 4\nhandler: lw t0, 0(zero)\n mret"
    _, result = run(build(source=bare(body), assembly=True, boot=False))
    assert result.reason is Reason.LOCKUP


def test_a_jump_to_null_is_a_fetch_fault(build):
    source = r"""
    static void (*volatile nowhere)(void);
    int main(void) { nowhere(); return 0; }
    """
    board, result = run(build(source=source))
    assert result.exit_code == UNHANDLED_TRAP_EXIT_CODE
    crash = result.last_exception
    assert (crash.cause, crash.pc, crash.value) == (1, 0, 0)
    assert board.firmware.function_at(crash.registers[1]).name == "main"  # ra says who jumped


def test_a_stack_overflow_faults_below_ram_and_is_reported(build):
    source = r"""
    __attribute__((noinline)) static int deeper(volatile int *up)
    {
        volatile int here[64];
        here[0] = *up + 1;
        return deeper(here) + here[0];
    }
    int main(void) { volatile int start = 0; return deeper(&start); }
    """
    source = '#pragma clang diagnostic ignored "-Winfinite-recursion"\n' + source
    board, result = run(build(source=source))
    assert result.exit_code == UNHANDLED_TRAP_EXIT_CODE
    crash = result.last_exception
    assert crash.cause == 7
    assert memory_map.RAM_BASE - 1024 < crash.value < memory_map.RAM_BASE
    assert board.firmware.function_at(crash.pc).name == "deeper"
    assert result.stack_peak_bytes > 65_000
    assert b"unhandled trap" in result.uart


def test_the_stack_peak_is_measured(build):
    source = r"""
    __attribute__((noinline)) static int deep(int n, volatile char *up)
    {
        volatile char here[1000];
        for (int i = 0; i < 1000; i++)
            here[i] = up[0];
        return n ? deep(n - 1, here) + here[5] : here[7];
    }
    int main(void) { volatile char start = 0; return deep(DEPTH, &start); }
    """
    peaks = []
    for depth in (0, 3):
        _, result = run(build(source=source.replace("DEPTH", str(depth))))
        peaks.append(result.stack_peak_bytes)
    assert 1000 <= peaks[0] < 1200
    assert 3000 <= peaks[1] - peaks[0] < 3300


@pytest.mark.parametrize("limit", [1, 5000, 50_001])
def test_an_endless_loop_ends_at_the_limit(build, limit):
    elf = build(source='int main(void) { for (;;) __asm__ volatile("nop"); }')
    board, result = run(elf, max_instructions=limit)
    assert result.reason is Reason.MAX_INSTRUCTIONS
    assert limit <= result.instructions < limit + 10  # to the end of the block
    assert "limit of instructions" in result.summary(board.firmware)
    again = board.run(max_instructions=limit + 1000)  # and goes on from there
    assert limit + 1000 <= again.instructions < limit + 1010


def test_a_signal_stops_an_endless_loop(build):
    """As Ctrl-C does: Python gets its turn now and then."""
    board = Board()
    board.load_elf(build(source='int main(void) { for (;;) __asm__ volatile("nop"); }'))

    def ring(*_):
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    try:
        with pytest.raises(TimeoutError):
            board.run()
    finally:
        signal.signal(signal.SIGALRM, before)


def test_stopping_often_changes_nothing(build):
    elf = build("sort")
    _, whole = run(elf)
    board = Board()
    board.load_elf(elf)
    stops, result = 0, board.run(max_instructions=0)
    while result.reason is not Reason.EXIT:
        stops += 1
        result = board.run(max_instructions=result.instructions + 997)
    assert stops > 100
    assert result == whole


def test_misaligned_loads_and_stores_work(build):
    source = r"""
    int main(void)
    {
        static uint8_t bytes[16];
        volatile uint32_t *odd = (volatile uint32_t *)(bytes + 3);
        *odd = 0x11223344;
        put_hex(*odd);
        put_hex(bytes[3] << 24 | bytes[4] << 16 | bytes[5] << 8 | bytes[6]);
        return 0;
    }
    """
    _, result = run(build(source=source))
    assert result.uart.split() == [b"11223344", b"44332211"]
    assert result.last_exception is None


@pytest.mark.parametrize("before", ["", "put_hex(read32(DLASIM_FLASH_BASE + 64));"])
def test_flash_cannot_be_written(build, before):
    source = "int main(void) { " + before + " write32(DLASIM_FLASH_BASE + 64, 1); return 0; }"
    _, result = run(build(source=source))
    assert (result.last_exception.cause, result.last_exception.value) == (7, memory_map.FLASH_BASE + 64)


@pytest.mark.parametrize("pages", [0, 4000])
def test_code_that_the_guest_rewrites_runs_as_rewritten(build, pages):
    """Also after touching so many pages that the emulator forgot what it knew about the code's."""
    source = r"""
    static uint16_t code[2] = {0x4505, 0x8082}; /* c.li a0, 1; c.jr ra */
    int main(void)
    {
        int (*run)(void) = (int (*)(void))code;
        int first = run();
        uint32_t sum = 0;
        for (uint32_t page = 0; page < PAGES; page++)
            sum += read32(DLASIM_RAM_BASE + 0x100000 + 4096 * page);
        for (int i = 0; i < 3; i++)
            ((volatile uint16_t *)code)[0] = (uint16_t)(0x4509 + sum); /* c.li a0, 2 */
        __asm__ volatile("fence.i" ::: "memory");
        return 10 * first + run();
    }
    """
    _, result = run(build(source=source.replace("PAGES", str(pages))))
    assert result.exit_code == 12


def test_devices_and_data_cannot_be_executed(build):
    source = "int main(void) { ((void (*)(void))DLASIM_UART_BASE)(); return 0; }"
    _, result = run(build(source=source))
    assert (result.last_exception.cause, result.last_exception.pc) == (1, memory_map.UART.base)


def test_floating_point_and_other_extensions_are_illegal(build):
    for word in ("0x00b57553", "0x20b52533", "0x02a5e557"):  # fadd.s, sh1add, a vector instruction
        _, result = run(build(source=f'int main(void) {{ __asm__ volatile(".word {word}"); return 0; }}'))
        assert result.last_exception.cause == 2


_NARROW_OTHERS = {
    "c.fld": 0x2000,
    "c.fsdsp": 0xA002,
    "c.addw": 0x9C21,
    "c.slli by 32": 0x1502,
    "reserved": 0x8000,
}


@pytest.mark.parametrize("name", _NARROW_OTHERS)
def test_compressed_instructions_of_other_cpus_end_the_run_in_a_clear_line(build, name):
    half = _NARROW_OTHERS[name]
    body = f"    nop\n    .half 0x{half:x}\n    nop"
    board, result = run(build(source=bare(body), assembly=True, boot=False))
    assert (result.last_exception.cause, result.last_exception.value) == (2, half)
    pc = memory_map.FLASH_BASE + 2
    assert (result.pc, result.instructions) == (pc, 2)
    line = result.summary(board.firmware).splitlines()[1]
    assert f"mtval 0x{half:08x}) at 0x{pc:08x}" in line
    assert "the CPU is RV32IMAC: compile with -march=rv32imac -mabi=ilp32" in line


@pytest.mark.parametrize("address", ["middle + 2", "0x80100000"])
def test_illegal_instructions_are_found_wherever_the_cpu_enters(build, address):
    """In the middle of an instruction, and in code that the guest writes, runs and rewrites."""
    body = f"""
    lla t0, handler
    csrw mtvec, t0
    lla t2, written
    li t0, 0x80100000
    li t1, 16
1:  lw t3, 0(t2)
    sw t3, 0(t0)
    addi t2, t2, 4
    addi t0, t0, 4
    c.addi t1, -1
    bnez t1, 1b
    fence.i
    la t0, {address}
    li t1, 3
1:  jalr t0
    c.addi t1, -1
    bnez t1, 1b
    j stop
    .balign 4
middle: .half 0x0337, 0x2000   /* lui t1, 0x20000; from its second half on: c.fld */
    ret
    .balign 4
handler:
    c.addi s0, 1
    csrr t2, mepc
    c.addi t2, 2
    csrw mepc, t2
    mret
stop:
    lui t0, 0x100
    slli t1, s0, 16
    lui t2, 3
    addi t2, t2, 0x333
    or t1, t1, t2
    sw t1, 0(t0)
    j .
    .balign 4
written:
    .half 0x0001    /* c.nop; the second round finds c.fld, the third c.nop again */
    lui t2, 2
    addi t3, t1, -3
    bnez t3, 1f
    sh t2, 0(t0)
    j 2f
1:  li t2, 1
    sh t2, 0(t0)
2:  fence.i
    ret"""
    _, result = run(build(source=bare(body), assembly=True, boot=False))
    assert result.exit_code == (3 if address.startswith("middle") else 1)


def test_control_registers_of_floating_point_do_not_exist(build):
    for access in ("csrr t0, fcsr", "csrw frm, t0", "csrwi fflags, 0"):
        body = f"    lui t0, 6\n    csrs mstatus, t0\n    {access}"  # mstatus.FS, for who has it
        _, result = run(build(source=bare(body), assembly=True, boot=False))
        assert (result.last_exception.cause, result.instructions) == (2, 2)


def test_counters_read_guest_time_wherever_the_code_lies(build):
    """Code in RAM is not counted exactly, but it does not see the host's clock: two runs agree."""
    source = r"""
    static const uint32_t code[] = {0xc0002573, 0x00008067}; /* csrr a0, cycle; ret */
    static uint32_t copy[2];
    int main(void)
    {
        for (int i = 0; i < 2; i++)
            ((volatile uint32_t *)copy)[i] = code[i];
        __asm__ volatile("fence.i" ::: "memory");
        uint32_t before = csr_read(cycle), inside = ((uint32_t (*)(void))copy)();
        put_hex(inside - before < 20);
        return 0;
    }
    """
    _, result = run(build(source=source))
    assert int(result.uart, 16) == 1


def test_code_in_ram_runs_and_is_told_apart(build):
    """Code that is not in the ELF cannot be counted exactly, but it cannot escape the limits either."""
    source = r"""
    static uint32_t endless = 0x0000a001; /* c.j . */
    int main(void) { ((void (*)(void))&endless)(); return 0; }
    """
    _, result = run(build(source=source), max_instructions=20_000)
    assert result.reason is Reason.MAX_INSTRUCTIONS
    assert result.uncounted_blocks > 1000


def test_marks_attribute_instructions(build):
    source = r"""
    int main(void)
    {
        for (uint32_t id = 7; id < 9; id++) {
            write32(DLASIM_EXIT_REGION_BEGIN, id);
            uint32_t rounds = 100 * id;
            __asm__ volatile("1: addi %0, %0, -1\n bnez %0, 1b" : "+r"(rounds));
            write32(DLASIM_EXIT_REGION_END, id);
        }
        put_hex(read32(DLASIM_EXIT_RAM_BYTES));
        return 0;
    }
    """
    board = Board(BoardConfig(MemoryMap(ram_bytes=8 * memory_map.MIB)))
    board.load_elf(build(source=source))
    result = board.run()
    assert [(mark.region_id, mark.is_begin) for mark in result.marks] == [
        (7, True), (7, False), (8, True), (8, False)
    ]  # fmt: skip
    assert [span.region_id for span in result.regions] == [7, 8]
    for span in result.regions:
        assert 0 <= span.instructions - 2 * 100 * span.region_id < 16  # parts of two blocks
        assert span.end_cycles - span.start_cycles == span.instructions  # the ideal core
    assert int(result.uart, 16) == 8 * memory_map.MIB


def test_the_uart_receives(build):
    source = r"""
    int main(void)
    {
        for (;;) {
            while (!(read8(DLASIM_UART_LINE_STATUS) & DLASIM_UART_RECEIVED)) { }
            uint8_t letter = read8(DLASIM_UART_DATA);
            if (letter == '\n')
                return 3;
            put_char((char)(letter ^ 0x20));
        }
    }
    """
    board = Board()
    board.load_elf(build(source=source))
    board.uart.receive(b"Hello\n")
    heard = bytearray()
    board.uart.listener = heard.append
    result = board.run(max_instructions=100_000)
    assert heard == result.uart
    assert (result.exit_code, result.uart) == (3, b"hELLO")


def test_traces_tell_instructions_and_accesses(build):
    instructions, accesses = [], []
    board = Board()
    board.load_elf(build("nesting"))
    traced = board.run(trace_instructions=instructions.append, trace_mmio=accesses.append)
    plain = Board()
    plain.load_elf(build("nesting"))
    result = plain.run()
    assert (traced.instructions, traced.cycles) == (result.instructions, result.cycles)
    assert len(instructions) == result.instructions
    assert instructions[0].endswith("_start+0x0 30401073 csrrw zero,mie,zero")
    assert any(line.endswith(" 8082 c.jr ra") for line in instructions)
    times = [int(line.split()[0]) for line in instructions]
    assert times == sorted(times)
    assert sum("store8 0x10000000 UART DATA <- 0x74" in line for line in accesses) == 1  # 't'


_ACCESSES = {
    "lw a0, -8(a1)": -8, "lb a0, 2047(a1)": 2047, "lhu a0, 6(a1)": 6, "sw a0, -2048(a1)": -2048,
    "sb a0, 31(a1)": 31, "sh a0, 32(a1)": 32, "c.lw a0, 124(a1)": 124, "c.sw a0, 64(a1)": 64,
    "c.lw a0, 4(a1)": 4, "amoswap.w a0, a0, (a1)": 0, "lr.w a0, (a1)": 0, "c.lwsp a0, 252(sp)": 252,
    "c.swsp a0, 64(sp)": 64, "c.swsp a0, 188(sp)": 188, "c.lwsp a0, 32(sp)": 32, "sw a0, 1000(sp)": 1000,
}  # fmt: skip


@pytest.mark.parametrize("access", _ACCESSES)
def test_mtval_is_the_address_that_failed(build, access):
    nowhere = 0x1F00_0000
    body = f"    li a1, {nowhere}\n    mv sp, a1\n    {access}"
    _, result = run(build(source=bare(body), assembly=True, boot=False))
    assert result.last_exception.value == nowhere + _ACCESSES[access]
    assert result.last_exception.cause == (5 if access.startswith(("l", "c.l")) else 7)


@pytest.mark.parametrize(
    ("blocks", "folded"),
    [
        ("", []),
        ("abc", [("a", 1), ("b", 1), ("c", 1)]),
        ("aaaa", [("a", 4)]),
        ("xababab", [("x", 1), ("ab", 3)]),
        ("abcabcabd", [("abc", 2), ("a", 1), ("b", 1), ("d", 1)]),
        ("aabaabaab", [("aab", 3)]),
    ],
)
def test_repeated_blocks_are_folded(blocks, folded):
    assert list(fold(blocks)) == folded


def test_a_crash_in_a_loop_shows_its_blocks_once(build):
    source = """
    static volatile uint32_t left = 40;
    int main(void)
    {
        while (left)
            left = left - 1;
        __asm__ volatile(".word 0xffffffff");
        return 0;
    }"""
    board, result = run(build(source=source))
    report = result.last_exception.text(board.firmware)
    assert re.search(r" times$", report, re.MULTILINE)
    assert len(report.splitlines()) < 20


def test_a_dump_does_without_damaged_debugging_information(build):
    data = bytearray(build(source="int main(void) { return 1; }").read_bytes())
    good = parse_elf(bytes(data), "good")
    assert good.source_line(good.symbols["main"]).startswith("program0.c:")
    for at in range(0x2000, len(data), 97):
        damaged = bytearray(data)
        damaged[at : at + 40] = b"\xff" * min(40, len(data) - at)
        try:
            firmware = parse_elf(bytes(damaged), "damaged")
        except InputError:
            continue
        assert isinstance(firmware.source_line(good.symbols["main"]), str)
