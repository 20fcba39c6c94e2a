/* SVDF: filters with a memory of what they saw in earlier inferences. */
#include "call.h"
#include "fixed_point.h"
#include "string.h"

/* What one filter makes of an input, before it is scaled. */
static int32_t feature_of(const int8_t *input, const int8_t *weights, uint32_t depth, int32_t zero_point)
{
    int32_t sum = 0;
    for (const int8_t *end = input + depth; input != end;)
        sum += (*input++ - zero_point) * *weights++;
    return sum;
}

/* A filter's memory moves on by one step, takes a new value in, and is weighted by time. */
#define REMEMBER(type, least, greatest)                                                                      \
    static int32_t remember_##type(                                                                          \
        type *memory, const type *weights, uint32_t length, int32_t value, int32_t zero_point)               \
    {                                                                                                        \
        int32_t sum = 0;                                                                                     \
        for (uint32_t step = 0; step + 1 < length; step++) {                                                 \
            memory[step] = memory[step + 1];                                                                 \
            sum += (memory[step] - zero_point) * weights[step];                                              \
        }                                                                                                    \
        memory[length - 1] = (type)(clamp(value, least, greatest) + zero_point);                             \
        return sum + (memory[length - 1] - zero_point) * weights[length - 1];                                \
    }
REMEMBER(int8_t, INT8_MIN, INT8_MAX)
REMEMBER(int16_t, INT16_MIN, INT16_MAX)

enum status filter_memory(const struct call *call)
{
    const struct dla_host_svdf *a = call->attributes;
    struct tensor input = call_input(call, 0), features = call_input(call, 1), times = call_input(call, 2);
    struct tensor bias = call_input(call, 3), state = call_input(call, 4);
    struct tensor output = call_output(call, 0), new_state = call_output(call, 1);
    struct scale feature_scale = make_scale(a->feature_multiplier, a->feature_shift);
    struct scale output_scale = make_scale(a->output_multiplier, a->output_shift);
    uint32_t depth = features.shape[1], filters = times.shape[0], length = times.shape[1];
    const int8_t *values = input.data;
    int8_t *target = output.data;
    uint32_t bytes = state.element_bytes * length;
    uint8_t *memory = new_state.data;
    if (new_state.data != state.data) /* a program by hand */
        memcpy(new_state.data, state.data, state.elements * state.element_bytes);
    for (uint32_t batch = 0; batch < input.shape[0]; batch++, values += depth) {
        int32_t unit = 0;
        for (uint32_t filter = 0; filter < filters; filter++, memory += bytes) {
            const int8_t *weights = (const int8_t *)features.data + filter * depth;
            int32_t value = requantize(feature_of(values, weights, depth, a->input_zero_point), feature_scale);
            const uint8_t *time = (const uint8_t *)times.data + filter * bytes;
            unit += state.type == DLA_DATA_TYPE_INT16
                ? remember_int16_t((int16_t *)memory, (const int16_t *)time, length, value, a->state_zero_point)
                : remember_int8_t((int8_t *)memory, (const int8_t *)time, length, value, a->state_zero_point);
            if ((filter + 1) % (uint32_t)a->rank)
                continue;
            unit += ((const int32_t *)bias.data)[filter / (uint32_t)a->rank];
            *target++ = clamp_to_int8(requantize(unit, output_scale) + a->output_zero_point);
            unit = 0;
        }
    }
    return OK;
}
