/* Four output channels that a convolution computes together: as many sums, for two pixels, as registers hold.
 * What does not depend on the pixel is prepared once for all pixels. */
#ifndef DLASIM_KERNELS_CHANNELS_H
#define DLASIM_KERNELS_CHANNELS_H

#include "fixed_point.h"

enum { BLOCK_CHANNELS = 4 };

/* Left alone, the compiler regroups sums of products into trees, which need more registers than there are.
 * This costs no instruction: it only claims to change four sums, so what stands before it is added before. */
#define KEEP_IN_ORDER(a, b, c, d) __asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d)::"memory")

/* A channel's record, as the compiler prepares it. */
struct record {
    int32_t bias;
    int32_t multiplier;
    int32_t shift;
};

/* Of the output. */
struct limits {
    int32_t zero_point, least, greatest;
};

struct channels {
    int32_t first;
    int32_t count; /* of the four; the others repeat the last one, and are not stored */
    int32_t bias[BLOCK_CHANNELS];
    int32_t inside[BLOCK_CHANNELS]; /* bias - zero_point * sum of the weights: see convolution.c */
    struct scale scales[BLOCK_CHANNELS];
    struct limits limits;
};

static inline void read_record(struct channels *channels, uint32_t n, const struct record *record)
{
    channels->bias[n] = record->bias;
    channels->scales[n] = make_scale(record->multiplier, record->shift);
}

static inline int8_t finish(const struct channels *channels, uint32_t n, int32_t sum)
{
    int32_t value = requantize(sum, channels->scales[n]) + channels->limits.zero_point;
    return (int8_t)clamp(value, channels->limits.least, channels->limits.greatest);
}

/* Stores a pixel's four sums, or as many of them as there are channels. */
static inline void finish_pixel(
    int8_t *output, const struct channels *channels, int32_t sum0, int32_t sum1, int32_t sum2, int32_t sum3)
{
    output[0] = finish(channels, 0, sum0);
    if (channels->count > 1)
        output[1] = finish(channels, 1, sum1);
    if (channels->count > 2)
        output[2] = finish(channels, 2, sum2);
    if (channels->count > 3)
        output[3] = finish(channels, 3, sum3);
}

#endif
