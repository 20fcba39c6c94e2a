/* The timer's handler lets the software interrupt in (NESTED) or not: prints the order of events. */
#include "interrupts.h"

void software_interrupt(struct trap_frame *frame)
{
    (void)frame;
    put_char('s');
    write32(DLASIM_CLINT_SOFTWARE_INTERRUPT, 0);
    put_char('S');
}

void timer_interrupt(struct trap_frame *frame)
{
    (void)frame;
    put_char('t');
    timer_off();
    write32(DLASIM_CLINT_SOFTWARE_INTERRUPT, 1);
    put_char('-');
#ifdef NESTED
    interrupts_on();
    for (volatile int i = 0; i < 10; i++) { }
    interrupts_off();
#endif
    put_char('T');
}

int main(void)
{
    uint32_t saved[4] = {1, 2, 3, 4};
    timer_off(); /* what it holds after reset differs between boards */
    csr_write(mie, INTERRUPT_BIT(DLASIM_INTERRUPT_SOFTWARE) | INTERRUPT_BIT(DLASIM_INTERRUPT_TIMER));
    interrupts_on();
    timer_in(20);
    for (volatile int i = 0; i < 1000; i++) { }
    put_char('.');
    __asm__ volatile("" : "+m"(saved));
    return csr_read(mscratch) && saved[0] + saved[3] == 5 ? 0 : 1;
}
