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
.Lswapped:
    bnez sp, 1f
    csrr sp, mscratch               /* nested: go on where the outer trap is */
1:  addi sp, sp, -FRAME_BYTES
    each_register sw
.Lsaved:
    csrr t0, mscratch
    sw t0, 4 * 2(sp)                /* the interrupted sp */
.Lsaved_sp:
    csrw mscratch, zero
    csrr t0, mepc
    sw t0, PC(sp)
.Lsaved_pc:
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
.Lrestored:
    mret
.Lend:
    .size trap_entry, . - trap_entry

/* How a debugger finds the interrupted program from any instruction above. The directives (.cfi_startproc and
 * so on) will not do: clang leaves out that this is a signal frame, "S", and without it a debugger takes the
 * change of stacks for damage. The interrupted pc has a column of its own, 64, since ra is a register among
 * others; 4096 + n is control register n. */
    .equ CFA_SET_LOCATION, 0x01
    .equ CFA_REGISTER, 0x09         /* a register's value is in another one */
    .equ CFA_DEFINE, 0x0c           /* the frame starts at register + offset; sp was that, unless said */
    .equ CFA_OFFSET_EXTENDED, 0x05  /* a register's value is at frame + 4 * n */
    .equ SP, 2
    .equ INTERRUPTED_PC, 64
    .equ MSCRATCH, 4096 + 0x340
    .equ MEPC, 4096 + 0x341

    .macro from label
    .byte CFA_SET_LOCATION
    .4byte \label
    .endm
    .macro define operation, first, second
    .byte \operation
    .uleb128 \first
    .uleb128 \second
    .endm
    .macro is_saved number
    define CFA_OFFSET_EXTENDED, \number, \number
    .endm
    .macro each_register_is_saved
    .irp n, 1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
    is_saved \n
    .endr
    .endm
    .macro everything_is_in_registers
    define CFA_DEFINE, SP, 0
    define CFA_REGISTER, INTERRUPTED_PC, MEPC
    .endm

    .section .debug_frame, "", @progbits
.Lcommon:
    .4byte .Lcommon_end - .Lcommon - 4
    .4byte -1                       /* a common entry */
    .byte 3                         /* version */
    .asciz "S"                      /* of signal frames */
    .uleb128 1                      /* addresses count bytes, */
    .sleb128 4                      /* offsets words */
    .uleb128 INTERRUPTED_PC         /* the return address */
    everything_is_in_registers
    .balign 4
.Lcommon_end:
    .4byte .Ldescription_end - .Lcommon_end - 4
    .4byte .Lcommon
    .4byte trap_entry
    .4byte .Lrestored - trap_entry
    from .Lswapped
    define CFA_DEFINE, MSCRATCH, 0
    from .Lsaved
    define CFA_DEFINE, SP, 0
    define CFA_REGISTER, SP, MSCRATCH
    each_register_is_saved
    from .Lsaved_sp
    is_saved SP
    from .Lsaved_pc
    define CFA_OFFSET_EXTENDED, INTERRUPTED_PC, PC / 4
    .balign 4
.Ldescription_end:
    .4byte .Lrestored_end - .Ldescription_end - 4
    .4byte .Lcommon
    .4byte .Lrestored
    .4byte .Lend - .Lrestored
    .balign 4
.Lrestored_end:
