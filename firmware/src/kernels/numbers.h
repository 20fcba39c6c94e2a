/* Elements of any type. */
#ifndef DLASIM_KERNELS_NUMBERS_H
#define DLASIM_KERNELS_NUMBERS_H

#include "call.h"
#include "soft_float.h"

static inline int64_t read_integer(const void *data, uint32_t type, uint32_t number)
{
    switch (type) {
    case DLA_DATA_TYPE_INT8:
        return ((const int8_t *)data)[number];
    case DLA_DATA_TYPE_INT16:
        return ((const int16_t *)data)[number];
    case DLA_DATA_TYPE_INT32:
        return ((const int32_t *)data)[number];
    case DLA_DATA_TYPE_INT64:
        return ((const int64_t *)data)[number];
    default: /* uint8 and bool */
        return ((const uint8_t *)data)[number];
    }
}

/* Keeps the low bits, or, of a bool, whether there are any. */
static inline void write_integer(void *data, uint32_t type, uint32_t number, int64_t value)
{
    switch (type) {
    case DLA_DATA_TYPE_BOOL:
        ((uint8_t *)data)[number] = value != 0;
        return;
    case DLA_DATA_TYPE_INT16:
        ((int16_t *)data)[number] = (int16_t)value;
        return;
    case DLA_DATA_TYPE_INT32:
        ((int32_t *)data)[number] = (int32_t)value;
        return;
    case DLA_DATA_TYPE_INT64:
        ((int64_t *)data)[number] = value;
        return;
    default: /* int8 and uint8 */
        ((uint8_t *)data)[number] = (uint8_t)value;
    }
}

static inline int is_float(uint32_t type) { return type == DLA_DATA_TYPE_FLOAT32; }

/* Integers in the order of the elements; NaN is less than everything. */
static inline int64_t read_order(const void *data, uint32_t type, uint32_t number)
{
    if (!is_float(type))
        return read_integer(data, type, number);
    uint32_t bits = ((const uint32_t *)data)[number];
    return is_nan(bits) ? INT64_MIN : order_of(bits);
}

#endif
