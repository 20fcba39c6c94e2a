/* e^x = 2^n * e^r with x = n ln 2 + r. x has 56 bits below the point, r 32, e^r 31. */
#include "exponentials.h"

#include "call.h"
#include "soft_float.h"

enum { INPUT_BITS = 56, REST_BITS = 32, FINE_BITS = 29, BIAS = 127, TERMS = 10 };

static const uint32_t SIGN = 1u << 31, NOT_A_NUMBER = 0x7FC00000u, FARTHEST = 0x42FF0000u; /* 127.5 */
static const int64_t LN2 = 49946518145322874; /* with 56 bits below the point */
static const int64_t PER_LN2 = 94548;                /* 1 / ln 2, with 16 bits */

/* The series of e^r and of (e^r - 1) / r. */
static const uint32_t POWERS[TERMS] = { 2147483648u, 2147483648u, 1073741824u, 357913941u, 89478485u, 17895697u, 2982616u, 426088u, 53261u, 5918u };
static const uint32_t DIFFERENCES[TERMS] = { 2147483648u, 1073741824u, 357913941u, 89478485u, 17895697u, 2982616u, 426088u, 53261u, 5918u, 592u };

struct reduced {
    int32_t power;
    int32_t rest;
};

/* The number with 56 bits below the point, what is below cut off; its magnitude is at most 127.5. */
static int64_t fixed_of(uint32_t bits)
{
    uint32_t magnitude = bits & ~SIGN;
    if (!magnitude)
        return 0;
    struct float_parts parts = take_apart(magnitude > FARTHEST ? FARTHEST : magnitude);
    int32_t places = parts.exponent - BIAS - 23 + INPUT_BITS;
    int64_t fixed = places >= 0 ? (int64_t)parts.significand << places : places > -32 ? parts.significand >> -places : 0;
    return bits & SIGN ? -fixed : fixed;
}

static struct reduced reduced_of(uint32_t bits)
{
    int64_t fixed = fixed_of(bits);
    int64_t power = ((fixed >> (INPUT_BITS - 16)) * PER_LN2 + ((int64_t)1 << 31)) >> 32;
    int64_t half = (int64_t)1 << (INPUT_BITS - REST_BITS - 1);
    int64_t rest = (fixed - power * LN2 + half) >> (INPUT_BITS - REST_BITS);
    return (struct reduced){ (int32_t)power, (int32_t)rest };
}

/* A polynomial in r, with 31 bits below the point. */
static uint32_t series(int32_t rest, const uint32_t *terms)
{
    uint32_t result = terms[TERMS - 1];
    for (int term = TERMS - 2; term >= 0; term--)
        result = terms[term] + (uint32_t)(((int64_t)rest * result) >> REST_BITS);
    return result;
}

float exponential(float value)
{
    uint32_t bits = bits_of(value);
    if (is_nan(bits))
        return float_of(NOT_A_NUMBER);
    struct reduced x = reduced_of(bits);
    uint32_t result = series(x.rest, POWERS);
    if (result >> 31)
        return round_off(0, x.power + BIAS, result >> 1 | (result & 1));
    return round_off(0, x.power + BIAS - 1, result);
}

/* Where TensorFlow's reference takes 1 and e^x for 1 / (1 + e^-x). */
float logistic(float value)
{
    const float always_one = 16.619047164916992188f, always_power = -9;
    if (value > always_one)
        return 1;
    if (value < always_power)
        return exponential(value);
    return 1 / (1 + exponential(-value));
}

/* -x * fine / 2^29 for the float of these bits, rounded. */
static float near_zero(uint32_t magnitude, uint32_t fine)
{
    struct float_parts parts = take_apart(magnitude);
    uint64_t product = (uint64_t)parts.significand * fine;
    uint32_t is_long = (uint32_t)(product >> 52), places = 21 + is_long;
    uint32_t rest = (uint32_t)product & ((1u << places) - 1);
    return round_off(SIGN, parts.exponent - 1 + (int32_t)is_long, (uint32_t)(product >> places) | (rest != 0));
}

float elu(float value)
{
    uint32_t bits = bits_of(value);
    if (is_nan(bits))
        return float_of(NOT_A_NUMBER);
    if (!(bits & SIGN) || !(bits & ~SIGN))
        return value;
    struct reduced x = reduced_of(bits);
    if (!x.power)
        return near_zero(bits & ~SIGN, (series(x.rest, DIFFERENCES) + 2) >> (31 - FINE_BITS));
    uint32_t difference = (1u << 31) - (x.power > -32 ? series(x.rest, POWERS) >> -x.power : 0);
    if (difference >> 31)
        return -1;
    return difference >> 30 ? round_off(SIGN, BIAS - 1, difference) : round_off(SIGN, BIAS - 2, difference << 1);
}

static void softmax_floats(float *output, const float *row, uint32_t length, float beta)
{
    float greatest = float_of(0xFF7FFFFFu), sum = 0;
    for (uint32_t i = 0; i < length; i++)
        if (greatest < row[i])
            greatest = row[i];
    for (uint32_t i = 0; i < length; i++)
        sum += output[i] = exponential((row[i] - greatest) * beta);
    for (uint32_t i = 0; i < length; i++)
        output[i] = output[i] / sum;
}

enum status softmax_float(const struct call *call)
{
    const struct dla_host_softmax_float *a = call->attributes;
    struct tensor input = call_input(call, 0), output = call_output(call, 0);
    uint32_t length = input.shape[input.rank - 1];
    for (uint32_t done = 0; done < input.elements; done += length)
        softmax_floats((float *)output.data + done, (const float *)input.data + done, length, a->beta);
    return OK;
}
