/* Operators on int16 that have no weights: arithmetic, pools, and functions of one element or row. */
#include "call.h"
#include "fixed_point.h"
#include "interpolation.h"
#include "reciprocal.h"
#include "rows.h"

enum { ADD_BITS = 15 /* below the point while adding */ };

struct wide_sum {
    const struct dla_host_arithmetic_16 *attributes;
    struct scale one, other, output;
};

static void compute_row(
    void *output, const void *one, uint32_t one_step, const void *other, uint32_t other_step, uint32_t count,
    const void *prepared)
{
    const struct wide_sum *sum = prepared;
    int32_t function = sum->attributes->function;
    int32_t least = sum->attributes->clamp_min, greatest = sum->attributes->clamp_max;
    const int16_t *x = one, *y = other;
    for (int16_t *target = output; count; count--, x += one_step, y += other_step) {
        int32_t value;
        if (function == DLA_WIDE_FUNCTION_MUL) {
            value = *x * *y;
        } else if (function == DLA_WIDE_FUNCTION_SQUARED_DIFFERENCE) {
            int32_t difference = requantize(*x, sum->one) - requantize(*y, sum->other);
            value = difference * difference;
        } else {
            int32_t first = requantize((int32_t)((uint32_t)*x << ADD_BITS), sum->one);
            int32_t second = requantize((int32_t)((uint32_t)*y << ADD_BITS), sum->other);
            value = function == DLA_WIDE_FUNCTION_ADD ? first + second : first - second;
        }
        *target++ = (int16_t)clamp(requantize(value, sum->output), least, greatest);
    }
}

static void divide_row(
    void *output, const void *one, uint32_t one_step, const void *other, uint32_t other_step, uint32_t count,
    const void *prepared)
{
    const struct dla_host_arithmetic_16 *a = ((const struct wide_sum *)prepared)->attributes;
    const int16_t *x = one, *y = other;
    for (int16_t *target = output; count; count--, x += one_step, y += other_step) {
        int32_t value = divide_quantized_numbers(*x, *y, a->output_multiplier, a->output_shift);
        *target++ = (int16_t)clamp(value, a->clamp_min, a->clamp_max);
    }
}

enum status compute16(const struct call *call)
{
    const struct dla_host_arithmetic_16 *a = call->attributes;
    struct wide_sum sum = {
        .attributes = a,
        .one = make_scale(a->input1_multiplier, a->input1_shift),
        .other = make_scale(a->input2_multiplier, a->input2_shift),
        .output = make_scale(a->output_multiplier, a->output_shift),
    };
    walk_rows(call, a->function == DLA_WIDE_FUNCTION_DIV ? divide_row : compute_row, &sum);
    return OK;
}

/* The taps inside along one direction. */
static void span_inside(int32_t start, int32_t taps, uint32_t size, int32_t *first, int32_t *end)
{
    *first = start < 0 ? 0 : start;
    *end = start + taps < (int32_t)size ? start + taps : (int32_t)size;
}

enum status pool16(const struct call *call)
{
    const struct dla_host_pool_16 *a = call->attributes;
    struct tensor input = call_input(call, 0), output = call_output(call, 0);
    uint32_t channels = channels_of(&input), width = width_of(&input), image = product_of(&input, 1, 4);
    const int16_t *from = input.data;
    int16_t *target = output.data;
    for (uint32_t batch = 0; batch < batches_of(&input); batch++, from += image)
        for (int32_t row = 0; row < (int32_t)height_of(&output); row++)
            for (int32_t column = 0; column < (int32_t)width_of(&output); column++) {
                int32_t top, bottom, left, right;
                span_inside(row * a->stride_height - a->pad_top, a->filter_height, height_of(&input), &top, &bottom);
                span_inside(column * a->stride_width - a->pad_left, a->filter_width, width, &left, &right);
                int32_t count = (bottom - top) * (right - left);
                for (uint32_t channel = 0; channel < channels; channel++) {
                    int32_t sum = 0, most = INT16_MIN;
                    for (int32_t y = top; y < bottom; y++)
                        for (int32_t x = left; x < right; x++) {
                            int32_t value = from[((uint32_t)y * width + (uint32_t)x) * channels + channel];
                            sum += value;
                            most = value > most ? value : most;
                        }
                    if (a->function == DLA_POOL_FUNCTION_AVERAGE) {
                        uint32_t magnitude = sum < 0 ? -(uint32_t)sum : (uint32_t)sum, half = (uint32_t)count / 2;
                        most = (int32_t)((magnitude + half) / (uint32_t)count);
                        most = sum < 0 ? -most : most;
                    }
                    *target++ = (int16_t)clamp(most, a->clamp_min, a->clamp_max);
                }
            }
    return OK;
}

enum status sigmoid16(const struct call *call)
{
    const struct dla_host_sigmoid_16 *a = call->attributes;
    struct tensor input = call_input(call, 0), table = call_input(call, 1), output = call_output(call, 0);
    const int16_t *source = input.data;
    int16_t *target = output.data;
    for (const int16_t *end = source + input.elements; source != end;) {
        int32_t x = scale_input(*source++, a->factor, (uint32_t)a->shift);
        *target++ = (int16_t)(a->function == DLA_SIGMOID_FUNCTION_LOGISTIC ? logistic16(x, table.data)
                                                                           : tanh16(x, table.data));
    }
    return OK;
}

enum status leak16(const struct call *call)
{
    const struct dla_host_leaky_16 *a = call->attributes;
    struct tensor input = call_input(call, 0), output = call_output(call, 0);
    struct scale positive = make_scale(a->positive_multiplier, a->positive_shift);
    struct scale negative = make_scale(a->negative_multiplier, a->negative_shift);
    const int16_t *source = input.data;
    int16_t *target = output.data;
    for (const int16_t *end = source + input.elements; source != end;) {
        int32_t x = *source++;
        *target++ = (int16_t)clamp(requantize(x, x < 0 ? negative : positive), a->clamp_min, a->clamp_max);
    }
    return OK;
}

enum { MIDDLE = 256, STEP_BITS = 7 /* between two of 513 entries */ };

static int32_t interpolate(const int16_t *table, int32_t value)
{
    value = clamp(value, INT16_MIN, INT16_MAX);
    const int16_t *entry = table + MIDDLE + (value >> STEP_BITS);
    int32_t rest = value & ((1 << STEP_BITS) - 1), half = 1 << (STEP_BITS - 1);
    return entry[0] + (((entry[1] - entry[0]) * rest + half) >> STEP_BITS);
}

enum status look_up16(const struct call *call)
{
    struct tensor input = call_input(call, 0), table = call_input(call, 1), output = call_output(call, 0);
    const int16_t *source = input.data;
    int16_t *target = output.data;
    for (const int16_t *end = source + input.elements; source != end;)
        *target++ = (int16_t)clamp(interpolate(table.data, *source++), INT16_MIN, INT16_MAX);
    return OK;
}

static void softmax_row(
    int16_t *output, const int16_t *row, uint32_t length, struct scale scale, const int16_t *exponentials,
    const int16_t *reciprocals)
{
    int32_t greatest = INT16_MIN, sum = 0;
    for (uint32_t i = 0; i < length; i++)
        greatest = row[i] > greatest ? row[i] : greatest;
    for (uint32_t i = 0; i < length; i++) {
        int32_t part = interpolate(exponentials, requantize(row[i] - greatest, scale) + INT16_MAX);
        output[i] = (int16_t)part;
        sum += part;
    }
    sum = sum < 2 ? 2 : sum; /* only with a table of other contents */
    uint32_t headroom = (uint32_t)__builtin_clz((uint32_t)sum), right = 31 - headroom;
    int32_t place = (int32_t)((((int64_t)sum << (headroom - 1)) + (1 << 13)) >> 14) - 3 * (1 << 15);
    int32_t reciprocal = interpolate(reciprocals, place);
    for (uint32_t i = 0; i < length; i++) {
        int64_t share = ((int64_t)output[i] * reciprocal + ((int64_t)1 << (right - 1))) >> right;
        output[i] = (int16_t)(share < 0 ? 0 : share > INT16_MAX ? INT16_MAX : share);
    }
}

enum status softmax16(const struct call *call)
{
    const struct dla_host_softmax_16 *a = call->attributes;
    struct tensor input = call_input(call, 0), exponentials = call_input(call, 1), reciprocals = call_input(call, 2);
    struct tensor output = call_output(call, 0);
    struct scale scale = make_scale(a->input_multiplier, a->input_shift);
    uint32_t length = input.shape[input.rank - 1];
    const int16_t *row = input.data;
    int16_t *target = output.data;
    for (uint32_t left = input.elements; left; left -= length, row += length, target += length)
        softmax_row(target, row, length, scale, exponentials.data, reciprocals.data);
    return OK;
}
