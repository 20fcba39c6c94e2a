/* LOGISTIC and TANH of 16 bits: linear between the entries of a table, 65536 / (1 + exp(-k / 24)) in the
 * low 16 bits and the difference to the next entry in the 10 bits above. */
#ifndef DLASIM_KERNELS_INTERPOLATION_H
#define DLASIM_KERNELS_INTERPOLATION_H

#include <stdint.h>

/* The factor of 2^-12 steps. */
enum { STEPS_OF_TABLE = 3, LAST_ENTRY = 255 };

static inline int32_t scale_input(int32_t value, int32_t factor, uint32_t shift)
{
    return (value * factor + (int32_t)((1u << shift) >> 1)) >> shift;
}

static inline uint32_t between(const int32_t *table, uint32_t magnitude, uint32_t bits, uint32_t greatest)
{
    uint32_t entry = magnitude >> bits;
    if (entry >= LAST_ENTRY)
        return greatest;
    uint32_t pair = (uint32_t)table[entry], rest = magnitude & ((1u << bits) - 1);
    return ((pair & 0xFFFF) << bits) + rest * (pair >> 16 & 0x3FF);
}

/* The input in steps of the table; the result in Q0.15. */
static inline int32_t logistic16(int32_t x, const int32_t *table)
{
    uint32_t result = between(table, x < 0 ? -(uint32_t)x : (uint32_t)x, 9, 0x7FFFu << 10);
    return (int32_t)((x < 0 ? (1u << 25) - result + 511 : result + 512) >> 10);
}

static inline int32_t tanh16(int32_t x, const int32_t *table)
{
    int32_t result = (int32_t)between(table, x < 0 ? -(uint32_t)x : (uint32_t)x, 8, 0xFFFFu << 8);
    return (x < 0 ? (1 << 23) - result + 127 : result - (1 << 23) + 128) >> 8;
}

#endif
