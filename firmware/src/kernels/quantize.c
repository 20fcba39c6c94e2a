/* QUANTIZE: real numbers to integers, without an FPU: float32 division bit by bit, as IEEE 754 rounds it. */
#include "call.h"
#include "fixed_point.h"
#include "string.h"

enum {
    FRACTION_BITS = 23,
    EXPONENT_BIAS = 127,
    EXPONENT_OF_INFINITY = 255,
};

/* mantissa * 2^exponent, the mantissa 24 bits long; zero has mantissa 0. */
struct real {
    uint32_t mantissa;
    int32_t exponent;
    uint32_t is_negative;
};

static struct real unpack(uint32_t bits)
{
    struct real real = {
        .mantissa = bits & ((1u << FRACTION_BITS) - 1),
        .exponent = (int32_t)(bits >> FRACTION_BITS & 255),
        .is_negative = bits >> 31,
    };
    if (real.exponent)
        real.mantissa |= 1u << FRACTION_BITS; /* the leading one that is not stored */
    else
        real.exponent = 1; /* a subnormal */
    real.exponent -= EXPONENT_BIAS + FRACTION_BITS;
    while (real.mantissa && !(real.mantissa >> FRACTION_BITS))
        real.mantissa <<= 1, real.exponent--;
    return real;
}

/* The quotient of two numbers that are not zero, rounded to 24 bits; it never lies on a tie. */
static struct real divide(struct real one, struct real other)
{
    uint32_t remainder = one.mantissa, quotient = 0;
    struct real result = { .exponent = one.exponent - other.exponent, .is_negative = one.is_negative };
    if (remainder < other.mantissa)
        remainder <<= 1, result.exponent--;
    for (uint32_t bit = 0; bit <= FRACTION_BITS; bit++) {
        quotient <<= 1;
        if (remainder >= other.mantissa)
            remainder -= other.mantissa, quotient |= 1;
        remainder <<= 1;
    }
    /* What remains, doubled already, stands to the divisor as the cut-off part to a half. */
    if (remainder > other.mantissa)
        quotient++;
    result.mantissa = quotient; /* 2^24 after a carry: one bit longer, and right all the same */
    result.exponent -= FRACTION_BITS;
    return result;
}

/* To the nearest integer, half away from zero, as far as 2^30. */
static int32_t round_to_integer(struct real real)
{
    uint32_t magnitude;
    if (real.exponent >= 0)
        magnitude = real.exponent > 5 ? 1u << 30 : real.mantissa << real.exponent;
    else if (real.exponent < -(FRACTION_BITS + 2))
        magnitude = 0;
    else
        magnitude = (real.mantissa + (1u << (-real.exponent - 1))) >> -real.exponent;
    return real.is_negative ? -(int32_t)magnitude : (int32_t)magnitude;
}

static int32_t quantize_one(uint32_t bits, struct real scale)
{
    uint32_t exponent = bits >> FRACTION_BITS & 255, fraction = bits & ((1u << FRACTION_BITS) - 1);
    if (exponent == EXPONENT_OF_INFINITY)
        return fraction ? 0 : bits >> 31 ? -(1 << 30) : 1 << 30; /* NaN counts as 0 */
    struct real real = unpack(bits);
    return real.mantissa ? round_to_integer(divide(real, scale)) : 0;
}

enum status quantize(const struct call *call)
{
    const struct dla_host_quantize *a = call->attributes;
    struct tensor input = call_input(call, 0), output = call_output(call, 0);
    const uint32_t *source = input.data;
    uint32_t scale_bits;
    memcpy(&scale_bits, &a->scale, sizeof(scale_bits));
    struct real scale = unpack(scale_bits);
    for (uint32_t number = 0; number < output.elements; number++) {
        int32_t value = quantize_one(source[number], scale) + a->zero_point;
        if (output.type == DLA_DATA_TYPE_INT16)
            ((int16_t *)output.data)[number] = (int16_t)clamp(value, INT16_MIN, INT16_MAX);
        else if (output.type == DLA_DATA_TYPE_UINT8)
            ((uint8_t *)output.data)[number] = (uint8_t)clamp(value, 0, UINT8_MAX);
        else
            ((int8_t *)output.data)[number] = clamp_to_int8(value);
    }
    return OK;
}
