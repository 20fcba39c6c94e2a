/* Operators along dimensions: REDUCE, CUMULATIVE_SUM, TOP_K, L2_NORMALIZATION, NORMALIZE. */
#include "fixed_point.h"
#include "numbers.h"

static int64_t combine(int32_t function, int64_t x, int64_t y)
{
    switch (function) {
    case DLA_REDUCE_FUNCTION_SUM:
        return (int64_t)((uint64_t)x + (uint64_t)y);
    case DLA_REDUCE_FUNCTION_PROD:
        return (int64_t)((uint64_t)x * (uint64_t)y);
    case DLA_REDUCE_FUNCTION_MAX:
        return x > y ? x : y;
    case DLA_REDUCE_FUNCTION_MIN:
        return x < y ? x : y;
    case DLA_REDUCE_FUNCTION_ANY:
        return x | y;
    default:
        return x & y;
    }
}

static float combine_floats(int32_t function, float x, float y)
{
    switch (function) {
    case DLA_REDUCE_FUNCTION_SUM:
        return x + y;
    case DLA_REDUCE_FUNCTION_PROD:
        return x * y;
    case DLA_REDUCE_FUNCTION_MAX:
        return y > x ? y : x;
    default:
        return y < x ? y : x;
    }
}

/* Element `number` of the input goes into element `place` of the output. */
static void take_in(
    int32_t function, const struct tensor *input, uint32_t number, const struct tensor *output, uint32_t place,
    int is_first)
{
    if (is_float(input->type)) {
        const float *value = (const float *)input->data + number;
        float *result = (float *)output->data + place;
        *result = is_first ? *value : combine_floats(function, *result, *value);
        return;
    }
    int64_t value = read_integer(input->data, input->type, number);
    if (!is_first)
        value = combine(function, read_integer(output->data, output->type, place), value);
    write_integer(output->data, output->type, place, value);
}

/* Each result takes in all of its elements, in the order of the reduced dimensions. */
enum status reduce(const struct call *call)
{
    const struct dla_host_reduce *a = call->attributes;
    struct tensor input = call_input(call, 0), output = call_output(call, 0);
    uint32_t index[DLA_PROGRAM_MAX_RANK] = { 0 }, step[DLA_PROGRAM_MAX_RANK], distance = 1;
    for (uint32_t dimension = input.rank; dimension-- > 0;) {
        int is_reduced = a->axis_mask >> dimension & 1;
        step[dimension] = is_reduced ? 0 : distance;
        distance *= is_reduced ? 1 : input.shape[dimension];
    }
    for (uint32_t number = 0, place = 0; number < input.elements; number++) {
        int is_first = 1;
        for (uint32_t dimension = 0; dimension < input.rank; dimension++)
            is_first &= step[dimension] || !index[dimension] || input.shape[dimension] == 1;
        take_in(a->function, &input, number, &output, place, is_first);
        for (uint32_t dimension = input.rank; dimension-- > 0;) {
            place += step[dimension];
            if (++index[dimension] < input.shape[dimension])
                break;
            place -= step[dimension] * input.shape[dimension];
            index[dimension] = 0;
        }
    }
    return OK;
}

/* TFLite's product of int64 and a scale of which 16 bits are kept, halves up. */
static int32_t rescale_narrowly(int64_t value, int32_t multiplier, int32_t shift)
{
    int32_t narrow = multiplier < 0x7FFF0000 ? (multiplier + (1 << 15)) >> 16 : INT16_MAX;
    uint32_t places = (uint32_t)(15 - shift);
    return (int32_t)((value * narrow + ((int64_t)1 << (places - 1))) >> places);
}

/* On to the next element along the dimensions in `mask`; 0 after the last one. */
static int next_along(const struct tensor *input, uint32_t mask, uint32_t *index)
{
    for (uint32_t dimension = input->rank; dimension-- > 0;) {
        if (!(mask >> dimension & 1))
            continue;
        if (++index[dimension] < input->shape[dimension])
            return 1;
        index[dimension] = 0;
    }
    return 0;
}

static uint32_t number_of(const struct tensor *input, const uint32_t *index)
{
    uint32_t number = 0;
    for (uint32_t dimension = 0; dimension < input->rank; dimension++)
        number = number * input->shape[dimension] + index[dimension];
    return number;
}

/* An int8 or int16. */
static inline int32_t read_short(const struct tensor *tensor, uint32_t number)
{
    return tensor->element_bytes == 1 ? ((const int8_t *)tensor->data)[number] : ((const int16_t *)tensor->data)[number];
}

enum status reduce_product(const struct call *call)
{
    const struct dla_host_product *a = call->attributes;
    struct tensor input = call_input(call, 0), output = call_output(call, 0);
    int32_t least = output.element_bytes == 1 ? INT8_MIN : INT16_MIN;
    uint32_t index[DLA_PROGRAM_MAX_RANK] = { 0 }, reduced = (uint32_t)a->axis_mask;
    for (uint32_t number = 0; number < output.elements; number++, next_along(&input, ~reduced, index)) {
        int32_t product = read_short(&input, number_of(&input, index)) - a->input_zero_point;
        while (next_along(&input, reduced, index)) {
            int32_t factor = read_short(&input, number_of(&input, index)) - a->input_zero_point;
            product = rescale_narrowly((int64_t)product * factor, a->output_multiplier, a->output_shift);
        }
        product = rescale_narrowly(product, a->output_multiplier, a->output_shift);
        int32_t zero = a->output_zero_point;
        write_integer(output.data, output.type, number, clamp(product, least - zero, ~least - zero) + zero);
    }
    return OK;
}

/* One run along the axis of floats. */
static void add_up_floats(
    float *target, const float *source, uint32_t count, uint32_t behind, const struct dla_host_cumulative_sum *a)
{
    float sum = 0;
    for (uint32_t step = 0; step < count; step++) {
        uint32_t place = (a->reverse ? count - 1 - step : step) * behind;
        float after = sum + source[place];
        target[place] = a->exclusive ? sum : after;
        sum = after;
    }
}

enum status add_up(const struct call *call)
{
    const struct dla_host_cumulative_sum *a = call->attributes;
    struct tensor input = call_input(call, 0), output = call_output(call, 0);
    uint32_t count = input.shape[a->axis], behind = product_of(&input, (uint32_t)a->axis + 1, input.rank);
    struct scale scale = make_scale(a->output_multiplier, a->output_shift);
    for (uint32_t column = 0; column < input.elements / count; column++) {
        uint32_t first = column / behind * count * behind + column % behind;
        if (is_float(input.type)) {
            add_up_floats((float *)output.data + first, (const float *)input.data + first, count, behind, a);
            continue;
        }
        uint64_t sum = 0;
        if (input.type == DLA_DATA_TYPE_INT8) /* TFLite Micro begins with what an integer of 0 stands for */
            sum = (uint64_t)-(int64_t)a->input_zero_point << DLA_HOST_SUM_LEFT_SHIFT;
        for (uint32_t step = 0; step < count; step++) {
            uint32_t place = first + (a->reverse ? count - 1 - step : step) * behind;
            int64_t value = read_integer(input.data, input.type, place);
            if (input.type == DLA_DATA_TYPE_INT8)
                value = (int64_t)((uint64_t)(value - a->input_zero_point) << DLA_HOST_SUM_LEFT_SHIFT);
            uint64_t after = sum + (uint64_t)value;
            value = (int64_t)(a->exclusive ? sum : after);
            if (input.type == DLA_DATA_TYPE_INT8)
                value = clamp_to_int8(requantize((int32_t)value, scale) + a->output_zero_point);
            write_integer(output.data, output.type, place, value);
            sum = after;
        }
    }
    return OK;
}

static void copy_element(const struct tensor *to, uint32_t target, const struct tensor *from, uint32_t source)
{
    int64_t value = is_float(from->type) ? ((const int32_t *)from->data)[source]
                                         : read_integer(from->data, from->type, source);
    write_integer(to->data, is_float(to->type) ? DLA_DATA_TYPE_INT32 : to->type, target, value);
}

/* The elements of a row that were taken: a heap whose first is the least of them, of equal ones the last. */
struct ranking {
    const struct tensor *values;
    int32_t *positions;
    uint32_t first; /* of the row, in both */
};

static int64_t ranked(const struct ranking *ranking, uint32_t place)
{
    return read_order(ranking->values->data, ranking->values->type, ranking->first + place);
}

static int is_behind(const struct ranking *ranking, uint32_t one, uint32_t other)
{
    int64_t value = ranked(ranking, one), than = ranked(ranking, other);
    const int32_t *positions = ranking->positions + ranking->first;
    return value < than || (value == than && positions[one] > positions[other]);
}

static void swap(const struct ranking *ranking, uint32_t one, uint32_t other)
{
    const struct tensor *values = ranking->values;
    uint32_t size = values->element_bytes;
    uint8_t *a = (uint8_t *)values->data + (ranking->first + one) * size;
    uint8_t *b = (uint8_t *)values->data + (ranking->first + other) * size;
    for (uint32_t byte = 0; byte < size; byte++) {
        uint8_t kept = a[byte];
        a[byte] = b[byte], b[byte] = kept;
    }
    int32_t *positions = ranking->positions + ranking->first, kept = positions[one];
    positions[one] = positions[other], positions[other] = kept;
}

static void rise(const struct ranking *ranking, uint32_t place)
{
    for (uint32_t above; place > 0 && is_behind(ranking, place, above = (place - 1) / 2); place = above)
        swap(ranking, place, above);
}

static void sink(const struct ranking *ranking, uint32_t count)
{
    for (uint32_t place = 0, below; (below = 2 * place + 1) < count; place = below) {
        if (below + 1 < count && is_behind(ranking, below + 1, below))
            below++;
        if (!is_behind(ranking, below, place))
            return;
        swap(ranking, place, below);
    }
}

static void order_row(
    const struct tensor *input, uint32_t start, uint32_t length, const struct ranking *ranking, uint32_t most)
{
    uint32_t taken = 0;
    for (uint32_t position = 0; position < length; position++) {
        if (taken == most && (most == 0 || read_order(input->data, input->type, start + position) <= ranked(ranking, 0)))
            continue;
        uint32_t place = taken < most ? taken++ : 0;
        copy_element(ranking->values, ranking->first + place, input, start + position);
        ranking->positions[ranking->first + place] = (int32_t)position;
        if (place)
            rise(ranking, place);
        else
            sink(ranking, taken);
    }
    while (taken > 1) {
        swap(ranking, 0, --taken);
        sink(ranking, taken);
    }
}

enum status find_greatest(const struct call *call)
{
    struct tensor input = call_input(call, 0), values = call_output(call, 0), positions = call_output(call, 1);
    uint32_t length = input.shape[input.rank - 1], most = values.shape[values.rank - 1];
    struct ranking ranking = { &values, positions.data, 0 };
    for (uint32_t row = 0; row < input.elements / length; row++, ranking.first += most)
        order_row(&input, row * length, length, &ranking, most);
    return OK;
}

enum {
    ONE_IN_Q3 = 1 << 28,
    THREE_HALVES_IN_Q3 = 3 << 27,
    HALF_SQRT_2 = 1518500250, /* in Q0.31 */
};

static int32_t saturate(int64_t value)
{
    return value > INT32_MAX ? INT32_MAX : value < INT32_MIN ? INT32_MIN : (int32_t)value;
}

/* 1 / sqrt(value) as a multiplier and a shift: five steps of Newton's method, with three integer bits. */
static struct scale inverse_square_root(uint32_t value, int32_t more_shift)
{
    if (value <= 1)
        return make_scale(INT32_MAX, more_shift);
    int32_t shift = 11;
    while (value >= 1u << 29)
        value /= 4, shift++;
    uint32_t pairs = ((uint32_t)__builtin_clz(value) - 1) / 2 - 1;
    shift -= (int32_t)pairs;
    int32_t half = rounding_divide((int32_t)((value << 2 * pairs) >> 1), 1), estimate = ONE_IN_Q3;
    for (int step = 0; step < 5; step++) {
        int32_t square = high_multiply(estimate, estimate);
        int32_t cube = saturate((int64_t)high_multiply(square, estimate) << 6);
        int32_t next = high_multiply(THREE_HALVES_IN_Q3, estimate) - high_multiply(half, cube);
        estimate = saturate((int64_t)next << 3);
    }
    int32_t multiplier = high_multiply(estimate, HALF_SQRT_2);
    if (shift < 0)
        multiplier = (int32_t)((uint32_t)multiplier << -shift), shift = 0;
    return make_scale(multiplier, more_shift - shift);
}

enum status normalize(const struct call *call)
{
    const struct dla_host_l2_normalization *a = call->attributes;
    struct tensor input = call_input(call, 0), output = call_output(call, 0);
    uint32_t length = input.shape[input.rank - 1], early = (uint32_t)a->early_bits;
    const int8_t *row = input.data;
    int8_t *target = output.data;
    for (uint32_t left = input.elements; left; left -= length, row += length) {
        uint32_t sum = 0;
        for (uint32_t i = 0; i < length; i++) {
            int32_t value = row[i] - a->input_zero_point;
            sum += (uint32_t)(value * value);
        }
        struct scale scale = inverse_square_root(sum, 7 - a->early_bits);
        for (uint32_t i = 0; i < length; i++)
            *target++ = clamp_to_int8(requantize((row[i] - a->input_zero_point) << early, scale));
    }
    return OK;
}

enum { UNIT_BITS = 21, VARIANCE_BITS = 12, ROOT_BITS = 29 };

/* The high word of (value * factor - sum) * multiplier makes of a number of a row one with UNIT_BITS below the point,
 * of average 0 and variance 1. */
struct row_unit {
    int32_t factor, sum, multiplier;
};

static struct row_unit measure_row(const int8_t *row, int32_t length, const struct dla_host_normalize *a)
{
    int32_t sum = 0;
    uint32_t squares = 0; /* 2^14 squares of 2^16 */
    for (int32_t i = 0; i < length; i++) {
        int32_t value = row[i] - a->input_zero_point;
        sum += value;
        squares += (uint32_t)(value * value);
    }
    sum = a->is_centred ? sum : 0;
    uint64_t variance = ((uint64_t)squares * (uint32_t)length - (uint64_t)((int64_t)sum * sum)) << VARIANCE_BITS;
    variance += (uint64_t)(uint32_t)a->epsilon_high << 32 | (uint32_t)a->epsilon_low;
    uint32_t halves = 0;
    while (variance >> ROOT_BITS)
        variance >>= 2, halves++;
    struct scale root = inverse_square_root((uint32_t)variance, 0);
    uint32_t unused = (uint32_t)__builtin_clz(root.doubled);
    uint32_t left = 1 + UNIT_BITS + VARIANCE_BITS / 2 - root.right - halves - unused;
    int32_t centre = sum + length * a->input_zero_point;
    return (struct row_unit){ length << left, centre << left, (int32_t)(root.doubled << unused >> 1) };
}

enum status normalize_rows(const struct call *call)
{
    const struct dla_host_normalize *a = call->attributes;
    struct tensor input = call_input(call, 0), given = call_input(call, 1), output = call_output(call, 0);
    const int32_t *first = given.data, *end = first + given.elements, *record = first;
    uint32_t length = input.shape[input.rank - 1], high = (uint32_t)a->shift - 32, repeat = (uint32_t)a->repeat;
    uint32_t left = (uint32_t)a->offset_shift, again = repeat;
    int32_t half = 1 << (high - 1), zero_point = a->output_zero_point;
    const int8_t *values = input.data;
    int8_t *target = output.data;
    for (uint32_t done = 0; done < input.elements; done += length) {
        struct row_unit row = measure_row(values, (int32_t)length, a);
        for (const int8_t *last = values + length; values < last; values++) {
            int32_t unit = (int32_t)((int64_t)(*values * row.factor - row.sum) * row.multiplier >> 32);
            int32_t offset = record[1];
            uint64_t moved = (uint64_t)(uint32_t)(offset >> (32 - left)) << 32 | (uint32_t)offset << left;
            int32_t total = (int32_t)((int64_t)((uint64_t)((int64_t)unit * record[0]) + moved) >> 32);
            *target++ = clamp_to_int8(((total + half) >> high) + zero_point);
            if (--again == 0) {
                again = repeat;
                record = record + 2 == end ? first : record + 2;
            }
        }
    }
    return OK;
}
