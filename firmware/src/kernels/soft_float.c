/* IEEE 754 single precision in integers. Results are rounded to nearest, half to even; subnormals are kept; a NaN
 * that is computed is always the same one. The functions that begin with __ are those by which every RISC-V
 * compiler calls arithmetic that the core lacks. */
#include "soft_float.h"

#define SIGN (1u << 31)
#define INFINITE 0x7F800000u
#define NOT_A_NUMBER 0x7FC00000u

enum {
    FRACTION_BITS = 23,
    BIAS = 127,
    SPECIAL = 255,    /* exponent of infinities and NaN */
    ROUNDED_BITS = 7, /* of a significand, below those that are stored */
    LEADING = 30,     /* its highest bit */
};

struct float_parts take_apart(uint32_t magnitude)
{
    int32_t exponent = (int32_t)(magnitude >> FRACTION_BITS);
    if (exponent)
        return (struct float_parts){ exponent, (magnitude & ((1u << FRACTION_BITS) - 1)) | 1u << FRACTION_BITS };
    int32_t shift = __builtin_clz(magnitude) - (31 - FRACTION_BITS);
    return (struct float_parts){ 1 - shift, magnitude << shift };
}

/* Shifts right; whatever is lost stays as the lowest bit. */
static inline uint32_t shift_right(uint32_t value, uint32_t places)
{
    if (places > 31)
        return value != 0;
    return places ? value >> places | (value << (32 - places) != 0) : value;
}

float round_off(uint32_t sign, int32_t exponent, uint32_t significand)
{
    if (exponent < 1) {
        significand = shift_right(significand, (uint32_t)(1 - exponent));
        exponent = 1;
    }
    uint32_t even = significand >> ROUNDED_BITS & 1;
    /* The leading one, or what rounding carries into it, counts as one of the exponent. */
    uint32_t bits = ((uint32_t)(exponent - 1) << FRACTION_BITS) +
        ((significand + (1u << (ROUNDED_BITS - 1)) - 1 + even) >> ROUNDED_BITS);
    return float_of(sign | (exponent >= SPECIAL || bits > INFINITE ? INFINITE : bits));
}

float __addsf3(float one, float other)
{
    uint32_t x = bits_of(one), y = bits_of(other);
    if ((x & ~SIGN) < (y & ~SIGN)) {
        uint32_t larger = y;
        y = x, x = larger;
    }
    uint32_t sign = x & SIGN, magnitude = x & ~SIGN, small = y & ~SIGN, differ = (x ^ y) & SIGN;
    if (magnitude >= INFINITE)
        return float_of(magnitude > INFINITE || (small == INFINITE && differ) ? NOT_A_NUMBER : x);
    if (!small)
        return float_of(magnitude ? x : x & y); /* -0 only of two of them */
    int32_t exponent = (int32_t)(magnitude >> FRACTION_BITS), lower = (int32_t)(small >> FRACTION_BITS);
    const uint32_t one_bit = 1u << FRACTION_BITS;
    uint32_t first = magnitude & (one_bit - 1), second = small & (one_bit - 1);
    if (exponent)
        first |= one_bit;
    else
        exponent = 1;
    if (lower)
        second |= one_bit;
    else
        lower = 1;
    first <<= ROUNDED_BITS - 1; /* one bit of room for the sum */
    second = shift_right(second << (ROUNDED_BITS - 1), (uint32_t)(exponent - lower));
    uint32_t sum = differ ? first - second : first + second;
    if (!sum)
        return 0;
    if (sum >> LEADING)
        return round_off(sign, exponent + 1, sum);
    if (sum >> (LEADING - 1))
        return round_off(sign, exponent, sum << 1);
    int32_t shift = __builtin_clz(sum) - 1;
    return round_off(sign, exponent + 1 - shift, sum << shift);
}

float __subsf3(float one, float other) { return __addsf3(one, float_of(bits_of(other) ^ SIGN)); }

float __mulsf3(float one, float other)
{
    uint32_t x = bits_of(one), y = bits_of(other), sign = (x ^ y) & SIGN;
    x &= ~SIGN, y &= ~SIGN;
    if (x >= INFINITE || y >= INFINITE)
        return float_of(x > INFINITE || y > INFINITE || !x || !y ? NOT_A_NUMBER : sign | INFINITE);
    if (!x || !y)
        return float_of(sign);
    struct float_parts first = take_apart(x), second = take_apart(y);
    uint64_t product = (uint64_t)(first.significand << 8) * (second.significand << 7);
    uint32_t significand = (uint32_t)(product >> 32) | ((uint32_t)product != 0);
    int32_t exponent = first.exponent + second.exponent - BIAS;
    if (significand >> LEADING)
        exponent++;
    else
        significand <<= 1;
    return round_off(sign, exponent, significand);
}

/* 31 bits of a quotient of 24-bit numbers, the highest one set if one >= other; the lowest says if anything is
 * left. */
static inline uint32_t divide_significands(uint32_t one, uint32_t other)
{
    uint32_t rest = one << 6, quotient = 0;
    for (int step = 0; step < 4; step++) {
        uint32_t digit = rest / other;
        quotient = quotient << 8 | digit;
        rest = (rest - digit * other) << 8;
    }
    return quotient | (rest != 0);
}

float __divsf3(float one, float other)
{
    uint32_t x = bits_of(one), y = bits_of(other), sign = (x ^ y) & SIGN;
    x &= ~SIGN, y &= ~SIGN;
    if (x > INFINITE || y > INFINITE || (x == y && (!x || x == INFINITE)))
        return float_of(NOT_A_NUMBER);
    if (x == INFINITE || !y)
        return float_of(sign | INFINITE);
    if (!x || y == INFINITE)
        return float_of(sign);
    struct float_parts first = take_apart(x), second = take_apart(y);
    int32_t exponent = first.exponent - second.exponent + BIAS;
    if (first.significand < second.significand)
        first.significand <<= 1, exponent--;
    return round_off(sign, exponent, divide_significands(first.significand, second.significand));
}

/* Below 0, 0 or above 0 as `one` is less, equal or greater; `unordered` with NaN. */
static inline int relate(float one, float other, int unordered)
{
    uint32_t x = bits_of(one), y = bits_of(other);
    if (is_nan(x) || is_nan(y))
        return unordered;
    int32_t left = order_of(x), right = order_of(y);
    return (left > right) - (left < right);
}

int __eqsf2(float one, float other) { return relate(one, other, 1); }
int __nesf2(float one, float other) { return relate(one, other, 1); }
int __ltsf2(float one, float other) { return relate(one, other, 1); }
int __lesf2(float one, float other) { return relate(one, other, 1); }
int __gtsf2(float one, float other) { return relate(one, other, -1); }
int __gesf2(float one, float other) { return relate(one, other, -1); }
int __unordsf2(float one, float other) { return is_nan(bits_of(one)) || is_nan(bits_of(other)); }

float __floatdisf(int64_t value)
{
    uint64_t magnitude = value < 0 ? -(uint64_t)value : (uint64_t)value;
    if (!magnitude)
        return 0;
    int32_t shift = __builtin_clzll(magnitude);
    magnitude <<= shift;
    uint32_t significand = (uint32_t)(magnitude >> 33) | (magnitude << 31 != 0);
    return round_off(value < 0 ? SIGN : 0, BIAS + 63 - shift, significand);
}

static float of_integer(uint32_t sign, uint32_t magnitude)
{
    if (!magnitude)
        return 0;
    int32_t shift = __builtin_clz(magnitude);
    magnitude <<= shift;
    return round_off(sign, BIAS + 31 - shift, magnitude >> 1 | (magnitude & 1));
}

float __floatsisf(int32_t value)
{
    return of_integer(value < 0 ? SIGN : 0, value < 0 ? -(uint32_t)value : (uint32_t)value);
}

float __floatunsisf(uint32_t value) { return of_integer(0, value); }

/* Digit by digit: 26 binary places, two bits of the radicand for each. */
float square_root(float value)
{
    uint32_t bits = bits_of(value);
    if (!(bits & ~SIGN) || bits == INFINITE)
        return value;
    if (bits > INFINITE) /* below 0, or NaN */
        return float_of(NOT_A_NUMBER);
    struct float_parts parts = take_apart(bits);
    int32_t exponent = parts.exponent - BIAS;
    uint32_t radicand = parts.significand << (7 + (exponent & 1)), rest = 0, root = 0;
    for (int digit = 0; digit < 26; digit++) {
        rest = rest << 2 | radicand >> 30;
        radicand <<= 2;
        uint32_t trial = root << 2 | 1;
        root <<= 1;
        if (rest >= trial)
            rest -= trial, root |= 1;
    }
    return round_off(0, (exponent >> 1) + BIAS, root << 5 | (rest != 0));
}

/* From 2^23 on a float is an integer, or is none at all. */
static inline int is_whole(uint32_t bits) { return (bits & ~SIGN) >> FRACTION_BITS >= BIAS + FRACTION_BITS; }

/* Whether the magnitude is below 1. */
static inline int is_fraction(uint32_t bits) { return (bits & ~SIGN) < (uint32_t)BIAS << FRACTION_BITS; }

/* The bits behind the point. */
static inline uint32_t fraction_of(uint32_t bits)
{
    return (1u << (BIAS + FRACTION_BITS - (bits << 1 >> (FRACTION_BITS + 1)))) - 1;
}

/* Away from 0 if `grows`, else towards it. */
static float round_magnitude(uint32_t bits, int grows)
{
    if (is_whole(bits))
        return float_of(bits);
    if (is_fraction(bits))
        return float_of((bits & SIGN) | (grows && bits & ~SIGN ? (uint32_t)BIAS << FRACTION_BITS : 0));
    uint32_t fraction = fraction_of(bits);
    return float_of((bits + (grows ? fraction : 0)) & ~fraction);
}

float round_down(float value) { return round_magnitude(bits_of(value), bits_of(value) >> 31); }
float round_up(float value) { return round_magnitude(bits_of(value), !(bits_of(value) >> 31)); }

float round_to_even(float value)
{
    uint32_t bits = bits_of(value);
    if (is_whole(bits))
        return value;
    if (is_fraction(bits)) /* above a half, it is nearer to 1 */
        return round_magnitude(bits, (bits & ~SIGN) > (uint32_t)(BIAS - 1) << FRACTION_BITS);
    uint32_t fraction = fraction_of(bits), odd = (bits & (fraction + 1)) != 0;
    return float_of((bits + (fraction >> 1) + odd) & ~fraction);
}

float remainder_of(float value, float divisor)
{
    uint32_t x = bits_of(value), y = bits_of(divisor) & ~SIGN, sign = x & SIGN;
    x &= ~SIGN;
    if (x >= INFINITE || y > INFINITE || !y)
        return float_of(NOT_A_NUMBER);
    if (x < y)
        return value;
    struct float_parts first = take_apart(x), second = take_apart(y);
    uint32_t rest = first.significand;
    for (int32_t left = first.exponent - second.exponent;; left--) {
        if (rest >= second.significand)
            rest -= second.significand;
        if (!left || !rest)
            break;
        rest <<= 1;
    }
    if (!rest)
        return float_of(sign);
    int32_t shift = __builtin_clz(rest) - 1;
    return round_off(sign, second.exponent + LEADING - FRACTION_BITS - shift, rest << shift);
}

enum { DOUBLE_BITS = 53 };

/* A quotient of 24-bit numbers, rounded to 53 bits, as which double precision holds it. */
static uint64_t divide_to_double(uint32_t one, uint32_t other)
{
    uint64_t quotient = 0;
    for (int bit = 0; bit < DOUBLE_BITS; bit++) {
        quotient <<= 1;
        if (one >= other)
            one -= other, quotient |= 1;
        one <<= 1;
    }
    /* What remains, doubled already, stands to the divisor as the cut-off part to a half; it is never equal. */
    return quotient + (one > other);
}

float floor_of_quotient(float value, float divisor)
{
    uint32_t sign = (bits_of(value) ^ bits_of(divisor)) & SIGN, x = bits_of(value) & ~SIGN;
    uint32_t y = bits_of(divisor) & ~SIGN;
    if (x >= INFINITE || y >= INFINITE || !x || !y)
        return value / divisor; /* 0, an infinity or NaN */
    struct float_parts first = take_apart(x), second = take_apart(y);
    int32_t exponent = first.exponent - second.exponent;
    if (first.significand < second.significand)
        first.significand <<= 1, exponent--;
    if (exponent < 0) /* the quotient is below 1 */
        return float_of(sign ? SIGN | (uint32_t)BIAS << FRACTION_BITS : 0);
    uint64_t quotient = divide_to_double(first.significand, second.significand);
    if (exponent < DOUBLE_BITS - 1) {
        uint64_t fraction = ((uint64_t)1 << (DOUBLE_BITS - 1 - exponent)) - 1;
        quotient = (quotient + (sign ? fraction : 0)) & ~fraction;
    }
    /* A carry may have made it one bit longer. */
    int32_t shift = __builtin_clzll(quotient);
    quotient <<= shift;
    uint32_t significand = (uint32_t)(quotient >> 33) | (quotient << 31 != 0);
    return round_off(sign, BIAS + exponent + 64 - DOUBLE_BITS - shift, significand);
}

int64_t truncate(float value)
{
    uint32_t bits = bits_of(value), magnitude = bits & ~SIGN;
    if (magnitude > INFINITE || is_fraction(bits))
        return 0;
    int32_t shift = (int32_t)(magnitude >> FRACTION_BITS) - BIAS - FRACTION_BITS;
    if (shift >= 63 - FRACTION_BITS)
        return bits >> 31 ? INT64_MIN : INT64_MAX;
    uint64_t whole = (magnitude & ((1u << FRACTION_BITS) - 1)) | 1u << FRACTION_BITS;
    whole = shift < 0 ? whole >> -shift : whole << shift;
    return bits >> 31 ? -(int64_t)whole : (int64_t)whole;
}
