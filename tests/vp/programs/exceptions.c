/* Every synchronous exception, handled and stepped over; prints cause, value and where it happened. */
#include "support.h"

extern const uint8_t at_illegal[], at_narrow_illegal[], at_break[], at_narrow_break[], at_call[];
static uint32_t taken, resume;

void exception(struct trap_frame *frame)
{
    taken++;
    put_hex(frame->cause);
    put_hex(frame->pc);
    if (resume) {
        frame->pc = resume; /* a jump into nowhere cannot be stepped over */
        resume = 0;
    } else {
        frame->pc += (*(const uint16_t *)frame->pc & 3) == 3 ? 4 : 2;
    }
}

int main(void)
{
    uint32_t before = instructions();
    __asm__ volatile("nop\n.word 0xffffffff");
    __asm__ volatile("nop\n.half 0\nnop");
    __asm__ volatile(".option push\n.option norvc\nebreak\n.option pop");
    __asm__ volatile("c.ebreak");
    __asm__ volatile("ecall" ::: "memory");
    __asm__ volatile("csrr t0, 0x7c0" ::: "t0");
    __asm__ volatile("csrw cycle, t0");
    __asm__ volatile("lw t0, 4(%0)" ::"r"(0x1f000000u) : "t0");
    __asm__ volatile("c.sw %1, 4(%0)" ::"r"(0x1f000000u), "r"(before));
    __asm__ volatile("li t0, 0x80100001\namoadd.w t0, t0, (t0)" ::: "t0", "memory");
    __asm__ volatile("la %0, 1f\nsw %0, %1\njr %2\n1:" : "=&r"(before), "=m"(resume) : "r"(0x1f000000u));
    put_hex(taken);
    return taken == 11 ? 0 : 1;
}
