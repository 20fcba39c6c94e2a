"""Timer, software and device interrupts, masking, nesting, sleep: what the guest sees, and when."""

import pytest

from dlasim.vp.devices import memory_map
from dlasim.vp.system.board import Board, BoardConfig
from dlasim.vp.system.board_result import Reason
from tests.vp.devices import Glitch, JobDevice

EXTERNAL = memory_map.MACHINE_EXTERNAL_INTERRUPT


def run(elf, device=None, cpu="ideal", **limits):
    board = Board(BoardConfig(cpu=cpu))
    if device is not None:
        board.attach(device, memory_map.DLA.base, memory_map.DLA.size_bytes, irq=EXTERNAL)
    board.load_elf(elf)
    return board.run(**limits)


TIMER = r"""
#include "interrupts.h"
static volatile uint32_t woken_at;
void timer_interrupt(struct trap_frame *frame) { (void)frame; woken_at = time_low(); timer_off(); }
int main(void)
{
    csr_write(mie, INTERRUPT_BIT(DLASIM_INTERRUPT_TIMER));
    uint32_t before = time_low();
    timer_in(100000);
    interrupts_on();
    while (!woken_at)
        wait_for_interrupt();
    put_hex(woken_at - before);
    return 0;
}
"""


def test_the_timer_wakes_a_sleeping_cpu_at_its_cycle(build):
    result = run(build(source=TIMER))
    assert result.exit_code == 0
    woken_after = int(result.uart, 16)
    assert 100_000 <= woken_after < 100_000 + 150  # the trap's entry lies between
    assert 99_000 < result.idle_cycles < 100_000
    assert result.instructions < 10_000
    assert result.cycles == result.instructions + result.idle_cycles


def test_the_software_interrupt_comes_and_goes(build):
    source = r"""
    static volatile int taken;
    void software_interrupt(struct trap_frame *frame)
    {
        (void)frame;
        taken++;
        put_hex(csr_read(mcause));
        put_hex(csr_read(mip));
        write32(DLASIM_CLINT_SOFTWARE_INTERRUPT, 0);
        put_hex(csr_read(mip));
    }
    int main(void)
    {
        csr_write(mie, INTERRUPT_BIT(DLASIM_INTERRUPT_SOFTWARE));
        interrupts_on();
        write32(DLASIM_CLINT_SOFTWARE_INTERRUPT, 1);
        while (!taken) { }
        return taken;
    }
    """
    result = run(build(source=source), max_instructions=100_000)
    assert result.exit_code == 1
    assert result.uart.decode().split() == ["80000003", "00000008", "00000000"]


@pytest.mark.parametrize(("defines", "order"), [((), b"t-TsS."), (("NESTED",), b"t-sST.")])
def test_nesting_needs_the_handler_to_allow_it(build, qemu, defines, order):
    elf = build("nesting", *defines)
    result = run(elf)
    assert result.exit_code == 0
    assert result.uart == order
    assert qemu(elf).encode() == order


def test_vectored_traps_are_served_by_rank(build, qemu):
    assert run(build("vectored", "EXTERNAL"), JobDevice(), max_instructions=100_000).uart == b"estx\n"
    elf = build("vectored")
    assert run(elf, max_instructions=100_000).uart == b"stx\n"
    assert qemu(elf) == "stx\n"


def test_pending_interrupts_come_right_after_the_unmasking_instruction(build, qemu):
    elf = build("masking")
    result = run(elf)
    never = "ffffffff"
    assert result.uart.decode().split() == ["00000008", never, "00000000", never, "00000000", "00000000"]
    assert qemu(elf) == result.uart.decode()


@pytest.mark.parametrize("cycles", [1, 30, 100, 1000])
def test_an_interrupt_storm_is_served_and_the_program_gets_on(build, cycles):
    device = JobDevice()
    result = run(build("storm", f"JOB_CYCLES={cycles}"), device, max_instructions=1_000_000)
    assert result.exit_code == 0
    storms, ticks = (int(line, 16) for line in result.uart.split())
    finished = len(device.finished_at)
    assert storms == finished == (200 if cycles < 1000 else finished)
    assert storms > 10
    assert ticks > result.cycles // 500 // 2
    gaps = [after - before for before, after in zip(device.finished_at, device.finished_at[1:], strict=False)]
    assert min(gaps) >= cycles


JOB = r"""
#include "interrupts.h"
static volatile uint32_t done;
void external_interrupt(struct trap_frame *frame)
{
    (void)frame;
    done = time_low();
    write32(JOB_ACKNOWLEDGE, 1);
}
int main(void)
{
    csr_write(mie, INTERRUPT_BIT(DLASIM_INTERRUPT_EXTERNAL));
    interrupts_on();
    write32(JOB_START, 5000);
#ifdef POLL
    interrupts_off();
    while (!read32(JOB_STATUS)) { }
    done = time_low();
#else
    while (!done)
        wait_for_interrupt();
#endif
    put_hex(done);
    return 0;
}
"""


@pytest.mark.parametrize("cpu", ["ideal", "two_stage", "five_stage"])
@pytest.mark.parametrize("how", ["", "#define POLL\n"])
def test_a_device_finishes_at_its_cycle_and_the_cpu_sees_it_soon(build, cpu, how):
    device = JobDevice()
    result = run(build(source=how + JOB), device, cpu=cpu, max_instructions=100_000)
    assert result.exit_code == 0
    assert device.finished_at == [device.started_at[0] + 5000]
    assert 0 <= int(result.uart, 16) - device.finished_at[0] < 400
    assert (result.idle_cycles > 4000) == (not how)


def test_wfi_wakes_without_trapping_when_interrupts_are_off(build):
    source = r"""
    #include "interrupts.h"
    int main(void)
    {
        csr_write(mie, INTERRUPT_BIT(DLASIM_INTERRUPT_TIMER));
        timer_in(1000);
        wait_for_interrupt();
        put_hex(csr_read(mip));
        wait_for_interrupt(); /* still pending: returns at once */
        timer_off();
        put_hex(csr_read(mip));
        return 0;
    }
    """
    result = run(build(source=source))
    assert result.exit_code == 0
    assert result.uart.decode().split() == ["00000080", "00000000"]
    assert 900 < result.idle_cycles <= 1000


def test_sleep_that_nothing_ends_is_reported(build):
    source = "int main(void) { csr_write(mie, 0x888); for (;;) wait_for_interrupt(); }"
    result = run(build(source=source))
    assert result.reason is Reason.DEADLOCK
    assert result.exit_code is None


def test_an_exit_right_before_sleep_is_an_exit(build):
    source = """
    .section .text.start, "ax"
    .globl _start
    _start: lui t0, 0x100
    li t1, 0x33333
    sw t1, 0(t0)
    wfi
    """
    result = run(build(source=source, assembly=True, boot=False))
    assert (result.reason, result.exit_code) == (Reason.EXIT, 3)


def test_sleep_ends_at_the_limit_of_cycles(build):
    source = r"""
    #include "interrupts.h"
    int main(void) { csr_write(mie, 0x80); timer_in(1u << 30); for (;;) wait_for_interrupt(); }
    """
    result = run(build(source=source), max_cycles=50_000)
    assert result.reason is Reason.MAX_CYCLES
    assert result.cycles == 50_000


def test_an_unwanted_line_does_not_disturb(build):
    source = r"""
    #include "interrupts.h"
    int main(void) { interrupts_on(); write32(JOB_START, 10); for (volatile int i = 0; i < 1000; i++) { }
                     return (int)read32(JOB_STATUS); }
    """
    result = run(build(source=source), JobDevice())
    assert result.exit_code == 1  # pending, never enabled, never taken


def test_a_spurious_interrupt_finds_no_cause_and_the_program_gets_on(build):
    source = r"""
    #include "interrupts.h"
    static volatile int spurious;
    void external_interrupt(struct trap_frame *frame)
    {
        (void)frame;
        if (!read32(JOB_STATUS)) /* lowers the line */
            spurious++;
    }
    int main(void)
    {
        csr_write(mie, INTERRUPT_BIT(DLASIM_INTERRUPT_EXTERNAL));
        interrupts_on();
        for (int i = 0; i < 3; i++)
            write32(JOB_START, 1);
        for (volatile int i = 0; i < 10; i++) { }
        return spurious;
    }
    """
    device = Glitch()
    result = run(build(source=source), device, max_instructions=100_000)
    assert result.exit_code == device.loads
    assert result.exit_code in (1, 2, 3)


def test_a_late_acknowledge_means_the_interrupt_comes_again(build):
    source = r"""
    #include "interrupts.h"
    static volatile int taken;
    void external_interrupt(struct trap_frame *frame)
    {
        (void)frame;
        if (++taken == 4)
            write32(JOB_ACKNOWLEDGE, 1);
    }
    int main(void)
    {
        csr_write(mie, INTERRUPT_BIT(DLASIM_INTERRUPT_EXTERNAL));
        interrupts_on();
        write32(JOB_START, 1);
        for (volatile int i = 0; i < 100; i++) { }
        return taken;
    }
    """
    assert run(build(source=source), JobDevice(), max_instructions=100_000).exit_code == 4


def test_interrupted_loops_keep_their_registers(build):
    """The storm's main program must compute the same with and without interrupts."""
    device = JobDevice()
    quiet, stormy = (
        run(build("storm", f"JOB_CYCLES={cycles}"), device, max_instructions=1_000_000)
        for cycles in (900_000, 7)
    )
    assert quiet.exit_code == stormy.exit_code == 0
    assert stormy.instructions > quiet.instructions
