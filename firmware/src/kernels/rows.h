/* Two tensors element by element, one broadcast against the other as in NumPy.
 *
 * The common cases are both tensors alike, or one of them a single element or a row that repeats. All of them
 * are rows: runs of elements in which each input either moves along or stands still. */
#ifndef DLASIM_KERNELS_ROWS_H
#define DLASIM_KERNELS_ROWS_H

#include "call.h"

/* How an input moves: elements from one index to the next along each dimension, 0 where it is broadcast. */
struct steps {
    uint32_t step[DLA_PROGRAM_MAX_RANK];
};

/* Where the elements of both inputs lie; rows run along the last dimension of the output. */
struct walk {
    const uint32_t *shape; /* of the output */
    uint32_t rank;
    struct steps inputs[2];
    uint32_t index[DLA_PROGRAM_MAX_RANK];
};

static inline struct steps steps_of(const struct tensor *input, const struct tensor *output)
{
    struct steps steps = { { 0 } };
    uint32_t distance = 1;
    for (uint32_t back = 1; back <= input->rank && back <= output->rank; back++) {
        uint32_t extent = input->shape[input->rank - back];
        steps.step[output->rank - back] = extent == 1 ? 0 : distance;
        distance *= extent;
    }
    return steps;
}

/* Of two tensors alike, or one element against many, the whole is one row. */
static inline int is_one_row(const struct tensor *input, const struct tensor *output)
{
    return input->elements == output->elements || input->elements == 1;
}

static inline uint32_t offset_of(const struct walk *walk, uint32_t input)
{
    uint32_t offset = 0;
    for (uint32_t dimension = 0; dimension + 1 < walk->rank; dimension++)
        offset += walk->index[dimension] * walk->inputs[input].step[dimension];
    return offset;
}

/* On to the next row, the last dimension but one fastest. */
static inline void next_row(struct walk *walk)
{
    for (uint32_t dimension = walk->rank - 1; dimension-- > 0;) {
        if (++walk->index[dimension] < walk->shape[dimension])
            return;
        walk->index[dimension] = 0;
    }
}

/* A row of an operator: `count` results from two inputs with their steps (0 or 1). */
typedef void row_kernel(
    void *output, const void *one, uint32_t one_step, const void *other, uint32_t other_step, uint32_t count,
    const void *attributes);

static inline void walk_rows(const struct call *call, row_kernel *row, const void *attributes)
{
    struct tensor one = call_input(call, 0), other = call_input(call, 1), output = call_output(call, 0);
    if (is_one_row(&one, &output) && is_one_row(&other, &output)) {
        row(output.data, one.data, one.elements > 1, other.data, other.elements > 1, output.elements, attributes);
        return;
    }
    struct walk walk = { output.shape, output.rank, { steps_of(&one, &output), steps_of(&other, &output) }, { 0 } };
    uint32_t last = output.rank - 1, count = output.shape[last];
    uint32_t row_bytes = count * output.element_bytes;
    uint8_t *target = output.data;
    for (uint32_t left = output.elements; left; left -= count, target += row_bytes, next_row(&walk))
        row(target, (uint8_t *)one.data + offset_of(&walk, 0) * one.element_bytes, walk.inputs[0].step[last],
            (uint8_t *)other.data + offset_of(&walk, 1) * other.element_bytes, walk.inputs[1].step[last], count,
            attributes);
}

#endif
