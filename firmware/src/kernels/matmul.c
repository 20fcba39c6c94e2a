/* BATCH_MATMUL and BATCH_MATMUL_16: a product of two matrices for each batch; an input without a batch
 * dimension, or with one batch where the other has several, is used again. */
#include "call.h"
#include "fixed_point.h"

/* A matrix, its rows as long as its columns are in the other input: bytes from step to step. */
struct side {
    const int8_t *data;
    uint32_t to_next;  /* row of the first input, column of the second */
    uint32_t to_depth; /* along what is summed */
    int32_t zero_point;
};

static struct side side_of(const struct tensor *input, int32_t zero_point, uint32_t depth_is_last, uint32_t size)
{
    uint32_t row = input->shape[input->rank - 1] * size;
    return (struct side){ input->data, depth_is_last ? row : size, depth_is_last ? size : row, zero_point };
}

/* Where an input's matrix of a batch of the output begins, in elements. */
static uint32_t batch_offset(const struct tensor *input, const struct tensor *output, uint32_t batch)
{
    uint32_t distance = input->shape[input->rank - 1] * input->shape[input->rank - 2], offset = 0;
    for (uint32_t back = 3; back <= output->rank; back++) {
        uint32_t index = batch % output->shape[output->rank - back];
        batch /= output->shape[output->rank - back];
        if (back > input->rank)
            continue;
        uint32_t extent = input->shape[input->rank - back];
        offset += extent == 1 ? 0 : index * distance;
        distance *= extent;
    }
    return offset;
}

static int32_t dot(const struct side *one, const struct side *other, uint32_t depth)
{
    const int8_t *x = one->data, *y = other->data;
    int32_t sum = 0;
    for (; depth; depth--, x += one->to_depth, y += other->to_depth)
        sum += (*x - one->zero_point) * (*y - other->zero_point);
    return sum;
}

static void multiply_one(
    int8_t *output, struct side one, const struct side *columns, uint32_t rows, uint32_t count, uint32_t depth,
    const struct dla_host_batch_matmul *a)
{
    struct scale scale = make_scale(a->output_multiplier, a->output_shift);
    for (; rows; rows--, one.data += one.to_next) {
        struct side other = *columns;
        for (uint32_t column = 0; column < count; column++, other.data += other.to_next)
            *output++ = clamp_to_int8(requantize(dot(&one, &other, depth), scale) + a->output_zero_point);
    }
}

enum status multiply_batches(const struct call *call)
{
    struct tensor first = call_input(call, 0), second = call_input(call, 1), output = call_output(call, 0);
    const struct dla_host_batch_matmul *a = call->attributes;
    uint32_t rows = output.shape[output.rank - 2], columns = output.shape[output.rank - 1];
    uint32_t depth = first.shape[first.rank - (a->transposed1 ? 2 : 1)];
    int8_t *target = output.data;
    for (uint32_t batch = 0; batch * rows * columns < output.elements; batch++, target += rows * columns) {
        struct side one = side_of(&first, a->input1_zero_point, !a->transposed1, 1);
        struct side other = side_of(&second, a->input2_zero_point, (uint32_t)a->transposed2, 1);
        one.data += batch_offset(&first, &output, batch);
        other.data += batch_offset(&second, &output, batch);
        multiply_one(target, one, &other, rows, columns, depth, a);
    }
    return OK;
}

static int64_t dot16(const struct side *one, const struct side *other, uint32_t depth)
{
    const int8_t *x = one->data, *y = other->data;
    int64_t sum = 0;
    for (; depth; depth--, x += one->to_depth, y += other->to_depth)
        sum += *(const int16_t *)x * *(const int16_t *)y;
    return sum;
}

enum status multiply_batches16(const struct call *call)
{
    struct tensor first = call_input(call, 0), second = call_input(call, 1), output = call_output(call, 0);
    const struct dla_host_batch_matmul_16 *a = call->attributes;
    uint32_t rows = output.shape[output.rank - 2], columns = output.shape[output.rank - 1];
    uint32_t depth = first.shape[first.rank - (a->transposed1 ? 2 : 1)], size = sizeof(int16_t);
    int16_t *target = output.data;
    for (uint32_t batch = 0; batch * rows * columns < output.elements; batch++) {
        struct side one = side_of(&first, 0, !a->transposed1, size);
        one.data += batch_offset(&first, &output, batch) * size;
        for (uint32_t row = 0; row < rows; row++, one.data += one.to_next) {
            struct side other = side_of(&second, 0, (uint32_t)a->transposed2, size);
            other.data += batch_offset(&second, &output, batch) * size;
            for (uint32_t column = 0; column < columns; column++, other.data += other.to_next)
                *target++ = (int16_t)clamp(
                    rescale_wide(dot16(&one, &other, depth), a->output_multiplier, a->output_shift), INT16_MIN,
                    INT16_MAX);
        }
    }
    return OK;
}
