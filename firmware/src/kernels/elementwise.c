/* Operators on two tensors, element by element, one broadcast against the other as in NumPy.
 *
 * The common cases are both tensors alike, or one of them a single element or a row that repeats. All of them
 * are rows: runs of elements in which each input either moves along or stands still. */
#include "call.h"
#include "fixed_point.h"

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

static struct steps steps_of(const struct tensor *input, const struct tensor *output)
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
static int is_one_row(const struct tensor *input, const struct tensor *output)
{
    return input->elements == output->elements || input->elements == 1;
}

static uint32_t offset_of(const struct walk *walk, uint32_t input)
{
    uint32_t offset = 0;
    for (uint32_t dimension = 0; dimension + 1 < walk->rank; dimension++)
        offset += walk->index[dimension] * walk->inputs[input].step[dimension];
    return offset;
}

/* On to the next row, the last dimension but one fastest. */
static void next_row(struct walk *walk)
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

static void walk_rows(const struct call *call, row_kernel *row, const void *attributes)
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

/* ADD, SUB and SQUARED_DIFFERENCE: both inputs brought to one scale, with bits below the point to spare. An input
 * has 256 values at most, so where there are many elements what they become is looked up. */

enum { VALUES = 256, MANY_ELEMENTS = 2 * VALUES };

/* An input of a sum. */
struct term {
    int32_t zero_point;
    struct scale scale;
    int32_t sign; /* 1 or -1 */
};

static inline int32_t align(int32_t value, const struct term *term, uint32_t bits)
{
    return term->sign * requantize((int32_t)((uint32_t)(value - term->zero_point) << bits), term->scale);
}

/* What becomes of a sum. */
struct finish {
    struct scale scale;
    int32_t zero_point, least, greatest;
};

struct sum {
    struct term terms[2];
    struct finish finish;
    int32_t tables[2][VALUES]; /* what each value of an input becomes, where there are many elements */
};

static inline int8_t finish_sum(int32_t value, const struct finish *finish)
{
    return (int8_t)clamp(requantize(value, finish->scale) + finish->zero_point, finish->least, finish->greatest);
}

static inline int32_t square(int32_t value) { return (int32_t)((uint32_t)value * (uint32_t)value); }

/* Rows of sums, or of their squares. What stays the same is copied, since a result could overwrite the original. */
#define SUM_ROWS(name, bits, of_sum)                                                                               \
    static void name##_row(                                                                                        \
        void *output, const void *one, uint32_t one_step, const void *other, uint32_t other_step, uint32_t count,  \
        const void *prepared)                                                                                      \
    {                                                                                                              \
        const struct sum *sum = prepared;                                                                          \
        const struct term x_term = sum->terms[0], y_term = sum->terms[1];                                          \
        const struct finish finish = sum->finish;                                                                  \
        const int8_t *x = one, *y = other;                                                                         \
        for (int8_t *target = output; count; count--, x += one_step, y += other_step)                              \
            *target++ = finish_sum(of_sum(align(*x, &x_term, bits) + align(*y, &y_term, bits)), &finish);          \
    }                                                                                                              \
    static void name##_row_looked_up(                                                                              \
        void *output, const void *one, uint32_t one_step, const void *other, uint32_t other_step, uint32_t count,  \
        const void *prepared)                                                                                      \
    {                                                                                                              \
        const struct sum *sum = prepared;                                                                          \
        const struct finish finish = sum->finish;                                                                  \
        const int32_t *x_zero = sum->tables[0] - INT8_MIN, *y_zero = sum->tables[1] - INT8_MIN;                    \
        const int8_t *x = one, *y = other;                                                                         \
        for (int8_t *target = output; count; count--, x += one_step, y += other_step)                              \
            *target++ = finish_sum(of_sum(x_zero[*x] + y_zero[*y]), &finish);                                      \
    }
SUM_ROWS(add, DLA_HOST_ADD_LEFT_SHIFT, )
SUM_ROWS(square, DLA_HOST_DIFFERENCE_LEFT_SHIFT, square)

/* The attributes of SUB and SQUARED_DIFFERENCE are those of ADD. */
_Static_assert(sizeof(struct dla_host_sub) == sizeof(struct dla_host_add), "alike");
_Static_assert(sizeof(struct dla_host_squared_difference) == sizeof(struct dla_host_add), "alike");

static enum status compute_sums(
    const struct call *call, uint32_t bits, int32_t y_sign, row_kernel *rows, row_kernel *rows_looked_up)
{
    const struct dla_host_add *a = call->attributes;
    struct sum sum;
    sum.terms[0] = (struct term){ a->input1_zero_point, make_scale(a->input1_multiplier, a->input1_shift), 1 };
    sum.terms[1] = (struct term){ a->input2_zero_point, make_scale(a->input2_multiplier, a->input2_shift), y_sign };
    sum.finish = (struct finish){
        make_scale(a->output_multiplier, a->output_shift), a->output_zero_point, a->clamp_min, a->clamp_max,
    };
    if (call_output(call, 0).elements < MANY_ELEMENTS) {
        walk_rows(call, rows, &sum);
        return OK;
    }
    for (uint32_t input = 0; input < 2; input++)
        for (int32_t value = INT8_MIN; value <= INT8_MAX; value++)
            sum.tables[input][value - INT8_MIN] = align(value, &sum.terms[input], bits);
    walk_rows(call, rows_looked_up, &sum);
    return OK;
}

enum status add(const struct call *call)
{
    return compute_sums(call, DLA_HOST_ADD_LEFT_SHIFT, 1, add_row, add_row_looked_up);
}

enum status subtract(const struct call *call)
{
    return compute_sums(call, DLA_HOST_ADD_LEFT_SHIFT, -1, add_row, add_row_looked_up);
}

enum status square_difference(const struct call *call)
{
    return compute_sums(call, DLA_HOST_DIFFERENCE_LEFT_SHIFT, -1, square_row, square_row_looked_up);
}

static void multiply_row(
    void *output, const void *one, uint32_t one_step, const void *other, uint32_t other_step, uint32_t count,
    const void *attributes)
{
    const struct dla_host_mul *a = attributes;
    const int8_t *x = one, *y = other;
    int8_t *target = output;
    struct scale scale = make_scale(a->output_multiplier, a->output_shift);
    for (; count; count--, x += one_step, y += other_step) {
        int32_t product = (*x - a->input1_zero_point) * (*y - a->input2_zero_point);
        *target++ = (int8_t)clamp(requantize(product, scale) + a->output_zero_point, a->clamp_min, a->clamp_max);
    }
}

static void prelu_row(
    void *output, const void *one, uint32_t one_step, const void *other, uint32_t other_step, uint32_t count,
    const void *attributes)
{
    const struct dla_host_prelu *a = attributes;
    const int8_t *x = one, *alpha = other;
    int8_t *target = output;
    struct scale positive = make_scale(a->positive_multiplier, a->positive_shift);
    struct scale negative = make_scale(a->negative_multiplier, a->negative_shift);
    for (; count; count--, x += one_step, alpha += other_step) {
        int32_t value = *x - a->input_zero_point;
        int32_t scaled = value >= 0 ? requantize(value, positive)
                                    : requantize(value * (*alpha - a->alpha_zero_point), negative);
        *target++ = clamp_to_int8(scaled + a->output_zero_point);
    }
}

enum status multiply(const struct call *call)
{
    walk_rows(call, multiply_row, call->attributes);
    return OK;
}

enum status prelu(const struct call *call)
{
    walk_rows(call, prelu_row, call->attributes);
    return OK;
}

/* BINARY: plain integers, no quantization; only these two types. */

static int32_t divide(int32_t x, int32_t y) { return y == 0 ? 0 : y == -1 ? -x : x / y; }

static int32_t floor_divide(int32_t x, int32_t y)
{
    int32_t quotient = divide(x, y);
    return y != 0 && (x ^ y) < 0 && quotient * y != x ? quotient - 1 : quotient;
}

static int32_t compute(int32_t function, int32_t x, int32_t y)
{
    switch (function) {
    case DLA_BINARY_FUNCTION_ADD:
        return x + y;
    case DLA_BINARY_FUNCTION_SUB:
        return x - y;
    case DLA_BINARY_FUNCTION_MUL:
        return x * y;
    case DLA_BINARY_FUNCTION_DIV:
        return divide(x, y);
    case DLA_BINARY_FUNCTION_FLOOR_DIV:
        return floor_divide(x, y);
    case DLA_BINARY_FUNCTION_MAXIMUM:
        return x > y ? x : y;
    default:
        return x < y ? x : y;
    }
}

static int is_clamped(int32_t function)
{
    return function != DLA_BINARY_FUNCTION_MAXIMUM && function != DLA_BINARY_FUNCTION_MINIMUM;
}

static void compute_int32_row(
    void *output, const void *one, uint32_t one_step, const void *other, uint32_t other_step, uint32_t count,
    const void *attributes)
{
    const struct dla_host_binary *a = attributes;
    const int32_t *x = one, *y = other;
    int32_t *target = output;
    for (; count; count--, x += one_step, y += other_step) {
        int32_t result = compute(a->function, *x, *y);
        *target++ = is_clamped(a->function) ? clamp(result, a->clamp_min, a->clamp_max) : result;
    }
}

/* MAXIMUM and MINIMUM alone, as the table of operators has it. */
static void compute_int8_row(
    void *output, const void *one, uint32_t one_step, const void *other, uint32_t other_step, uint32_t count,
    const void *attributes)
{
    const struct dla_host_binary *a = attributes;
    const int8_t *x = one, *y = other;
    int8_t *target = output;
    for (; count; count--, x += one_step, y += other_step)
        *target++ = (int8_t)compute(a->function, *x, *y);
}

enum status compute_binary(const struct call *call)
{
    switch (call_output(call, 0).type) {
    case DLA_DATA_TYPE_INT8:
        walk_rows(call, compute_int8_row, call->attributes);
        return OK;
    case DLA_DATA_TYPE_INT32:
        walk_rows(call, compute_int32_row, call->attributes);
        return OK;
    default:
        return NO_KERNEL;
    }
}
