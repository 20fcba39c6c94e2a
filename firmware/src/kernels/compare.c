/* COMPARE, and SELECT, which chooses by it. */
#include "fixed_point.h"
#include "numbers.h"
#include "rows.h"
#include "soft_float.h"
#include "string.h"

static int relate(int32_t function, int64_t x, int64_t y)
{
    switch (function) {
    case DLA_COMPARE_FUNCTION_EQUAL:
        return x == y;
    case DLA_COMPARE_FUNCTION_NOT_EQUAL:
        return x != y;
    case DLA_COMPARE_FUNCTION_LESS:
        return x < y;
    case DLA_COMPARE_FUNCTION_LESS_EQUAL:
        return x <= y;
    case DLA_COMPARE_FUNCTION_GREATER:
        return x > y;
    default:
        return x >= y;
    }
}

/* How a number of an input with a scale is compared. */
struct side {
    int32_t zero_point;
    struct scale scale;
};

static inline int32_t align(int32_t value, const struct side *side)
{
    return requantize((value - side->zero_point) << DLA_HOST_COMPARE_LEFT_SHIFT, side->scale);
}

#define COMPARE_ALIGNED_ROWS(type)                                                                                  \
    static void compare_aligned_##type##_row(                                                                       \
        void *output, const void *one, uint32_t one_step, const void *other, uint32_t other_step, uint32_t count,   \
        const void *attributes)                                                                                     \
    {                                                                                                               \
        const struct dla_host_compare *a = attributes;                                                              \
        const struct side left = { a->input1_zero_point, make_scale(a->input1_multiplier, a->input1_shift) };       \
        const struct side right = { a->input2_zero_point, make_scale(a->input2_multiplier, a->input2_shift) };      \
        const type *x = one, *y = other;                                                                            \
        uint8_t *target = output;                                                                                   \
        for (; count; count--, x += one_step, y += other_step)                                                      \
            *target++ = (uint8_t)relate(a->function, align(*x, &left), align(*y, &right));                          \
    }
COMPARE_ALIGNED_ROWS(int8_t)
COMPARE_ALIGNED_ROWS(int16_t)

/* Rows of plain integers of one type. */
#define COMPARE_ROWS(type)                                                                                          \
    static void compare_##type##_row(                                                                               \
        void *output, const void *one, uint32_t one_step, const void *other, uint32_t other_step, uint32_t count,   \
        const void *attributes)                                                                                     \
    {                                                                                                               \
        const struct dla_host_compare *a = attributes;                                                              \
        const type *x = one, *y = other;                                                                            \
        uint8_t *target = output;                                                                                   \
        for (; count; count--, x += one_step, y += other_step)                                                      \
            *target++ = (uint8_t)relate(a->function, *x, *y);                                                       \
    }
COMPARE_ROWS(uint8_t)
COMPARE_ROWS(int16_t)
COMPARE_ROWS(int32_t)
COMPARE_ROWS(int64_t)

static int relate_floats(int32_t function, float x, float y)
{
    switch (function) {
    case DLA_COMPARE_FUNCTION_EQUAL:
        return x == y;
    case DLA_COMPARE_FUNCTION_NOT_EQUAL:
        return x != y;
    case DLA_COMPARE_FUNCTION_LESS:
        return x < y;
    case DLA_COMPARE_FUNCTION_LESS_EQUAL:
        return x <= y;
    case DLA_COMPARE_FUNCTION_GREATER:
        return x > y;
    default:
        return x >= y;
    }
}

static void compare_float_row(
    void *output, const void *one, uint32_t one_step, const void *other, uint32_t other_step, uint32_t count,
    const void *attributes)
{
    const struct dla_host_compare *a = attributes;
    const float *x = one, *y = other;
    for (uint8_t *target = output; count; count--, x += one_step, y += other_step)
        *target++ = (uint8_t)relate_floats(a->function, *x, *y);
}

static int is_equality(const struct call *call)
{
    const struct dla_host_compare *a = call->attributes;
    return a->function == DLA_COMPARE_FUNCTION_EQUAL || a->function == DLA_COMPARE_FUNCTION_NOT_EQUAL;
}

enum status compare(const struct call *call)
{
    switch (call_input(call, 0).type) {
    case DLA_DATA_TYPE_INT8:
        walk_rows(call, compare_aligned_int8_t_row, call->attributes);
        return OK;
    case DLA_DATA_TYPE_BOOL:
        walk_rows(call, compare_uint8_t_row, call->attributes);
        return OK;
    case DLA_DATA_TYPE_INT16:
        walk_rows(call, is_equality(call) ? compare_aligned_int16_t_row : compare_int16_t_row, call->attributes);
        return OK;
    case DLA_DATA_TYPE_INT32:
        walk_rows(call, compare_int32_t_row, call->attributes);
        return OK;
    case DLA_DATA_TYPE_INT64:
        walk_rows(call, compare_int64_t_row, call->attributes);
        return OK;
    default:
        walk_rows(call, compare_float_row, call->attributes);
        return OK;
    }
}

/* SELECT: three inputs, so it has a walk of its own, element by element. */
enum status select(const struct call *call)
{
    struct tensor output = call_output(call, 0), inputs[3];
    struct steps steps[3];
    for (uint32_t number = 0; number < 3; number++) {
        inputs[number] = call_input(call, number);
        steps[number] = steps_of(&inputs[number], &output);
    }
    const uint8_t *condition = inputs[0].data;
    uint32_t index[DLA_PROGRAM_MAX_RANK] = { 0 }, place[3] = { 0 }, bytes = output.element_bytes;
    uint8_t *target = output.data;
    for (uint32_t left = output.elements; left; left--, target += bytes) {
        uint32_t chosen = condition[place[0]] ? 1 : 2;
        memcpy(target, (const uint8_t *)inputs[chosen].data + place[chosen] * bytes, bytes);
        for (uint32_t dimension = output.rank; dimension-- > 0;) {
            index[dimension]++;
            for (uint32_t number = 0; number < 3; number++)
                place[number] += steps[number].step[dimension];
            if (index[dimension] < output.shape[dimension])
                break;
            for (uint32_t number = 0; number < 3; number++)
                place[number] -= steps[number].step[dimension] * output.shape[dimension];
            index[dimension] = 0;
        }
    }
    return OK;
}
