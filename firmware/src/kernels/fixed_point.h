/* TFLite's fixed point: what every quantized kernel ends with. All sums wrap at 32 bits, as TensorFlow's
 * do; the firmware is compiled so that signed overflow is defined (-fwrapv). */
#ifndef DLASIM_KERNELS_FIXED_POINT_H
#define DLASIM_KERNELS_FIXED_POINT_H

#include <stdint.h>

/* The high half of the doubled product, rounded half up. It would overflow for -2^31 * -2^31 alone, which
 * nobody asks for. */
static inline int32_t high_multiply(int32_t left, int32_t right)
{
    return (int32_t)(((int64_t)left * right + (1 << 30)) >> 31);
}

/* The same for a factor that is not negative and was doubled before: then the high half is a word by itself,
 * and rounding adds the highest bit of the low word. */
static inline int32_t high_multiply_doubled(int32_t value, uint32_t doubled)
{
    int64_t product = (int64_t)value * (int64_t)(uint64_t)doubled;
    return (int32_t)(product >> 32) + (int32_t)((uint32_t)product >> 31);
}

/* value / (mask + 1), rounded half away from zero, for a power of two: `mask` is the bits that are cut off,
 * and is what the rounding is made from, because adding a half first could overflow. Mask 0 changes nothing. */
static inline int32_t divide_rounded(int32_t value, uint32_t exponent, int32_t mask)
{
    int32_t threshold = (mask >> 1) + (int32_t)((uint32_t)value >> 31);
    return (value >> exponent) + ((value & mask) > threshold);
}

/* The same from the exponent alone, which is at most 31. */
static inline int32_t rounding_divide(int32_t value, uint32_t exponent)
{
    return divide_rounded(value, exponent, (int32_t)((1u << exponent) - 1));
}

/* multiplier / 2^31 * 2^shift, as the compiler prepares it, ready for use. Scales are positive, so multipliers
 * are too; and never are both shifts above 0. */
struct scale {
    uint32_t doubled; /* multiplier * 2 */
    uint32_t left;
    uint32_t right;
    int32_t mask; /* 2^right - 1 */
};

static inline struct scale make_scale(int32_t multiplier, int32_t shift)
{
    uint32_t left = shift > 31 ? 31 : shift > 0 ? (uint32_t)shift : 0;
    uint32_t right = shift < -31 ? 31 : shift < 0 ? -(uint32_t)shift : 0;
    return (struct scale){ (uint32_t)multiplier << 1, left, right, (int32_t)((1u << right) - 1) };
}

static inline int32_t requantize(int32_t value, struct scale scale)
{
    int32_t shifted = (int32_t)((uint32_t)value << scale.left);
    return divide_rounded(high_multiply_doubled(shifted, scale.doubled), scale.right, scale.mask);
}

static inline int32_t clamp(int32_t value, int32_t least, int32_t greatest)
{
    return value < least ? least : value > greatest ? greatest : value;
}

static inline int8_t clamp_to_int8(int32_t value) { return (int8_t)clamp(value, INT8_MIN, INT8_MAX); }

/* Of a 64-bit sum: the multiplier cut to 15 bits, one rounding, half up; the low 32 bits. */
static inline int32_t rescale_wide(int64_t total, int32_t multiplier, int32_t shift)
{
    int64_t factor = ((int64_t)multiplier + (1 << 15)) >> 16;
    uint32_t drop = (uint32_t)(15 - clamp(shift, -31, 14));
    factor = factor < INT16_MAX ? factor : INT16_MAX;
    return (int32_t)((total * factor + ((int64_t)1 << (drop - 1))) >> drop);
}

#endif
