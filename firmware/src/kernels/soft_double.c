/* Double precision in integers. */
#include "soft_double.h"

#include "soft_float.h"

enum {
    BIAS = 127,
    FRACTION_BITS = 23,
    TOP = 62,          /* the highest bit of what is rounded */
    ROUNDED_BITS = 10, /* of these, below the 53 that stay */
    POINT = 62,        /* bits below the point of the exponential function */
    INPUT_POINT = 59,  /* of its argument */
    PER_LN2 = 47274,   /* 2^15 / ln 2 */
};
static const uint64_t LN2 = 3196577161300663915; /* in units of 2^-62 */
/* 1 / n!, likewise. */
static const uint64_t terms[] = {
    4611686018427387904, 4611686018427387904, 2305843009213693952, 768614336404564651, 192153584101141163,
    38430716820228233,   6405119470038039,    915017067148291,     114377133393536,    12708570377060,
    1270857037706,       115532457973,        9627704831,          740592679,          52899477,
    3526632,
};

/* A float as it is; 0 for an infinity or NaN. */
static struct real64 widen(float value)
{
    uint32_t bits = bits_of(value), magnitude = bits & INT32_MAX;
    if (!magnitude || magnitude >= 0x7F800000u)
        return (struct real64){ 0, 0, !magnitude && bits };
    struct float_parts parts = take_apart(magnitude);
    return (struct real64){ (uint64_t)parts.significand << 29, parts.exponent - BIAS - 52, bits >> 31 };
}

/* significand * 2^exponent with 53 bits; bit 0 stands for whatever lies below. */
static struct real64 round64(uint64_t significand, int32_t exponent, uint32_t is_negative)
{
    if (!significand)
        return (struct real64){ 0, 0, is_negative };
    int32_t shift = __builtin_clzll(significand) - (63 - TOP);
    if (shift < 0) {
        significand = significand >> 1 | (significand & 1);
        exponent++;
    } else {
        significand <<= shift;
        exponent -= shift;
    }
    significand += (1u << (ROUNDED_BITS - 1)) - 1 + (significand >> ROUNDED_BITS & 1);
    significand >>= ROUNDED_BITS;
    exponent += ROUNDED_BITS;
    if (significand >> 53)
        significand >>= 1, exponent++;
    return (struct real64){ significand, exponent, is_negative };
}

struct real64 quotient64(float value, float divisor)
{
    struct real64 one = widen(value), other = widen(divisor);
    if (!one.significand || !other.significand)
        return (struct real64){ 0, 0, one.is_negative };
    uint32_t rest = (uint32_t)(one.significand >> 29), by = (uint32_t)(other.significand >> 29);
    uint64_t quotient = rest / by; /* 0 or 1 */
    rest %= by;
    for (uint32_t left = 61, bits = 5; left; left -= bits, bits = 8) { /* 5 bits, then 8 at a time */
        uint32_t digit = (rest << bits) / by;
        quotient = quotient << bits | digit;
        rest = (rest << bits) - digit * by;
    }
    return round64(quotient << 1 | (rest != 0), one.exponent - other.exponent - 62, one.is_negative);
}

struct real64 product64(struct real64 value, float factor)
{
    struct real64 other = widen(factor);
    uint32_t is_negative = value.is_negative ^ other.is_negative, by = (uint32_t)(other.significand >> 29);
    uint64_t low = (value.significand & 0xFFFFFF) * by, high = (value.significand >> 24) * by + (low >> 24);
    /* 77 bits: all but the lowest 14 stay, of which one bit says whether there are any. */
    uint64_t significand = high << 10 | (low & 0xFFFFFF) >> 14 | ((low & 0x3FFF) != 0);
    return round64(significand, value.exponent + other.exponent + 29 + 14, is_negative);
}

struct real64 sum64(struct real64 value, float summand)
{
    struct real64 large = value, small = widen(summand);
    if (!small.significand || !large.significand) {
        if (!small.significand && !large.significand)
            return (struct real64){ 0, 0, large.is_negative & small.is_negative };
        return large.significand ? large : small;
    }
    if (large.exponent < small.exponent)
        large = small, small = value;
    int32_t distance = large.exponent - small.exponent;
    uint64_t first = large.significand << 9, second = small.significand << 9;
    if (distance > 63)
        second = 1;
    else if (distance)
        second = second >> distance | (second << (64 - distance) != 0);
    if (large.is_negative == small.is_negative)
        return round64(first + second, large.exponent - 9, large.is_negative);
    if (first == second)
        return (struct real64){ 0, 0, 0 };
    if (first < second) /* of one exponent */
        return round64(second - first, large.exponent - 9, small.is_negative);
    return round64(first - second, large.exponent - 9, large.is_negative);
}

/* The upper part of a product of 64 bits, cut off at the point. */
static uint64_t multiply_fixed(uint64_t x, uint64_t y)
{
    uint64_t low = (x & UINT32_MAX) * (y & UINT32_MAX), one = (x >> 32) * (y & UINT32_MAX);
    uint64_t other = (x & UINT32_MAX) * (y >> 32), high = (x >> 32) * (y >> 32);
    uint64_t middle = (low >> 32) + (one & UINT32_MAX) + (other & UINT32_MAX);
    high += (one >> 32) + (other >> 32) + (middle >> 32);
    return high << (64 - POINT) | (middle & UINT32_MAX) >> (32 - (64 - POINT));
}

struct real64 exponential64(struct real64 x)
{
    const uint64_t most = ((uint64_t)1 << (INPUT_POINT + 4)) - 1;
    int32_t shift = x.exponent + INPUT_POINT;
    uint64_t magnitude = 0; /* of 0, whose exponent says nothing */
    if (x.significand && shift > -64)
        magnitude = shift > 10 ? most : shift >= 0 ? x.significand << shift : x.significand >> -shift;
    int64_t fixed = (int64_t)(magnitude > most ? most : magnitude);
    fixed = x.is_negative ? -fixed : fixed;
    /* x = power * ln 2 + rest */
    int64_t power = ((fixed >> (INPUT_POINT - 15)) * PER_LN2 + (1 << 29)) >> 30;
    int64_t rest = (int64_t)(((uint64_t)fixed << (POINT - INPUT_POINT)) - (uint64_t)power * LN2);
    uint64_t reach = rest < 0 ? -(uint64_t)rest : (uint64_t)rest, result = terms[15];
    for (int number = 14; number >= 0; number--) {
        uint64_t part = multiply_fixed(reach, result);
        result = rest < 0 ? terms[number] - part : terms[number] + part;
    }
    return round64(result, (int32_t)power - POINT, 0);
}

float to_float(struct real64 value)
{
    if (!value.significand)
        return float_of(value.is_negative << 31);
    uint64_t significand = value.significand << (TOP - 52);
    uint32_t upper = (uint32_t)(significand >> 32) | ((uint32_t)significand != 0);
    return round_off(value.is_negative << 31, value.exponent + 52 + BIAS, upper);
}
