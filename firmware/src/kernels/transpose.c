/* TRANSPOSE_CONV, as sums over the taps that reach an output pixel: every `stride`-th tap in each direction, from
 * the one that lies on an input pixel on. So each pixel is computed once, and requantized at once. */
#include "call.h"
#include "channels.h"

/* Along one direction: rows or columns. */
struct direction {
    int32_t size;     /* of the input */
    int32_t out_size; /* of the output */
    int32_t taps;     /* of the window */
    int32_t stride;   /* pixels of the output from one window to the next */
    int32_t pad;      /* pixels of the output before the first */
};

/* The taps that reach an output pixel: tap `tap` from input pixel `pixel`, the next from the pixel before. */
struct meeting {
    int32_t tap, pixel, count;
};

struct transposed {
    const int8_t *input;
    const int8_t *weights; /* [output channel][row][column][depth] */
    const struct record *records;
    int8_t *output;
    struct direction rows, columns;
    int32_t depth, out_channels;
    int32_t filter_bytes; /* from one output channel's weights to the next */
    int32_t zero_point;   /* of the input */
    int32_t weight_zero_point;
    struct limits limits;
};

static struct meeting meet(const struct direction *along, int32_t position)
{
    int32_t whole = (position + along->pad) / along->stride, tap = (position + along->pad) % along->stride;
    int32_t last = tap < along->taps ? (along->taps - 1 - tap) / along->stride : -1;
    int32_t first = whole >= along->size ? whole - along->size + 1 : 0;
    int32_t end = last < whole ? last + 1 : whole + 1;
    return (struct meeting){ tap + first * along->stride, whole - first, end - first };
}

/* One output pixel by four channels. */
__attribute__((noinline)) static void compute_pixel(
    const struct transposed *t, const struct channels *channels, const int8_t *weights, const int8_t *image,
    struct meeting rows, struct meeting columns, int8_t *output)
{
    int32_t sum0 = channels->bias[0], sum1 = channels->bias[1], sum2 = channels->bias[2], sum3 = channels->bias[3];
    int32_t zero_point = t->zero_point, inputs = 0; /* the sum of those, if the weights have a zero point */
    const int8_t *filters[BLOCK_CHANNELS];
    for (int32_t n = 0; n < BLOCK_CHANNELS; n++)
        filters[n] = weights + (n < channels->count ? n : channels->count - 1) * t->filter_bytes;

    for (int32_t row = 0; row < rows.count; row++)
        for (int32_t column = 0; column < columns.count; column++) {
            int32_t tap = (rows.tap + row * t->rows.stride) * t->columns.taps + columns.tap + column * t->columns.stride;
            int32_t pixel = (rows.pixel - row) * t->columns.size + columns.pixel - column;
            const int8_t *input = image + pixel * t->depth, *end = input + t->depth;
            const int8_t *weights0 = filters[0] + tap * t->depth, *weights1 = filters[1] + tap * t->depth;
            const int8_t *weights2 = filters[2] + tap * t->depth, *weights3 = filters[3] + tap * t->depth;
            for (const int8_t *at = input; t->weight_zero_point && at < end; at++)
                inputs += *at - zero_point;
            while (input < end) {
                int32_t x = *input++ - zero_point;
                sum0 += x * *weights0++, sum1 += x * *weights1++;
                sum2 += x * *weights2++, sum3 += x * *weights3++;
                KEEP_IN_ORDER(sum0, sum1, sum2, sum3);
            }
        }
    int32_t offset = t->weight_zero_point * inputs;
    finish_pixel(output, channels, sum0 - offset, sum1 - offset, sum2 - offset, sum3 - offset);
}

static void compute_channels(const struct transposed *t, const struct channels *channels, int32_t images)
{
    const int8_t *weights = t->weights + channels->first * t->filter_bytes, *image = t->input;
    int8_t *output = t->output + channels->first;
    for (; images; images--, image += t->rows.size * t->columns.size * t->depth)
        for (int32_t row = 0; row < t->rows.out_size; row++) {
            struct meeting rows = meet(&t->rows, row);
            for (int32_t column = 0; column < t->columns.out_size; column++, output += t->out_channels)
                compute_pixel(t, channels, weights, image, rows, meet(&t->columns, column), output);
        }
}

enum status convolve_transposed(const struct call *call)
{
    struct tensor input = call_input(call, 0), weights = call_input(call, 1), records = call_input(call, 2);
    struct tensor output = call_output(call, 0);
    const struct dla_host_transpose_conv *a = call->attributes;
    struct transposed t = {
        .input = input.data,
        .weights = weights.data,
        .records = records.data,
        .output = output.data,
        .rows = { height_of(&input), height_of(&output), height_of(&weights), a->stride_height, a->pad_top },
        .columns = { width_of(&input), width_of(&output), width_of(&weights), a->stride_width, a->pad_left },
        .depth = channels_of(&input),
        .out_channels = channels_of(&output),
        .filter_bytes = height_of(&weights) * width_of(&weights) * channels_of(&input),
        .zero_point = a->input_zero_point,
        .weight_zero_point = a->weight_zero_point,
        .limits = { a->output_zero_point, a->clamp_min, a->clamp_max },
    };
    struct channels channels = { .limits = t.limits };
    for (; channels.first < t.out_channels; channels.first += channels.count) {
        int32_t left = t.out_channels - channels.first;
        channels.count = left < BLOCK_CHANNELS ? left : BLOCK_CHANNELS;
        for (int32_t n = 0; n < channels.count; n++)
            read_record(&channels, n, &t.records[channels.first + n]);
        compute_channels(&t, &channels, (int32_t)batches_of(&input));
    }
    return OK;
}
