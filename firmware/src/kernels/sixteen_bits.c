/* Convolutions of int16 by int8 weights: sums of 64 or 32 bits, without zero points. */
#include "call.h"
#include "fixed_point.h"
#include "window.h"

enum { RECORD_WORDS = 4, SAFE_PRODUCTS = 256 /* as many fit 32 bits in any case */ };

static int64_t dot(const int16_t *values, const int8_t *weights, uint32_t count)
{
    int64_t sum = 0;
    while (count) {
        uint32_t part = count < SAFE_PRODUCTS ? count : SAFE_PRODUCTS;
        int32_t partial = 0;
        for (const int16_t *end = values + part; values != end;)
            partial += *values++ * *weights++;
        sum += partial;
        count -= part;
    }
    return sum;
}

/* What becomes of a sum. */
struct finish {
    int32_t is_wide, least, greatest;
};

static int16_t finish_sum(int64_t sum, const int32_t *record, const struct finish *finish)
{
    int32_t multiplier = record[2], shift = record[3], value;
    if (finish->is_wide) {
        int64_t total = sum + (int64_t)((uint64_t)(uint32_t)record[1] << 32 | (uint32_t)record[0]);
        value = rescale_wide(total, multiplier, shift);
    } else {
        value = requantize((int32_t)sum + record[0], make_scale(multiplier, shift));
    }
    return (int16_t)clamp(value, finish->least, finish->greatest);
}

/* A convolution, whose output channels belong to groups of input channels. */
struct convolution16 {
    struct tensor input, weights;
    struct axis rows, columns;
    uint32_t depth; /* of the weights */
};

static int64_t sum_window(
    const struct convolution16 *c, const int16_t *image, const int8_t *weights, int32_t row, int32_t column)
{
    struct span down = taps_inside(&c->rows, row), across = taps_inside(&c->columns, column);
    uint32_t channels = channels_of(&c->input), width = width_of(&c->input), taps = (uint32_t)(across.end - across.first);
    int32_t top = window_start(&c->rows, row), left = window_start(&c->columns, column);
    int64_t sum = 0;
    if (across.end <= across.first)
        return 0;
    for (int32_t tap = down.first; tap < down.end; tap++) {
        uint32_t y = (uint32_t)(top + tap * c->rows.dilation);
        uint32_t x = (uint32_t)(left + across.first * c->columns.dilation);
        const int16_t *pixel = image + (y * width + x) * channels;
        const int8_t *weight = weights + (uint32_t)(tap * c->columns.taps + across.first) * c->depth;
        if (c->columns.dilation == 1 && c->depth == channels) {
            sum += dot(pixel, weight, taps * channels);
            continue;
        }
        for (uint32_t n = 0; n < taps; n++, weight += c->depth)
            sum += dot(pixel + n * (uint32_t)c->columns.dilation * channels, weight, c->depth);
    }
    return sum;
}

enum status convolve16(const struct call *call)
{
    const struct dla_host_conv_2d_16 *a = call->attributes;
    struct tensor output = call_output(call, 0), records = call_input(call, 2);
    struct convolution16 c = { .input = call_input(call, 0), .weights = call_input(call, 1) };
    c.rows = (struct axis){ (int32_t)height_of(&c.input), (int32_t)height_of(&output), (int32_t)c.weights.shape[1],
                            a->stride_height, a->pad_top, a->dilation_height };
    c.columns = (struct axis){ (int32_t)width_of(&c.input), (int32_t)width_of(&output), (int32_t)c.weights.shape[2],
                               a->stride_width, a->pad_left, a->dilation_width };
    c.depth = c.weights.shape[3];
    struct finish finish = { a->wide_sums, a->clamp_min, a->clamp_max };
    uint32_t channels = channels_of(&output), groups = channels_of(&c.input) / c.depth;
    uint32_t filter = product_of(&c.weights, 1, 4), image = product_of(&c.input, 1, 4), of_group = channels / groups;
    int16_t *target = output.data;
    for (uint32_t batch = 0; batch < batches_of(&c.input); batch++)
        for (int32_t row = 0; row < c.rows.out_size; row++)
            for (int32_t column = 0; column < c.columns.out_size; column++)
                for (uint32_t channel = 0; channel < channels; channel++) {
                    const int16_t *from = (const int16_t *)c.input.data + batch * image + channel / of_group * c.depth;
                    const int8_t *weights = (const int8_t *)c.weights.data + channel * filter;
                    const int32_t *record = (const int32_t *)records.data + channel * RECORD_WORDS;
                    *target++ = finish_sum(sum_window(&c, from, weights, row, column), record, &finish);
                }
    return OK;
}

enum status multiply_matrix16(const struct call *call)
{
    const struct dla_host_fully_connected_16 *a = call->attributes;
    struct tensor input = call_input(call, 0), weights = call_input(call, 1), records = call_input(call, 2);
    struct tensor output = call_output(call, 0);
    struct finish finish = { a->wide_sums, a->clamp_min, a->clamp_max };
    uint32_t depth = weights.shape[1], channels = weights.shape[0];
    const int16_t *values = input.data;
    int16_t *target = output.data;
    for (const int16_t *end = target + output.elements; target != end; values += depth)
        for (uint32_t channel = 0; channel < channels; channel++) {
            int64_t sum = dot(values, (const int8_t *)weights.data + channel * depth, depth);
            *target++ = finish_sum(sum, (const int32_t *)records.data + channel * RECORD_WORDS, &finish);
        }
    return OK;
}

/* The input pixel from which a tap reaches an output pixel; -1 for none. */
static int32_t source_of(int32_t position, int32_t pad, int32_t tap, int32_t stride, uint32_t size)
{
    int32_t distance = position + pad - tap;
    if (distance < 0 || distance % stride)
        return -1;
    return distance / stride < (int32_t)size ? distance / stride : -1;
}

enum status convolve_transposed16(const struct call *call)
{
    const struct dla_host_transpose_conv_16 *a = call->attributes;
    struct tensor input = call_input(call, 0), weights = call_input(call, 1), records = call_input(call, 2);
    struct tensor output = call_output(call, 0);
    struct finish finish = { a->wide_sums, a->clamp_min, a->clamp_max };
    uint32_t depth = channels_of(&input), channels = channels_of(&output), image = product_of(&input, 1, 4);
    int32_t taps_down = (int32_t)weights.shape[1], taps_across = (int32_t)weights.shape[2];
    const int16_t *from = input.data;
    int16_t *target = output.data;
    for (uint32_t batch = 0; batch < batches_of(&input); batch++, from += image)
        for (int32_t row = 0; row < (int32_t)height_of(&output); row++)
            for (int32_t column = 0; column < (int32_t)width_of(&output); column++, target += channels)
                for (uint32_t channel = 0; channel < channels; channel++) {
                    const int8_t *filter = (const int8_t *)weights.data + channel * product_of(&weights, 1, 4);
                    int64_t sum = 0;
                    for (int32_t down = 0; down < taps_down; down++) {
                        int32_t y = source_of(row, a->pad_top, down, a->stride_height, height_of(&input));
                        for (int32_t across = 0; y >= 0 && across < taps_across; across++) {
                            int32_t x = source_of(column, a->pad_left, across, a->stride_width, width_of(&input));
                            uint32_t pixel = (uint32_t)y * width_of(&input) + (uint32_t)x;
                            uint32_t tap = (uint32_t)(down * taps_across + across);
                            if (x >= 0)
                                sum += dot(from + pixel * depth, filter + tap * depth, depth);
                        }
                    }
                    target[channel] = finish_sum(sum, (const int32_t *)records.data + channel * RECORD_WORDS, &finish);
                }
    return OK;
}
