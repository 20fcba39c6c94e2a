/* Reciprocals in gemmlowp's fixed point, as SOFTMAX and DIV take them. */
#ifndef DLASIM_KERNELS_RECIPROCAL_H
#define DLASIM_KERNELS_RECIPROCAL_H

#include "fixed_point.h"

enum {
    ONE_IN_Q2 = 1 << 29,       /* 1 with 2 integer bits */
    GUESS = 1515870810,        /* 48/17 in Q2.29: Newton's first guess is this */
    GUESS_SLOPE = -1010580540, /* plus -32/17 times the half denominator */
};

/* value * 2^bits, held at the ends of int32. */
static inline int32_t saturating_left(int32_t value, uint32_t bits)
{
    int64_t wide = (int64_t)value << bits;
    return wide > INT32_MAX ? INT32_MAX : wide < INT32_MIN ? INT32_MIN : (int32_t)wide;
}

/* 1 / (1 + x) in Q0.31, for x in Q0.31 from 0 to 1: three steps of Newton's method. */
static inline int32_t reciprocal_of_one_plus(int32_t x)
{
    int32_t half_denominator = (int32_t)(((int64_t)x + INT32_MAX + 1) >> 1);
    int32_t guess = GUESS + high_multiply(half_denominator, GUESS_SLOPE);
    for (int step = 0; step < 3; step++) {
        int32_t error = ONE_IN_Q2 - high_multiply(half_denominator, guess);
        guess += saturating_left(high_multiply(guess, error), 2);
    }
    return saturating_left(guess, 1);
}

/* dividend / divisor * multiplier / 2^31 * 2^shift as TFLite's DIV computes it: divide.c. */
int32_t divide_quantized_numbers(int32_t dividend, int32_t divisor, int32_t multiplier, int32_t shift);

#endif
