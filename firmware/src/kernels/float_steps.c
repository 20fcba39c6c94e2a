/* QUANTIZE_TABLE: real numbers to 8 bits, by tables that are indexed with the bits of the float. */
#include "call.h"

enum { SIGN_BIT = 31, UNROLLED = 8 };
#define INFINITY_BITS (255u << 23)

/* The floats of one sign that are looked up: `size` of them, 2^bits for each entry. */
struct side {
    const uint32_t *table;
    uint32_t size, bits;
};

struct steps {
    struct side positive, negative;
    uint32_t first;
    uint8_t zero, least, greatest;
};

static inline void quantize_float(uint8_t *target, uint32_t bits, const struct steps *steps)
{
    /* The distance from the first float of the tables, whose last one has a sign bit of 0 as well. */
    uint32_t distance = bits - steps->first;
    if (__builtin_expect(distance < steps->positive.size, 1)) {
        *target = (uint8_t)((steps->positive.table[distance >> steps->positive.bits] + distance) >> steps->positive.bits);
        return;
    }
    distance ^= 1u << SIGN_BIT;
    if (distance < steps->negative.size)
        *target = (uint8_t)((steps->negative.table[distance >> steps->negative.bits] - distance) >> steps->negative.bits);
    else if (bits << 1 < steps->first << 1 || bits << 1 > INFINITY_BITS << 1) /* no number */
        *target = steps->zero;
    else
        *target = distance >> SIGN_BIT ? steps->greatest : steps->least;
}

enum status quantize_by_table(const struct call *call)
{
    const struct dla_host_quantize_table *a = call->attributes;
    struct tensor input = call_input(call, 0), table = call_input(call, 1), output = call_output(call, 0);
    const uint32_t *entries = table.data, is_signed = output.type == DLA_DATA_TYPE_INT8;
    const struct steps steps = {
        .positive = { entries, (uint32_t)a->positive_entries << a->positive_bits, (uint32_t)a->positive_bits },
        .negative = { entries + a->positive_entries, (uint32_t)a->negative_entries << a->negative_bits,
                      (uint32_t)a->negative_bits },
        .first = (uint32_t)a->first,
        .zero = (uint8_t)a->zero_point,
        .least = is_signed ? (uint8_t)INT8_MIN : 0,
        .greatest = is_signed ? (uint8_t)INT8_MAX : UINT8_MAX,
    };
    const uint32_t *source = input.data, *end = source + output.elements;
    uint8_t *target = output.data;
    for (; end - source >= UNROLLED; source += UNROLLED, target += UNROLLED) {
#pragma GCC unroll 8
        for (uint32_t i = 0; i < UNROLLED; i++)
            quantize_float(target + i, source[i], &steps);
    }
    while (source != end)
        quantize_float(target++, *source++, &steps);
    return OK;
}
