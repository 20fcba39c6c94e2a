/* Double precision as far as decoding boxes needs it, in integers: each result is rounded as IEEE 754 does it. */
#ifndef DLASIM_KERNELS_SOFT_DOUBLE_H
#define DLASIM_KERNELS_SOFT_DOUBLE_H

#include <stdint.h>

/* significand * 2^exponent. Of 53 bits at most, the highest one is bit 52; 0 has significand 0. There are no
 * infinities: exponents have room for what floats can give. */
struct real64 {
    uint64_t significand;
    int32_t exponent;
    uint32_t is_negative;
};

/* Of two floats, the second above 0; 0 if the first is none. */
struct real64 quotient64(float value, float divisor);
struct real64 product64(struct real64 value, float factor);
struct real64 sum64(struct real64 value, float summand);

/* e^x for x of -16 to 16 with an error of 2^-58; beyond, that of the nearer end. */
struct real64 exponential64(struct real64 x);

float to_float(struct real64 value);

#endif
