/* MATRIX_SUMS and LSTM_CELL: a long short-term memory, step by step. */
#include "call.h"
#include "channels.h"
#include "fixed_point.h"
#include "interpolation.h"
#include "string.h"

enum { BLOCK = BLOCK_CHANNELS, RECORD = 3 };
enum { GATES = 4, INPUT = 0, FORGET = 1, OUTPUT = 2, CANDIDATE = 3 };

/* Adds to four channels' sums what a row of the input gives. */
static void add_products(
    int32_t sums[BLOCK], const int8_t *row, const int8_t *weights, uint32_t depth, int32_t zero_point)
{
    const int8_t *second = weights + depth, *third = second + depth, *fourth = third + depth;
    int32_t sum0 = sums[0], sum1 = sums[1], sum2 = sums[2], sum3 = sums[3];
    for (const int8_t *end = row + depth; row != end;) {
        int32_t value = *row++ - zero_point;
        sum0 += value * *weights++;
        sum1 += value * *second++;
        sum2 += value * *third++;
        sum3 += value * *fourth++;
        KEEP_IN_ORDER(sum0, sum1, sum2, sum3);
    }
    sums[0] = sum0, sums[1] = sum1, sums[2] = sum2, sums[3] = sum3;
}

enum status sum_matrix(const struct call *call)
{
    const struct dla_host_matrix_sums *a = call->attributes;
    struct tensor input = call_input(call, 0), weights = call_input(call, 1), records = call_input(call, 2);
    struct tensor output = call_output(call, 0);
    uint32_t depth = weights.shape[1], channels = weights.shape[0];
    const int8_t *row = input.data;
    int32_t *target = output.data;
    for (const int32_t *end = target + output.elements; target != end; row += depth, target += channels) {
        const int8_t *weight = weights.data;
        const int32_t *bias = records.data;
        uint32_t channel = 0;
        for (; channel + BLOCK <= channels; channel += BLOCK, weight += BLOCK * depth, bias += BLOCK * RECORD) {
            int32_t sums[BLOCK] = { bias[0], bias[RECORD], bias[2 * RECORD], bias[3 * RECORD] };
            add_products(sums, row, weight, depth, a->input_zero_point);
            memcpy(target + channel, sums, sizeof(sums));
        }
        for (; channel < channels; channel++, weight += depth, bias += RECORD) {
            int32_t sum = *bias;
            for (uint32_t i = 0; i < depth; i++)
                sum += (row[i] - a->input_zero_point) * weight[i];
            target[channel] = sum;
        }
    }
    return OK;
}

static inline int32_t clamp_to_int16(int32_t value) { return clamp(value, INT16_MIN, INT16_MAX); }

struct step {
    const struct dla_host_lstm_cell *attributes;
    struct scale input[GATES], recurrent[GATES], forget, update, output;
    const int32_t *table;
    uint32_t units;
};

/* What enters a gate's function, in steps of the table. */
static int32_t gate_input(const struct step *step, uint32_t gate, const int32_t *input, const int32_t *recurrent)
{
    uint32_t place = gate * step->units;
    int32_t from_input = clamp_to_int16(requantize(input[place], step->input[gate]));
    int32_t from_last = clamp_to_int16(requantize(recurrent[place], step->recurrent[gate]));
    return clamp_to_int16(from_input + from_last) * STEPS_OF_TABLE;
}

static int8_t step_unit(const struct step *step, const int32_t *input, const int32_t *recurrent, int32_t *cell)
{
    const struct dla_host_lstm_cell *a = step->attributes;
    int32_t entering = logistic16(gate_input(step, INPUT, input, recurrent), step->table);
    int32_t kept = logistic16(gate_input(step, FORGET, input, recurrent), step->table);
    int32_t candidate = tanh16(gate_input(step, CANDIDATE, input, recurrent), step->table);
    int32_t shown = logistic16(gate_input(step, OUTPUT, input, recurrent), step->table);
    int32_t value = clamp_to_int16(requantize(kept * (int16_t)*cell, step->forget));
    value = clamp_to_int16(value + clamp_to_int16(requantize(entering * candidate, step->update)));
    value = clamp(value, -a->cell_clip, a->cell_clip);
    *cell = value;
    int32_t bent = tanh16(scale_input(value, a->tanh_factor, (uint32_t)a->tanh_shift), step->table);
    return clamp_to_int8(requantize(bent * shown, step->output) + a->output_zero_point);
}

enum status step_lstm(const struct call *call)
{
    const struct dla_host_lstm_cell *a = call->attributes;
    struct tensor inputs = call_input(call, 0), recurrents = call_input(call, 1), cell = call_input(call, 2);
    struct tensor table = call_input(call, 3), output = call_output(call, 0), new_cell = call_output(call, 1);
    struct step step = {
        .attributes = a,
        .forget = make_scale(a->forget_multiplier, a->forget_shift),
        .update = make_scale(a->update_multiplier, a->update_shift),
        .output = make_scale(a->output_multiplier, a->output_shift),
        .table = table.data,
        .units = output.shape[1],
    };
    for (uint32_t gate = 0; gate < GATES; gate++) {
        step.input[gate] = make_scale(a->input_multiplier[gate], a->input_shift[gate]);
        step.recurrent[gate] = make_scale(a->recurrent_multiplier[gate], a->recurrent_shift[gate]);
    }
    uint32_t width = GATES * step.units;
    const int32_t *input = (const int32_t *)inputs.data + (uint32_t)a->first_row * width;
    const int32_t *recurrent = recurrents.data;
    const int32_t *old = cell.data;
    int32_t *state = new_cell.data;
    int8_t *target = output.data;
    for (uint32_t batch = 0; batch < output.shape[0]; batch++) {
        for (uint32_t unit = 0; unit < step.units; unit++) {
            *state = *old++;
            *target++ = step_unit(&step, input + unit, recurrent + unit, state++);
        }
        input += (uint32_t)a->row_step * width;
        recurrent += width;
    }
    return OK;
}
