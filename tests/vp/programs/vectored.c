/* Vectored traps: each interrupt has its own entry; all three pending at once are served by rank. Prints a
 * letter per interrupt. */
#include "interrupts.h"

extern const char vectors[];

__asm__(".section .text.vectors, \"ax\"\n.balign 256\n.option push\n.option norvc\n"
        ".globl vectors\nvectors:\n"
        "j on_exception\nnop\nnop\nj on_software\nnop\nnop\nnop\nj on_timer\nnop\nnop\nnop\nj on_external\n"
        ".option pop\n");

__attribute__((interrupt("machine"), used)) static void on_exception(void)
{
    put_char('x');
    csr_write(mepc, csr_read(mepc) + 4);
}

__attribute__((interrupt("machine"), used)) static void on_software(void)
{
    put_char('s');
    write32(DLASIM_CLINT_SOFTWARE_INTERRUPT, 0);
}

__attribute__((interrupt("machine"), used)) static void on_timer(void)
{
    put_char('t');
    timer_off();
}

__attribute__((interrupt("machine"), used)) static void on_external(void)
{
    put_char('e');
    write32(JOB_ACKNOWLEDGE, 1);
}

int main(void)
{
    timer_off(); /* what it holds after reset differs between boards */
    csr_write(mtvec, (uint32_t)vectors | 1);
    csr_write(mie, 0x888);
    timer_in(0);
    write32(DLASIM_CLINT_SOFTWARE_INTERRUPT, 1);
#ifdef EXTERNAL
    write32(JOB_START, 1);
#endif
    for (volatile int i = 0; i < 200; i++) { }
    interrupts_on();
    for (volatile int i = 0; i < 200; i++) { }
    __asm__ volatile("ecall" ::: "memory");
    put_char('\n');
    return 0;
}
