/* RESCALE: integers of 16 or 32 bits from one scale to another. */
#include "call.h"
#include "fixed_point.h"
#include "numbers.h"

enum status rescale(const struct call *call)
{
    const struct dla_host_rescale *a = call->attributes;
    struct tensor input = call_input(call, 0), output = call_output(call, 0);
    struct scale scale = make_scale(a->output_multiplier, a->output_shift);
    int32_t bits = 8 * (int32_t)output.element_bytes, greatest = (int32_t)((1u << (bits - 1)) - 1);
    for (uint32_t i = 0; i < output.elements; i++) {
        int32_t value = (int32_t)read_integer(input.data, input.type, i) - a->input_zero_point;
        value = requantize(value, scale) + a->output_zero_point;
        write_integer(output.data, output.type, i, clamp(value, -greatest - 1, greatest));
    }
    return OK;
}
