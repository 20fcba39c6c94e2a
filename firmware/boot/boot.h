/* What start-up and trap handling offer to the rest of the firmware. */
#ifndef DLASIM_BOOT_H
#define DLASIM_BOOT_H

#include <stdint.h>

#include "dlasim_board.h"

#define MACHINE_INTERRUPT_ENABLE 8u /* mstatus.MIE */
#define INTERRUPT_BIT(number) (1u << (number))

#define csr_read(name)                                                                                        \
    ({                                                                                                         \
        uint32_t value_;                                                                                       \
        __asm__ volatile("csrr %0, " #name : "=r"(value_)::"memory");                                          \
        value_;                                                                                                \
    })
#define csr_write(name, value) __asm__ volatile("csrw " #name ", %0" ::"rK"(value) : "memory")
#define csr_set(name, bits) __asm__ volatile("csrs " #name ", %0" ::"rK"(bits) : "memory")
#define csr_clear(name, bits) __asm__ volatile("csrc " #name ", %0" ::"rK"(bits) : "memory")

/* The interrupted program, as trap.S saved it; x[0] is unused. A handler may change any of it. */
struct trap_frame {
    uint32_t x[32];
    uint32_t pc;
    uint32_t status;
    uint32_t cause;
    uint32_t value;
};

/* Handlers a program may define; the defaults report the trap on the UART and exit with code 127. */
void software_interrupt(struct trap_frame *frame);
void timer_interrupt(struct trap_frame *frame);
void external_interrupt(struct trap_frame *frame);
void exception(struct trap_frame *frame);

_Noreturn void board_exit(int code);

static inline void write32(uint32_t address, uint32_t value) { *(volatile uint32_t *)address = value; }
static inline uint32_t read32(uint32_t address) { return *(volatile uint32_t *)address; }
static inline void write8(uint32_t address, uint8_t value) { *(volatile uint8_t *)address = value; }
static inline uint8_t read8(uint32_t address) { return *(volatile uint8_t *)address; }

static inline void interrupts_on(void) { csr_set(mstatus, MACHINE_INTERRUPT_ENABLE); }

/* Returns whether they were on, for interrupts_restore. */
static inline uint32_t interrupts_off(void)
{
    uint32_t status;
    __asm__ volatile("csrrci %0, mstatus, 8" : "=r"(status)::"memory");
    return status & MACHINE_INTERRUPT_ENABLE;
}
static inline void interrupts_restore(uint32_t were_on) { csr_set(mstatus, were_on); }

/* Sleeps until an interrupt that mie enables is pending, whether or not mstatus.MIE is set: test the
 * condition with interrupts off, sleep, then turn them on, and no wake-up can be lost. */
static inline void wait_for_interrupt(void) { __asm__ volatile("wfi" ::: "memory"); }

#endif
