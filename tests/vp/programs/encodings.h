/* Executes single instructions, whatever they do, and tells which are illegal. */
#ifndef ENCODINGS_H
#define ENCODINGS_H

#include "support.h"

enum { ILLEGAL_INSTRUCTION = 2, BREAK = 0x9002, CELL_HALVES = 0x2000, CELL = CELL_HALVES / 2 };

/* The instruction lies in the middle of the first, and every register points to the middle of the second. Both are full
 * of c.ebreak, so that an instruction that jumps comes back. */
static uint16_t cells[CELL_HALVES], landing[CELL_HALVES];

uint32_t context[16]; /* registers that a function must keep */
uint32_t trap_cause, trap_pc, trap_value;

void execute(const void *cell, const void *everywhere);
__asm__(".text\n"
        ".balign 4\n"
        "execute:\n"
        "    lla t0, context\n"
        "    .irp n, 0,1,2,3,4,5,6,7,8,9,10,11\n"
        "    sw s\\n, 4*\\n(t0)\n"
        "    .endr\n"
        "    sw ra, 48(t0)\n sw sp, 52(t0)\n sw gp, 56(t0)\n sw tp, 60(t0)\n"
        "    lla t1, trapped\n"
        "    csrw mtvec, t1\n"
        "    csrw mepc, a0\n"
        "    csrw mcause, zero\n" /* no exception repeats the one before */
        "    mv x31, a1\n"
        "    .irp n, 1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30\n"
        "    mv x\\n, x31\n"
        "    .endr\n"
        "    fence.i\n"
        "    mret\n"
        ".balign 4\n"
        "trapped:\n"
        "    lla t0, context\n"
        "    .irp n, 0,1,2,3,4,5,6,7,8,9,10,11\n"
        "    lw s\\n, 4*\\n(t0)\n"
        "    .endr\n"
        "    lw ra, 48(t0)\n lw sp, 52(t0)\n lw gp, 56(t0)\n lw tp, 60(t0)\n"
        "    lla t0, trap_cause\n csrr t1, mcause\n sw t1, 0(t0)\n"
        "    lla t0, trap_pc\n csrr t1, mepc\n sw t1, 0(t0)\n"
        "    lla t0, trap_value\n csrr t1, mtval\n sw t1, 0(t0)\n"
        "    ret\n");

/* Whether the instruction is illegal; what mtval says of it must be right, too. */
static inline int is_illegal(uint32_t word)
{
    cells[CELL] = (uint16_t)word;
    cells[CELL + 1] = (word & 3) == 3 ? (uint16_t)(word >> 16) : BREAK;
    landing[CELL] = BREAK;
    csr_set(mstatus, 0x1800); /* mret stays in machine mode */
    execute(&cells[CELL], &landing[CELL]);
    int illegal = trap_cause == ILLEGAL_INSTRUCTION && trap_pc == (uint32_t)&cells[CELL];
    if (illegal && trap_value != word)
        put_text("wrong mtval\n");
    return illegal;
}

static inline void prepare(void)
{
    for (int half = 0; half < CELL_HALVES; half++)
        cells[half] = landing[half] = BREAK;
}

#endif
