/* Operators that only move elements, whatever their type: PAD, CONCATENATION, STRIDED_COPY, GATHER, GATHER_ND,
   UPDATE_SLICE. And PLACE_CURSOR, after which the accelerator does so. */
#include "call.h"
#include "dla.h"
#include "fixed_point.h"
#include "string.h"

/* Elements of a size, one after another, from elements of the input that are `step` apart. */
#define COPY_STEPPED(type)                                                                                    \
    static void copy_stepped_##type(type *target, const type *source, int32_t step, uint32_t count)           \
    {                                                                                                          \
        for (; count; count--, source += step)                                                                 \
            *target++ = *source;                                                                               \
    }
COPY_STEPPED(uint8_t)
COPY_STEPPED(uint16_t)
COPY_STEPPED(uint32_t)
COPY_STEPPED(uint64_t)

static void copy_row(void *target, const void *source, int32_t step, uint32_t count, uint32_t element_bytes)
{
    if (step == 1) {
        memcpy(target, source, count * element_bytes);
        return;
    }
    switch (element_bytes) {
    case 1:
        copy_stepped_uint8_t(target, source, step, count);
        return;
    case 2:
        copy_stepped_uint16_t(target, source, step, count);
        return;
    case 4:
        copy_stepped_uint32_t(target, source, step, count);
        return;
    default:
        copy_stepped_uint64_t(target, source, step, count);
    }
}

/* Writes an element of any size over and over: the low bytes of `value`, its sign in those beyond. */
static void fill(uint8_t *target, int32_t value, uint32_t count, uint32_t element_bytes)
{
    if (element_bytes == 1) {
        memset(target, value, count);
        return;
    }
    int64_t wide = value;
    for (; count; count--, target += element_bytes)
        memcpy(target, &wide, element_bytes);
}

/* The next index, the last of `rank` dimensions fastest; 0 when all have been. */
static int next_index(uint32_t *index, const uint32_t *extents, uint32_t rank)
{
    while (rank-- > 0) {
        if (++index[rank] < extents[rank])
            return 1;
        index[rank] = 0;
    }
    return 0;
}

/* Where in the padded tensor the element of the input with this index goes. */
static uint32_t padded_offset(const struct tensor *output, const uint32_t *index, const int32_t *before)
{
    uint32_t offset = 0;
    for (uint32_t dimension = 0; dimension < output->rank; dimension++)
        offset = offset * output->shape[dimension] + index[dimension] + (uint32_t)before[dimension];
    return offset;
}

enum status pad(const struct call *call)
{
    const struct dla_host_pad *a = call->attributes;
    struct tensor input = call_input(call, 0), output = call_output(call, 0);
    uint32_t index[DLA_PROGRAM_MAX_RANK] = { 0 };
    const int32_t before[DLA_PROGRAM_MAX_RANK] = {
        a->before[0], a->before[1], a->before[2], a->before[3], a->before[4], a->before[5],
    };
    fill(output.data, a->value, output.elements, output.element_bytes);
    if (!input.elements)
        return OK;

    uint32_t outer_rank = input.rank ? input.rank - 1 : 0;
    uint32_t row_bytes = (input.rank ? input.shape[outer_rank] : 1) * input.element_bytes;
    const uint8_t *source = input.data;
    do {
        uint8_t *target = (uint8_t *)output.data + padded_offset(&output, index, before) * output.element_bytes;
        memcpy(target, source, row_bytes);
        source += row_bytes;
    } while (next_index(index, input.shape, outer_rank));
    return OK;
}

enum status concatenate(const struct call *call)
{
    const struct dla_host_concatenation *a = call->attributes;
    struct tensor output = call_output(call, 0);
    uint32_t turns = product_of(&output, 0, (uint32_t)a->axis), start = 0;
    uint32_t turn_bytes = output.elements / turns * output.element_bytes;
    for (uint32_t number = 0; number < call->record->input_count; number++) {
        struct tensor input = call_input(call, number);
        uint32_t part_bytes = input.elements / turns * input.element_bytes;
        const uint8_t *source = input.data;
        uint8_t *target = (uint8_t *)output.data + start;
        for (uint32_t turn = 0; turn < turns; turn++, source += part_bytes, target += turn_bytes)
            memcpy(target, source, part_bytes);
        start += part_bytes;
    }
    return OK;
}

enum status copy_strided(const struct call *call)
{
    const struct dla_host_strided_copy *a = call->attributes;
    struct tensor input = call_input(call, 0), output = call_output(call, 0);
    enum { LAST = DLA_HOST_MAX_RANK - 1 };
    uint32_t index[LAST] = { 0 }, extents[LAST], bytes = output.element_bytes;
    for (uint32_t dimension = 0; dimension < LAST; dimension++)
        extents[dimension] = (uint32_t)a->size[dimension];
    uint8_t *target = output.data;
    do {
        int32_t offset = a->offset;
        for (uint32_t dimension = 0; dimension < LAST; dimension++)
            offset += (int32_t)index[dimension] * a->stride[dimension];
        const uint8_t *source = (const uint8_t *)input.data + offset * (int32_t)bytes;
        copy_row(target, source, a->stride[LAST], (uint32_t)a->size[LAST], bytes);
        target += (uint32_t)a->size[LAST] * bytes;
    } while (next_index(index, extents, LAST));
    return OK;
}

/* An index tensor's element; -1 or the greatest number for one that no dimension of 32 bits can hold. */
static int32_t read_index(const struct tensor *indices, uint32_t number)
{
    if (indices->type == DLA_DATA_TYPE_INT32)
        return ((const int32_t *)indices->data)[number];
    int64_t wide = ((const int64_t *)indices->data)[number];
    return wide < 0 ? -1 : wide > INT32_MAX ? INT32_MAX : (int32_t)wide;
}

static void copy_or_clear(uint8_t *target, const uint8_t *source, uint32_t size, int is_inside)
{
    if (is_inside)
        memcpy(target, source, size);
    else
        memset(target, 0, size);
}

enum status gather(const struct call *call)
{
    const struct dla_host_gather *a = call->attributes;
    struct tensor input = call_input(call, 0), indices = call_input(call, 1), output = call_output(call, 0);
    uint32_t axis = (uint32_t)a->axis, size = input.shape[axis];
    uint32_t batches = product_of(&input, 0, (uint32_t)a->batch_dims);
    uint32_t between = product_of(&input, (uint32_t)a->batch_dims, axis);
    uint32_t slice_bytes = product_of(&input, axis + 1, input.rank) * input.element_bytes;
    uint32_t chosen = indices.elements / batches;
    uint8_t *target = output.data;
    for (uint32_t batch = 0; batch < batches; batch++)
        for (uint32_t row = 0; row < between; row++) {
            const uint8_t *source = (const uint8_t *)input.data + (batch * between + row) * size * slice_bytes;
            for (uint32_t number = 0; number < chosen; number++, target += slice_bytes) {
                int32_t index = read_index(&indices, batch * chosen + number);
                int is_inside = index >= 0 && (uint32_t)index < size;
                copy_or_clear(target, source + (uint32_t)index * slice_bytes, slice_bytes, is_inside);
            }
        }
    return OK;
}

enum status gather_nd(const struct call *call)
{
    struct tensor input = call_input(call, 0), indices = call_input(call, 1), output = call_output(call, 0);
    uint32_t depth = indices.shape[indices.rank - 1], count = indices.elements / depth;
    uint32_t slice_bytes = product_of(&input, depth, input.rank) * input.element_bytes;
    uint8_t *target = output.data;
    for (uint32_t number = 0; number < count; number++, target += slice_bytes) {
        uint32_t offset = 0;
        int is_inside = 1;
        for (uint32_t dimension = 0; dimension < depth; dimension++) {
            int32_t index = read_index(&indices, number * depth + dimension);
            is_inside &= index >= 0 && (uint32_t)index < input.shape[dimension];
            offset = offset * input.shape[dimension] + (uint32_t)index;
        }
        copy_or_clear(target, (const uint8_t *)input.data + offset * slice_bytes, slice_bytes, is_inside);
    }
    return OK;
}

enum status update_slice(const struct call *call)
{
    struct tensor input = call_input(call, 0), update = call_input(call, 1), start = call_input(call, 2);
    struct tensor output = call_output(call, 0);
    uint32_t rank = input.rank, bytes = input.element_bytes, row_bytes = update.shape[rank - 1] * bytes;
    uint32_t outer = rank > 1 ? rank - 2 : 0, rows = rank > 1 ? update.shape[rank - 2] : 1;
    uint32_t pitch = input.shape[rank - 1] * bytes;
    uint32_t index[DLA_HOST_MAX_RANK] = { 0 }, first[DLA_HOST_MAX_RANK];
    for (uint32_t dimension = 0; dimension < rank; dimension++) {
        uint32_t last = input.shape[dimension] - update.shape[dimension];
        first[dimension] = (uint32_t)clamp(read_index(&start, dimension), 0, (int32_t)last);
    }
    if (output.data != input.data)
        memcpy(output.data, input.data, input.elements * bytes);
    const uint8_t *source = update.data;
    do {
        uint32_t offset = 0;
        for (uint32_t dimension = 0; dimension < rank; dimension++)
            offset = offset * input.shape[dimension] + first[dimension] + index[dimension];
        uint8_t *target = (uint8_t *)output.data + offset * bytes;
        if (row_bytes == 1)
            for (uint32_t row = 0; row < rows; row++, target += pitch)
                *target = *source++;
        else
            for (uint32_t row = 0; row < rows; row++, target += pitch, source += row_bytes)
                memcpy(target, source, row_bytes);
    } while (next_index(index, update.shape, outer));
    return OK;
}

enum status place_cursor(const struct call *call)
{
    const struct dla_host_place_cursor *a = call->attributes;
    struct tensor start = call_input(call, 0);
    int32_t place = 0;
    for (uint32_t dimension = 0; dimension < start.elements; dimension++)
        place += clamp(read_index(&start, dimension), 0, a->room[dimension]) * a->stride[dimension];
    *(int32_t *)call_output(call, 0).data = place;
    struct range region = call->program->regions[DLA_REGION_ARENA];
    region.base += place;
    region.size_bytes -= (uint32_t)a->reach < region.size_bytes ? (uint32_t)a->reach : region.size_bytes;
    dla_place(DLA_REGION_CURSOR0 + (uint32_t)a->cursor, region);
    return OK;
}
