/* The job device of the tests, where the DLA would be. */
#ifndef INTERRUPTS_H
#define INTERRUPTS_H

#include "support.h"

#define JOB_START (DLASIM_DLA_BASE + 0)
#define JOB_STATUS (DLASIM_DLA_BASE + 4)
#define JOB_ACKNOWLEDGE (DLASIM_DLA_BASE + 8)
#define JOB_AGAIN (DLASIM_DLA_BASE + 12)

static inline uint32_t time_low(void) { return read32(DLASIM_CLINT_TIME_LOW); }

static inline void timer_in(uint32_t cycles)
{
    uint32_t when = time_low() + cycles;
    write32(DLASIM_CLINT_COMPARE_LOW, 0xffffffff); /* never early in between */
    write32(DLASIM_CLINT_COMPARE_HIGH, 0);
    write32(DLASIM_CLINT_COMPARE_LOW, when);
}

static inline void timer_off(void) { write32(DLASIM_CLINT_COMPARE_HIGH, 0xffffffff); }

#endif
