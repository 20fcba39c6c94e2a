/* DIV of int8 and int16: TFLite multiplies by a reciprocal. */
#include "reciprocal.h"
#include "rows.h"

enum { RECIPROCAL_OF_ZERO = -1515870788 }; /* what the same steps give where they wrap */

/* A divisor that is not negative: 1 / divisor is the reciprocal times 2^-bits. */
struct inverse {
    int32_t reciprocal;
    int32_t bits;
};

static inline struct inverse invert(uint32_t divisor)
{
    if (!divisor)
        return (struct inverse){ RECIPROCAL_OF_ZERO, -1 };
    uint32_t unused = (uint32_t)__builtin_clz(divisor);
    return (struct inverse){ reciprocal_of_one_plus((int32_t)((divisor << unused) - (1u << 31))), 31 - (int32_t)unused };
}

static inline int32_t leading_sign_bits(int32_t value)
{
    return (value ? __builtin_clz((uint32_t)(value < 0 ? -2 * value - 1 : value)) : 32) - (value >= 0);
}

static inline int32_t quotient(int32_t dividend, struct inverse inverse, int32_t multiplier, int32_t shift)
{
    int32_t headroom = leading_sign_bits(dividend);
    int32_t product = high_multiply((int32_t)((uint32_t)dividend << headroom), inverse.reciprocal);
    product = high_multiply(product, multiplier);
    int32_t right = inverse.bits + headroom - shift;
    if ((uint32_t)right > 31) /* TFLite's shift by more than a word or less than nothing, as hardware does it */
        return (product >> (right & 31)) + (product >= 0);
    return rounding_divide(product, (uint32_t)right);
}

int32_t divide_quantized_numbers(int32_t dividend, int32_t divisor, int32_t multiplier, int32_t shift)
{
    struct inverse inverse = invert((uint32_t)(divisor < 0 ? -divisor : divisor));
    return quotient(divisor < 0 ? -dividend : dividend, inverse, multiplier, shift);
}

/* A divisor has 256 values at most, so where there are many elements what they become is looked up. */
enum { VALUES = 256, MANY_ELEMENTS = 2 * VALUES };

struct division {
    const struct dla_host_div *a;
    struct inverse inverses[VALUES]; /* of the magnitude of each divisor */
};

#define DIVIDE_ROW(name, inverse_of)                                                                               \
    static void name(                                                                                              \
        void *output, const void *one, uint32_t one_step, const void *other, uint32_t other_step, uint32_t count,  \
        const void *prepared)                                                                                      \
    {                                                                                                              \
        const struct division *division = prepared;                                                                \
        const struct dla_host_div *a = division->a;                                                                \
        const int32_t multiplier = a->output_multiplier, shift = a->output_shift;                                  \
        const int8_t *x = one, *y = other;                                                                         \
        for (int8_t *target = output; count; count--, x += one_step, y += other_step) {                            \
            int32_t dividend = *x - a->input1_zero_point, divisor = *y - a->input2_zero_point;                     \
            int32_t value = quotient(divisor < 0 ? -dividend : dividend, inverse_of, multiplier, shift);           \
            *target++ = (int8_t)clamp(value + a->output_zero_point, a->clamp_min, a->clamp_max);                   \
        }                                                                                                          \
    }
DIVIDE_ROW(divide_row, invert((uint32_t)(divisor < 0 ? -divisor : divisor)))
DIVIDE_ROW(divide_row_looked_up, division->inverses[*y - INT8_MIN])

enum status divide_quantized(const struct call *call)
{
    struct division division;
    const struct dla_host_div *a = division.a = call->attributes;
    if (call_output(call, 0).elements < MANY_ELEMENTS) {
        walk_rows(call, divide_row, &division);
        return OK;
    }
    for (int32_t value = INT8_MIN; value <= INT8_MAX; value++) {
        int32_t divisor = value - a->input2_zero_point;
        division.inverses[value - INT8_MIN] = invert((uint32_t)(divisor < 0 ? -divisor : divisor));
    }
    walk_rows(call, divide_row_looked_up, &division);
    return OK;
}
