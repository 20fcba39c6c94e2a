/* The firmware's main, with a timer that goes off every few hundred cycles all the while. */
#include "boot.h"
#include "dlasim_launch.h"
#include "runtime.h"
#include "uart.h"

enum { TICK_CYCLES = 300 };

const volatile struct dlasim_launch launch = { .inferences = 1 };

static volatile uint32_t ticks;

static void start_tick(void)
{
    write32(DLASIM_CLINT_COMPARE_HIGH, 0);
    write32(DLASIM_CLINT_COMPARE_LOW, read32(DLASIM_CLINT_TIME_LOW) + TICK_CYCLES);
}

void timer_interrupt(struct trap_frame *frame)
{
    (void)frame;
    ticks++;
    start_tick();
}

int main(void)
{
    static struct program program;
    if (program_open(&program, (const void *)DLASIM_PROGRAM_BASE) != OK)
        return 1;
    program_place(&program, (void *)launch.arena, (void *)launch.inputs, (void *)launch.outputs);
    if (runtime_start(&program, launch.completion) != OK)
        return 1;
    csr_set(mie, INTERRUPT_BIT(DLASIM_INTERRUPT_TIMER));
    interrupts_on();
    start_tick();
    enum status status = runtime_infer(&program, launch.submission);
    put_number("ticks ", ticks);
    put_text("\n");
    return status;
}
