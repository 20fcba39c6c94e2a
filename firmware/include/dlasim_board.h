/* The board's memory map. Generated from dlasim/vp/devices/memory_map.py; edit that, not this. */
#ifndef DLASIM_BOARD_H
#define DLASIM_BOARD_H

/* FLASH: firmware, then the program image. */
#define DLASIM_FLASH_BASE 0x20000000u
#define DLASIM_FLASH_BYTES 0x04000000u

/* PROGRAM: the program image. */
#define DLASIM_PROGRAM_BASE 0x20100000u
#define DLASIM_PROGRAM_BYTES 0x03f00000u

/* RAM: stack, data, heap. */
#define DLASIM_RAM_BASE 0x80000000u
#define DLASIM_RAM_BYTES 0x04000000u

/* EXIT: exit code, marks for the profiler, size of RAM. */
#define DLASIM_EXIT_BASE 0x00100000u
#define DLASIM_EXIT_BYTES 0x00001000u
/* 32 bits, write EXIT_PASS, or EXIT_FAIL | code << 16, to end the run. */
#define DLASIM_EXIT_STATUS (DLASIM_EXIT_BASE + 0x0000u)
/* 32 bits, size of RAM; reads 0 on other boards. */
#define DLASIM_EXIT_RAM_BYTES (DLASIM_EXIT_BASE + 0x0008u)
/* 32 bits, write an id: the region starts here. */
#define DLASIM_EXIT_REGION_BEGIN (DLASIM_EXIT_BASE + 0x0010u)
/* 32 bits, write an id: the region ends here. */
#define DLASIM_EXIT_REGION_END (DLASIM_EXIT_BASE + 0x0014u)

/* CLINT: timer and software interrupt. */
#define DLASIM_CLINT_BASE 0x02000000u
#define DLASIM_CLINT_BYTES 0x00010000u
/* 32 bits, bit 0 is the software interrupt's line. */
#define DLASIM_CLINT_SOFTWARE_INTERRUPT (DLASIM_CLINT_BASE + 0x0000u)
/* 32 bits, the timer interrupts while time >= compare. */
#define DLASIM_CLINT_COMPARE_LOW (DLASIM_CLINT_BASE + 0x4000u)
/* 32 bits, upper half of compare. */
#define DLASIM_CLINT_COMPARE_HIGH (DLASIM_CLINT_BASE + 0x4004u)
/* 32 bits, CPU cycles since reset. */
#define DLASIM_CLINT_TIME_LOW (DLASIM_CLINT_BASE + 0xbff8u)
/* 32 bits, upper half of time. */
#define DLASIM_CLINT_TIME_HIGH (DLASIM_CLINT_BASE + 0xbffcu)

/* UART: console. */
#define DLASIM_UART_BASE 0x10000000u
#define DLASIM_UART_BYTES 0x00001000u
/* 8 bits, write: send a byte; read: the next received byte, 0 if none. */
#define DLASIM_UART_DATA (DLASIM_UART_BASE + 0x0000u)
/* 8 bits, bit 0: a byte was received; bit 5: ready to send. */
#define DLASIM_UART_LINE_STATUS (DLASIM_UART_BASE + 0x0005u)

/* DLA: registers of the accelerator. */
#define DLASIM_DLA_BASE 0x11000000u
#define DLASIM_DLA_BYTES 0x00001000u

/* Values for the exit device's STATUS. */
#define DLASIM_EXIT_PASS 0x5555u
#define DLASIM_EXIT_FAIL 0x3333u /* | code << 16 */

/* Bits of the UART's LINE_STATUS. */
#define DLASIM_UART_RECEIVED 0x01u
#define DLASIM_UART_READY_TO_SEND 0x20u

/* Bit numbers in mip and mie, cause codes in mcause. The DLA drives the external one. */
#define DLASIM_INTERRUPT_SOFTWARE 3
#define DLASIM_INTERRUPT_TIMER 7
#define DLASIM_INTERRUPT_EXTERNAL 11

#endif
