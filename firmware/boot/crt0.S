/* Start-up: from reset to main(), and from main's return to the exit device.
 *
 * Order matters: traps are pointed somewhere safe before memory is touched, .data and .bss are ready
 * before any C runs, and interrupts stay off until the program turns them on. */
#include "dlasim_board.h"

    .section .text.start, "ax", @progbits
    .globl _start
    .type _start, @function
_start:
    .cfi_sections .debug_frame
    .cfi_startproc
    .cfi_undefined ra               /* nobody called this: debuggers stop here */
    csrw mie, zero
    csrci mstatus, 8                /* MIE off */

    .option push
    .option norelax                 /* gp cannot be set relative to itself */
    la gp, __global_pointer$
    .option pop
    la sp, __stack_top

    la t0, trap_entry
    csrw mtvec, t0                  /* direct mode: one entry for every cause */
    la t0, trap_stack_top
    csrw mscratch, t0               /* not zero: not inside a trap (see trap.S) */

    la t0, __data_load              /* .data: from flash to RAM */
    la t1, __data_start
    la t2, __data_end
    bgeu t1, t2, 2f
1:  lw t3, 0(t0)
    sw t3, 0(t1)
    addi t0, t0, 4
    addi t1, t1, 4
    bltu t1, t2, 1b

2:  la t1, __bss_start              /* .bss: zero */
    la t2, __bss_end
    bgeu t1, t2, 4f
3:  sw zero, 0(t1)
    addi t1, t1, 4
    bltu t1, t2, 3b

4:  li a0, 0
    li a1, 0
    call main
    call board_exit                 /* exit code: what main returned */
    .cfi_endproc
    .size _start, . - _start

/* _Noreturn void board_exit(int code): ends the run; 0 passes. */
    .section .text.board_exit, "ax", @progbits
    .globl board_exit
    .type board_exit, @function
board_exit:
    .cfi_startproc
    li t0, DLASIM_EXIT_STATUS
    li t1, DLASIM_EXIT_PASS
    beqz a0, 1f
    slli a0, a0, 16
    li t1, DLASIM_EXIT_FAIL
    or t1, t1, a0
1:  sw t1, 0(t0)
2:  j 2b                            /* the board stops at the end of a block at the latest */
    .cfi_endproc
    .size board_exit, . - board_exit
