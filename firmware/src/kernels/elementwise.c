/* Quantized operators on two tensors, element by element. */
#include "fixed_point.h"
#include "rows.h"

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

/* What a table has for each value of the second input, by which the first is multiplied. */
struct factors {
    const struct dla_host_mul_lut *a;
    const int32_t *table;
};

static void multiply_by_table_row(
    void *output, const void *one, uint32_t one_step, const void *other, uint32_t other_step, uint32_t count,
    const void *prepared)
{
    const struct factors *factors = prepared;
    const struct dla_host_mul_lut *a = factors->a;
    const int32_t *table = factors->table - INT8_MIN;
    const int8_t *x = one, *y = other;
    struct scale scale = make_scale(a->output_multiplier, a->output_shift);
    for (int8_t *target = output; count; count--, x += one_step, y += other_step) {
        int32_t product = (int32_t)((uint32_t)(*x - a->input1_zero_point) * (uint32_t)table[*y]);
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

enum status multiply_by_table(const struct call *call)
{
    struct factors factors = { call->attributes, call_input(call, 2).data };
    walk_rows(call, multiply_by_table_row, &factors);
    return OK;
}

enum status prelu(const struct call *call)
{
    walk_rows(call, prelu_row, call->attributes);
    return OK;
}
