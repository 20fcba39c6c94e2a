/* TFLite's fixed point: what every quantized kernel ends with. All sums wrap at 32 bits, as TensorFlow's
 * do; the firmware is compiled so that signed overflow is defined (-fwrapv). */
#ifndef DLASIM_KERNELS_FIXED_POINT_H
#define DLASIM_KERNELS_FIXED_POINT_H

#include <stdint.h>

/* The high half of the doubled product, rounded half up. Of the two signs only -2^31 * -2^31 overflows, and
 * no multiplier is -2^31. */
static inline int32_t high_multiply(int32_t left, int32_t right)
{
    return (int32_t)(((int64_t)left * right + (1 << 30)) >> 31);
}

/* value / 2^exponent, rounded half away from zero; the exponent is at most 31, and 0 changes nothing. Made
 * from the bits that are cut off, because adding a half could overflow. */
static inline int32_t rounding_divide(int32_t value, uint32_t exponent)
{
    int32_t mask = (int32_t)((1u << exponent) - 1);
    int32_t remainder = value & mask, threshold = (mask >> 1) + (value < 0);
    return (value >> exponent) + (remainder > threshold);
}

/* multiplier / 2^31 * 2^shift, as the compiler prepares it; `left` and `right` are never both above 0. */
struct scale {
    int32_t multiplier;
    uint8_t left;
    uint8_t right;
};

static inline struct scale make_scale(int32_t multiplier, int32_t shift)
{
    uint32_t distance = shift < 0 ? -(uint32_t)shift : (uint32_t)shift;
    uint8_t bits = distance > 31 ? 31 : (uint8_t)distance;
    return (struct scale){ multiplier, shift > 0 ? bits : 0, shift < 0 ? bits : 0 };
}

static inline int32_t requantize(int32_t value, struct scale scale)
{
    int32_t shifted = (int32_t)((uint32_t)value << scale.left);
    return rounding_divide(high_multiply(shifted, scale.multiplier), scale.right);
}

static inline int32_t clamp(int32_t value, int32_t least, int32_t greatest)
{
    return value < least ? least : value > greatest ? greatest : value;
}

static inline int8_t clamp_to_int8(int32_t value) { return (int8_t)clamp(value, INT8_MIN, INT8_MAX); }

#endif
