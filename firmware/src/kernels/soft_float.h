/* float without an FPU. soft_float.c has what the compiler calls for +, -, *, /, comparisons and conversions of
 * float, so kernels use these as they are; here are the other functions that IEEE 754 defines to the last bit. */
#ifndef DLASIM_KERNELS_SOFT_FLOAT_H
#define DLASIM_KERNELS_SOFT_FLOAT_H

#include <stdint.h>

union float_bits {
    float value;
    uint32_t bits;
};

static inline uint32_t bits_of(float value) { return (union float_bits){ .value = value }.bits; }
static inline float float_of(uint32_t bits) { return (union float_bits){ .bits = bits }.value; }

/* Numbers in their order as integers; both zeros are 0. */
static inline int32_t order_of(uint32_t bits)
{
    int32_t magnitude = (int32_t)(bits & INT32_MAX);
    return (int32_t)bits < 0 ? -magnitude : magnitude;
}

static inline int is_nan(uint32_t bits) { return (bits & INT32_MAX) > 0x7F800000u; }

static inline float absolute_value(float value) { return float_of(bits_of(value) & ~(1u << 31)); }

/* Rounded to nearest. */
float square_root(float value);

/* To an integer: down, up, or to nearest, half to even. */
float round_down(float value);
float round_up(float value);
float round_to_even(float value);

/* What a division of which the quotient is cut off leaves; it has the sign of `value`, and is exact. */
float remainder_of(float value, float divisor);

/* The quotient in double precision, rounded down, in single precision. */
float floor_of_quotient(float value, float divisor);

/* Cut off; the nearest of both ends where that is beyond 64 bits, 0 for NaN. */
int64_t truncate(float value);

#endif
