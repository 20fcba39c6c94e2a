/* A window that slides over an image: where it is, and which of its taps lie inside. */
#ifndef DLASIM_KERNELS_WINDOW_H
#define DLASIM_KERNELS_WINDOW_H

#include <stdint.h>

/* Along one direction: rows or columns. */
struct axis {
    int32_t size;     /* of the image */
    int32_t out_size; /* of the result */
    int32_t taps;     /* of the window */
    int32_t stride;   /* pixels from one window to the next */
    int32_t pad;      /* pixels before the first */
    int32_t dilation; /* pixels from one tap to the next */
};

/* From `first` up to, not including, `end`. */
struct span {
    int32_t first, end;
};

static inline int32_t window_start(const struct axis *axis, int32_t position)
{
    return position * axis->stride - axis->pad;
}

/* The taps of the window at this position that lie inside the image; none where first >= end. */
static inline struct span taps_inside(const struct axis *axis, int32_t position)
{
    int32_t start = window_start(axis, position), room = axis->size - start;
    struct span taps = { 0, axis->taps };
    if (start < 0)
        taps.first = (-start + axis->dilation - 1) / axis->dilation;
    if ((axis->taps - 1) * axis->dilation >= room)
        taps.end = room <= 0 ? 0 : (room + axis->dilation - 1) / axis->dilation;
    return taps;
}

/* The positions at which all taps of the window lie inside. */
static inline struct span positions_inside(const struct axis *axis)
{
    int32_t last = axis->size - 1 - (axis->taps - 1) * axis->dilation + axis->pad;
    struct span inside = { (axis->pad + axis->stride - 1) / axis->stride, last < 0 ? 0 : last / axis->stride + 1 };
    if (inside.end > axis->out_size)
        inside.end = axis->out_size;
    return inside;
}

#endif
