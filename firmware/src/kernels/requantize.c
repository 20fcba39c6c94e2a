/* REQUANT: the int32 sums of a convolution that ran on the accelerator, to int8. Four channels at a time, so that
 * their scales stay in registers for all pixels; or one by one in 64 bits, where they are rounded once. */
#include "call.h"
#include "channels.h"

static void requantize_block(
    int8_t *output, const int32_t *input, const struct channels *channels, uint32_t pixels, uint32_t distance)
{
    int32_t last = channels->count - 1; /* sums of channels that do not exist are read from the last one */
    const int32_t *second = input + (last < 1 ? last : 1), *third = input + (last < 2 ? last : 2);
    const int32_t *fourth = input + last;
    for (uint32_t at = 0; pixels; pixels--, at += distance)
        finish_pixel(output + at, channels, input[at], second[at], third[at], fourth[at]);
}

static int8_t round_once(int32_t sum, const struct record *record, const struct limits *limits)
{
    int64_t product = (int64_t)sum * record->multiplier;
    int32_t bits = 31 - clamp(record->shift, -31, 0);
    int64_t rounded = (product + ((int64_t)1 << (bits - 1)) - (product < 0)) >> bits; /* halves away from 0 */
    return (int8_t)clamp((int32_t)rounded + limits->zero_point, limits->least, limits->greatest);
}

enum status requantize_channels(const struct call *call)
{
    struct tensor input = call_input(call, 0), given = call_input(call, 1), output = call_output(call, 0);
    const struct dla_host_requant *a = call->attributes;
    const struct record *records = given.data;
    const int32_t *sums = input.data;
    int8_t *target = output.data;
    uint32_t count = given.shape[0];
    struct channels channels = { .limits = { a->output_zero_point, a->clamp_min, a->clamp_max } };
    for (uint32_t pixel = 0; a->rounds_once && pixel < output.elements; pixel += count)
        for (uint32_t n = 0; n < count; n++)
            target[pixel + n] = round_once(sums[pixel + n], &records[n], &channels.limits);
    for (uint32_t first = a->rounds_once ? count : 0; first < count; first += BLOCK_CHANNELS) {
        channels.count = (int32_t)(count - first < BLOCK_CHANNELS ? count - first : BLOCK_CHANNELS);
        for (uint32_t n = 0; n < (uint32_t)channels.count; n++)
            read_record(&channels, n, &records[first + n]);
        requantize_block(target + first, sums + first, &channels, output.elements / count, count);
    }
    return OK;
}
