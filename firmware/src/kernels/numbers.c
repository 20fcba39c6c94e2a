/* Operators on plain numbers of any type: CAST, UNARY, ARG_MAX. */
#include "numbers.h"

#include "exponentials.h"

/* The nearest value that an integer type has. */
static int64_t saturate(int64_t value, const struct tensor *output)
{
    uint32_t bits = 8 * output->element_bytes;
    int is_signed = output->type != DLA_DATA_TYPE_UINT8;
    if (bits == 64)
        return value;
    int64_t least = is_signed ? -((int64_t)1 << (bits - 1)) : 0;
    int64_t greatest = ((int64_t)1 << (bits - (uint32_t)is_signed)) - 1;
    return value < least ? least : value > greatest ? greatest : value;
}

enum status cast(const struct call *call)
{
    struct tensor input = call_input(call, 0), output = call_output(call, 0);
    for (uint32_t number = 0; number < output.elements; number++) {
        const float *source = (const float *)input.data + number;
        float *target = (float *)output.data + number;
        if (is_float(input.type) && is_float(output.type))
            *target = *source;
        else if (is_float(output.type))
            *target = (float)read_integer(input.data, input.type, number);
        else if (!is_float(input.type))
            write_integer(output.data, output.type, number, read_integer(input.data, input.type, number));
        else if (output.type == DLA_DATA_TYPE_BOOL)
            write_integer(output.data, output.type, number, *source != 0);
        else
            write_integer(output.data, output.type, number, saturate(truncate(*source), &output));
    }
    return OK;
}

static int32_t compute_int32(int32_t function, int32_t value)
{
    if (function == DLA_UNARY_FUNCTION_SQUARE)
        return value * value;
    return function == DLA_UNARY_FUNCTION_ABS && value >= 0 ? value : -value;
}

static float compute_float(int32_t function, float value)
{
    switch (function) {
    case DLA_UNARY_FUNCTION_ABS:
        return absolute_value(value);
    case DLA_UNARY_FUNCTION_NEG:
        return -value;
    case DLA_UNARY_FUNCTION_SQRT:
        return square_root(value);
    case DLA_UNARY_FUNCTION_SQUARE:
        return value * value;
    case DLA_UNARY_FUNCTION_FLOOR:
        return round_down(value);
    case DLA_UNARY_FUNCTION_CEIL:
        return round_up(value);
    case DLA_UNARY_FUNCTION_ROUND:
        return round_to_even(value);
    case DLA_UNARY_FUNCTION_EXP:
        return exponential(value);
    case DLA_UNARY_FUNCTION_LOGISTIC:
        return logistic(value);
    case DLA_UNARY_FUNCTION_ELU:
        return elu(value);
    default:
        return 1 / square_root(value);
    }
}

enum status compute_unary(const struct call *call)
{
    const struct dla_host_unary *a = call->attributes;
    struct tensor input = call_input(call, 0), output = call_output(call, 0);
    if (is_float(input.type)) {
        const float *source = input.data;
        float *target = output.data;
        for (uint32_t left = output.elements; left; left--)
            *target++ = compute_float(a->function, *source++);
        return OK;
    }
    const int32_t *source = input.data;
    int32_t *target = output.data;
    for (uint32_t left = output.elements; left; left--)
        *target++ = compute_int32(a->function, *source++);
    return OK;
}

/* The position of the greatest of `count` elements that are `step` apart, the first of equals. */
#define POSITION_OF_GREATEST(name, read)                                                                           \
    static uint32_t name(const struct tensor *input, uint32_t first, uint32_t step, uint32_t count)                \
    {                                                                                                              \
        int64_t greatest = read(input->data, input->type, first);                                                  \
        uint32_t found = 0;                                                                                        \
        for (uint32_t position = 1; position < count; position++) {                                                \
            int64_t value = read(input->data, input->type, first + position * step);                               \
            if (value > greatest)                                                                                  \
                greatest = value, found = position;                                                                \
        }                                                                                                          \
        return found;                                                                                              \
    }
POSITION_OF_GREATEST(position_of_integer, read_integer)
POSITION_OF_GREATEST(position_of_number, read_order)

/* Nothing is greater than NaN in first place. */
static uint32_t position_of_float(const struct tensor *input, uint32_t first, uint32_t step, uint32_t count)
{
    if (is_nan(((const uint32_t *)input->data)[first]))
        return 0;
    return position_of_number(input, first, step, count);
}

enum status find_maximum(const struct call *call)
{
    const struct dla_host_arg_max *a = call->attributes;
    struct tensor input = call_input(call, 0), output = call_output(call, 0);
    uint32_t count = input.shape[a->axis], behind = product_of(&input, (uint32_t)a->axis + 1, input.rank);
    for (uint32_t number = 0; number < output.elements; number++) {
        uint32_t first = number / behind * count * behind + number % behind;
        uint32_t position = is_float(input.type) ? position_of_float(&input, first, behind, count)
                                                 : position_of_integer(&input, first, behind, count);
        write_integer(output.data, output.type, number, position);
    }
    return OK;
}
