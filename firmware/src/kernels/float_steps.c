/* QUANTIZE_TABLE: real numbers to 8 bits, by tables that are indexed with the bits of the float.
 *
 * A float of the sign of the float before it takes eight instructions. There are two copies of the code, one for
 * each sign; one falls through from float to float as long as they have its sign. */
#include "call.h"
#include "string.h"

enum { SIGN_BIT = 31, UNROLLED = 8 };
#define RARELY(condition) __builtin_expect(condition, 0)

/* The cells of a sign, so that the distance of a float from the first, sign bit included, is an index. */
struct steps {
    const uint8_t *positive, *negative;
    uint32_t positive_size; /* distances of positive floats are less than this, */
    int32_t negative_end;   /* those of negative ones, as signed integers, than that */
    const uint32_t *starts;
    uint32_t first, bits;
    uint32_t zero, least;
};

/* A cell with two results: the first one holds up to the float with which the second starts. */
#define RESULT(sign)                                                                                           \
    result = *cell;                                                                                            \
    if (RARELY(result == steps.zero))                                                                          \
        result = cell[1] sign(bits < steps.starts[cell[1]]);

/* Element i, expected to be positive. A label is behind it: the place of the next element. */
#define POSITIVE(i)                                                                                            \
    bits = source[i], distance = bits - steps.first;                                                           \
    if (RARELY(distance >= steps.positive_size)) {                                                             \
        if ((int32_t)distance < steps.negative_end)                                                            \
            goto is_negative_##i;                                                                              \
        goto is_outside_##i;                                                                                   \
    }                                                                                                          \
    is_positive_##i : cell = steps.positive + (distance >> steps.bits);                                        \
    RESULT(-)                                                                                                  \
    target[i] = (uint8_t)result;                                                                               \
    behind_##i:

/* The same, expected to be negative. */
#define NEGATIVE(i)                                                                                            \
    bits = source[i], distance = bits - steps.first;                                                           \
    if (RARELY((int32_t)distance >= steps.negative_end)) {                                                     \
        if (distance < steps.positive_size)                                                                    \
            goto is_positive_##i;                                                                              \
        goto is_outside_##i;                                                                                   \
    }                                                                                                          \
    is_negative_##i : cell = steps.negative + (distance >> steps.bits);                                        \
    RESULT(+)                                                                                                  \
    target[i] = (uint8_t)result;

/* In no cell: closer to 0 than the first, or beyond the last. */
#define OUTSIDE(i)                                                                                             \
    is_outside_##i : target[i] = outside(bits, &steps);                                                        \
    goto behind_##i;

static inline uint8_t outside(uint32_t bits, const struct steps *steps)
{
    if (__builtin_expect(bits << 1 < steps->first << 1, 1))
        return (uint8_t)steps->zero;
    return (uint8_t)~(steps->least ^ (uint32_t)((int32_t)bits >> SIGN_BIT)); /* ~least is the greatest */
}

#define EACH(element) element(0) element(1) element(2) element(3) element(4) element(5) element(6) element(7)

/* From `source` to `end`, which is a multiple of UNROLLED elements behind it. */
static void quantize_blocks(
    uint8_t *target, const uint32_t *source, const uint32_t *end, const struct steps *given)
{
    const struct steps steps = *given; /* in registers */
    uint32_t bits, distance, result;
    const uint8_t *cell;
    while (source != end) {
        EACH(POSITIVE)
        source += UNROLLED, target += UNROLLED;
        continue;
        do {
            EACH(NEGATIVE)
            source += UNROLLED, target += UNROLLED;
        } while (source != end);
        return;
        EACH(OUTSIDE)
    }
}

enum status quantize_by_table(const struct call *call)
{
    const struct dla_host_quantize_table *a = call->attributes;
    struct tensor input = call_input(call, 0), cells = call_input(call, 1), output = call_output(call, 0);
    const uint8_t *negative = (uint8_t *)cells.data + a->positive_cells + 1;
    const struct steps steps = {
        .positive = cells.data,
        .negative = negative - ((1u << SIGN_BIT) >> a->bits),
        .positive_size = (uint32_t)a->positive_cells << a->bits,
        .negative_end = INT32_MIN + (int32_t)((uint32_t)a->negative_cells << a->bits),
        .starts = call_input(call, 2).data,
        .first = (uint32_t)a->first,
        .bits = (uint32_t)a->bits,
        .zero = (uint8_t)a->zero_point,
        .least = output.type == DLA_DATA_TYPE_INT8 ? (uint8_t)INT8_MIN : 0,
    };
    const uint32_t *source = input.data, rest = output.elements % UNROLLED;
    const uint32_t *end = source + (output.elements - rest);
    quantize_blocks(output.data, source, end, &steps);
    uint32_t last[UNROLLED] = { 0 };
    uint8_t results[UNROLLED];
    memcpy(last, end, rest * sizeof(*last));
    quantize_blocks(results, last, last + UNROLLED, &steps);
    memcpy((uint8_t *)output.data + (output.elements - rest), results, rest);
    return OK;
}
