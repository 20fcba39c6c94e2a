/* Trap entry and return: saves all registers as a struct trap_frame, calls trap_dispatch(frame) in C,
 * restores, returns to frame->pc.
 *
 * Traps run on a stack of their own, so that the report of a stack overflow has somewhere to stand.
 * mscratch tells the levels apart: outside traps it holds that stack's top, inside it is zero, and a
 * nested trap (an exception in a handler, or an interrupt after a handler set mstatus.MIE) goes on
 * below the frame of the outer one. */

    .equ TRAP_STACK_BYTES, 8192
    .equ FRAME_BYTES, 144           /* 36 words: a multiple of 16, as the ABI wants sp */
    .equ PC, 32 * 4                 /* words 1 to 31 are x1 to x31; word 0 is unused */
    .equ STATUS, 33 * 4
    .equ CAUSE, 34 * 4
    .equ VALUE, 35 * 4

    .section .bss.trap_stack, "aw", @nobits
    .balign 16
    .globl trap_stack_bottom
trap_stack_bottom:
    .zero TRAP_STACK_BYTES
    .globl trap_stack_top
trap_stack_top:

    .macro each_register instruction
    .irp n, 1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
    \instruction x\n, 4 * \n(sp)
    .endr
    .endm

    .section .text.trap_entry, "ax", @progbits
    .balign 4
    .globl trap_entry
    .type trap_entry, @function
trap_entry:
    csrrw sp, mscratch, sp          /* sp: the trap stack, or 0 when already in a trap */
    bnez sp, 1f
    csrr sp, mscratch               /* nested: go on where the outer trap is */
1:  addi sp, sp, -FRAME_BYTES
    each_register sw
    csrr t0, mscratch
    sw t0, 4 * 2(sp)                /* the interrupted sp */
    csrw mscratch, zero
    csrr t0, mepc
    sw t0, PC(sp)
    csrr t0, mstatus
    sw t0, STATUS(sp)
    csrr t0, mcause
    sw t0, CAUSE(sp)
    csrr t0, mtval
    sw t0, VALUE(sp)

    mv a0, sp
    call trap_dispatch

    csrci mstatus, 8                /* a handler may have allowed nesting; not from here on */
    lw t0, PC(sp)
    csrw mepc, t0
    lw t0, STATUS(sp)
    csrw mstatus, t0                /* MPIE and MPP as they were; MIE was cleared by the entry */
    la t0, trap_stack_top - FRAME_BYTES
    bne sp, t0, 2f
    la t0, trap_stack_top           /* leaving the outermost trap */
    csrw mscratch, t0
2:  each_register lw
    lw sp, 4 * 2(sp)
    mret
    .size trap_entry, . - trap_entry
