/* SOFTMAX: exponentials from a table, one reciprocal per row, all of it in gemmlowp's fixed point. */
#include "call.h"
#include "fixed_point.h"
#include "reciprocal.h"
#include "string.h"

enum {
    VALUES = 256,  /* of an int8 */
    SUM_BITS = 12, /* integer bits of the sum of exponentials */
};

static int32_t greatest_of(const int8_t *row, uint32_t length)
{
    int32_t greatest = row[0];
    for (uint32_t i = 1; i < length; i++)
        if (row[i] > greatest)
            greatest = row[i];
    return greatest;
}

/* `exact` has the exponentials by distance from the greatest, in Q0.31, `rounded` the same as the sum takes them;
 * without it they are rounded here. */
static void softmax_row(
    void *output, uint32_t out_bits, const int8_t *row, uint32_t length, const int32_t *exact, const int32_t *rounded)
{
    int8_t *narrow = output;
    int16_t *wide = output;
    int32_t greatest = greatest_of(row, length);
    uint32_t sum = 0;
    exact += greatest;
    if (rounded)
        for (uint32_t i = 0; i < length; i++)
            sum += (uint32_t)rounded[greatest - row[i]];
    else
        for (uint32_t i = 0; i < length; i++)
            sum += (uint32_t)rounding_divide(exact[-row[i]], SUM_BITS);

    if (!sum) /* which 8,192 equals make it, as it has 32 bits */
        sum = 1;
    uint32_t headroom = (uint32_t)__builtin_clz(sum);
    int32_t reciprocal = reciprocal_of_one_plus((int32_t)((sum << headroom) - (1u << 31)));
    uint32_t bits = SUM_BITS + 31 - out_bits - headroom;
    if (bits >= 32) { /* nothing is left: rows of 512 equals and more, of int8 */
        memset(output, INT8_MIN, length);
        return;
    }
    uint32_t doubled = (uint32_t)reciprocal << 1, half = (1u << bits) >> 1;
    for (uint32_t i = 0; i < length; i++) {
        uint32_t share = (uint32_t)high_multiply_doubled(exact[-row[i]], doubled); /* never negative */
        int32_t steps = (int32_t)((share + half) >> bits);
        if (out_bits == 8)
            narrow[i] = (int8_t)((steps < VALUES ? steps : VALUES - 1) + INT8_MIN);
        else
            wide[i] = (int16_t)((steps <= UINT16_MAX ? steps : UINT16_MAX) + INT16_MIN);
    }
}

enum status softmax(const struct call *call)
{
    struct tensor input = call_input(call, 0), table = call_input(call, 1), output = call_output(call, 0);
    uint32_t length = input.shape[input.rank - 1];
    const int8_t *row = input.data;
    uint8_t *target = output.data;
    uint32_t out_bits = 8 * output.element_bytes, row_bytes = length * output.element_bytes;
    const int32_t *exact = table.data, *rounded = NULL;
    int32_t all[VALUES];
    if (input.elements >= 2 * VALUES) { /* fewer elements are rounded sooner than the whole table */
        for (uint32_t distance = 0; distance < VALUES; distance++)
            all[distance] = rounding_divide(exact[distance], SUM_BITS);
        rounded = all;
    }
    for (uint32_t left = input.elements; left; left -= length, row += length, target += row_bytes)
        softmax_row(target, out_bits, row, length, exact, rounded);
    return OK;
}
