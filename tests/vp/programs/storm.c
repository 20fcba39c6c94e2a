/* Interrupts as fast as the device can raise them, while the main program counts to a fixed number; the
 * timer ticks in between. */
#include "interrupts.h"

static volatile uint32_t storms, ticks;

void external_interrupt(struct trap_frame *frame)
{
    (void)frame;
    if (++storms == 200)
        write32(JOB_AGAIN, 0);
    write32(JOB_ACKNOWLEDGE, 1);
}

void timer_interrupt(struct trap_frame *frame)
{
    (void)frame;
    ticks++;
    timer_in(500);
}

int main(void)
{
    csr_write(mie, INTERRUPT_BIT(DLASIM_INTERRUPT_EXTERNAL) | INTERRUPT_BIT(DLASIM_INTERRUPT_TIMER));
    write32(JOB_AGAIN, JOB_CYCLES);
    write32(JOB_START, JOB_CYCLES);
    timer_in(500);
    interrupts_on();
    uint32_t sum = 0;
    for (uint32_t i = 0; i < 10000; i++) {
        sum += i;
        __asm__ volatile("" : "+r"(sum));
    }
    interrupts_off();
    put_hex(storms);
    put_hex(ticks);
    return sum == 49995000 ? 0 : 1;
}
