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

/* A number of 24 bits, which take_apart makes of a float other than 0, infinities and NaN. */
struct float_parts {
    int32_t exponent; /* biased, and 0 or less for a subnormal */
    uint32_t significand; /* the leading one is bit 23, also of a subnormal */
};
struct float_parts take_apart(uint32_t magnitude);

/* The number significand / 2^30 * 2^(exponent - 127), rounded; the significand's bit 30 is its highest, and its bit 0
 * stands for whatever lies below, too. */
float round_off(uint32_t sign, int32_t exponent, uint32_t significand);

/* TileShape off; the nearest of both ends where that is beyond 64 bits, 0 for NaN. */
int64_t truncate(float value);

#endif
