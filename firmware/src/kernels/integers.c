/* Operators on plain integers of any width: CAST, UNARY, ARG_MAX. */
#include "integers.h"

enum status cast(const struct call *call)
{
    struct tensor input = call_input(call, 0), output = call_output(call, 0);
    if (!is_integer(input.type) || !is_integer(output.type))
        return NO_KERNEL;
    for (uint32_t number = 0; number < output.elements; number++)
        write_integer(output.data, output.type, number, read_integer(input.data, input.type, number));
    return OK;
}

enum status compute_unary(const struct call *call)
{
    const struct dla_host_unary *a = call->attributes;
    struct tensor input = call_input(call, 0), output = call_output(call, 0);
    const int32_t *source = input.data;
    int32_t *target = output.data;
    if (input.type != DLA_DATA_TYPE_INT32)
        return NO_KERNEL;
    for (uint32_t number = 0; number < output.elements; number++) {
        int32_t value = source[number];
        if (a->function == DLA_UNARY_FUNCTION_SQUARE)
            target[number] = value * value;
        else
            target[number] = a->function == DLA_UNARY_FUNCTION_ABS && value >= 0 ? value : -value;
    }
    return OK;
}

/* The position of the greatest of `count` elements that are `step` apart, the first of equals. */
static uint32_t position_of_greatest(const struct tensor *input, uint32_t first, uint32_t step, uint32_t count)
{
    int64_t greatest = read_integer(input->data, input->type, first);
    uint32_t found = 0;
    for (uint32_t position = 1; position < count; position++) {
        int64_t value = read_integer(input->data, input->type, first + position * step);
        if (value > greatest)
            greatest = value, found = position;
    }
    return found;
}

enum status find_maximum(const struct call *call)
{
    const struct dla_host_arg_max *a = call->attributes;
    struct tensor input = call_input(call, 0), output = call_output(call, 0);
    if (!is_integer(input.type))
        return NO_KERNEL;
    uint32_t count = input.shape[a->axis], behind = product_of(&input, (uint32_t)a->axis + 1, input.rank);
    for (uint32_t number = 0; number < output.elements; number++) {
        uint32_t first = number / behind * count * behind + number % behind;
        write_integer(output.data, output.type, number, position_of_greatest(&input, first, behind, count));
    }
    return OK;
}
