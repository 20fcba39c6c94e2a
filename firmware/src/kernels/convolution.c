/* CONV_2D and FULLY_CONNECTED.
 *
 * Blocked for registers: four output channels by two pixels make eight sums, for which six loads feed eight
 * multiplications. Channels are the outer loop, so that what depends on the weights alone is done once:
 * records are read, and weights are summed up, because
 *
 *     sum((x - zero_point) * w) = sum(x * w) - zero_point * sum(w)
 *
 * takes the zero point out of the inner loop. That holds for the rows of a window that lie inside the image,
 * if all its columns do; at the left and right edges pixels are computed alone, tap by tap that exists. So are
 * all pixels if the weights have a zero point, which takes a multiple of the sum of its inputs off each pixel.
 *
 * The taps of a row of the window lie one after another in the image as well as in the weights, so a row is
 * one run of multiplications, unless dilation or groups tear it apart: then each tap is a run. */
#include "call.h"
#include "channels.h"
#include "window.h"

struct convolution {
    const int8_t *input;
    const int8_t *weights; /* [output channel][row][column][depth] */
    const struct record *records;
    int8_t *output;
    struct axis rows, columns;
    int32_t channels, out_channels;
    int32_t depth;        /* input channels of a filter: less than all in groups */
    int32_t row_bytes;    /* of the image */
    int32_t filter_bytes; /* from one output channel's weights to the next */
    int32_t zero_point;   /* of the input */
    int32_t weight_zero_point;
    struct limits limits;
    int32_t run_bytes;    /* products in a row, without a gap */
    int32_t runs;         /* in a row of the window */
    int32_t run_gap;      /* from a run's end in the image to the next run */
    int32_t row_gap;      /* from the end of a row's last run, gap included, to the next row */
};

/* A block of channels, and where its weights and its input channels are. */
struct block {
    struct channels channels;
    const int8_t *weights[BLOCK_CHANNELS];
    int32_t group_offset; /* first input channel */
    struct span summed;   /* rows of the window that channels.inside holds for */
};

static void open_block(struct block *block, const struct convolution *c, int32_t channel)
{
    int32_t group_channels = c->out_channels / (c->channels / c->depth);
    int32_t left_in_group = group_channels - channel % group_channels;
    int32_t count = left_in_group < BLOCK_CHANNELS ? left_in_group : BLOCK_CHANNELS;
    block->channels.first = channel;
    block->channels.count = count;
    block->channels.limits = c->limits;
    block->group_offset = channel / group_channels * c->depth;
    block->summed = (struct span){ 0, 0 };
    for (int32_t n = 0; n < BLOCK_CHANNELS; n++) {
        int32_t mine = channel + (n < count ? n : count - 1);
        block->weights[n] = c->weights + mine * c->filter_bytes;
        read_record(&block->channels, n, &c->records[mine]);
    }
}

static int32_t sum_of(const int8_t *weights, int32_t count)
{
    int32_t sum = 0;
    for (; count; count--)
        sum += *weights++;
    return sum;
}

/* Brings channels.inside up to date for these rows of the window: only rows near the image's edges differ. */
static void sum_weights(struct block *block, const struct convolution *c, struct span rows)
{
    if (rows.first == block->summed.first && rows.end == block->summed.end)
        return;
    int32_t row_bytes = c->columns.taps * c->depth;
    for (int32_t n = 0; n < BLOCK_CHANNELS; n++) {
        int32_t sum = sum_of(block->weights[n] + rows.first * row_bytes, (rows.end - rows.first) * row_bytes);
        block->channels.inside[n] = block->channels.bias[n] - c->zero_point * sum;
    }
    block->summed = rows;
}

/* One step of the inner loop, `k` a constant: eight products from six loads. */
#define STEP_OF_PAIR(k)                                                                                       \
    do {                                                                                                       \
        int32_t x0 = first[k], x1 = second[k];                                                                 \
        int32_t w0 = weights0[k], w1 = weights1[k], w2 = weights2[k], w3 = weights3[k];                        \
        sum00 += x0 * w0, sum01 += x0 * w1, sum02 += x0 * w2, sum03 += x0 * w3;                                \
        sum10 += x1 * w0, sum11 += x1 * w1, sum12 += x1 * w2, sum13 += x1 * w3;                                \
        KEEP_IN_ORDER(sum00, sum01, sum02, sum03);                                                             \
        KEEP_IN_ORDER(sum10, sum11, sum12, sum13);                                                             \
    } while (0)

/* Pairs of neighbouring pixels, with all their columns and these rows inside the image, by four channels. */
__attribute__((noinline)) static void convolve_pairs(
    const struct convolution *c, const struct block *block, struct span rows, const int8_t *corner, int32_t pairs,
    int8_t *output)
{
    const struct channels *channels = &block->channels;
    int32_t distance = c->columns.stride * c->channels;
    int32_t skipped = rows.first * c->columns.taps * c->depth;

    for (; pairs; pairs--, corner += 2 * distance, output += 2 * c->out_channels) {
        int32_t sum00 = channels->inside[0], sum01 = channels->inside[1];
        int32_t sum02 = channels->inside[2], sum03 = channels->inside[3];
        int32_t sum10 = sum00, sum11 = sum01, sum12 = sum02, sum13 = sum03;
        const int8_t *first = corner, *second = corner + distance;
        const int8_t *weights0 = block->weights[0] + skipped, *weights1 = block->weights[1] + skipped;
        const int8_t *weights2 = block->weights[2] + skipped, *weights3 = block->weights[3] + skipped;

        for (int32_t row = rows.first; row < rows.end; row++, first += c->row_gap, second += c->row_gap)
            for (int32_t run = c->runs; run; run--, first += c->run_gap, second += c->run_gap) {
                const int8_t *end = weights0 + c->run_bytes, *fours = end - 3;
                while (weights0 < fours) {
                    STEP_OF_PAIR(0);
                    STEP_OF_PAIR(1);
                    STEP_OF_PAIR(2);
                    STEP_OF_PAIR(3);
                    first += 4, second += 4, weights0 += 4, weights1 += 4, weights2 += 4, weights3 += 4;
                }
                while (weights0 < end) {
                    STEP_OF_PAIR(0);
                    first++, second++, weights0++, weights1++, weights2++, weights3++;
                }
            }
        finish_pixel(output, channels, sum00, sum01, sum02, sum03);
        finish_pixel(output + c->out_channels, channels, sum10, sum11, sum12, sum13);
    }
}

#define STEP_OF_ONE(k)                                                                                        \
    do {                                                                                                       \
        int32_t x = input[k] - zero_point;                                                                     \
        sum0 += x * weights0[k], sum1 += x * weights1[k], sum2 += x * weights2[k], sum3 += x * weights3[k];    \
        KEEP_IN_ORDER(sum0, sum1, sum2, sum3);                                                                 \
    } while (0)

/* What the weights' zero point takes off every sum of a pixel; `start` is as in convolve_one. */
__attribute__((noinline)) static int32_t weight_offset(
    const struct convolution *c, struct span rows, struct span columns, const int8_t *start)
{
    int32_t sum = 0;
    for (int32_t row = rows.first; row < rows.end; row++)
        for (int32_t column = columns.first; column < columns.end; column++) {
            const int8_t *input = start + row * c->rows.dilation * c->row_bytes + column * c->columns.dilation * c->channels;
            sum += sum_of(input, c->depth) - c->depth * c->zero_point;
        }
    return c->weight_zero_point * sum;
}

/* One pixel by four channels; `start` is where tap (0, 0) would be, inside the image or not. */
__attribute__((noinline)) static void convolve_one(
    const struct convolution *c, const struct block *block, struct span rows, struct span columns,
    const int8_t *start, int8_t *output)
{
    const struct channels *channels = &block->channels;
    int32_t offset = c->weight_zero_point ? weight_offset(c, rows, columns, start) : 0;
    int32_t sum0 = channels->bias[0] - offset, sum1 = channels->bias[1] - offset;
    int32_t sum2 = channels->bias[2] - offset, sum3 = channels->bias[3] - offset;
    int32_t zero_point = c->zero_point, taps = c->runs == 1 ? columns.end - columns.first : 1;
    int32_t to_next_column = c->columns.dilation * c->channels;
    int32_t to_next_row = c->rows.dilation * c->row_bytes;

    for (int32_t row = rows.first; row < rows.end; row++)
        for (int32_t column = columns.first; column < columns.end; column += taps) {
            const int8_t *input = start + row * to_next_row + column * to_next_column;
            int32_t tap = (row * c->columns.taps + column) * c->depth;
            const int8_t *weights0 = block->weights[0] + tap, *weights1 = block->weights[1] + tap;
            const int8_t *weights2 = block->weights[2] + tap, *weights3 = block->weights[3] + tap;
            const int8_t *end = weights0 + taps * c->depth, *fours = end - 3;
            while (weights0 < fours) {
                STEP_OF_ONE(0);
                STEP_OF_ONE(1);
                STEP_OF_ONE(2);
                STEP_OF_ONE(3);
                input += 4, weights0 += 4, weights1 += 4, weights2 += 4, weights3 += 4;
            }
            while (weights0 < end) {
                STEP_OF_ONE(0);
                input++, weights0++, weights1++, weights2++, weights3++;
            }
        }
    finish_pixel(output, channels, sum0, sum1, sum2, sum3);
}

static void convolve_row(
    const struct convolution *c, struct block *block, const int8_t *image, int32_t row, int8_t *output)
{
    struct span rows = taps_inside(&c->rows, row), inner = positions_inside(&c->columns);
    if (c->weight_zero_point)
        inner.end = 0;
    const int8_t *row_start = image + window_start(&c->rows, row) * c->row_bytes + block->group_offset;
    int32_t skipped = rows.first * c->rows.dilation * c->row_bytes;

    for (int32_t column = 0; column < c->columns.out_size;) {
        const int8_t *start = row_start + window_start(&c->columns, column) * c->channels;
        int32_t pixels = 1;
        if (column >= inner.first && column + 2 <= inner.end) {
            pixels = (inner.end - column) & ~1;
            sum_weights(block, c, rows);
            convolve_pairs(c, block, rows, start + skipped, pixels / 2, output);
        } else {
            convolve_one(c, block, rows, taps_inside(&c->columns, column), start, output);
        }
        column += pixels, output += pixels * c->out_channels;
    }
}

static void convolve_images(const struct convolution *c, int32_t images)
{
    int32_t image_bytes = c->rows.size * c->row_bytes, output_row = c->columns.out_size * c->out_channels;
    struct block block;
    for (int32_t channel = 0; channel < c->out_channels; channel += block.channels.count) {
        open_block(&block, c, channel);
        int8_t *output = c->output + channel;
        for (int32_t image = 0; image < images; image++)
            for (int32_t row = 0; row < c->rows.out_size; row++, output += output_row)
                convolve_row(c, &block, c->input + image * image_bytes, row, output);
    }
}

/* What follows from the shapes. */
static void measure(struct convolution *c)
{
    int32_t is_one_run = c->depth == c->channels && c->columns.dilation == 1;
    int32_t run_taps = is_one_run ? c->columns.taps : 1;
    int32_t run_step = run_taps * c->columns.dilation * c->channels;
    c->runs = is_one_run ? 1 : c->columns.taps;
    c->run_bytes = run_taps * c->depth;
    c->run_gap = run_step - c->run_bytes;
    c->row_bytes = c->columns.size * c->channels;
    c->row_gap = c->rows.dilation * c->row_bytes - c->runs * run_step;
    c->filter_bytes = c->rows.taps * c->columns.taps * c->depth;
}

/* A window of one pixel that stops at every pixel sees no edges: all images are one row of pixels. */
static int is_pointwise(const struct axis *axis)
{
    return axis->taps == 1 && axis->stride == 1 && axis->pad == 0 && axis->size == axis->out_size;
}

static int32_t flatten(struct convolution *c, int32_t images)
{
    c->columns.size = c->columns.out_size = images * c->rows.size * c->columns.size;
    c->rows.size = c->rows.out_size = 1;
    return 1;
}

enum status convolve(const struct call *call)
{
    struct tensor input = call_input(call, 0), weights = call_input(call, 1), records = call_input(call, 2);
    struct tensor output = call_output(call, 0);
    const struct dla_host_conv_2d *a = call->attributes;
    struct convolution c = {
        .input = input.data,
        .weights = weights.data,
        .records = records.data,
        .output = output.data,
        .rows = { height_of(&input), height_of(&output), height_of(&weights), a->stride_height, a->pad_top,
                  a->dilation_height },
        .columns = { width_of(&input), width_of(&output), width_of(&weights), a->stride_width, a->pad_left,
                     a->dilation_width },
        .channels = channels_of(&input),
        .out_channels = channels_of(&output),
        .depth = channels_of(&weights),
        .zero_point = a->input_zero_point,
        .weight_zero_point = a->weight_zero_point,
        .limits = { a->output_zero_point, a->clamp_min, a->clamp_max },
    };
    int32_t images = batches_of(&input);
    if (is_pointwise(&c.rows) && is_pointwise(&c.columns))
        images = flatten(&c, images);
    measure(&c);
    convolve_images(&c, images);
    return OK;
}

/* A matrix product is a convolution of a row of pixels with windows of one. */
enum status multiply_matrix(const struct call *call)
{
    struct tensor input = call_input(call, 0), weights = call_input(call, 1), records = call_input(call, 2);
    struct tensor output = call_output(call, 0);
    const struct dla_host_fully_connected *a = call->attributes;
    int32_t depth = weights.shape[1], rows = input.elements / depth;
    struct convolution c = {
        .input = input.data,
        .weights = weights.data,
        .records = records.data,
        .output = output.data,
        .rows = { 1, 1, 1, 1, 0, 1 },
        .columns = { rows, rows, 1, 1, 0, 1 },
        .channels = depth,
        .out_channels = weights.shape[0],
        .depth = depth,
        .zero_point = a->input_zero_point,
        .weight_zero_point = a->weight_zero_point,
        .limits = { a->output_zero_point, a->clamp_min, a->clamp_max },
    };
    measure(&c);
    convolve_images(&c, 1);
    return OK;
}
