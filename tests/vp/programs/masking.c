/* A pending interrupt waits for mie and for mstatus.MIE, and comes right after the instruction that lets
 * it in; prints whether it came and how far behind that instruction. */
#include "interrupts.h"

extern const char let_in_by_mie[], let_in_by_mstatus[];
static volatile uint32_t came_at;

void software_interrupt(struct trap_frame *frame)
{
    came_at = frame->pc;
    write32(DLASIM_CLINT_SOFTWARE_INTERRUPT, 0);
}

static void report(const char *expected)
{
    put_hex(came_at ? came_at - (uint32_t)expected : 0xffffffff);
    came_at = 0;
}

int main(void)
{
    timer_off(); /* what it holds after reset differs between boards */
    interrupts_on();
    write32(DLASIM_CLINT_SOFTWARE_INTERRUPT, 1); /* enabled by mstatus, not by mie */
    for (volatile int i = 0; i < 100; i++) { }
    put_hex(csr_read(mip));
    report(0);
    __asm__ volatile("csrs mie, %0\nlet_in_by_mie:\nnop" ::"r"(8) : "memory");
    report(let_in_by_mie);
    interrupts_off();
    write32(DLASIM_CLINT_SOFTWARE_INTERRUPT, 1); /* enabled by mie, not by mstatus */
    for (volatile int i = 0; i < 100; i++) { }
    report(0);
    __asm__ volatile("csrsi mstatus, 8\nlet_in_by_mstatus:\nnop" ::: "memory");
    report(let_in_by_mstatus);
    put_hex(csr_read(mip));
    return 0;
}
