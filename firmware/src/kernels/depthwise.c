/* DEPTHWISE_CONV_2D.
 *
 * Channels lie side by side in the image and in the filter, so four of them are one block: for each tap, four
 * weights are loaded once and multiplied with two pixels. The zero point is taken out of the loop as in
 * convolution.c; pixels at the left and right edges are computed alone. With several output channels for each
 * input channel neighbours no longer match, and each channel goes alone. So it does if the weights have a zero
 * point. */
#include "call.h"
#include "channels.h"
#include "window.h"

struct depthwise {
    const int8_t *input;
    const int8_t *weights; /* [row][column][output channel] */
    const struct record *records;
    int8_t *output;
    struct axis rows, columns;
    int32_t channels, out_channels;
    int32_t multiplier; /* output channels of each input channel */
    int32_t zero_point; /* of the input */
    int32_t weight_zero_point;
    struct limits limits;
    int32_t row_bytes;      /* of the image */
    int32_t to_next_column; /* from tap to tap in the image */
    int32_t to_next_row;
};

/* Neighbouring channels: four, or one. */
struct block {
    struct channels channels;
    struct span summed; /* rows of the window that channels.inside holds for */
};

static int is_four(const struct block *block) { return block->channels.count == BLOCK_CHANNELS; }

static void open_block(struct block *block, const struct depthwise *d, int32_t channel)
{
    int32_t has_four = d->multiplier == 1 && !d->weight_zero_point && d->channels - channel >= BLOCK_CHANNELS;
    block->channels.first = channel;
    block->channels.count = has_four ? BLOCK_CHANNELS : 1;
    block->channels.limits = d->limits;
    block->summed = (struct span){ 0, 0 };
    for (int32_t n = 0; n < block->channels.count; n++)
        read_record(&block->channels, n, &d->records[channel + n]);
}

/* Brings channels.inside up to date for these rows of the window. */
static void sum_weights(struct block *block, const struct depthwise *d, struct span rows)
{
    if (rows.first == block->summed.first && rows.end == block->summed.end)
        return;
    int32_t row_taps = d->columns.taps;
    for (int32_t n = 0; n < BLOCK_CHANNELS; n++) {
        const int8_t *weight = d->weights + rows.first * row_taps * d->out_channels + block->channels.first + n;
        int32_t sum = 0;
        for (int32_t taps = (rows.end - rows.first) * row_taps; taps > 0; taps--, weight += d->out_channels)
            sum += *weight;
        block->channels.inside[n] = block->channels.bias[n] - d->zero_point * sum;
    }
    block->summed = rows;
}

/* Pairs of neighbouring pixels, with all their columns and these rows inside the image, by four channels. */
__attribute__((noinline)) static void convolve_pairs(
    const struct depthwise *d, const struct channels *channels, struct span rows, const int8_t *corner,
    int32_t pairs, int8_t *output)
{
    int32_t distance = d->columns.stride * d->channels, filter_row = d->columns.taps * d->out_channels;
    int32_t row_gap = d->to_next_row - d->columns.taps * d->to_next_column;

    for (; pairs; pairs--, corner += 2 * distance, output += 2 * d->out_channels) {
        int32_t sum00 = channels->inside[0], sum01 = channels->inside[1];
        int32_t sum02 = channels->inside[2], sum03 = channels->inside[3];
        int32_t sum10 = sum00, sum11 = sum01, sum12 = sum02, sum13 = sum03;
        const int8_t *first = corner, *second = corner + distance;
        const int8_t *weights = d->weights + rows.first * filter_row + channels->first;

        for (int32_t row = rows.first; row < rows.end; row++, first += row_gap, second += row_gap)
            for (const int8_t *end = weights + filter_row; weights < end; weights += d->out_channels) {
                int32_t w0 = weights[0], w1 = weights[1], w2 = weights[2], w3 = weights[3];
                sum00 += first[0] * w0, sum01 += first[1] * w1, sum02 += first[2] * w2, sum03 += first[3] * w3;
                sum10 += second[0] * w0, sum11 += second[1] * w1, sum12 += second[2] * w2, sum13 += second[3] * w3;
                first += d->to_next_column, second += d->to_next_column;
            }
        finish_pixel(output, channels, sum00, sum01, sum02, sum03);
        finish_pixel(output + d->out_channels, channels, sum10, sum11, sum12, sum13);
    }
}

/* One pixel by four channels; `input` and `weights` are at the first tap inside the image. */
static void convolve_four(
    const struct depthwise *d, const struct channels *channels, int32_t rows, int32_t columns, const int8_t *input,
    const int8_t *weights, int8_t *output)
{
    int32_t sum0 = channels->bias[0], sum1 = channels->bias[1], sum2 = channels->bias[2], sum3 = channels->bias[3];
    int32_t zero_point = d->zero_point, row_gap = d->to_next_row - columns * d->to_next_column;
    int32_t filter_gap = (d->columns.taps - columns) * d->out_channels;

    for (; rows > 0; rows--, input += row_gap, weights += filter_gap)
        for (int32_t left = columns; left > 0; left--) {
            sum0 += (input[0] - zero_point) * weights[0], sum1 += (input[1] - zero_point) * weights[1];
            sum2 += (input[2] - zero_point) * weights[2], sum3 += (input[3] - zero_point) * weights[3];
            input += d->to_next_column, weights += d->out_channels;
        }
    finish_pixel(output, channels, sum0, sum1, sum2, sum3);
}

/* One pixel, one channel. */
static void convolve_single(
    const struct depthwise *d, const struct channels *channels, int32_t rows, int32_t columns, const int8_t *input,
    const int8_t *weights, int8_t *output)
{
    int32_t sum = channels->bias[0], row_gap = d->to_next_row - columns * d->to_next_column;
    int32_t filter_gap = (d->columns.taps - columns) * d->out_channels;

    for (; rows > 0; rows--, input += row_gap, weights += filter_gap)
        for (int32_t left = columns; left > 0; left--, input += d->to_next_column, weights += d->out_channels)
            sum += (*input - d->zero_point) * (*weights - d->weight_zero_point);
    *output = finish(channels, 0, sum);
}

/* A pixel at an edge; `start` is where tap (0, 0) would be. */
static void convolve_one(
    const struct depthwise *d, const struct channels *channels, struct span rows, struct span columns,
    const int8_t *start, int8_t *output)
{
    const int8_t *input = start + rows.first * d->to_next_row + columns.first * d->to_next_column;
    const int8_t *weights =
        d->weights + (rows.first * d->columns.taps + columns.first) * d->out_channels + channels->first;
    int32_t height = rows.end - rows.first, width = columns.end - columns.first;
    if (channels->count == BLOCK_CHANNELS)
        convolve_four(d, channels, height, width, input, weights, output);
    else
        convolve_single(d, channels, height, width, input, weights, output);
}

static void convolve_row(
    const struct depthwise *d, struct block *block, const int8_t *image, int32_t row, int8_t *output)
{
    struct span rows = taps_inside(&d->rows, row), inner = positions_inside(&d->columns);
    const int8_t *row_start =
        image + window_start(&d->rows, row) * d->row_bytes + block->channels.first / d->multiplier;
    int32_t skipped = rows.first * d->to_next_row;
    if (is_four(block))
        sum_weights(block, d, rows);

    for (int32_t column = 0; column < d->columns.out_size;) {
        const int8_t *start = row_start + window_start(&d->columns, column) * d->channels;
        int32_t pixels = 1;
        if (is_four(block) && column >= inner.first && column + 2 <= inner.end) {
            pixels = (inner.end - column) & ~1;
            convolve_pairs(d, &block->channels, rows, start + skipped, pixels / 2, output);
        } else {
            convolve_one(d, &block->channels, rows, taps_inside(&d->columns, column), start, output);
        }
        column += pixels, output += pixels * d->out_channels;
    }
}

static void convolve_images(const struct depthwise *d, int32_t images)
{
    int32_t image_bytes = d->rows.size * d->row_bytes, output_row = d->columns.out_size * d->out_channels;
    struct block block;
    for (int32_t channel = 0; channel < d->out_channels; channel += block.channels.count) {
        open_block(&block, d, channel);
        int8_t *output = d->output + channel;
        for (int32_t image = 0; image < images; image++)
            for (int32_t row = 0; row < d->rows.out_size; row++, output += output_row)
                convolve_row(d, &block, d->input + image * image_bytes, row, output);
    }
}

enum status convolve_depthwise(const struct call *call)
{
    struct tensor input = call_input(call, 0), weights = call_input(call, 1), records = call_input(call, 2);
    struct tensor output = call_output(call, 0);
    const struct dla_host_depthwise_conv_2d *a = call->attributes;
    struct depthwise d = {
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
        .multiplier = channels_of(&output) / channels_of(&input),
        .zero_point = a->input_zero_point,
        .weight_zero_point = a->weight_zero_point,
        .limits = { a->output_zero_point, a->clamp_min, a->clamp_max },
    };
    d.row_bytes = d.columns.size * d.channels;
    d.to_next_column = d.columns.dilation * d.channels;
    d.to_next_row = d.rows.dilation * d.row_bytes;
    convolve_images(&d, batches_of(&input));
    return OK;
}
