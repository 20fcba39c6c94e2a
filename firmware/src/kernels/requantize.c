/* REQUANT: the int32 sums of a convolution that ran on the accelerator, to int8. Four channels at a time, so that
 * their scales stay in registers for all pixels. */
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

enum status requantize_channels(const struct call *call)
{
    struct tensor input = call_input(call, 0), given = call_input(call, 1), output = call_output(call, 0);
    const struct dla_host_requant *a = call->attributes;
    const struct record *records = given.data;
    const int32_t *sums = input.data;
    int8_t *target = output.data;
    uint32_t count = given.shape[0];
    struct channels channels = { .limits = { a->output_zero_point, a->clamp_min, a->clamp_max } };
    for (uint32_t first = 0; first < count; first += BLOCK_CHANNELS) {
        channels.count = (int32_t)(count - first < BLOCK_CHANNELS ? count - first : BLOCK_CHANNELS);
        for (uint32_t n = 0; n < (uint32_t)channels.count; n++)
            read_record(&channels, n, &records[first + n]);
        requantize_block(target + first, sums + first, &channels, output.elements / count, count);
    }
    return OK;
}
