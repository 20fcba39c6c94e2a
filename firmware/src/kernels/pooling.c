/* AVERAGE_POOL_2D, MAX_POOL_2D and MEAN.
 *
 * A pool goes over the pixels of a window with its channels inside, a few at a time: neighbours in memory,
 * their sums in registers. */
#include "call.h"
#include "fixed_point.h"

enum { CHANNELS_AT_ONCE = 4 };

/* The part of a window that lies in the image, as pixels in memory. */
struct pixels {
    const int8_t *first;
    uint32_t rows, columns;
    uint32_t channels;   /* bytes from column to column */
    uint32_t row_bytes;  /* from row to row */
};

/* What a window's channels come to; `count` is 1 to CHANNELS_AT_ONCE. */
typedef void pool_kernel(int8_t *output, const struct pixels *pixels, uint32_t count, const void *attributes);

static int32_t average(int32_t sum, int32_t count)
{
    return (sum < 0 ? sum - count / 2 : sum + count / 2) / count;
}

/* From INT8_MIN up nothing is negative, and halves away from zero are halves up. */
static int32_t average_up(int32_t sum, int32_t count) { return average(sum - INT8_MIN * count, count) + INT8_MIN; }

#define FOR_EACH_PIXEL(pixel, pixels)                                                                         \
    for (const int8_t *row_ = (pixels)->first, *end_ = row_ + (pixels)->rows * (pixels)->row_bytes; row_ < end_; \
         row_ += (pixels)->row_bytes)                                                                          \
        for (const int8_t *pixel = row_, *row_end_ = row_ + (pixels)->columns * (pixels)->channels;            \
             pixel < row_end_; pixel += (pixels)->channels)

static void average_channels(int8_t *output, const struct pixels *pixels, uint32_t count, const void *attributes)
{
    const struct dla_host_average_pool_2d *a = attributes;
    int32_t sums[CHANNELS_AT_ONCE] = { 0 }, number = (int32_t)(pixels->rows * pixels->columns);
    if (count == CHANNELS_AT_ONCE) {
        FOR_EACH_PIXEL(pixel, pixels)
            sums[0] += pixel[0], sums[1] += pixel[1], sums[2] += pixel[2], sums[3] += pixel[3];
    } else {
        FOR_EACH_PIXEL(pixel, pixels)
            for (uint32_t n = 0; n < count; n++)
                sums[n] += pixel[n];
    }
    for (uint32_t n = 0; n < count; n++)
        output[n] = (int8_t)clamp(
            a->halves_up ? average_up(sums[n], number) : average(sums[n], number), a->clamp_min, a->clamp_max);
}

static inline int32_t greater(int32_t one, int32_t other) { return one > other ? one : other; }

static void maximum_channels(int8_t *output, const struct pixels *pixels, uint32_t count, const void *attributes)
{
    const struct dla_host_max_pool_2d *a = attributes;
    int32_t most[CHANNELS_AT_ONCE] = { INT8_MIN, INT8_MIN, INT8_MIN, INT8_MIN };
    if (count == CHANNELS_AT_ONCE) {
        FOR_EACH_PIXEL(pixel, pixels)
        {
            most[0] = greater(most[0], pixel[0]), most[1] = greater(most[1], pixel[1]);
            most[2] = greater(most[2], pixel[2]), most[3] = greater(most[3], pixel[3]);
        }
    } else {
        FOR_EACH_PIXEL(pixel, pixels)
            for (uint32_t n = 0; n < count; n++)
                most[n] = greater(most[n], pixel[n]);
    }
    for (uint32_t n = 0; n < count; n++)
        output[n] = (int8_t)clamp(most[n], a->clamp_min, a->clamp_max);
}

/* The taps inside, of `taps` from `start` on, in an image of `size`: the first goes to *first. */
static uint32_t taps_inside(int32_t start, int32_t taps, int32_t size, int32_t *first)
{
    int32_t end = start + taps < size ? start + taps : size;
    *first = start < 0 ? 0 : start;
    return end > *first ? (uint32_t)(end - *first) : 0;
}

static void pool_window(int8_t *output, struct pixels pixels, pool_kernel *pool, const void *attributes)
{
    for (uint32_t left = pixels.channels; left;) {
        uint32_t count = left < CHANNELS_AT_ONCE ? left : CHANNELS_AT_ONCE;
        pool(output, &pixels, count, attributes);
        pixels.first += count, output += count, left -= count;
    }
}

static void pool_image(
    const int8_t *image, const struct tensor *input, int8_t *output, const struct tensor *target,
    const struct dla_host_average_pool_2d *a, pool_kernel *pool)
{
    struct pixels pixels = { .channels = channels_of(input), .row_bytes = width_of(input) * channels_of(input) };
    for (int32_t row = 0; row < (int32_t)height_of(target); row++) {
        int32_t y, x;
        pixels.rows = taps_inside(row * a->stride_height - a->pad_top, a->filter_height, height_of(input), &y);
        for (int32_t column = 0; column < (int32_t)width_of(target); column++, output += pixels.channels) {
            pixels.columns =
                taps_inside(column * a->stride_width - a->pad_left, a->filter_width, width_of(input), &x);
            pixels.first = image + y * pixels.row_bytes + x * pixels.channels;
            pool_window(output, pixels, pool, a);
        }
    }
}

/* Both pools begin with the same attributes in the same order. */
static void pool_all(const struct call *call, pool_kernel *pool)
{
    _Static_assert(offsetof(struct dla_host_average_pool_2d, clamp_max) ==
                       offsetof(struct dla_host_max_pool_2d, clamp_max), "alike");
    struct tensor input = call_input(call, 0), output = call_output(call, 0);
    uint32_t image_bytes = product_of(&input, 1, 4), target_bytes = product_of(&output, 1, 4);
    for (uint32_t batch = 0; batch < batches_of(&input); batch++)
        pool_image((const int8_t *)input.data + batch * image_bytes, &input,
                   (int8_t *)output.data + batch * target_bytes, &output, call->attributes, pool);
}

enum status pool_average(const struct call *call)
{
    pool_all(call, average_channels);
    return OK;
}

enum status pool_maximum(const struct call *call)
{
    pool_all(call, maximum_channels);
    return OK;
}

/* Dimensions of a kind: those that are reduced, or those that stay, with the elements between neighbours. */
struct axes {
    uint32_t count;
    uint32_t extent[DLA_PROGRAM_MAX_RANK];
    uint32_t step[DLA_PROGRAM_MAX_RANK];
    uint32_t index[DLA_PROGRAM_MAX_RANK];
};

static struct axes choose_axes(const struct tensor *input, uint32_t mask)
{
    struct axes axes = { 0 };
    for (uint32_t dimension = 0; dimension < input->rank; dimension++)
        if (mask >> dimension & 1) {
            axes.extent[axes.count] = input->shape[dimension];
            axes.step[axes.count++] = product_of(input, dimension + 1, input->rank);
        }
    return axes;
}

/* The next combination of indices, the last fastest; returns how far it lies from the one before. */
static int32_t advance(struct axes *axes)
{
    int32_t distance = 0;
    for (uint32_t n = axes->count; n-- > 0;) {
        distance += (int32_t)axes->step[n];
        if (++axes->index[n] < axes->extent[n])
            return distance;
        distance -= (int32_t)(axes->extent[n] * axes->step[n]);
        axes->index[n] = 0;
    }
    return distance;
}

static uint32_t elements_of(const struct axes *axes)
{
    uint32_t elements = 1;
    for (uint32_t n = 0; n < axes->count; n++)
        elements *= axes->extent[n];
    return elements;
}

static int32_t sum_along(const int8_t *first, struct axes *reduced, uint32_t elements)
{
    int32_t sum = 0;
    for (uint32_t left = elements; left; left--) {
        sum += *first;
        first += advance(reduced);
    }
    return sum;
}

enum status mean(const struct call *call)
{
    const struct dla_host_mean *a = call->attributes;
    struct tensor input = call_input(call, 0), output = call_output(call, 0);
    struct axes reduced = choose_axes(&input, (uint32_t)a->axis_mask);
    struct axes kept = choose_axes(&input, ~(uint32_t)a->axis_mask);
    struct scale scale = make_scale(a->output_multiplier, a->output_shift);
    uint32_t elements = elements_of(&reduced);
    const int8_t *first = input.data;
    int8_t *target = output.data;
    for (uint32_t left = output.elements; left; left--) {
        int32_t sum = sum_along(first, &reduced, elements) - (int32_t)elements * a->input_zero_point;
        *target++ = clamp_to_int8(requantize(sum, scale) + a->output_zero_point);
        first += advance(&kept);
    }
    return OK;
}

enum status mean16(const struct call *call)
{
    const struct dla_host_mean_16 *a = call->attributes;
    struct tensor input = call_input(call, 0), output = call_output(call, 0);
    struct axes reduced = choose_axes(&input, (uint32_t)a->axis_mask);
    struct axes kept = choose_axes(&input, ~(uint32_t)a->axis_mask);
    struct scale scale = make_scale(a->output_multiplier, a->output_shift);
    uint32_t elements = elements_of(&reduced);
    const int16_t *first = input.data;
    int16_t *target = output.data;
    for (uint32_t left = output.elements; left; left--) {
        int32_t sum = 0;
        const int16_t *value = first;
        for (uint32_t n = elements; n; n--) {
            sum += *value;
            value += advance(&reduced);
        }
        *target++ = (int16_t)clamp(requantize(sum, scale), INT16_MIN, INT16_MAX);
        first += advance(&kept);
    }
    return OK;
}
