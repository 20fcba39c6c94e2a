/* How many instructions the trapping ones count for. */
#include "support.h"

static uint32_t resume;

void exception(struct trap_frame *frame)
{
    if (frame->cause == 1)
        frame->pc = resume; /* a jump into nowhere cannot be stepped over */
    else
        frame->pc += (*(const uint16_t *)frame->pc & 3) == 3 ? 4 : 2;
}

#define REPORT(trap)                                                                                           \
    do {                                                                                                       \
        uint32_t before = instructions();                                                                      \
        for (int i = 0; i < 10; i++)                                                                           \
            trap;                                                                                              \
        put_hex(instructions() - before);                                                                      \
    } while (0)

int main(void)
{
    uint32_t nowhere = 0x1f000000u, misaligned = 0x80100001u, scratch = 0;
    REPORT(__asm__ volatile("ecall" ::: "memory"));
    REPORT(__asm__ volatile(".option push\n.option norvc\nebreak\n.option pop"));
    REPORT(__asm__ volatile("c.ebreak"));
    REPORT(__asm__ volatile(".half 0"));
    REPORT(__asm__ volatile(".half 0x2000"));        /* c.fld */
    REPORT(__asm__ volatile("nop\n.half 0x9c01\nnop")); /* c.subw */
    REPORT(__asm__ volatile("nop\n.word 0xffffffff\nnop"));
    REPORT(__asm__ volatile("csrr t0, 0x7c0" ::: "t0"));
    REPORT(__asm__ volatile("csrw cycle, t0"));
    REPORT(__asm__ volatile("lw t0, 0(%0)" ::"r"(nowhere) : "t0"));
    REPORT(__asm__ volatile("nop\nsw t0, 0(%0)\nnop" ::"r"(nowhere) : "t0"));
    REPORT(__asm__ volatile("amoadd.w t0, t0, (%0)" ::"r"(misaligned) : "t0", "memory"));
    REPORT(__asm__ volatile("lr.w t0, (%0)" ::"r"(misaligned) : "t0", "memory"));
    REPORT(__asm__ volatile("la %0, 1f\nsw %0, %1\njr %2\n1:" : "=&r"(scratch), "=m"(resume) : "r"(nowhere)));
    return 0;
}
