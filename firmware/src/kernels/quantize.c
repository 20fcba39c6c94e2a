/* QUANTIZE: real numbers to integers, without an FPU.
 *
 * Most numbers are multiplied by a reciprocal of the scale, in fixed point. Both the product and the quotient that
 * TensorFlow rounds to float32 differ from the true quotient by less than 2^-23 of it. So the nearest integer is
 * known unless the product is very close to a half. For the few that are, and for special numbers, float32 division
 * is done bit by bit, as IEEE 754 rounds it. */
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
    if ((bits >> FRACTION_BITS & 255) == EXPONENT_OF_INFINITY)
        return bits >> 31 ? -(1 << 30) : 1 << 30; /* NaN counts as an infinity of its sign */
    struct real real = unpack(bits);
    return real.mantissa ? round_to_integer(divide(real, scale)) : 0;
}

enum {
    /* Bits behind the point of a product in fixed point: it is below 2^9, for 16 bits below 2^17. */
    POINT_BITS_8 = 20,
    POINT_BITS_16 = 12,
    SLACK = 128, /* all errors together are below 2^-23 of that, which is half of this in units of the last bit */
    LARGEST_SHIFT = 28,
    NOTHING_IS_FAST = -(1 << 20), /* as a shift */
};

/* A scale made ready for multiplication: the high word of the product of a mantissa, its highest bit set, with
 * `reciprocal`, shifted right by `shift - exponent`, is the quotient in fixed point. */
struct inverse {
    uint32_t reciprocal; /* 2^52 / mantissa, cut off */
    int32_t shift;
};

static struct inverse invert(struct real scale, int32_t point_bits)
{
    /* As in writing, in digits of 7 bits: 2^31, and 21 zeros behind it. */
    uint32_t quotient = (1u << 31) / scale.mantissa, remainder = (1u << 31) % scale.mantissa;
    for (uint32_t digit = 0; digit < 3; digit++) {
        remainder <<= 7;
        quotient = quotient << 7 | remainder / scale.mantissa;
        remainder %= scale.mantissa;
    }
    /* mantissa_x * 2^8 * reciprocal / 2^32 is mantissa_x / mantissa * 2^28. */
    int32_t shift = EXPONENT_BIAS + FRACTION_BITS + scale.exponent + 28 - point_bits;
    /* With so small a scale subnormals would count, which have no leading one, and with so large a scale infinities
     * and what is no number: nothing goes the fast way. */
    int32_t is_usual = shift > LARGEST_SHIFT && shift < EXPONENT_OF_INFINITY;
    return (struct inverse){ quotient, is_usual ? shift : NOTHING_IS_FAST };
}

/* Special numbers, large and small ones, and those near a half. */
__attribute__((noinline)) static int32_t quantize_slowly(uint32_t bits, struct inverse inverse, struct real scale)
{
    int32_t exponent = (int32_t)(bits << 1 >> (FRACTION_BITS + 1));
    /* A quotient below a quarter rounds to 0. */
    return exponent < inverse.shift - LARGEST_SHIFT - 2 ? 0 : quantize_one(bits, scale);
}

/* Where the nearest integer is known, its sign says which limit matters, if the zero point is within both. */
#define QUANTIZE_ALL(type, least, greatest, point_bits)                                                        \
    static void quantize_to_##type(                                                                            \
        type *target, const uint32_t *source, uint32_t count, struct real scale,                               \
        int32_t zero_point)                                                                                    \
    {                                                                                                          \
        struct inverse inverse = invert(scale, point_bits);                                                    \
        if (zero_point < least || zero_point > greatest)                                                       \
            inverse.shift = NOTHING_IS_FAST; /* both limits matter on each side */                             \
        const uint32_t rounding = (1u << (point_bits - 1)) + SLACK / 2;                                        \
        _Pragma("GCC unroll 4") for (uint32_t i = 0; i < count; i++)                                           \
        {                                                                                                      \
            uint32_t bits = source[i];                                                                         \
            uint32_t right = (uint32_t)inverse.shift - (bits << 1 >> (FRACTION_BITS + 1));                     \
            uint32_t product = (uint32_t)((uint64_t)(bits << 8 | 1u << 31) * inverse.reciprocal >> 32);        \
            uint32_t rounded = (product >> (right & 31)) + rounding;                                           \
            int32_t value = (int32_t)(rounded >> point_bits);                                                  \
            if (__builtin_expect(                                                                              \
                    right > LARGEST_SHIFT || rounded << (32 - point_bits) < SLACK << (32 - point_bits), 0))    \
                value = clamp(quantize_slowly(bits, inverse, scale) + zero_point, least, greatest);            \
            else if ((int32_t)bits < 0)                                                                        \
                value = zero_point - value < least ? least : zero_point - value;                               \
            else                                                                                               \
                value = zero_point + value > greatest ? greatest : zero_point + value;                         \
            target[i] = (type)value;                                                                           \
        }                                                                                                      \
    }
QUANTIZE_ALL(int8_t, INT8_MIN, INT8_MAX, POINT_BITS_8)
QUANTIZE_ALL(uint8_t, 0, UINT8_MAX, POINT_BITS_8)
QUANTIZE_ALL(int16_t, INT16_MIN, INT16_MAX, POINT_BITS_16)

enum status quantize(const struct call *call)
{
    const struct dla_host_quantize *a = call->attributes;
    struct tensor input = call_input(call, 0), output = call_output(call, 0);
    uint32_t scale_bits;
    memcpy(&scale_bits, &a->scale, sizeof(scale_bits));
    struct real scale = unpack(scale_bits);
    if (output.type == DLA_DATA_TYPE_INT16)
        quantize_to_int16_t(output.data, input.data, output.elements, scale, a->zero_point);
    else if (output.type == DLA_DATA_TYPE_UINT8)
        quantize_to_uint8_t(output.data, input.data, output.elements, scale, a->zero_point);
    else
        quantize_to_int8_t(output.data, input.data, output.elements, scale, a->zero_point);
    return OK;
}

/* An integer times a scale, rounded once, half to even, as IEEE 754 does it. */
static uint32_t dequantize_one(int32_t value, struct real scale)
{
    uint64_t product = (uint64_t)scale.mantissa * (value < 0 ? -(uint32_t)value : (uint32_t)value);
    if (!product)
        return 0;
    int32_t drop = 64 - __builtin_clzll(product) - (FRACTION_BITS + 1);
    int32_t exponent = scale.exponent + drop + FRACTION_BITS + EXPONENT_BIAS; /* as it is stored */
    if (exponent < 1)
        drop += 1 - exponent, exponent = 1; /* a subnormal */
    uint32_t mantissa;
    if (drop <= 0) {
        mantissa = (uint32_t)(product << -drop);
    } else if (drop > 62) {
        mantissa = 0;
    } else {
        uint64_t half = 1ull << (drop - 1), rest = product & (2 * half - 1);
        mantissa = (uint32_t)(product >> drop);
        mantissa += rest > half || (rest == half && (mantissa & 1));
    }
    /* The leading one, or what rounding carries into it, counts as one of the exponent. */
    uint32_t bits = ((uint32_t)(exponent - 1) << FRACTION_BITS) + mantissa;
    const uint32_t infinity = (uint32_t)EXPONENT_OF_INFINITY << FRACTION_BITS;
    return (exponent > EXPONENT_OF_INFINITY || bits > infinity ? infinity : bits) | (value < 0 ? 1u << 31 : 0);
}

enum status dequantize(const struct call *call)
{
    const struct dla_host_dequantize *a = call->attributes;
    struct tensor input = call_input(call, 0), output = call_output(call, 0);
    uint32_t scale_bits;
    memcpy(&scale_bits, &a->scale, sizeof(scale_bits));
    struct real scale = unpack(scale_bits);
    const int16_t *source = input.data;
    uint32_t *target = output.data;
    for (const int16_t *end = source + input.elements; source != end;)
        *target++ = dequantize_one(*source++ - a->zero_point, scale);
    return OK;
}
