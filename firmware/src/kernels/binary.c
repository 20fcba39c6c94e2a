/* BINARY: two tensors of plain numbers, element by element, without quantization. */
#include "fixed_point.h"
#include "rows.h"
#include "soft_float.h"

/* Of 64 bits; the core divides 32. */
__attribute__((noinline)) static int64_t divide(int64_t x, int64_t y)
{
    if (y == 0)
        return 0;
    if (x == (int32_t)x && y == (int32_t)y && y != -1)
        return (int32_t)x / (int32_t)y;
    uint64_t rest = 0, left = x < 0 ? -(uint64_t)x : (uint64_t)x, divisor = y < 0 ? -(uint64_t)y : (uint64_t)y;
    for (int bit = 0; bit < 64; bit++) { /* what is left moves out to the left, the quotient in from the right */
        rest = rest << 1 | left >> 63;
        left <<= 1;
        if (rest >= divisor)
            rest -= divisor, left |= 1;
    }
    return (x ^ y) < 0 ? -(int64_t)left : (int64_t)left;
}

__attribute__((noinline)) static int64_t floor_divide(int64_t x, int64_t y)
{
    int64_t quotient = divide(x, y);
    return y != 0 && (x ^ y) < 0 && quotient * y != x ? quotient - 1 : quotient;
}

static int64_t floor_modulus(int64_t x, int64_t y) { return y == 0 ? 0 : x - floor_divide(x, y) * y; }

/* By squaring; an exponent below 0 counts as 0, and what does not fit becomes the least int32. */
__attribute__((noinline)) static int32_t power(int32_t base, int32_t exponent)
{
    const int64_t beyond = (int64_t)INT32_MAX + 2;
    int64_t result = 1, square_of = base;
    for (uint32_t left = exponent > 0 ? (uint32_t)exponent : 0; left; left >>= 1) {
        if (left & 1)
            result *= square_of;
        result = result > beyond ? beyond : result < -beyond ? -beyond : result;
        square_of *= square_of;
        square_of = square_of > beyond ? beyond : square_of;
    }
    return result > INT32_MAX || result < INT32_MIN ? INT32_MIN : (int32_t)result;
}

/* What all integers share. What is wider than the type wraps when it is stored. */
#define COMPUTE(type)                                                                                               \
    static type compute_##type(int32_t function, type x, type y)                                                    \
    {                                                                                                               \
        switch (function) {                                                                                         \
        case DLA_BINARY_FUNCTION_ADD:                                                                               \
            return (type)(x + y);                                                                                   \
        case DLA_BINARY_FUNCTION_SUB:                                                                               \
            return (type)(x - y);                                                                                   \
        case DLA_BINARY_FUNCTION_MUL:                                                                               \
            return (type)(x * y);                                                                                   \
        case DLA_BINARY_FUNCTION_DIV:                                                                               \
            return (type)divide(x, y);                                                                              \
        case DLA_BINARY_FUNCTION_FLOOR_DIV:                                                                         \
            return (type)floor_divide(x, y);                                                                        \
        case DLA_BINARY_FUNCTION_MAXIMUM:                                                                           \
            return x > y ? x : y;                                                                                   \
        case DLA_BINARY_FUNCTION_FLOOR_MOD:                                                                         \
            return (type)floor_modulus(x, y);                                                                       \
        case DLA_BINARY_FUNCTION_SQUARED_DIFFERENCE:                                                                \
            return (type)((x - y) * (x - y));                                                                       \
        case DLA_BINARY_FUNCTION_POW: /* int32 alone has it */                                                      \
            return power((int32_t)x, (int32_t)y);                                                                   \
        default:                                                                                                    \
            return x < y ? x : y;                                                                                   \
        }                                                                                                           \
    }
COMPUTE(int32_t)
COMPUTE(int64_t)

static float compute_float(int32_t function, float x, float y)
{
    float result;
    switch (function) {
    case DLA_BINARY_FUNCTION_ADD:
        return x + y;
    case DLA_BINARY_FUNCTION_SUB:
        return x - y;
    case DLA_BINARY_FUNCTION_MUL:
        return x * y;
    case DLA_BINARY_FUNCTION_DIV:
        return x / y;
    case DLA_BINARY_FUNCTION_FLOOR_DIV:
        return floor_of_quotient(x, y);
    case DLA_BINARY_FUNCTION_MAXIMUM:
        return x > y ? x : y;
    case DLA_BINARY_FUNCTION_FLOOR_MOD:
        result = remainder_of(x, y);
        return result != 0 && (result < 0) != (y < 0) ? result + y : result;
    case DLA_BINARY_FUNCTION_SQUARED_DIFFERENCE:
        result = x - y;
        return result * result;
    default:
        return x < y ? x : y;
    }
}

static int is_clamped(int32_t function)
{
    return function != DLA_BINARY_FUNCTION_MAXIMUM && function != DLA_BINARY_FUNCTION_MINIMUM;
}

static void compute_int32_row(
    void *output, const void *one, uint32_t one_step, const void *other, uint32_t other_step, uint32_t count,
    const void *attributes)
{
    const struct dla_host_binary *a = attributes;
    const int32_t *x = one, *y = other;
    int32_t *target = output, function = a->function;
    int32_t least = is_clamped(function) ? a->clamp_min : INT32_MIN;
    int32_t greatest = is_clamped(function) ? a->clamp_max : INT32_MAX;
    for (; count; count--, x += one_step, y += other_step)
        *target++ = clamp(compute_int32_t(function, *x, *y), least, greatest);
}

static void compute_int64_row(
    void *output, const void *one, uint32_t one_step, const void *other, uint32_t other_step, uint32_t count,
    const void *attributes)
{
    const struct dla_host_binary *a = attributes;
    const int64_t *x = one, *y = other;
    int64_t *target = output;
    for (int32_t function = a->function; count; count--, x += one_step, y += other_step)
        *target++ = compute_int64_t(function, *x, *y);
}

/* Ends of a range in the order of floats; a NaN is none. */
static void compute_float_row(
    void *output, const void *one, uint32_t one_step, const void *other, uint32_t other_step, uint32_t count,
    const void *attributes)
{
    const struct dla_host_binary *a = attributes;
    uint32_t low = (uint32_t)a->clamp_min, high = (uint32_t)a->clamp_max;
    int32_t function = a->function, limits = is_clamped(function);
    int32_t least = !limits || is_nan(low) ? INT32_MIN : order_of(low);
    int32_t greatest = !limits || is_nan(high) ? INT32_MAX : order_of(high);
    const float *x = one, *y = other;
    for (uint32_t *target = output; count; count--, x += one_step, y += other_step) {
        uint32_t result = bits_of(compute_float(function, *x, *y));
        if (!is_nan(result))
            result = order_of(result) < least ? low : order_of(result) > greatest ? high : result;
        *target++ = result;
    }
}

/* MAXIMUM and MINIMUM alone, as the table of operators has it. */
static void compute_int8_row(
    void *output, const void *one, uint32_t one_step, const void *other, uint32_t other_step, uint32_t count,
    const void *attributes)
{
    const struct dla_host_binary *a = attributes;
    const int8_t *x = one, *y = other;
    int8_t *target = output;
    for (int32_t function = a->function; count; count--, x += one_step, y += other_step)
        *target++ = (int8_t)(function == DLA_BINARY_FUNCTION_MAXIMUM ? (*x > *y ? *x : *y) : *x < *y ? *x : *y);
}

enum status compute_binary(const struct call *call)
{
    switch (call_output(call, 0).type) {
    case DLA_DATA_TYPE_INT32:
        walk_rows(call, compute_int32_row, call->attributes);
        return OK;
    case DLA_DATA_TYPE_INT64:
        walk_rows(call, compute_int64_row, call->attributes);
        return OK;
    case DLA_DATA_TYPE_FLOAT32:
        walk_rows(call, compute_float_row, call->attributes);
        return OK;
    default: /* int8, and bool, which is 0 and 1 */
        walk_rows(call, compute_int8_row, call->attributes);
        return OK;
    }
}
