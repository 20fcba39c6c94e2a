/* What a host call must fulfil: types of its operands, ranges of its attributes, and rules for shapes and
   attributes together. The simulator refuses the same calls with the same words. Generated from
   dlasim/isa/host_ops.py and dlasim/isa/host_checks.py; edit that, not this. */
#ifndef DLA_HOST_CHECKS_H
#define DLA_HOST_CHECKS_H

#include <stdint.h>

#include <stddef.h>

#include "dla_program.h"

static const uint8_t dla_element_bytes[] = { 1, 4, 4, 1, 8, 1, 2 };
static const char *const dla_type_names[] = { "int8", "int32", "float32", "bool", "int64", "uint8", "int16" };

/* Not inline: rules call them hundreds of times, and each is evaluated once. */
#define DLA_HOST_HELPER __attribute__((noinline, unused)) static

/* A call: its operands, inputs first, as indices into the tensors, and its attribute words. */
struct dla_host_arguments {
    const struct dla_program_tensor *tensors;
    const struct dla_program_operand *operands;
    const int32_t *words;
    uint32_t inputs;
};

/* What an attribute's words must be; the text is NULL where any will do. */
struct dla_host_range {
    const char *text;
    int32_t least, greatest;
    uint8_t count, shows_value;
};

/* The element types that an operand may have: bit n is type n. */
struct dla_host_types {
    const char *text;
    uint32_t allowed;
};

struct dla_host_check {
    const char *name;
    const struct dla_host_range *ranges;
    const struct dla_host_types *inputs, *outputs;
    const char *(*broken_rule)(const struct dla_host_arguments *);
    uint8_t range_count, input_count, output_count;
};

static inline const struct dla_program_tensor *dla_host_operand(
    const struct dla_host_arguments *c, uint32_t number)
{
    return &c->tensors[c->operands[number].tensor];
}

static inline int64_t dla_host_rank(const struct dla_host_arguments *c, uint32_t number)
{
    return dla_host_operand(c, number)->rank;
}

static inline int64_t dla_host_type(const struct dla_host_arguments *c, uint32_t number)
{
    return dla_host_operand(c, number)->type;
}

DLA_HOST_HELPER int64_t dla_host_elements(const struct dla_host_arguments *c, uint32_t number)
{
    return dla_host_operand(c, number)->size_bytes / dla_element_bytes[dla_host_operand(c, number)->type];
}

DLA_HOST_HELPER int64_t dla_host_shape(const struct dla_host_arguments *c, uint32_t number, int64_t dimension)
{
    return dla_host_operand(c, number)->shape[dimension];
}

DLA_HOST_HELPER int64_t dla_host_back(const struct dla_host_arguments *c, uint32_t number, int64_t dimension)
{
    int64_t rank = dla_host_rank(c, number);
    return dimension < rank ? dla_host_shape(c, number, rank - 1 - dimension) : 1;
}

DLA_HOST_HELPER int64_t dla_host_product(
    const struct dla_host_arguments *c, uint32_t number, int64_t first, int64_t end)
{
    int64_t product = 1;
    for (; first < end; first++)
        product *= dla_host_shape(c, number, first);
    return product;
}

DLA_HOST_HELPER int64_t dla_host_kept(const struct dla_host_arguments *c, uint32_t number, int64_t mask)
{
    int64_t product = 1;
    for (int64_t k = 0; k < dla_host_rank(c, number); k++)
        product *= mask >> k & 1 ? 1 : dla_host_shape(c, number, k);
    return product;
}

/* Exact below 2^32; words are positive, so beyond that it stays beyond. */
DLA_HOST_HELPER int64_t dla_host_volume(const int32_t *words, uint32_t count)
{
    int64_t volume = 1;
    for (; count && volume >> 32 == 0; count--, words++)
        volume *= *words;
    return volume;
}

DLA_HOST_HELPER int64_t dla_host_total(const struct dla_host_arguments *c)
{
    int64_t total = 0;
    for (uint32_t number = 0; number < c->inputs; number++)
        total += dla_host_elements(c, number);
    return total;
}

static const struct dla_host_range dla_conv_2d_ranges[] = {
    { "stride_height must be 1 to 1073741824", 1, 1073741824, 1, 1 },
    { "stride_width must be 1 to 1073741824", 1, 1073741824, 1, 1 },
    { "pad_top must be 0 to 1073741824", 0, 1073741824, 1, 1 },
    { "pad_left must be 0 to 1073741824", 0, 1073741824, 1, 1 },
    { "dilation_height must be 1 to 1073741824", 1, 1073741824, 1, 1 },
    { "dilation_width must be 1 to 1073741824", 1, 1073741824, 1, 1 },
    { "input_zero_point must be -128 to 127", -128, 127, 1, 1 },
    { "output_zero_point must be -128 to 127", -128, 127, 1, 1 },
    { "clamp_min must be -128 to 127", -128, 127, 1, 1 },
    { "clamp_max must be -128 to 127", -128, 127, 1, 1 },
    { "weight_zero_point must be -128 to 127", -128, 127, 1, 1 },
};
static const struct dla_host_types dla_conv_2d_inputs[] = {
    { "input must be int8", 0x01 },
    { "weights must be int8", 0x01 },
    { "records must be int32", 0x02 },
};
static const struct dla_host_types dla_conv_2d_outputs[] = {
    { "output must be int8", 0x01 },
};
static const char *dla_conv_2d_broken_rule(const struct dla_host_arguments *c)
{
    const int32_t *w = c->words;
    (void)w;
    (void)c;
    if (!(dla_host_rank(c, 0) == 4))
        return "input must have 4 dimensions";
    if (!(dla_host_rank(c, c->inputs + 0) == 4))
        return "output must have 4 dimensions";
    if (!(dla_host_elements(c, 0) > 0))
        return "input must not be empty";
    if (!(dla_host_shape(c, 0, 0) == dla_host_shape(c, c->inputs + 0, 0)))
        return "input and output must have the same number of images";
    if (!(dla_host_rank(c, 1) == 4))
        return "weights must have 4 dimensions";
    if (!(dla_host_elements(c, 1) > 0))
        return "weights must not be empty";
    if (!(dla_host_rank(c, 2) == 2))
        return "records must have 2 dimensions";
    if (!(dla_host_shape(c, 2, 1) == 3))
        return "records must have three columns";
    if (!(dla_host_shape(c, 1, 0) == dla_host_shape(c, c->inputs + 0, 3)))
        return "weights must have a filter for each output channel";
    if (!(dla_host_shape(c, 2, 0) == dla_host_shape(c, c->inputs + 0, 3)))
        return "records must have a row for each output channel";
    if (!((int64_t)((uint32_t)dla_host_shape(c, 0, 3) % (uint32_t)dla_host_shape(c, 1, 3)) == 0))
        return "input channels must be a multiple of the weights' depth";
    if (!((int64_t)((uint32_t)dla_host_shape(c, c->inputs + 0, 3) %
            (uint32_t)(int64_t)((uint32_t)dla_host_shape(c, 0, 3) / (uint32_t)dla_host_shape(c, 1, 3))) == 0))
        return "output channels must be a multiple of the groups";
    if (!((((dla_host_shape(c, 1, 1) - 1) * (int64_t)w[4]) + 1) <= 1073741824))
        return "a window must be at most 2^30 rows large";
    if (!((int64_t)w[2] < (((dla_host_shape(c, 1, 1) - 1) * (int64_t)w[4]) + 1)))
        return "pad_top must be less than the rows of a window";
    if (!((((dla_host_shape(c, c->inputs + 0, 1) - 1) * (int64_t)w[0]) - (int64_t)w[2]) < dla_host_shape(c, 0,
            1)))
        return "the last window must begin inside the image: output has too many rows";
    if (!((((dla_host_shape(c, 1, 2) - 1) * (int64_t)w[5]) + 1) <= 1073741824))
        return "a window must be at most 2^30 columns large";
    if (!((int64_t)w[3] < (((dla_host_shape(c, 1, 2) - 1) * (int64_t)w[5]) + 1)))
        return "pad_left must be less than the columns of a window";
    if (!((((dla_host_shape(c, c->inputs + 0, 2) - 1) * (int64_t)w[1]) - (int64_t)w[3]) < dla_host_shape(c, 0,
            2)))
        return "the last window must begin inside the image: output has too many columns";
    if (!((int64_t)w[8] <= (int64_t)w[9]))
        return "clamp_min must not be greater than clamp_max";
    return NULL;
}

static const struct dla_host_range dla_depthwise_conv_2d_ranges[] = {
    { "stride_height must be 1 to 1073741824", 1, 1073741824, 1, 1 },
    { "stride_width must be 1 to 1073741824", 1, 1073741824, 1, 1 },
    { "pad_top must be 0 to 1073741824", 0, 1073741824, 1, 1 },
    { "pad_left must be 0 to 1073741824", 0, 1073741824, 1, 1 },
    { "dilation_height must be 1 to 1073741824", 1, 1073741824, 1, 1 },
    { "dilation_width must be 1 to 1073741824", 1, 1073741824, 1, 1 },
    { "input_zero_point must be -128 to 127", -128, 127, 1, 1 },
    { "output_zero_point must be -128 to 127", -128, 127, 1, 1 },
    { "clamp_min must be -128 to 127", -128, 127, 1, 1 },
    { "clamp_max must be -128 to 127", -128, 127, 1, 1 },
    { "weight_zero_point must be -128 to 127", -128, 127, 1, 1 },
};
static const struct dla_host_types dla_depthwise_conv_2d_inputs[] = {
    { "input must be int8", 0x01 },
    { "weights must be int8", 0x01 },
    { "records must be int32", 0x02 },
};
static const struct dla_host_types dla_depthwise_conv_2d_outputs[] = {
    { "output must be int8", 0x01 },
};
static const char *dla_depthwise_conv_2d_broken_rule(const struct dla_host_arguments *c)
{
    const int32_t *w = c->words;
    (void)w;
    (void)c;
    if (!(dla_host_rank(c, 0) == 4))
        return "input must have 4 dimensions";
    if (!(dla_host_rank(c, c->inputs + 0) == 4))
        return "output must have 4 dimensions";
    if (!(dla_host_elements(c, 0) > 0))
        return "input must not be empty";
    if (!(dla_host_shape(c, 0, 0) == dla_host_shape(c, c->inputs + 0, 0)))
        return "input and output must have the same number of images";
    if (!(dla_host_rank(c, 1) == 4))
        return "weights must have 4 dimensions";
    if (!(dla_host_elements(c, 1) > 0))
        return "weights must not be empty";
    if (!(dla_host_rank(c, 2) == 2))
        return "records must have 2 dimensions";
    if (!(dla_host_shape(c, 2, 1) == 3))
        return "records must have three columns";
    if (!(dla_host_shape(c, 1, 0) == 1))
        return "the first dimension of weights must be 1";
    if (!(dla_host_shape(c, 1, 3) == dla_host_shape(c, c->inputs + 0, 3)))
        return "weights must have a filter for each output channel";
    if (!(dla_host_shape(c, 2, 0) == dla_host_shape(c, c->inputs + 0, 3)))
        return "records must have a row for each output channel";
    if (!((int64_t)((uint32_t)dla_host_shape(c, c->inputs + 0, 3) % (uint32_t)dla_host_shape(c, 0, 3)) == 0))
        return "output channels must be a multiple of input channels";
    if (!((((dla_host_shape(c, 1, 1) - 1) * (int64_t)w[4]) + 1) <= 1073741824))
        return "a window must be at most 2^30 rows large";
    if (!((int64_t)w[2] < (((dla_host_shape(c, 1, 1) - 1) * (int64_t)w[4]) + 1)))
        return "pad_top must be less than the rows of a window";
    if (!((((dla_host_shape(c, c->inputs + 0, 1) - 1) * (int64_t)w[0]) - (int64_t)w[2]) < dla_host_shape(c, 0,
            1)))
        return "the last window must begin inside the image: output has too many rows";
    if (!((((dla_host_shape(c, 1, 2) - 1) * (int64_t)w[5]) + 1) <= 1073741824))
        return "a window must be at most 2^30 columns large";
    if (!((int64_t)w[3] < (((dla_host_shape(c, 1, 2) - 1) * (int64_t)w[5]) + 1)))
        return "pad_left must be less than the columns of a window";
    if (!((((dla_host_shape(c, c->inputs + 0, 2) - 1) * (int64_t)w[1]) - (int64_t)w[3]) < dla_host_shape(c, 0,
            2)))
        return "the last window must begin inside the image: output has too many columns";
    if (!((int64_t)w[8] <= (int64_t)w[9]))
        return "clamp_min must not be greater than clamp_max";
    return NULL;
}

static const struct dla_host_range dla_fully_connected_ranges[] = {
    { "input_zero_point must be -128 to 127", -128, 127, 1, 1 },
    { "output_zero_point must be -128 to 127", -128, 127, 1, 1 },
    { "clamp_min must be -128 to 127", -128, 127, 1, 1 },
    { "clamp_max must be -128 to 127", -128, 127, 1, 1 },
    { "weight_zero_point must be -128 to 127", -128, 127, 1, 1 },
};
static const struct dla_host_types dla_fully_connected_inputs[] = {
    { "input must be int8", 0x01 },
    { "weights must be int8", 0x01 },
    { "records must be int32", 0x02 },
};
static const struct dla_host_types dla_fully_connected_outputs[] = {
    { "output must be int8", 0x01 },
};
static const char *dla_fully_connected_broken_rule(const struct dla_host_arguments *c)
{
    const int32_t *w = c->words;
    (void)w;
    (void)c;
    if (!(dla_host_rank(c, 1) == 2))
        return "weights must have 2 dimensions";
    if (!(dla_host_elements(c, 1) > 0))
        return "weights must not be empty";
    if (!(dla_host_rank(c, 2) == 2))
        return "records must have 2 dimensions";
    if (!(dla_host_shape(c, 2, 1) == 3))
        return "records must have three columns";
    if (!(dla_host_shape(c, 2, 0) == dla_host_shape(c, 1, 0)))
        return "records must have a row for each row of weights";
    if (!((int64_t)((uint32_t)dla_host_elements(c, 0) % (uint32_t)dla_host_shape(c, 1, 1)) == 0))
        return "input must be whole rows as deep as the weights";
    if (!(dla_host_elements(c, c->inputs + 0) == ((int64_t)((uint32_t)dla_host_elements(c, 0) /
            (uint32_t)dla_host_shape(c, 1, 1)) * dla_host_shape(c, 1, 0))))
        return "output must have a row of as many channels as weights has rows for each row of the input";
    if (!((int64_t)w[2] <= (int64_t)w[3]))
        return "clamp_min must not be greater than clamp_max";
    return NULL;
}

static const struct dla_host_range dla_transpose_conv_ranges[] = {
    { "stride_height must be 1 to 1073741824", 1, 1073741824, 1, 1 },
    { "stride_width must be 1 to 1073741824", 1, 1073741824, 1, 1 },
    { "pad_top must be 0 to 1073741824", 0, 1073741824, 1, 1 },
    { "pad_left must be 0 to 1073741824", 0, 1073741824, 1, 1 },
    { "input_zero_point must be -128 to 127", -128, 127, 1, 1 },
    { "output_zero_point must be -128 to 127", -128, 127, 1, 1 },
    { "clamp_min must be -128 to 127", -128, 127, 1, 1 },
    { "clamp_max must be -128 to 127", -128, 127, 1, 1 },
    { "weight_zero_point must be -128 to 127", -128, 127, 1, 1 },
};
static const struct dla_host_types dla_transpose_conv_inputs[] = {
    { "input must be int8", 0x01 },
    { "weights must be int8", 0x01 },
    { "records must be int32", 0x02 },
};
static const struct dla_host_types dla_transpose_conv_outputs[] = {
    { "output must be int8", 0x01 },
};
static const char *dla_transpose_conv_broken_rule(const struct dla_host_arguments *c)
{
    const int32_t *w = c->words;
    (void)w;
    (void)c;
    if (!(dla_host_rank(c, 0) == 4))
        return "input must have 4 dimensions";
    if (!(dla_host_rank(c, c->inputs + 0) == 4))
        return "output must have 4 dimensions";
    if (!(dla_host_elements(c, 0) > 0))
        return "input must not be empty";
    if (!(dla_host_shape(c, 0, 0) == dla_host_shape(c, c->inputs + 0, 0)))
        return "input and output must have the same number of images";
    if (!(dla_host_rank(c, 1) == 4))
        return "weights must have 4 dimensions";
    if (!(dla_host_elements(c, 1) > 0))
        return "weights must not be empty";
    if (!(dla_host_rank(c, 2) == 2))
        return "records must have 2 dimensions";
    if (!(dla_host_shape(c, 2, 1) == 3))
        return "records must have three columns";
    if (!(dla_host_shape(c, 1, 0) == dla_host_shape(c, c->inputs + 0, 3)))
        return "weights must have a filter for each output channel";
    if (!(dla_host_shape(c, 2, 0) == dla_host_shape(c, c->inputs + 0, 3)))
        return "records must have a row for each output channel";
    if (!(dla_host_shape(c, 1, 3) == dla_host_shape(c, 0, 3)))
        return "weights must be as deep as the input";
    if (!((int64_t)w[6] <= (int64_t)w[7]))
        return "clamp_min must not be greater than clamp_max";
    return NULL;
}

static const struct dla_host_types dla_lut_inputs[] = {
    { "input must be int8 or uint8 or bool", 0x29 },
    { "table must be int8 or int32 or float32 or bool or int64 or uint8 or int16", 0x7f },
};
static const struct dla_host_types dla_lut_outputs[] = {
    { "output must be int8 or int32 or float32 or bool or int64 or uint8 or int16", 0x7f },
};
static const char *dla_lut_broken_rule(const struct dla_host_arguments *c)
{
    (void)c;
    if (!(dla_host_elements(c, 0) == dla_host_elements(c, c->inputs + 0)))
        return "input and output must have the same number of elements";
    if (!(dla_host_elements(c, 1) == 256))
        return "table must have 256 elements";
    if (!(dla_host_type(c, 1) == dla_host_type(c, c->inputs + 0)))
        return "table must have the output's type";
    return NULL;
}

static const struct dla_host_range dla_add_ranges[] = {
    { "input1_zero_point must be -128 to 127", -128, 127, 1, 1 },
    { "input2_zero_point must be -128 to 127", -128, 127, 1, 1 },
    { "output_zero_point must be -128 to 127", -128, 127, 1, 1 },
    { "input1_multiplier must be at least 0", 0, 2147483647, 1, 1 },
    { NULL, INT32_MIN, 2147483647, 1, 1 },
    { "input2_multiplier must be at least 0", 0, 2147483647, 1, 1 },
    { NULL, INT32_MIN, 2147483647, 1, 1 },
    { "output_multiplier must be at least 0", 0, 2147483647, 1, 1 },
    { NULL, INT32_MIN, 2147483647, 1, 1 },
    { "clamp_min must be -128 to 127", -128, 127, 1, 1 },
    { "clamp_max must be -128 to 127", -128, 127, 1, 1 },
};
static const struct dla_host_types dla_add_inputs[] = {
    { "input1 must be int8", 0x01 },
    { "input2 must be int8", 0x01 },
};
static const struct dla_host_types dla_add_outputs[] = {
    { "output must be int8", 0x01 },
};
static const char *dla_add_broken_rule(const struct dla_host_arguments *c)
{
    const int32_t *w = c->words;
    (void)w;
    (void)c;
    for (int64_t k = 0; k < 6; k++)
        if (!((dla_host_back(c, c->inputs + 0, k) == ((dla_host_back(c, 0, k) == 1) ? dla_host_back(c, 1, k) :
                dla_host_back(c, 0, k))) && ((dla_host_back(c, 1, k) == 1) || (dla_host_back(c, 1, k) ==
                dla_host_back(c, c->inputs + 0, k)))))
            return "input1 and input2 must broadcast to the output's shape";
    if (!((int64_t)w[9] <= (int64_t)w[10]))
        return "clamp_min must not be greater than clamp_max";
    return NULL;
}

static const struct dla_host_range dla_sub_ranges[] = {
    { "input1_zero_point must be -128 to 127", -128, 127, 1, 1 },
    { "input2_zero_point must be -128 to 127", -128, 127, 1, 1 },
    { "output_zero_point must be -128 to 127", -128, 127, 1, 1 },
    { "input1_multiplier must be at least 0", 0, 2147483647, 1, 1 },
    { NULL, INT32_MIN, 2147483647, 1, 1 },
    { "input2_multiplier must be at least 0", 0, 2147483647, 1, 1 },
    { NULL, INT32_MIN, 2147483647, 1, 1 },
    { "output_multiplier must be at least 0", 0, 2147483647, 1, 1 },
    { NULL, INT32_MIN, 2147483647, 1, 1 },
    { "clamp_min must be -128 to 127", -128, 127, 1, 1 },
    { "clamp_max must be -128 to 127", -128, 127, 1, 1 },
};
static const struct dla_host_types dla_sub_inputs[] = {
    { "input1 must be int8", 0x01 },
    { "input2 must be int8", 0x01 },
};
static const struct dla_host_types dla_sub_outputs[] = {
    { "output must be int8", 0x01 },
};
static const char *dla_sub_broken_rule(const struct dla_host_arguments *c)
{
    const int32_t *w = c->words;
    (void)w;
    (void)c;
    for (int64_t k = 0; k < 6; k++)
        if (!((dla_host_back(c, c->inputs + 0, k) == ((dla_host_back(c, 0, k) == 1) ? dla_host_back(c, 1, k) :
                dla_host_back(c, 0, k))) && ((dla_host_back(c, 1, k) == 1) || (dla_host_back(c, 1, k) ==
                dla_host_back(c, c->inputs + 0, k)))))
            return "input1 and input2 must broadcast to the output's shape";
    if (!((int64_t)w[9] <= (int64_t)w[10]))
        return "clamp_min must not be greater than clamp_max";
    return NULL;
}

static const struct dla_host_range dla_mul_ranges[] = {
    { "input1_zero_point must be -128 to 127", -128, 127, 1, 1 },
    { "input2_zero_point must be -128 to 127", -128, 127, 1, 1 },
    { "output_zero_point must be -128 to 127", -128, 127, 1, 1 },
    { "output_multiplier must be at least 0", 0, 2147483647, 1, 1 },
    { NULL, INT32_MIN, 2147483647, 1, 1 },
    { "clamp_min must be -128 to 127", -128, 127, 1, 1 },
    { "clamp_max must be -128 to 127", -128, 127, 1, 1 },
};
static const struct dla_host_types dla_mul_inputs[] = {
    { "input1 must be int8", 0x01 },
    { "input2 must be int8", 0x01 },
};
static const struct dla_host_types dla_mul_outputs[] = {
    { "output must be int8", 0x01 },
};
static const char *dla_mul_broken_rule(const struct dla_host_arguments *c)
{
    const int32_t *w = c->words;
    (void)w;
    (void)c;
    for (int64_t k = 0; k < 6; k++)
        if (!((dla_host_back(c, c->inputs + 0, k) == ((dla_host_back(c, 0, k) == 1) ? dla_host_back(c, 1, k) :
                dla_host_back(c, 0, k))) && ((dla_host_back(c, 1, k) == 1) || (dla_host_back(c, 1, k) ==
                dla_host_back(c, c->inputs + 0, k)))))
            return "input1 and input2 must broadcast to the output's shape";
    if (!((int64_t)w[5] <= (int64_t)w[6]))
        return "clamp_min must not be greater than clamp_max";
    return NULL;
}

static const struct dla_host_range dla_prelu_ranges[] = {
    { "input_zero_point must be -128 to 127", -128, 127, 1, 1 },
    { "alpha_zero_point must be -128 to 127", -128, 127, 1, 1 },
    { "output_zero_point must be -128 to 127", -128, 127, 1, 1 },
    { "positive_multiplier must be at least 0", 0, 2147483647, 1, 1 },
    { NULL, INT32_MIN, 2147483647, 1, 1 },
    { "negative_multiplier must be at least 0", 0, 2147483647, 1, 1 },
    { NULL, INT32_MIN, 2147483647, 1, 1 },
};
static const struct dla_host_types dla_prelu_inputs[] = {
    { "input must be int8", 0x01 },
    { "alpha must be int8", 0x01 },
};
static const struct dla_host_types dla_prelu_outputs[] = {
    { "output must be int8", 0x01 },
};
static const char *dla_prelu_broken_rule(const struct dla_host_arguments *c)
{
    const int32_t *w = c->words;
    (void)w;
    (void)c;
    for (int64_t k = 0; k < 6; k++)
        if (!((dla_host_back(c, c->inputs + 0, k) == ((dla_host_back(c, 0, k) == 1) ? dla_host_back(c, 1, k) :
                dla_host_back(c, 0, k))) && ((dla_host_back(c, 1, k) == 1) || (dla_host_back(c, 1, k) ==
                dla_host_back(c, c->inputs + 0, k)))))
            return "input and alpha must broadcast to the output's shape";
    return NULL;
}

static const struct dla_host_range dla_average_pool_2d_ranges[] = {
    { "stride_height must be 1 to 1073741824", 1, 1073741824, 1, 1 },
    { "stride_width must be 1 to 1073741824", 1, 1073741824, 1, 1 },
    { "pad_top must be 0 to 1073741824", 0, 1073741824, 1, 1 },
    { "pad_left must be 0 to 1073741824", 0, 1073741824, 1, 1 },
    { "filter_height must be 1 to 1073741824", 1, 1073741824, 1, 1 },
    { "filter_width must be 1 to 1073741824", 1, 1073741824, 1, 1 },
    { "clamp_min must be -128 to 127", -128, 127, 1, 1 },
    { "clamp_max must be -128 to 127", -128, 127, 1, 1 },
    { "halves_up must be 0 to 1", 0, 1, 1, 1 },
};
static const struct dla_host_types dla_average_pool_2d_inputs[] = {
    { "input must be int8", 0x01 },
};
static const struct dla_host_types dla_average_pool_2d_outputs[] = {
    { "output must be int8", 0x01 },
};
static const char *dla_average_pool_2d_broken_rule(const struct dla_host_arguments *c)
{
    const int32_t *w = c->words;
    (void)w;
    (void)c;
    if (!(dla_host_rank(c, 0) == 4))
        return "input must have 4 dimensions";
    if (!(dla_host_rank(c, c->inputs + 0) == 4))
        return "output must have 4 dimensions";
    if (!(dla_host_elements(c, 0) > 0))
        return "input must not be empty";
    if (!(dla_host_shape(c, 0, 0) == dla_host_shape(c, c->inputs + 0, 0)))
        return "input and output must have the same number of images";
    if (!(dla_host_shape(c, 0, 3) == dla_host_shape(c, c->inputs + 0, 3)))
        return "input and output must have the same channels";
    if (!(((((int64_t)w[4] - 1) * 1) + 1) <= 1073741824))
        return "a window must be at most 2^30 rows large";
    if (!((int64_t)w[2] < ((((int64_t)w[4] - 1) * 1) + 1)))
        return "pad_top must be less than the rows of a window";
    if (!((((dla_host_shape(c, c->inputs + 0, 1) - 1) * (int64_t)w[0]) - (int64_t)w[2]) < dla_host_shape(c, 0,
            1)))
        return "the last window must begin inside the image: output has too many rows";
    if (!(((((int64_t)w[5] - 1) * 1) + 1) <= 1073741824))
        return "a window must be at most 2^30 columns large";
    if (!((int64_t)w[3] < ((((int64_t)w[5] - 1) * 1) + 1)))
        return "pad_left must be less than the columns of a window";
    if (!((((dla_host_shape(c, c->inputs + 0, 2) - 1) * (int64_t)w[1]) - (int64_t)w[3]) < dla_host_shape(c, 0,
            2)))
        return "the last window must begin inside the image: output has too many columns";
    if (!((int64_t)w[6] <= (int64_t)w[7]))
        return "clamp_min must not be greater than clamp_max";
    return NULL;
}

static const struct dla_host_range dla_max_pool_2d_ranges[] = {
    { "stride_height must be 1 to 1073741824", 1, 1073741824, 1, 1 },
    { "stride_width must be 1 to 1073741824", 1, 1073741824, 1, 1 },
    { "pad_top must be 0 to 1073741824", 0, 1073741824, 1, 1 },
    { "pad_left must be 0 to 1073741824", 0, 1073741824, 1, 1 },
    { "filter_height must be 1 to 1073741824", 1, 1073741824, 1, 1 },
    { "filter_width must be 1 to 1073741824", 1, 1073741824, 1, 1 },
    { "clamp_min must be -128 to 127", -128, 127, 1, 1 },
    { "clamp_max must be -128 to 127", -128, 127, 1, 1 },
};
static const struct dla_host_types dla_max_pool_2d_inputs[] = {
    { "input must be int8", 0x01 },
};
static const struct dla_host_types dla_max_pool_2d_outputs[] = {
    { "output must be int8", 0x01 },
};
static const char *dla_max_pool_2d_broken_rule(const struct dla_host_arguments *c)
{
    const int32_t *w = c->words;
    (void)w;
    (void)c;
    if (!(dla_host_rank(c, 0) == 4))
        return "input must have 4 dimensions";
    if (!(dla_host_rank(c, c->inputs + 0) == 4))
        return "output must have 4 dimensions";
    if (!(dla_host_elements(c, 0) > 0))
        return "input must not be empty";
    if (!(dla_host_shape(c, 0, 0) == dla_host_shape(c, c->inputs + 0, 0)))
        return "input and output must have the same number of images";
    if (!(dla_host_shape(c, 0, 3) == dla_host_shape(c, c->inputs + 0, 3)))
        return "input and output must have the same channels";
    if (!(((((int64_t)w[4] - 1) * 1) + 1) <= 1073741824))
        return "a window must be at most 2^30 rows large";
    if (!((int64_t)w[2] < ((((int64_t)w[4] - 1) * 1) + 1)))
        return "pad_top must be less than the rows of a window";
    if (!((((dla_host_shape(c, c->inputs + 0, 1) - 1) * (int64_t)w[0]) - (int64_t)w[2]) < dla_host_shape(c, 0,
            1)))
        return "the last window must begin inside the image: output has too many rows";
    if (!(((((int64_t)w[5] - 1) * 1) + 1) <= 1073741824))
        return "a window must be at most 2^30 columns large";
    if (!((int64_t)w[3] < ((((int64_t)w[5] - 1) * 1) + 1)))
        return "pad_left must be less than the columns of a window";
    if (!((((dla_host_shape(c, c->inputs + 0, 2) - 1) * (int64_t)w[1]) - (int64_t)w[3]) < dla_host_shape(c, 0,
            2)))
        return "the last window must begin inside the image: output has too many columns";
    if (!((int64_t)w[6] <= (int64_t)w[7]))
        return "clamp_min must not be greater than clamp_max";
    return NULL;
}

static const struct dla_host_range dla_mean_ranges[] = {
    { NULL, INT32_MIN, 2147483647, 1, 1 },
    { "input_zero_point must be -128 to 127", -128, 127, 1, 1 },
    { "output_zero_point must be -128 to 127", -128, 127, 1, 1 },
    { "output_multiplier must be at least 0", 0, 2147483647, 1, 1 },
    { NULL, INT32_MIN, 2147483647, 1, 1 },
};
static const struct dla_host_types dla_mean_inputs[] = {
    { "input must be int8", 0x01 },
};
static const struct dla_host_types dla_mean_outputs[] = {
    { "output must be int8", 0x01 },
};
static const char *dla_mean_broken_rule(const struct dla_host_arguments *c)
{
    const int32_t *w = c->words;
    (void)w;
    (void)c;
    if (!(dla_host_elements(c, 0) > 0))
        return "input must not be empty";
    if (!(dla_host_elements(c, c->inputs + 0) == dla_host_kept(c, 0, (int64_t)w[0])))
        return "output must have the dimensions that are not reduced";
    return NULL;
}

static const struct dla_host_types dla_softmax_inputs[] = {
    { "input must be int8", 0x01 },
    { "table must be int32", 0x02 },
};
static const struct dla_host_types dla_softmax_outputs[] = {
    { "output must be int8 or int16", 0x41 },
};
static const char *dla_softmax_broken_rule(const struct dla_host_arguments *c)
{
    (void)c;
    if (!(dla_host_elements(c, 0) == dla_host_elements(c, c->inputs + 0)))
        return "input and output must have the same number of elements";
    if (!(dla_host_rank(c, 0) > 0))
        return "input must have a dimension";
    if (!(dla_host_rank(c, 1) == 1))
        return "table must have 1 dimension";
    if (!(dla_host_elements(c, 1) == 256))
        return "table must have 256 elements";
    return NULL;
}

static const struct dla_host_range dla_pad_ranges[] = {
    { "before must be at least 0", 0, 2147483647, 6, 1 },
    { NULL, INT32_MIN, 2147483647, 1, 1 },
};
static const struct dla_host_types dla_pad_inputs[] = {
    { "input must be int8 or int32 or float32 or bool or int64 or uint8 or int16", 0x7f },
};
static const struct dla_host_types dla_pad_outputs[] = {
    { "output must be int8 or int32 or float32 or bool or int64 or uint8 or int16", 0x7f },
};
static const char *dla_pad_broken_rule(const struct dla_host_arguments *c)
{
    const int32_t *w = c->words;
    (void)w;
    (void)c;
    if (!(dla_host_type(c, 0) == dla_host_type(c, c->inputs + 0)))
        return "input must have the output's type";
    if (!(dla_host_rank(c, 0) == dla_host_rank(c, c->inputs + 0)))
        return "input and output must have as many dimensions";
    for (int64_t k = 0; k < 6; k++)
        if (!(((int64_t)w[0 + k] + dla_host_shape(c, 0, k)) <= dla_host_shape(c, c->inputs + 0, k)))
            return "the input must lie inside the output";
    if (!(((dla_host_type(c, c->inputs + 0) != 0) || (((int64_t)w[6] >= (-128)) && ((int64_t)w[6] <= 127))) &&
            ((dla_host_type(c, c->inputs + 0) != 5) || (((int64_t)w[6] >= 0) && ((int64_t)w[6] <= 255))) &&
            ((dla_host_type(c, c->inputs + 0) != 6) || (((int64_t)w[6] >= (-32768)) && ((int64_t)w[6] <=
            32767))) && ((dla_host_type(c, c->inputs + 0) != 3) || (((int64_t)w[6] >= 0) && ((int64_t)w[6] <=
            1)))))
        return "value must fit the output's type";
    return NULL;
}

static const struct dla_host_range dla_concatenation_ranges[] = {
    { "axis must be 0 to 5", 0, 5, 1, 1 },
};
static const struct dla_host_types dla_concatenation_inputs[] = {
    { "inputs must be int8 or int32 or float32 or bool or int64 or uint8 or int16", 0x7f },
};
static const struct dla_host_types dla_concatenation_outputs[] = {
    { "output must be int8 or int32 or float32 or bool or int64 or uint8 or int16", 0x7f },
};
static const char *dla_concatenation_broken_rule(const struct dla_host_arguments *c)
{
    const int32_t *w = c->words;
    (void)w;
    (void)c;
    for (uint32_t each = 0; each < c->inputs; each++)
        if (!(dla_host_type(c, each) == dla_host_type(c, c->inputs + 0)))
            return "inputs must have the output's type";
    if (!((int64_t)w[0] < dla_host_rank(c, c->inputs + 0)))
        return "axis must be a dimension of the output";
    for (uint32_t each = 0; each < c->inputs; each++)
        if (!((int64_t)((uint32_t)dla_host_elements(c, each) % (uint32_t)dla_host_product(c, c->inputs + 0, 0,
                (int64_t)w[0])) == 0))
            return "each input must divide into as many parts as there are positions before axis";
    if (!(dla_host_total(c) == dla_host_elements(c, c->inputs + 0)))
        return "the inputs together must have the output's elements";
    return NULL;
}

static const struct dla_host_range dla_strided_copy_ranges[] = {
    { NULL, INT32_MIN, 2147483647, 1, 1 },
    { "size must be at least 1", 1, 2147483647, 6, 1 },
    { NULL, INT32_MIN, 2147483647, 6, 1 },
};
static const struct dla_host_types dla_strided_copy_inputs[] = {
    { "input must be int8 or int32 or float32 or bool or int64 or uint8 or int16", 0x7f },
};
static const struct dla_host_types dla_strided_copy_outputs[] = {
    { "output must be int8 or int32 or float32 or bool or int64 or uint8 or int16", 0x7f },
};
static const char *dla_strided_copy_broken_rule(const struct dla_host_arguments *c)
{
    const int32_t *w = c->words;
    (void)w;
    (void)c;
    if (!(dla_host_type(c, 0) == dla_host_type(c, c->inputs + 0)))
        return "input must have the output's type";
    if (!(dla_host_volume(w + 1, 6) == dla_host_elements(c, c->inputs + 0)))
        return "the product of size must be the output's elements";
    if (!((((((((int64_t)w[0] + (((int64_t)w[7] < 0) ? (((int64_t)w[1] - 1) * (int64_t)w[7]) : 0)) +
            (((int64_t)w[8] < 0) ? (((int64_t)w[2] - 1) * (int64_t)w[8]) : 0)) + (((int64_t)w[9] < 0) ?
            (((int64_t)w[3] - 1) * (int64_t)w[9]) : 0)) + (((int64_t)w[10] < 0) ? (((int64_t)w[4] - 1) *
            (int64_t)w[10]) : 0)) + (((int64_t)w[11] < 0) ? (((int64_t)w[5] - 1) * (int64_t)w[11]) : 0)) +
            (((int64_t)w[12] < 0) ? (((int64_t)w[6] - 1) * (int64_t)w[12]) : 0)) >= 0))
        return "the first element read must lie inside the input";
    if (!((((((((int64_t)w[0] + (((int64_t)w[7] > 0) ? (((int64_t)w[1] - 1) * (int64_t)w[7]) : 0)) +
            (((int64_t)w[8] > 0) ? (((int64_t)w[2] - 1) * (int64_t)w[8]) : 0)) + (((int64_t)w[9] > 0) ?
            (((int64_t)w[3] - 1) * (int64_t)w[9]) : 0)) + (((int64_t)w[10] > 0) ? (((int64_t)w[4] - 1) *
            (int64_t)w[10]) : 0)) + (((int64_t)w[11] > 0) ? (((int64_t)w[5] - 1) * (int64_t)w[11]) : 0)) +
            (((int64_t)w[12] > 0) ? (((int64_t)w[6] - 1) * (int64_t)w[12]) : 0)) < dla_host_elements(c, 0)))
        return "the last element read must lie inside the input";
    return NULL;
}

static const struct dla_host_types dla_resize_nearest_inputs[] = {
    { "input must be int8 or int32 or float32 or bool or int64 or uint8 or int16", 0x7f },
    { "rows must be int32", 0x02 },
    { "columns must be int32", 0x02 },
};
static const struct dla_host_types dla_resize_nearest_outputs[] = {
    { "output must be int8 or int32 or float32 or bool or int64 or uint8 or int16", 0x7f },
};
static const char *dla_resize_nearest_broken_rule(const struct dla_host_arguments *c)
{
    (void)c;
    if (!(dla_host_type(c, 0) == dla_host_type(c, c->inputs + 0)))
        return "input must have the output's type";
    if (!(dla_host_rank(c, 0) == 4))
        return "input must have 4 dimensions";
    if (!(dla_host_rank(c, c->inputs + 0) == 4))
        return "output must have 4 dimensions";
    if (!(dla_host_elements(c, 0) > 0))
        return "input must not be empty";
    if (!(dla_host_shape(c, 0, 0) == dla_host_shape(c, c->inputs + 0, 0)))
        return "input and output must have the same number of images";
    if (!(dla_host_shape(c, 0, 3) == dla_host_shape(c, c->inputs + 0, 3)))
        return "input and output must have the same channels";
    if (!(dla_host_rank(c, 1) == 1))
        return "rows must have 1 dimension";
    if (!(dla_host_rank(c, 2) == 1))
        return "columns must have 1 dimension";
    if (!(dla_host_shape(c, 1, 0) == dla_host_shape(c, c->inputs + 0, 1)))
        return "rows must have an entry for each output row";
    if (!(dla_host_shape(c, 2, 0) == dla_host_shape(c, c->inputs + 0, 2)))
        return "columns must have an entry for each output column";
    return NULL;
}

static const struct dla_host_types dla_resize_bilinear_inputs[] = {
    { "input must be int8", 0x01 },
    { "rows must be int32", 0x02 },
    { "columns must be int32", 0x02 },
};
static const struct dla_host_types dla_resize_bilinear_outputs[] = {
    { "output must be int8", 0x01 },
};
static const char *dla_resize_bilinear_broken_rule(const struct dla_host_arguments *c)
{
    (void)c;
    if (!(dla_host_rank(c, 0) == 4))
        return "input must have 4 dimensions";
    if (!(dla_host_rank(c, c->inputs + 0) == 4))
        return "output must have 4 dimensions";
    if (!(dla_host_elements(c, 0) > 0))
        return "input must not be empty";
    if (!(dla_host_shape(c, 0, 0) == dla_host_shape(c, c->inputs + 0, 0)))
        return "input and output must have the same number of images";
    if (!(dla_host_shape(c, 0, 3) == dla_host_shape(c, c->inputs + 0, 3)))
        return "input and output must have the same channels";
    if (!(dla_host_rank(c, 1) == 2))
        return "rows must have 2 dimensions";
    if (!(dla_host_rank(c, 2) == 2))
        return "columns must have 2 dimensions";
    if (!((dla_host_shape(c, 1, 0) == dla_host_shape(c, c->inputs + 0, 1)) && (dla_host_shape(c, 1, 1) == 3)))
        return "rows must have three words for each output row";
    if (!((dla_host_shape(c, 2, 0) == dla_host_shape(c, c->inputs + 0, 2)) && (dla_host_shape(c, 2, 1) == 3)))
        return "columns must have three words for each output column";
    return NULL;
}

static const struct dla_host_range dla_quantize_ranges[] = {
    { "scale must be above 0 and finite", 1, 2139095039, 1, 0 },
    { "zero_point must be -32768 to 32767", -32768, 32767, 1, 1 },
};
static const struct dla_host_types dla_quantize_inputs[] = {
    { "input must be float32", 0x04 },
};
static const struct dla_host_types dla_quantize_outputs[] = {
    { "output must be int8 or uint8 or int16", 0x61 },
};
static const char *dla_quantize_broken_rule(const struct dla_host_arguments *c)
{
    const int32_t *w = c->words;
    (void)w;
    (void)c;
    if (!(dla_host_elements(c, 0) == dla_host_elements(c, c->inputs + 0)))
        return "input and output must have the same number of elements";
    return NULL;
}

static const struct dla_host_range dla_dequantize_ranges[] = {
    { "scale must be above 0 and finite", 1, 2139095039, 1, 0 },
    { "zero_point must be -32768 to 32767", -32768, 32767, 1, 1 },
};
static const struct dla_host_types dla_dequantize_inputs[] = {
    { "input must be int16", 0x40 },
};
static const struct dla_host_types dla_dequantize_outputs[] = {
    { "output must be float32", 0x04 },
};
static const char *dla_dequantize_broken_rule(const struct dla_host_arguments *c)
{
    const int32_t *w = c->words;
    (void)w;
    (void)c;
    if (!(dla_host_elements(c, 0) == dla_host_elements(c, c->inputs + 0)))
        return "input and output must have the same number of elements";
    return NULL;
}

static const struct dla_host_types dla_cast_inputs[] = {
    { "input must be int8 or int32 or float32 or bool or int64 or uint8 or int16", 0x7f },
};
static const struct dla_host_types dla_cast_outputs[] = {
    { "output must be int8 or int32 or float32 or bool or int64 or uint8 or int16", 0x7f },
};
static const char *dla_cast_broken_rule(const struct dla_host_arguments *c)
{
    (void)c;
    if (!(dla_host_elements(c, 0) == dla_host_elements(c, c->inputs + 0)))
        return "input and output must have the same number of elements";
    return NULL;
}

static const struct dla_host_range dla_binary_ranges[] = {
    { "function must be 0 to 9", 0, 9, 1, 1 },
    { NULL, INT32_MIN, 2147483647, 1, 1 },
    { NULL, INT32_MIN, 2147483647, 1, 1 },
};
static const struct dla_host_types dla_binary_inputs[] = {
    { "input1 must be int8 or int32 or int64 or float32 or bool", 0x1f },
    { "input2 must be int8 or int32 or int64 or float32 or bool", 0x1f },
};
static const struct dla_host_types dla_binary_outputs[] = {
    { "output must be int8 or int32 or int64 or float32 or bool", 0x1f },
};
static const char *dla_binary_broken_rule(const struct dla_host_arguments *c)
{
    const int32_t *w = c->words;
    (void)w;
    (void)c;
    if (!(dla_host_type(c, 0) == dla_host_type(c, c->inputs + 0)))
        return "input1 must have the output's type";
    if (!(dla_host_type(c, 1) == dla_host_type(c, c->inputs + 0)))
        return "input2 must have the output's type";
    for (int64_t k = 0; k < 6; k++)
        if (!((dla_host_back(c, c->inputs + 0, k) == ((dla_host_back(c, 0, k) == 1) ? dla_host_back(c, 1, k) :
                dla_host_back(c, 0, k))) && ((dla_host_back(c, 1, k) == 1) || (dla_host_back(c, 1, k) ==
                dla_host_back(c, c->inputs + 0, k)))))
            return "input1 and input2 must broadcast to the output's shape";
    if (!(((dla_host_type(c, c->inputs + 0) != 0) && (dla_host_type(c, c->inputs + 0) != 3)) || ((int64_t)w[0]
            == 5) || ((int64_t)w[0] == 6)))
        return "int8 and bool have MAXIMUM and MINIMUM only";
    if (!((dla_host_type(c, c->inputs + 0) == 1) || ((int64_t)w[0] != 9)))
        return "POW is of int32 only";
    if (!((dla_host_type(c, c->inputs + 0) != 1) || ((int64_t)w[0] == 5) || ((int64_t)w[0] == 6) ||
            ((int64_t)w[1] <= (int64_t)w[2])))
        return "clamp_min must not be greater than clamp_max";
    return NULL;
}

static const struct dla_host_range dla_unary_ranges[] = {
    { "function must be 0 to 10", 0, 10, 1, 1 },
};
static const struct dla_host_types dla_unary_inputs[] = {
    { "input must be int32 or float32", 0x06 },
};
static const struct dla_host_types dla_unary_outputs[] = {
    { "output must be int32 or float32", 0x06 },
};
static const char *dla_unary_broken_rule(const struct dla_host_arguments *c)
{
    const int32_t *w = c->words;
    (void)w;
    (void)c;
    if (!(dla_host_type(c, 0) == dla_host_type(c, c->inputs + 0)))
        return "input must have the output's type";
    if (!(dla_host_elements(c, 0) == dla_host_elements(c, c->inputs + 0)))
        return "input and output must have the same number of elements";
    if (!(((int64_t)w[0] <= 1) || ((int64_t)w[0] == 3) || (dla_host_type(c, c->inputs + 0) == 2)))
        return "int32 has ABS, NEG and SQUARE only";
    return NULL;
}

static const struct dla_host_range dla_arg_max_ranges[] = {
    { "axis must be 0 to 5", 0, 5, 1, 1 },
};
static const struct dla_host_types dla_arg_max_inputs[] = {
    { "input must be int8 or int32 or int64 or float32", 0x17 },
};
static const struct dla_host_types dla_arg_max_outputs[] = {
    { "output must be int32 or int64", 0x12 },
};
static const char *dla_arg_max_broken_rule(const struct dla_host_arguments *c)
{
    const int32_t *w = c->words;
    (void)w;
    (void)c;
    if (!(dla_host_elements(c, 0) > 0))
        return "input must not be empty";
    if (!((int64_t)w[0] < dla_host_rank(c, 0)))
        return "axis must be a dimension of the input";
    if (!((dla_host_elements(c, c->inputs + 0) * dla_host_shape(c, 0, (int64_t)w[0])) == dla_host_elements(c,
            0)))
        return "output must have the input's elements without the axis";
    return NULL;
}

static const struct dla_host_range dla_gather_ranges[] = {
    { "axis must be 0 to 5", 0, 5, 1, 1 },
    { "batch_dims must be 0 to 5", 0, 5, 1, 1 },
};
static const struct dla_host_types dla_gather_inputs[] = {
    { "input must be int8 or int32 or float32 or bool or int64 or uint8 or int16", 0x7f },
    { "indices must be int32 or int64", 0x12 },
};
static const struct dla_host_types dla_gather_outputs[] = {
    { "output must be int8 or int32 or float32 or bool or int64 or uint8 or int16", 0x7f },
};
static const char *dla_gather_broken_rule(const struct dla_host_arguments *c)
{
    const int32_t *w = c->words;
    (void)w;
    (void)c;
    if (!(dla_host_type(c, 0) == dla_host_type(c, c->inputs + 0)))
        return "input must have the output's type";
    if (!(dla_host_elements(c, 0) > 0))
        return "input must not be empty";
    if (!((int64_t)w[0] < dla_host_rank(c, 0)))
        return "axis must be a dimension of the input";
    if (!((int64_t)w[1] <= (int64_t)w[0]))
        return "batch_dims must not be greater than axis";
    if (!((int64_t)((uint32_t)dla_host_elements(c, 1) % (uint32_t)dla_host_product(c, 0, 0, (int64_t)w[1])) ==
            0))
        return "indices must divide into as many parts as there are batches";
    if (!(dla_host_elements(c, c->inputs + 0) == ((int64_t)((uint32_t)dla_host_elements(c, 0) /
            (uint32_t)dla_host_shape(c, 0, (int64_t)w[0])) * (int64_t)((uint32_t)dla_host_elements(c, 1) /
            (uint32_t)dla_host_product(c, 0, 0, (int64_t)w[1])))))
        return "output must have an entry for each index";
    return NULL;
}

static const struct dla_host_types dla_gather_nd_inputs[] = {
    { "input must be int8 or int32 or float32 or bool or int64 or uint8 or int16", 0x7f },
    { "indices must be int32 or int64", 0x12 },
};
static const struct dla_host_types dla_gather_nd_outputs[] = {
    { "output must be int8 or int32 or float32 or bool or int64 or uint8 or int16", 0x7f },
};
static const char *dla_gather_nd_broken_rule(const struct dla_host_arguments *c)
{
    (void)c;
    if (!(dla_host_type(c, 0) == dla_host_type(c, c->inputs + 0)))
        return "input must have the output's type";
    if (!(dla_host_elements(c, 0) > 0))
        return "input must not be empty";
    if (!(dla_host_rank(c, 1) > 0))
        return "indices must have a dimension";
    if (!((dla_host_back(c, 1, 0) > 0) && (dla_host_back(c, 1, 0) <= dla_host_rank(c, 0))))
        return "an index must have at least one and at most as many words as the input has dimensions";
    if (!(dla_host_elements(c, c->inputs + 0) == ((int64_t)((uint32_t)dla_host_elements(c, 1) /
            (uint32_t)dla_host_back(c, 1, 0)) * dla_host_product(c, 0, dla_host_back(c, 1, 0),
            dla_host_rank(c, 0)))))
        return "output must have an entry for each index";
    return NULL;
}

static const struct dla_host_range dla_svdf_ranges[] = {
    { "rank must be at least 1", 1, 2147483647, 1, 1 },
    { "input_zero_point must be -128 to 127", -128, 127, 1, 1 },
    { "output_zero_point must be -128 to 127", -128, 127, 1, 1 },
    { "state_zero_point must be -32768 to 32767", -32768, 32767, 1, 1 },
    { "feature_multiplier must be at least 0", 0, 2147483647, 1, 1 },
    { NULL, INT32_MIN, 2147483647, 1, 1 },
    { "output_multiplier must be at least 0", 0, 2147483647, 1, 1 },
    { NULL, INT32_MIN, 2147483647, 1, 1 },
};
static const struct dla_host_types dla_svdf_inputs[] = {
    { "input must be int8", 0x01 },
    { "feature_weights must be int8", 0x01 },
    { "time_weights must be int8 or int16", 0x41 },
    { "bias must be int32", 0x02 },
    { "state must be int8 or int16", 0x41 },
};
static const struct dla_host_types dla_svdf_outputs[] = {
    { "output must be int8", 0x01 },
    { "new_state must be int8 or int16", 0x41 },
};
static const char *dla_svdf_broken_rule(const struct dla_host_arguments *c)
{
    const int32_t *w = c->words;
    (void)w;
    (void)c;
    if (!(dla_host_rank(c, 0) == 2))
        return "input must have 2 dimensions";
    if (!(dla_host_rank(c, 1) == 2))
        return "feature_weights must have 2 dimensions";
    if (!(dla_host_rank(c, 2) == 2))
        return "time_weights must have 2 dimensions";
    if (!(dla_host_elements(c, 0) > 0))
        return "input must not be empty";
    if (!(dla_host_elements(c, 2) > 0))
        return "time_weights must not be empty";
    if (!(dla_host_shape(c, 1, 1) == dla_host_shape(c, 0, 1)))
        return "feature_weights must be as deep as the input";
    if (!(dla_host_shape(c, 1, 0) == dla_host_shape(c, 2, 0)))
        return "feature_weights and time_weights must have the same filters";
    if (!(dla_host_shape(c, 2, 0) == (dla_host_elements(c, 3) * (int64_t)w[0])))
        return "bias must have a word for each `rank` filters";
    if (!(dla_host_elements(c, 4) == (dla_host_shape(c, 0, 0) * dla_host_elements(c, 2))))
        return "state must have the elements of time_weights for each batch";
    if (!(dla_host_type(c, 2) == dla_host_type(c, 4)))
        return "time_weights must have the state's type";
    if (!((dla_host_type(c, c->inputs + 1) == dla_host_type(c, 4)) && (dla_host_elements(c, c->inputs + 1) ==
            dla_host_elements(c, 4))))
        return "new_state must be like state";
    if (!(dla_host_elements(c, c->inputs + 0) == (dla_host_shape(c, 0, 0) * dla_host_elements(c, 3))))
        return "output must have a unit for each bias";
    return NULL;
}

static const struct dla_host_range dla_squared_difference_ranges[] = {
    { "input1_zero_point must be -128 to 127", -128, 127, 1, 1 },
    { "input2_zero_point must be -128 to 127", -128, 127, 1, 1 },
    { "output_zero_point must be -128 to 127", -128, 127, 1, 1 },
    { "input1_multiplier must be at least 0", 0, 2147483647, 1, 1 },
    { NULL, INT32_MIN, 2147483647, 1, 1 },
    { "input2_multiplier must be at least 0", 0, 2147483647, 1, 1 },
    { NULL, INT32_MIN, 2147483647, 1, 1 },
    { "output_multiplier must be at least 0", 0, 2147483647, 1, 1 },
    { NULL, INT32_MIN, 2147483647, 1, 1 },
    { "clamp_min must be -128 to 127", -128, 127, 1, 1 },
    { "clamp_max must be -128 to 127", -128, 127, 1, 1 },
};
static const struct dla_host_types dla_squared_difference_inputs[] = {
    { "input1 must be int8", 0x01 },
    { "input2 must be int8", 0x01 },
};
static const struct dla_host_types dla_squared_difference_outputs[] = {
    { "output must be int8", 0x01 },
};
static const char *dla_squared_difference_broken_rule(const struct dla_host_arguments *c)
{
    const int32_t *w = c->words;
    (void)w;
    (void)c;
    for (int64_t k = 0; k < 6; k++)
        if (!((dla_host_back(c, c->inputs + 0, k) == ((dla_host_back(c, 0, k) == 1) ? dla_host_back(c, 1, k) :
                dla_host_back(c, 0, k))) && ((dla_host_back(c, 1, k) == 1) || (dla_host_back(c, 1, k) ==
                dla_host_back(c, c->inputs + 0, k)))))
            return "input1 and input2 must broadcast to the output's shape";
    if (!((int64_t)w[9] <= (int64_t)w[10]))
        return "clamp_min must not be greater than clamp_max";
    return NULL;
}

static const struct dla_host_range dla_batch_matmul_ranges[] = {
    { "input1_zero_point must be -128 to 127", -128, 127, 1, 1 },
    { "input2_zero_point must be -128 to 127", -128, 127, 1, 1 },
    { "output_zero_point must be -128 to 127", -128, 127, 1, 1 },
    { "output_multiplier must be at least 0", 0, 2147483647, 1, 1 },
    { NULL, INT32_MIN, 2147483647, 1, 1 },
    { "transposed1 must be 0 to 1", 0, 1, 1, 1 },
    { "transposed2 must be 0 to 1", 0, 1, 1, 1 },
};
static const struct dla_host_types dla_batch_matmul_inputs[] = {
    { "input1 must be int8", 0x01 },
    { "input2 must be int8", 0x01 },
};
static const struct dla_host_types dla_batch_matmul_outputs[] = {
    { "output must be int8", 0x01 },
};
static const char *dla_batch_matmul_broken_rule(const struct dla_host_arguments *c)
{
    const int32_t *w = c->words;
    (void)w;
    (void)c;
    if (!((dla_host_rank(c, 0) >= 2) && (dla_host_rank(c, 1) >= 2) && (dla_host_rank(c, c->inputs + 0) >= 2)))
        return "both inputs and the output must have two dimensions at least";
    if (!((((int64_t)w[5] == 1) ? dla_host_back(c, 0, 1) : dla_host_back(c, 0, 0)) == (((int64_t)w[6] == 1) ?
            dla_host_back(c, 1, 0) : dla_host_back(c, 1, 1))))
        return "the rows of input1 must be as long as the columns of input2";
    if (!((dla_host_back(c, c->inputs + 0, 1) == (((int64_t)w[5] == 1) ? dla_host_back(c, 0, 0) :
            dla_host_back(c, 0, 1))) && (dla_host_back(c, c->inputs + 0, 0) == (((int64_t)w[6] == 1) ?
            dla_host_back(c, 1, 1) : dla_host_back(c, 1, 0)))))
        return "the output must have input1's rows and input2's columns";
    for (int64_t k = 2; k < 6; k++)
        if (!((dla_host_back(c, c->inputs + 0, k) == ((dla_host_back(c, 0, k) == 1) ? dla_host_back(c, 1, k) :
                dla_host_back(c, 0, k))) && ((dla_host_back(c, 1, k) == 1) || (dla_host_back(c, 1, k) ==
                dla_host_back(c, c->inputs + 0, k)))))
            return "input1 and input2 must broadcast to the output's shape";
    return NULL;
}

static const struct dla_host_range dla_requant_ranges[] = {
    { "output_zero_point must be -128 to 127", -128, 127, 1, 1 },
    { "clamp_min must be -128 to 127", -128, 127, 1, 1 },
    { "clamp_max must be -128 to 127", -128, 127, 1, 1 },
    { "rounds_once must be 0 to 1", 0, 1, 1, 1 },
};
static const struct dla_host_types dla_requant_inputs[] = {
    { "input must be int32", 0x02 },
    { "records must be int32", 0x02 },
};
static const struct dla_host_types dla_requant_outputs[] = {
    { "output must be int8", 0x01 },
};
static const char *dla_requant_broken_rule(const struct dla_host_arguments *c)
{
    const int32_t *w = c->words;
    (void)w;
    (void)c;
    if (!(dla_host_elements(c, 0) == dla_host_elements(c, c->inputs + 0)))
        return "input and output must have the same number of elements";
    if (!(dla_host_rank(c, 1) == 2))
        return "records must have 2 dimensions";
    if (!(dla_host_shape(c, 1, 1) == 3))
        return "records must have three columns";
    if (!(dla_host_elements(c, 0) > 0))
        return "input must not be empty";
    if (!(dla_host_shape(c, 1, 0) == dla_host_back(c, 0, 0)))
        return "records must have a row for each channel";
    if (!((int64_t)w[1] <= (int64_t)w[2]))
        return "clamp_min must not be greater than clamp_max";
    return NULL;
}

static const struct dla_host_range dla_reduce_ranges[] = {
    { "function must be 0 to 5", 0, 5, 1, 1 },
    { NULL, INT32_MIN, 2147483647, 1, 1 },
};
static const struct dla_host_types dla_reduce_inputs[] = {
    { "input must be int8 or int32 or int64 or float32 or bool or int16", 0x5f },
};
static const struct dla_host_types dla_reduce_outputs[] = {
    { "output must be int8 or int32 or int64 or float32 or bool or int16", 0x5f },
};
static const char *dla_reduce_broken_rule(const struct dla_host_arguments *c)
{
    const int32_t *w = c->words;
    (void)w;
    (void)c;
    if (!(dla_host_type(c, 0) == dla_host_type(c, c->inputs + 0)))
        return "input must have the output's type";
    if (!(dla_host_elements(c, 0) > 0))
        return "input must not be empty";
    if (!(dla_host_elements(c, c->inputs + 0) == dla_host_kept(c, 0, (int64_t)w[1])))
        return "output must have the dimensions that are not reduced";
    if (!((((int64_t)w[0] >= 4) && (dla_host_type(c, c->inputs + 0) == 3)) || (((int64_t)w[0] < 4) &&
            (dla_host_type(c, c->inputs + 0) != 3))))
        return "ANY and ALL are for bool, and bool has no others";
    if (!(((dla_host_type(c, c->inputs + 0) != 0) && (dla_host_type(c, c->inputs + 0) != 6)) || ((int64_t)w[0]
            == 2) || ((int64_t)w[0] == 3)))
        return "int8 and int16 have MAX and MIN only";
    return NULL;
}

static const struct dla_host_range dla_cumulative_sum_ranges[] = {
    { "axis must be 0 to 5", 0, 5, 1, 1 },
    { "exclusive must be 0 to 1", 0, 1, 1, 1 },
    { "reverse must be 0 to 1", 0, 1, 1, 1 },
    { "input_zero_point must be -128 to 127", -128, 127, 1, 1 },
    { "output_zero_point must be -128 to 127", -128, 127, 1, 1 },
    { "output_multiplier must be at least 0", 0, 2147483647, 1, 1 },
    { NULL, INT32_MIN, 2147483647, 1, 1 },
};
static const struct dla_host_types dla_cumulative_sum_inputs[] = {
    { "input must be int8 or int32 or int64 or float32", 0x17 },
};
static const struct dla_host_types dla_cumulative_sum_outputs[] = {
    { "output must be int8 or int32 or int64 or float32", 0x17 },
};
static const char *dla_cumulative_sum_broken_rule(const struct dla_host_arguments *c)
{
    const int32_t *w = c->words;
    (void)w;
    (void)c;
    if (!(dla_host_type(c, 0) == dla_host_type(c, c->inputs + 0)))
        return "input must have the output's type";
    if (!(dla_host_elements(c, 0) == dla_host_elements(c, c->inputs + 0)))
        return "input and output must have the same number of elements";
    if (!((int64_t)w[0] < dla_host_rank(c, 0)))
        return "axis must be a dimension of the input";
    return NULL;
}

static const struct dla_host_types dla_top_k_inputs[] = {
    { "input must be int8 or int32 or int64 or float32 or int16", 0x57 },
};
static const struct dla_host_types dla_top_k_outputs[] = {
    { "values must be int8 or int32 or int64 or float32 or int16", 0x57 },
    { "indices must be int32", 0x02 },
};
static const char *dla_top_k_broken_rule(const struct dla_host_arguments *c)
{
    (void)c;
    if (!(dla_host_type(c, c->inputs + 0) == dla_host_type(c, 0)))
        return "values must have the input's type";
    if (!((dla_host_rank(c, 0) > 0) && (dla_host_rank(c, c->inputs + 0) > 0)))
        return "input and values must have a dimension";
    if (!(dla_host_elements(c, c->inputs + 0) == dla_host_elements(c, c->inputs + 1)))
        return "values and indices must have the same elements";
    if (!(dla_host_back(c, c->inputs + 0, 0) <= dla_host_back(c, 0, 0)))
        return "a row of values must not be longer than one of the input";
    if (!((dla_host_elements(c, c->inputs + 0) * dla_host_back(c, 0, 0)) == (dla_host_elements(c, 0) *
            dla_host_back(c, c->inputs + 0, 0))))
        return "values must have the input's rows";
    return NULL;
}

static const struct dla_host_range dla_l2_normalization_ranges[] = {
    { "input_zero_point must be -128 to 127", -128, 127, 1, 1 },
    { "early_bits must be 0 to 7", 0, 7, 1, 1 },
};
static const struct dla_host_types dla_l2_normalization_inputs[] = {
    { "input must be int8", 0x01 },
};
static const struct dla_host_types dla_l2_normalization_outputs[] = {
    { "output must be int8", 0x01 },
};
static const char *dla_l2_normalization_broken_rule(const struct dla_host_arguments *c)
{
    const int32_t *w = c->words;
    (void)w;
    (void)c;
    if (!(dla_host_elements(c, 0) == dla_host_elements(c, c->inputs + 0)))
        return "input and output must have the same number of elements";
    if (!(dla_host_rank(c, 0) > 0))
        return "input must have a dimension";
    return NULL;
}

static const struct dla_host_range dla_normalize_ranges[] = {
    { "input_zero_point must be -128 to 127", -128, 127, 1, 1 },
    { "output_zero_point must be -128 to 127", -128, 127, 1, 1 },
    { "is_centred must be 0 to 1", 0, 1, 1, 1 },
    { NULL, INT32_MIN, 2147483647, 1, 1 },
    { "epsilon_high must be 0 to 16777216", 0, 16777216, 1, 1 },
    { "repeat must be at least 1", 1, 2147483647, 1, 1 },
    { "shift must be 33 to 62", 33, 62, 1, 1 },
    { "offset_shift must be 1 to 30", 1, 30, 1, 1 },
};
static const struct dla_host_types dla_normalize_inputs[] = {
    { "input must be int8", 0x01 },
    { "records must be int32", 0x02 },
};
static const struct dla_host_types dla_normalize_outputs[] = {
    { "output must be int8", 0x01 },
};
static const char *dla_normalize_broken_rule(const struct dla_host_arguments *c)
{
    const int32_t *w = c->words;
    (void)w;
    (void)c;
    if (!(dla_host_elements(c, 0) == dla_host_elements(c, c->inputs + 0)))
        return "input and output must have the same number of elements";
    if (!(dla_host_elements(c, 0) > 0))
        return "input must not be empty";
    if (!(dla_host_rank(c, 1) == 2))
        return "records must have 2 dimensions";
    if (!(dla_host_shape(c, 1, 1) == 2))
        return "records must have two columns";
    if (!(dla_host_elements(c, 1) > 0))
        return "records must not be empty";
    if (!(dla_host_back(c, 0, 0) <= 16384))
        return "a row must have at most 16,384 elements";
    return NULL;
}

static const struct dla_host_range dla_compare_ranges[] = {
    { "function must be 0 to 5", 0, 5, 1, 1 },
    { "input1_zero_point must be -128 to 127", -128, 127, 1, 1 },
    { "input2_zero_point must be -128 to 127", -128, 127, 1, 1 },
    { "input1_multiplier must be at least 0", 0, 2147483647, 1, 1 },
    { NULL, INT32_MIN, 2147483647, 1, 1 },
    { "input2_multiplier must be at least 0", 0, 2147483647, 1, 1 },
    { NULL, INT32_MIN, 2147483647, 1, 1 },
};
static const struct dla_host_types dla_compare_inputs[] = {
    { "input1 must be int8 or int32 or int64 or float32 or bool or int16", 0x5f },
    { "input2 must be int8 or int32 or int64 or float32 or bool or int16", 0x5f },
};
static const struct dla_host_types dla_compare_outputs[] = {
    { "output must be bool", 0x08 },
};
static const char *dla_compare_broken_rule(const struct dla_host_arguments *c)
{
    const int32_t *w = c->words;
    (void)w;
    (void)c;
    if (!(dla_host_type(c, 0) == dla_host_type(c, 1)))
        return "both inputs must have one type";
    for (int64_t k = 0; k < 6; k++)
        if (!((dla_host_back(c, c->inputs + 0, k) == ((dla_host_back(c, 0, k) == 1) ? dla_host_back(c, 1, k) :
                dla_host_back(c, 0, k))) && ((dla_host_back(c, 1, k) == 1) || (dla_host_back(c, 1, k) ==
                dla_host_back(c, c->inputs + 0, k)))))
            return "input1 and input2 must broadcast to the output's shape";
    if (!((dla_host_type(c, 0) != 3) || ((int64_t)w[0] <= 1)))
        return "bool has EQUAL and NOT_EQUAL only";
    return NULL;
}

static const struct dla_host_types dla_select_inputs[] = {
    { "condition must be bool", 0x08 },
    { "input1 must be int8 or int32 or float32 or bool or int64 or uint8 or int16", 0x7f },
    { "input2 must be int8 or int32 or float32 or bool or int64 or uint8 or int16", 0x7f },
};
static const struct dla_host_types dla_select_outputs[] = {
    { "output must be int8 or int32 or float32 or bool or int64 or uint8 or int16", 0x7f },
};
static const char *dla_select_broken_rule(const struct dla_host_arguments *c)
{
    (void)c;
    if (!(dla_host_type(c, 1) == dla_host_type(c, c->inputs + 0)))
        return "input1 must have the output's type";
    if (!(dla_host_type(c, 2) == dla_host_type(c, c->inputs + 0)))
        return "input2 must have the output's type";
    for (int64_t k = 0; k < 6; k++)
        if (!((dla_host_back(c, 0, k) == 1) || (dla_host_back(c, 0, k) == dla_host_back(c, c->inputs + 0,
                k))))
            return "condition must broadcast to the output's shape";
    for (int64_t k = 0; k < 6; k++)
        if (!((dla_host_back(c, 1, k) == 1) || (dla_host_back(c, 1, k) == dla_host_back(c, c->inputs + 0,
                k))))
            return "input1 must broadcast to the output's shape";
    for (int64_t k = 0; k < 6; k++)
        if (!((dla_host_back(c, 2, k) == 1) || (dla_host_back(c, 2, k) == dla_host_back(c, c->inputs + 0,
                k))))
            return "input2 must broadcast to the output's shape";
    for (int64_t k = 0; k < 6; k++)
        if (!((dla_host_back(c, c->inputs + 0, k) == dla_host_back(c, 0, k)) || (dla_host_back(c, c->inputs +
                0, k) == dla_host_back(c, 1, k)) || (dla_host_back(c, c->inputs + 0, k) == dla_host_back(c, 2,
                k))))
            return "the output must be no larger than its inputs";
    return NULL;
}

static const struct dla_host_range dla_div_ranges[] = {
    { "input1_zero_point must be -128 to 127", -128, 127, 1, 1 },
    { "input2_zero_point must be -128 to 127", -128, 127, 1, 1 },
    { "output_zero_point must be -128 to 127", -128, 127, 1, 1 },
    { "output_multiplier must be at least 0", 0, 2147483647, 1, 1 },
    { NULL, INT32_MIN, 2147483647, 1, 1 },
    { "clamp_min must be -128 to 127", -128, 127, 1, 1 },
    { "clamp_max must be -128 to 127", -128, 127, 1, 1 },
};
static const struct dla_host_types dla_div_inputs[] = {
    { "input1 must be int8", 0x01 },
    { "input2 must be int8", 0x01 },
};
static const struct dla_host_types dla_div_outputs[] = {
    { "output must be int8", 0x01 },
};
static const char *dla_div_broken_rule(const struct dla_host_arguments *c)
{
    const int32_t *w = c->words;
    (void)w;
    (void)c;
    for (int64_t k = 0; k < 6; k++)
        if (!((dla_host_back(c, c->inputs + 0, k) == ((dla_host_back(c, 0, k) == 1) ? dla_host_back(c, 1, k) :
                dla_host_back(c, 0, k))) && ((dla_host_back(c, 1, k) == 1) || (dla_host_back(c, 1, k) ==
                dla_host_back(c, c->inputs + 0, k)))))
            return "input1 and input2 must broadcast to the output's shape";
    if (!((int64_t)w[5] <= (int64_t)w[6]))
        return "clamp_min must not be greater than clamp_max";
    return NULL;
}

static const struct dla_host_range dla_product_ranges[] = {
    { NULL, INT32_MIN, 2147483647, 1, 1 },
    { "input_zero_point must be -128 to 127", -128, 127, 1, 1 },
    { "output_zero_point must be -128 to 127", -128, 127, 1, 1 },
    { "output_multiplier must be at least 0", 0, 2147483647, 1, 1 },
    { "output_shift must be -31 to 7", -31, 7, 1, 1 },
};
static const struct dla_host_types dla_product_inputs[] = {
    { "input must be int8 or int16", 0x41 },
};
static const struct dla_host_types dla_product_outputs[] = {
    { "output must be int8 or int16", 0x41 },
};
static const char *dla_product_broken_rule(const struct dla_host_arguments *c)
{
    const int32_t *w = c->words;
    (void)w;
    (void)c;
    if (!(dla_host_type(c, 0) == dla_host_type(c, c->inputs + 0)))
        return "input must have the output's type";
    if (!(dla_host_elements(c, 0) > 0))
        return "input must not be empty";
    if (!(dla_host_elements(c, c->inputs + 0) == dla_host_kept(c, 0, (int64_t)w[0])))
        return "output must have the dimensions that are not reduced";
    return NULL;
}

static const struct dla_host_range dla_rescale_ranges[] = {
    { "input_zero_point must be -32768 to 32767", -32768, 32767, 1, 1 },
    { "output_zero_point must be -32768 to 32767", -32768, 32767, 1, 1 },
    { "output_multiplier must be at least 0", 0, 2147483647, 1, 1 },
    { NULL, INT32_MIN, 2147483647, 1, 1 },
};
static const struct dla_host_types dla_rescale_inputs[] = {
    { "input must be int16 or int32", 0x42 },
};
static const struct dla_host_types dla_rescale_outputs[] = {
    { "output must be int8 or int16 or int32", 0x43 },
};
static const char *dla_rescale_broken_rule(const struct dla_host_arguments *c)
{
    const int32_t *w = c->words;
    (void)w;
    (void)c;
    if (!(dla_host_elements(c, 0) == dla_host_elements(c, c->inputs + 0)))
        return "input and output must have the same number of elements";
    return NULL;
}

static const struct dla_host_range dla_matrix_sums_ranges[] = {
    { "input_zero_point must be -128 to 127", -128, 127, 1, 1 },
};
static const struct dla_host_types dla_matrix_sums_inputs[] = {
    { "input must be int8", 0x01 },
    { "weights must be int8", 0x01 },
    { "records must be int32", 0x02 },
};
static const struct dla_host_types dla_matrix_sums_outputs[] = {
    { "output must be int32", 0x02 },
};
static const char *dla_matrix_sums_broken_rule(const struct dla_host_arguments *c)
{
    const int32_t *w = c->words;
    (void)w;
    (void)c;
    if (!(dla_host_rank(c, 1) == 2))
        return "weights must have 2 dimensions";
    if (!(dla_host_elements(c, 1) > 0))
        return "weights must not be empty";
    if (!(dla_host_rank(c, 2) == 2))
        return "records must have 2 dimensions";
    if (!(dla_host_shape(c, 2, 1) == 3))
        return "records must have three columns";
    if (!(dla_host_shape(c, 2, 0) == dla_host_shape(c, 1, 0)))
        return "records must have a row for each row of weights";
    if (!((int64_t)((uint32_t)dla_host_elements(c, 0) % (uint32_t)dla_host_shape(c, 1, 1)) == 0))
        return "input must be whole rows as deep as the weights";
    if (!(dla_host_elements(c, c->inputs + 0) == ((int64_t)((uint32_t)dla_host_elements(c, 0) /
            (uint32_t)dla_host_shape(c, 1, 1)) * dla_host_shape(c, 1, 0))))
        return "output must have a row of as many channels as weights has rows for each row of the input";
    return NULL;
}

static const struct dla_host_range dla_lstm_cell_ranges[] = {
    { "first_row must be at least 0", 0, 2147483647, 1, 1 },
    { "row_step must be at least 0", 0, 2147483647, 1, 1 },
    { "input_multiplier must be at least 0", 0, 2147483647, 4, 1 },
    { NULL, INT32_MIN, 2147483647, 4, 1 },
    { "recurrent_multiplier must be at least 0", 0, 2147483647, 4, 1 },
    { NULL, INT32_MIN, 2147483647, 4, 1 },
    { "forget_multiplier must be at least 0", 0, 2147483647, 1, 1 },
    { NULL, INT32_MIN, 2147483647, 1, 1 },
    { "update_multiplier must be at least 0", 0, 2147483647, 1, 1 },
    { NULL, INT32_MIN, 2147483647, 1, 1 },
    { "output_multiplier must be at least 0", 0, 2147483647, 1, 1 },
    { NULL, INT32_MIN, 2147483647, 1, 1 },
    { "output_zero_point must be -128 to 127", -128, 127, 1, 1 },
    { "cell_clip must be 0 to 32768", 0, 32768, 1, 1 },
    { "tanh_factor must be 0 to 12288", 0, 12288, 1, 1 },
    { "tanh_shift must be 0 to 31", 0, 31, 1, 1 },
};
static const struct dla_host_types dla_lstm_cell_inputs[] = {
    { "input_sums must be int32", 0x02 },
    { "recurrent_sums must be int32", 0x02 },
    { "cell must be int32", 0x02 },
    { "table must be int32", 0x02 },
};
static const struct dla_host_types dla_lstm_cell_outputs[] = {
    { "output must be int8", 0x01 },
    { "new_cell must be int32", 0x02 },
};
static const char *dla_lstm_cell_broken_rule(const struct dla_host_arguments *c)
{
    const int32_t *w = c->words;
    (void)w;
    (void)c;
    if (!(dla_host_rank(c, 0) == 2))
        return "input_sums must have 2 dimensions";
    if (!(dla_host_rank(c, c->inputs + 0) == 2))
        return "output must have 2 dimensions";
    if (!(dla_host_shape(c, 0, 1) == (4 * dla_host_shape(c, c->inputs + 0, 1))))
        return "input_sums must have four sums for each unit";
    if (!(dla_host_elements(c, 1) == (4 * dla_host_elements(c, c->inputs + 0))))
        return "recurrent_sums must have four for each output";
    if (!(dla_host_elements(c, 2) == dla_host_elements(c, c->inputs + 0)))
        return "cell must have the output's elements";
    if (!(dla_host_elements(c, c->inputs + 1) == dla_host_elements(c, c->inputs + 0)))
        return "new_cell must have the output's elements";
    if (!(dla_host_elements(c, 3) == 256))
        return "table must have 256 elements";
    if (!(((int64_t)w[0] + ((dla_host_shape(c, c->inputs + 0, 0) - 1) * (int64_t)w[1])) < dla_host_shape(c, 0,
            0)))
        return "the row of the last batch must lie inside input_sums";
    return NULL;
}

static const struct dla_host_range dla_conv_2d_16_ranges[] = {
    { "stride_height must be 1 to 1073741824", 1, 1073741824, 1, 1 },
    { "stride_width must be 1 to 1073741824", 1, 1073741824, 1, 1 },
    { "pad_top must be 0 to 1073741824", 0, 1073741824, 1, 1 },
    { "pad_left must be 0 to 1073741824", 0, 1073741824, 1, 1 },
    { "dilation_height must be 1 to 1073741824", 1, 1073741824, 1, 1 },
    { "dilation_width must be 1 to 1073741824", 1, 1073741824, 1, 1 },
    { "clamp_min must be -32768 to 32767", -32768, 32767, 1, 1 },
    { "clamp_max must be -32768 to 32767", -32768, 32767, 1, 1 },
    { "wide_sums must be 0 to 1", 0, 1, 1, 1 },
};
static const struct dla_host_types dla_conv_2d_16_inputs[] = {
    { "input must be int16", 0x40 },
    { "weights must be int8", 0x01 },
    { "records must be int32", 0x02 },
};
static const struct dla_host_types dla_conv_2d_16_outputs[] = {
    { "output must be int16", 0x40 },
};
static const char *dla_conv_2d_16_broken_rule(const struct dla_host_arguments *c)
{
    const int32_t *w = c->words;
    (void)w;
    (void)c;
    if (!(dla_host_rank(c, 0) == 4))
        return "input must have 4 dimensions";
    if (!(dla_host_rank(c, c->inputs + 0) == 4))
        return "output must have 4 dimensions";
    if (!(dla_host_elements(c, 0) > 0))
        return "input must not be empty";
    if (!(dla_host_shape(c, 0, 0) == dla_host_shape(c, c->inputs + 0, 0)))
        return "input and output must have the same number of images";
    if (!(dla_host_rank(c, 1) == 4))
        return "weights must have 4 dimensions";
    if (!(dla_host_elements(c, 1) > 0))
        return "weights must not be empty";
    if (!(dla_host_rank(c, 2) == 2))
        return "records must have 2 dimensions";
    if (!(dla_host_shape(c, 2, 1) == 4))
        return "records must have four columns";
    if (!(dla_host_shape(c, 1, 0) == dla_host_shape(c, c->inputs + 0, 3)))
        return "weights must have a filter for each output channel";
    if (!(dla_host_shape(c, 2, 0) == dla_host_shape(c, c->inputs + 0, 3)))
        return "records must have a row for each output channel";
    if (!((int64_t)((uint32_t)dla_host_shape(c, 0, 3) % (uint32_t)dla_host_shape(c, 1, 3)) == 0))
        return "input channels must be a multiple of the weights' depth";
    if (!((int64_t)((uint32_t)dla_host_shape(c, c->inputs + 0, 3) %
            (uint32_t)(int64_t)((uint32_t)dla_host_shape(c, 0, 3) / (uint32_t)dla_host_shape(c, 1, 3))) == 0))
        return "output channels must be a multiple of the groups";
    if (!((((dla_host_shape(c, 1, 1) - 1) * (int64_t)w[4]) + 1) <= 1073741824))
        return "a window must be at most 2^30 rows large";
    if (!((int64_t)w[2] < (((dla_host_shape(c, 1, 1) - 1) * (int64_t)w[4]) + 1)))
        return "pad_top must be less than the rows of a window";
    if (!((((dla_host_shape(c, c->inputs + 0, 1) - 1) * (int64_t)w[0]) - (int64_t)w[2]) < dla_host_shape(c, 0,
            1)))
        return "the last window must begin inside the image: output has too many rows";
    if (!((((dla_host_shape(c, 1, 2) - 1) * (int64_t)w[5]) + 1) <= 1073741824))
        return "a window must be at most 2^30 columns large";
    if (!((int64_t)w[3] < (((dla_host_shape(c, 1, 2) - 1) * (int64_t)w[5]) + 1)))
        return "pad_left must be less than the columns of a window";
    if (!((((dla_host_shape(c, c->inputs + 0, 2) - 1) * (int64_t)w[1]) - (int64_t)w[3]) < dla_host_shape(c, 0,
            2)))
        return "the last window must begin inside the image: output has too many columns";
    if (!((int64_t)w[6] <= (int64_t)w[7]))
        return "clamp_min must not be greater than clamp_max";
    return NULL;
}

static const struct dla_host_range dla_fully_connected_16_ranges[] = {
    { "clamp_min must be -32768 to 32767", -32768, 32767, 1, 1 },
    { "clamp_max must be -32768 to 32767", -32768, 32767, 1, 1 },
    { "wide_sums must be 0 to 1", 0, 1, 1, 1 },
};
static const struct dla_host_types dla_fully_connected_16_inputs[] = {
    { "input must be int16", 0x40 },
    { "weights must be int8", 0x01 },
    { "records must be int32", 0x02 },
};
static const struct dla_host_types dla_fully_connected_16_outputs[] = {
    { "output must be int16", 0x40 },
};
static const char *dla_fully_connected_16_broken_rule(const struct dla_host_arguments *c)
{
    const int32_t *w = c->words;
    (void)w;
    (void)c;
    if (!(dla_host_rank(c, 1) == 2))
        return "weights must have 2 dimensions";
    if (!(dla_host_elements(c, 1) > 0))
        return "weights must not be empty";
    if (!(dla_host_rank(c, 2) == 2))
        return "records must have 2 dimensions";
    if (!(dla_host_shape(c, 2, 1) == 4))
        return "records must have four columns";
    if (!(dla_host_shape(c, 2, 0) == dla_host_shape(c, 1, 0)))
        return "records must have a row for each row of weights";
    if (!((int64_t)((uint32_t)dla_host_elements(c, 0) % (uint32_t)dla_host_shape(c, 1, 1)) == 0))
        return "input must be whole rows as deep as the weights";
    if (!(dla_host_elements(c, c->inputs + 0) == ((int64_t)((uint32_t)dla_host_elements(c, 0) /
            (uint32_t)dla_host_shape(c, 1, 1)) * dla_host_shape(c, 1, 0))))
        return "output must have a row of as many channels as weights has rows for each row of the input";
    if (!((int64_t)w[0] <= (int64_t)w[1]))
        return "clamp_min must not be greater than clamp_max";
    return NULL;
}

static const struct dla_host_range dla_batch_matmul_16_ranges[] = {
    { "output_multiplier must be at least 0", 0, 2147483647, 1, 1 },
    { NULL, INT32_MIN, 2147483647, 1, 1 },
    { "transposed1 must be 0 to 1", 0, 1, 1, 1 },
    { "transposed2 must be 0 to 1", 0, 1, 1, 1 },
};
static const struct dla_host_types dla_batch_matmul_16_inputs[] = {
    { "input1 must be int16", 0x40 },
    { "input2 must be int16", 0x40 },
};
static const struct dla_host_types dla_batch_matmul_16_outputs[] = {
    { "output must be int16", 0x40 },
};
static const char *dla_batch_matmul_16_broken_rule(const struct dla_host_arguments *c)
{
    const int32_t *w = c->words;
    (void)w;
    (void)c;
    if (!((dla_host_rank(c, 0) >= 2) && (dla_host_rank(c, 1) >= 2) && (dla_host_rank(c, c->inputs + 0) >= 2)))
        return "both inputs and the output must have two dimensions at least";
    if (!((((int64_t)w[2] == 1) ? dla_host_back(c, 0, 1) : dla_host_back(c, 0, 0)) == (((int64_t)w[3] == 1) ?
            dla_host_back(c, 1, 0) : dla_host_back(c, 1, 1))))
        return "the rows of input1 must be as long as the columns of input2";
    if (!((dla_host_back(c, c->inputs + 0, 1) == (((int64_t)w[2] == 1) ? dla_host_back(c, 0, 0) :
            dla_host_back(c, 0, 1))) && (dla_host_back(c, c->inputs + 0, 0) == (((int64_t)w[3] == 1) ?
            dla_host_back(c, 1, 1) : dla_host_back(c, 1, 0)))))
        return "the output must have input1's rows and input2's columns";
    for (int64_t k = 2; k < 6; k++)
        if (!((dla_host_back(c, c->inputs + 0, k) == ((dla_host_back(c, 0, k) == 1) ? dla_host_back(c, 1, k) :
                dla_host_back(c, 0, k))) && ((dla_host_back(c, 1, k) == 1) || (dla_host_back(c, 1, k) ==
                dla_host_back(c, c->inputs + 0, k)))))
            return "input1 and input2 must broadcast to the output's shape";
    return NULL;
}

static const struct dla_host_range dla_transpose_conv_16_ranges[] = {
    { "stride_height must be 1 to 1073741824", 1, 1073741824, 1, 1 },
    { "stride_width must be 1 to 1073741824", 1, 1073741824, 1, 1 },
    { "pad_top must be 0 to 1073741824", 0, 1073741824, 1, 1 },
    { "pad_left must be 0 to 1073741824", 0, 1073741824, 1, 1 },
    { "clamp_min must be -32768 to 32767", -32768, 32767, 1, 1 },
    { "clamp_max must be -32768 to 32767", -32768, 32767, 1, 1 },
    { "wide_sums must be 0 to 1", 0, 1, 1, 1 },
};
static const struct dla_host_types dla_transpose_conv_16_inputs[] = {
    { "input must be int16", 0x40 },
    { "weights must be int8", 0x01 },
    { "records must be int32", 0x02 },
};
static const struct dla_host_types dla_transpose_conv_16_outputs[] = {
    { "output must be int16", 0x40 },
};
static const char *dla_transpose_conv_16_broken_rule(const struct dla_host_arguments *c)
{
    const int32_t *w = c->words;
    (void)w;
    (void)c;
    if (!(dla_host_rank(c, 0) == 4))
        return "input must have 4 dimensions";
    if (!(dla_host_rank(c, c->inputs + 0) == 4))
        return "output must have 4 dimensions";
    if (!(dla_host_elements(c, 0) > 0))
        return "input must not be empty";
    if (!(dla_host_shape(c, 0, 0) == dla_host_shape(c, c->inputs + 0, 0)))
        return "input and output must have the same number of images";
    if (!(dla_host_rank(c, 1) == 4))
        return "weights must have 4 dimensions";
    if (!(dla_host_elements(c, 1) > 0))
        return "weights must not be empty";
    if (!(dla_host_rank(c, 2) == 2))
        return "records must have 2 dimensions";
    if (!(dla_host_shape(c, 2, 1) == 4))
        return "records must have four columns";
    if (!(dla_host_shape(c, 1, 0) == dla_host_shape(c, c->inputs + 0, 3)))
        return "weights must have a filter for each output channel";
    if (!(dla_host_shape(c, 2, 0) == dla_host_shape(c, c->inputs + 0, 3)))
        return "records must have a row for each output channel";
    if (!(dla_host_shape(c, 1, 3) == dla_host_shape(c, 0, 3)))
        return "weights must be as deep as the input";
    if (!((int64_t)w[4] <= (int64_t)w[5]))
        return "clamp_min must not be greater than clamp_max";
    return NULL;
}

static const struct dla_host_range dla_arithmetic_16_ranges[] = {
    { "function must be 0 to 4", 0, 4, 1, 1 },
    { "input1_multiplier must be at least 0", 0, 2147483647, 1, 1 },
    { NULL, INT32_MIN, 2147483647, 1, 1 },
    { "input2_multiplier must be at least 0", 0, 2147483647, 1, 1 },
    { NULL, INT32_MIN, 2147483647, 1, 1 },
    { "output_multiplier must be at least 0", 0, 2147483647, 1, 1 },
    { NULL, INT32_MIN, 2147483647, 1, 1 },
    { "clamp_min must be -32768 to 32767", -32768, 32767, 1, 1 },
    { "clamp_max must be -32768 to 32767", -32768, 32767, 1, 1 },
};
static const struct dla_host_types dla_arithmetic_16_inputs[] = {
    { "input1 must be int16", 0x40 },
    { "input2 must be int16", 0x40 },
};
static const struct dla_host_types dla_arithmetic_16_outputs[] = {
    { "output must be int16", 0x40 },
};
static const char *dla_arithmetic_16_broken_rule(const struct dla_host_arguments *c)
{
    const int32_t *w = c->words;
    (void)w;
    (void)c;
    for (int64_t k = 0; k < 6; k++)
        if (!((dla_host_back(c, c->inputs + 0, k) == ((dla_host_back(c, 0, k) == 1) ? dla_host_back(c, 1, k) :
                dla_host_back(c, 0, k))) && ((dla_host_back(c, 1, k) == 1) || (dla_host_back(c, 1, k) ==
                dla_host_back(c, c->inputs + 0, k)))))
            return "input1 and input2 must broadcast to the output's shape";
    if (!((int64_t)w[7] <= (int64_t)w[8]))
        return "clamp_min must not be greater than clamp_max";
    return NULL;
}

static const struct dla_host_range dla_pool_16_ranges[] = {
    { "function must be 0 to 1", 0, 1, 1, 1 },
    { "stride_height must be 1 to 1073741824", 1, 1073741824, 1, 1 },
    { "stride_width must be 1 to 1073741824", 1, 1073741824, 1, 1 },
    { "pad_top must be 0 to 1073741824", 0, 1073741824, 1, 1 },
    { "pad_left must be 0 to 1073741824", 0, 1073741824, 1, 1 },
    { "filter_height must be 1 to 1073741824", 1, 1073741824, 1, 1 },
    { "filter_width must be 1 to 1073741824", 1, 1073741824, 1, 1 },
    { "clamp_min must be -32768 to 32767", -32768, 32767, 1, 1 },
    { "clamp_max must be -32768 to 32767", -32768, 32767, 1, 1 },
};
static const struct dla_host_types dla_pool_16_inputs[] = {
    { "input must be int16", 0x40 },
};
static const struct dla_host_types dla_pool_16_outputs[] = {
    { "output must be int16", 0x40 },
};
static const char *dla_pool_16_broken_rule(const struct dla_host_arguments *c)
{
    const int32_t *w = c->words;
    (void)w;
    (void)c;
    if (!(dla_host_rank(c, 0) == 4))
        return "input must have 4 dimensions";
    if (!(dla_host_rank(c, c->inputs + 0) == 4))
        return "output must have 4 dimensions";
    if (!(dla_host_elements(c, 0) > 0))
        return "input must not be empty";
    if (!(dla_host_shape(c, 0, 0) == dla_host_shape(c, c->inputs + 0, 0)))
        return "input and output must have the same number of images";
    if (!(dla_host_shape(c, 0, 3) == dla_host_shape(c, c->inputs + 0, 3)))
        return "input and output must have the same channels";
    if (!(((((int64_t)w[5] - 1) * 1) + 1) <= 1073741824))
        return "a window must be at most 2^30 rows large";
    if (!((int64_t)w[3] < ((((int64_t)w[5] - 1) * 1) + 1)))
        return "pad_top must be less than the rows of a window";
    if (!((((dla_host_shape(c, c->inputs + 0, 1) - 1) * (int64_t)w[1]) - (int64_t)w[3]) < dla_host_shape(c, 0,
            1)))
        return "the last window must begin inside the image: output has too many rows";
    if (!(((((int64_t)w[6] - 1) * 1) + 1) <= 1073741824))
        return "a window must be at most 2^30 columns large";
    if (!((int64_t)w[4] < ((((int64_t)w[6] - 1) * 1) + 1)))
        return "pad_left must be less than the columns of a window";
    if (!((((dla_host_shape(c, c->inputs + 0, 2) - 1) * (int64_t)w[2]) - (int64_t)w[4]) < dla_host_shape(c, 0,
            2)))
        return "the last window must begin inside the image: output has too many columns";
    if (!((int64_t)w[7] <= (int64_t)w[8]))
        return "clamp_min must not be greater than clamp_max";
    return NULL;
}

static const struct dla_host_range dla_mean_16_ranges[] = {
    { NULL, INT32_MIN, 2147483647, 1, 1 },
    { "output_multiplier must be at least 0", 0, 2147483647, 1, 1 },
    { NULL, INT32_MIN, 2147483647, 1, 1 },
};
static const struct dla_host_types dla_mean_16_inputs[] = {
    { "input must be int16", 0x40 },
};
static const struct dla_host_types dla_mean_16_outputs[] = {
    { "output must be int16", 0x40 },
};
static const char *dla_mean_16_broken_rule(const struct dla_host_arguments *c)
{
    const int32_t *w = c->words;
    (void)w;
    (void)c;
    if (!(dla_host_elements(c, 0) > 0))
        return "input must not be empty";
    if (!(dla_host_elements(c, c->inputs + 0) == dla_host_kept(c, 0, (int64_t)w[0])))
        return "output must have the dimensions that are not reduced";
    return NULL;
}

static const struct dla_host_range dla_softmax_16_ranges[] = {
    { "input_multiplier must be at least 0", 0, 2147483647, 1, 1 },
    { NULL, INT32_MIN, 2147483647, 1, 1 },
};
static const struct dla_host_types dla_softmax_16_inputs[] = {
    { "input must be int16", 0x40 },
    { "exponentials must be int16", 0x40 },
    { "reciprocals must be int16", 0x40 },
};
static const struct dla_host_types dla_softmax_16_outputs[] = {
    { "output must be int16", 0x40 },
};
static const char *dla_softmax_16_broken_rule(const struct dla_host_arguments *c)
{
    const int32_t *w = c->words;
    (void)w;
    (void)c;
    if (!(dla_host_elements(c, 0) == dla_host_elements(c, c->inputs + 0)))
        return "input and output must have the same number of elements";
    if (!(dla_host_rank(c, 0) > 0))
        return "input must have a dimension";
    if (!(dla_host_elements(c, 1) == 513))
        return "exponentials must have 513 elements";
    if (!(dla_host_elements(c, 2) == 513))
        return "reciprocals must have 513 elements";
    if (!(dla_host_back(c, 0, 0) < 65536))
        return "a row must have less than 65536 elements";
    return NULL;
}

static const struct dla_host_range dla_sigmoid_16_ranges[] = {
    { "function must be 0 to 1", 0, 1, 1, 1 },
    { "factor must be 0 to 65535", 0, 65535, 1, 1 },
    { "shift must be 0 to 31", 0, 31, 1, 1 },
};
static const struct dla_host_types dla_sigmoid_16_inputs[] = {
    { "input must be int16", 0x40 },
    { "table must be int32", 0x02 },
};
static const struct dla_host_types dla_sigmoid_16_outputs[] = {
    { "output must be int16", 0x40 },
};
static const char *dla_sigmoid_16_broken_rule(const struct dla_host_arguments *c)
{
    const int32_t *w = c->words;
    (void)w;
    (void)c;
    if (!(dla_host_elements(c, 0) == dla_host_elements(c, c->inputs + 0)))
        return "input and output must have the same number of elements";
    if (!(dla_host_elements(c, 1) == 256))
        return "table must have 256 elements";
    return NULL;
}

static const struct dla_host_range dla_leaky_16_ranges[] = {
    { "positive_multiplier must be at least 0", 0, 2147483647, 1, 1 },
    { NULL, INT32_MIN, 2147483647, 1, 1 },
    { "negative_multiplier must be at least 0", 0, 2147483647, 1, 1 },
    { NULL, INT32_MIN, 2147483647, 1, 1 },
    { "clamp_min must be -32768 to 32767", -32768, 32767, 1, 1 },
    { "clamp_max must be -32768 to 32767", -32768, 32767, 1, 1 },
};
static const struct dla_host_types dla_leaky_16_inputs[] = {
    { "input must be int16", 0x40 },
};
static const struct dla_host_types dla_leaky_16_outputs[] = {
    { "output must be int16", 0x40 },
};
static const char *dla_leaky_16_broken_rule(const struct dla_host_arguments *c)
{
    const int32_t *w = c->words;
    (void)w;
    (void)c;
    if (!(dla_host_elements(c, 0) == dla_host_elements(c, c->inputs + 0)))
        return "input and output must have the same number of elements";
    if (!((int64_t)w[4] <= (int64_t)w[5]))
        return "clamp_min must not be greater than clamp_max";
    return NULL;
}

static const struct dla_host_range dla_quantize_table_ranges[] = {
    { "first must be at least 0", 0, 2147483647, 1, 1 },
    { "zero_point must be -32768 to 32767", -32768, 32767, 1, 1 },
    { "bits must be 0 to 19", 0, 19, 1, 1 },
    { "positive_cells must be 0 to 16384", 0, 16384, 1, 1 },
    { "negative_cells must be 0 to 16384", 0, 16384, 1, 1 },
};
static const struct dla_host_types dla_quantize_table_inputs[] = {
    { "input must be float32", 0x04 },
    { "cells must be uint8", 0x20 },
    { "starts must be int32", 0x02 },
};
static const struct dla_host_types dla_quantize_table_outputs[] = {
    { "output must be int8 or uint8", 0x21 },
};
static const char *dla_quantize_table_broken_rule(const struct dla_host_arguments *c)
{
    const int32_t *w = c->words;
    (void)w;
    (void)c;
    if (!(dla_host_elements(c, 0) == dla_host_elements(c, c->inputs + 0)))
        return "input and output must have the same number of elements";
    if (!(dla_host_elements(c, 1) == (((int64_t)w[3] + (int64_t)w[4]) + 2)))
        return "cells must have those of both sides and one more of each";
    if (!(dla_host_elements(c, 2) == 256))
        return "starts must have 256 elements";
    if (!((int64_t)w[3] <= ((INT64_C(2147483648) - (int64_t)w[0]) >> (int64_t)w[2])))
        return "too many positive_cells";
    if (!((int64_t)w[4] <= ((INT64_C(2147483648) - (int64_t)w[0]) >> (int64_t)w[2])))
        return "too many negative_cells";
    return NULL;
}

static const struct dla_host_types dla_lut_16_inputs[] = {
    { "input must be int16", 0x40 },
    { "table must be int16", 0x40 },
};
static const struct dla_host_types dla_lut_16_outputs[] = {
    { "output must be int16", 0x40 },
};
static const char *dla_lut_16_broken_rule(const struct dla_host_arguments *c)
{
    (void)c;
    if (!(dla_host_elements(c, 0) == dla_host_elements(c, c->inputs + 0)))
        return "input and output must have the same number of elements";
    if (!(dla_host_elements(c, 1) == 513))
        return "table must have 513 elements";
    return NULL;
}

static const struct dla_host_range dla_decode_boxes_ranges[] = {
    { "y_scale must be above 0 and finite", 1, 2139095039, 1, 0 },
    { "x_scale must be above 0 and finite", 1, 2139095039, 1, 0 },
    { "h_scale must be above 0 and finite", 1, 2139095039, 1, 0 },
    { "w_scale must be above 0 and finite", 1, 2139095039, 1, 0 },
};
static const struct dla_host_types dla_decode_boxes_inputs[] = {
    { "encodings must be float32", 0x04 },
    { "anchors must be float32", 0x04 },
};
static const struct dla_host_types dla_decode_boxes_outputs[] = {
    { "boxes must be float32", 0x04 },
};
static const char *dla_decode_boxes_broken_rule(const struct dla_host_arguments *c)
{
    const int32_t *w = c->words;
    (void)w;
    (void)c;
    if (!(dla_host_back(c, 0, 0) >= 4))
        return "an encoding must have at least four elements";
    if (!(dla_host_rank(c, 1) == 2))
        return "anchors must have 2 dimensions";
    if (!(dla_host_rank(c, c->inputs + 0) == 2))
        return "boxes must have 2 dimensions";
    if (!((dla_host_shape(c, 1, 1) == 4) && (dla_host_shape(c, c->inputs + 0, 1) == 4)))
        return "anchors and boxes must have four columns";
    if (!(dla_host_shape(c, 1, 0) == dla_host_shape(c, c->inputs + 0, 0)))
        return "there must be an anchor for each box";
    if (!(dla_host_elements(c, 0) == (dla_host_shape(c, 1, 0) * dla_host_back(c, 0, 0))))
        return "there must be an encoding for each box";
    return NULL;
}

static const struct dla_host_range dla_suppress_boxes_ranges[] = {
    { "max_detections must be 1 to 1073741824", 1, 1073741824, 1, 1 },
    { "max_classes must be 1 to 1073741824", 1, 1073741824, 1, 1 },
    { "detections_per_class must be 1 to 1073741824", 1, 1073741824, 1, 1 },
    { "classes must be 1 to 1073741824", 1, 1073741824, 1, 1 },
    { "regular must be 0 to 1", 0, 1, 1, 1 },
    { NULL, INT32_MIN, 2147483647, 1, 1 },
    { "iou_threshold must be above 0 and at most 1", 1, 1065353216, 1, 0 },
};
static const struct dla_host_types dla_suppress_boxes_inputs[] = {
    { "input must be float32", 0x04 },
    { "scores must be float32", 0x04 },
};
static const struct dla_host_types dla_suppress_boxes_outputs[] = {
    { "boxes must be float32", 0x04 },
    { "labels must be float32", 0x04 },
    { "best must be float32", 0x04 },
    { "count must be float32", 0x04 },
    { "workspace must be int32", 0x02 },
};
static const char *dla_suppress_boxes_broken_rule(const struct dla_host_arguments *c)
{
    const int32_t *w = c->words;
    (void)w;
    (void)c;
    if (!(dla_host_rank(c, 0) == 2))
        return "input must have 2 dimensions";
    if (!(dla_host_elements(c, 0) > 0))
        return "input must not be empty";
    if (!(dla_host_rank(c, 1) > 0))
        return "scores must have a dimension";
    if (!(dla_host_shape(c, 0, 1) == 4))
        return "input must have four columns";
    if (!(dla_host_elements(c, 1) == (dla_host_shape(c, 0, 0) * dla_host_back(c, 1, 0))))
        return "there must be scores for each box";
    if (!((dla_host_back(c, 1, 0) == (int64_t)w[3]) || (dla_host_back(c, 1, 0) == ((int64_t)w[3] + 1))))
        return "a box must have a score for each class, or one more";
    if (!(dla_host_elements(c, c->inputs + 1) == ((int64_t)w[0] * (int64_t)w[1])))
        return "labels must have one for each detection";
    if (!(dla_host_elements(c, c->inputs + 2) == dla_host_elements(c, c->inputs + 1)))
        return "best must have the elements of labels";
    if (!(dla_host_elements(c, c->inputs + 0) == (4 * dla_host_elements(c, c->inputs + 1))))
        return "boxes must have four elements for each label";
    if (!(dla_host_elements(c, c->inputs + 3) == 1))
        return "count must have one element";
    if (!(dla_host_elements(c, c->inputs + 4) == ((3 * dla_host_shape(c, 0, 0)) + (2 * (int64_t)w[0]))))
        return "workspace must have three elements for each box and two for each detection";
    return NULL;
}

static const struct dla_host_range dla_softmax_float_ranges[] = {
    { "beta must be above 0 and finite", 1, 2139095039, 1, 0 },
};
static const struct dla_host_types dla_softmax_float_inputs[] = {
    { "input must be float32", 0x04 },
};
static const struct dla_host_types dla_softmax_float_outputs[] = {
    { "output must be float32", 0x04 },
};
static const char *dla_softmax_float_broken_rule(const struct dla_host_arguments *c)
{
    const int32_t *w = c->words;
    (void)w;
    (void)c;
    if (!(dla_host_elements(c, 0) == dla_host_elements(c, c->inputs + 0)))
        return "input and output must have the same number of elements";
    if (!(dla_host_rank(c, 0) > 0))
        return "input must have a dimension";
    return NULL;
}

static const struct dla_host_types dla_resize_float_inputs[] = {
    { "input must be int8 or float32", 0x05 },
    { "rows must be int32", 0x02 },
    { "columns must be int32", 0x02 },
};
static const struct dla_host_types dla_resize_float_outputs[] = {
    { "output must be int8 or float32", 0x05 },
};
static const char *dla_resize_float_broken_rule(const struct dla_host_arguments *c)
{
    (void)c;
    if (!(dla_host_type(c, 0) == dla_host_type(c, c->inputs + 0)))
        return "input must have the output's type";
    if (!(dla_host_rank(c, 0) == 4))
        return "input must have 4 dimensions";
    if (!(dla_host_rank(c, c->inputs + 0) == 4))
        return "output must have 4 dimensions";
    if (!(dla_host_elements(c, 0) > 0))
        return "input must not be empty";
    if (!(dla_host_shape(c, 0, 0) == dla_host_shape(c, c->inputs + 0, 0)))
        return "input and output must have the same number of images";
    if (!(dla_host_shape(c, 0, 3) == dla_host_shape(c, c->inputs + 0, 3)))
        return "input and output must have the same channels";
    if (!(dla_host_rank(c, 1) == 2))
        return "rows must have 2 dimensions";
    if (!(dla_host_rank(c, 2) == 2))
        return "columns must have 2 dimensions";
    if (!((dla_host_shape(c, 1, 0) == dla_host_shape(c, c->inputs + 0, 1)) && (dla_host_shape(c, 1, 1) == 3)))
        return "rows must have three words for each output row";
    if (!((dla_host_shape(c, 2, 0) == dla_host_shape(c, c->inputs + 0, 2)) && (dla_host_shape(c, 2, 1) == 3)))
        return "columns must have three words for each output column";
    return NULL;
}

static const struct dla_host_types dla_update_slice_inputs[] = {
    { "input must be int8 or int32 or float32 or bool or int64 or uint8 or int16", 0x7f },
    { "update must be int8 or int32 or float32 or bool or int64 or uint8 or int16", 0x7f },
    { "start must be int32 or int64", 0x12 },
};
static const struct dla_host_types dla_update_slice_outputs[] = {
    { "output must be int8 or int32 or float32 or bool or int64 or uint8 or int16", 0x7f },
};
static const char *dla_update_slice_broken_rule(const struct dla_host_arguments *c)
{
    (void)c;
    if (!(dla_host_type(c, 0) == dla_host_type(c, c->inputs + 0)))
        return "input must have the output's type";
    if (!(dla_host_type(c, 1) == dla_host_type(c, c->inputs + 0)))
        return "update must have the output's type";
    if (!(dla_host_elements(c, 1) > 0))
        return "update must not be empty";
    if (!(dla_host_elements(c, 0) == dla_host_elements(c, c->inputs + 0)))
        return "input and output must have the same number of elements";
    if (!((dla_host_rank(c, 0) > 0) && (dla_host_rank(c, 1) == dla_host_rank(c, 0))))
        return "input and update must have as many dimensions";
    if (!(dla_host_elements(c, 2) == dla_host_rank(c, 0)))
        return "start must have a word for each dimension";
    for (int64_t k = 0; k < 6; k++)
        if (!(dla_host_shape(c, 1, k) <= dla_host_shape(c, 0, k)))
            return "update must not be larger than the input";
    return NULL;
}

static const struct dla_host_range dla_place_cursor_ranges[] = {
    { "cursor must be 0 to 1", 0, 1, 1, 1 },
    { "reach must be 0 to 1073741824", 0, 1073741824, 1, 1 },
    { "room must be 0 to 1073741824", 0, 1073741824, 6, 1 },
    { "stride must be 0 to 1073741824", 0, 1073741824, 6, 1 },
};
static const struct dla_host_types dla_place_cursor_inputs[] = {
    { "start must be int32 or int64", 0x12 },
};
static const struct dla_host_types dla_place_cursor_outputs[] = {
    { "place must be int32", 0x02 },
};
static const char *dla_place_cursor_broken_rule(const struct dla_host_arguments *c)
{
    const int32_t *w = c->words;
    (void)w;
    (void)c;
    if (!(dla_host_elements(c, c->inputs + 0) == 1))
        return "place must have 1 elements";
    if (!(dla_host_elements(c, 0) <= 6))
        return "start must have at most 6 words";
    if (!((((((((int64_t)w[2] * (int64_t)w[8]) + ((int64_t)w[3] * (int64_t)w[9])) + ((int64_t)w[4] *
            (int64_t)w[10])) + ((int64_t)w[5] * (int64_t)w[11])) + ((int64_t)w[6] * (int64_t)w[12])) +
            ((int64_t)w[7] * (int64_t)w[13])) == (int64_t)w[1]))
        return "reach must be the sum of all room times stride";
    return NULL;
}

static const struct dla_host_range dla_mul_lut_ranges[] = {
    { "input1_zero_point must be -128 to 127", -128, 127, 1, 1 },
    { "output_zero_point must be -128 to 127", -128, 127, 1, 1 },
    { "output_multiplier must be at least 0", 0, 2147483647, 1, 1 },
    { NULL, INT32_MIN, 2147483647, 1, 1 },
    { "clamp_min must be -128 to 127", -128, 127, 1, 1 },
    { "clamp_max must be -128 to 127", -128, 127, 1, 1 },
};
static const struct dla_host_types dla_mul_lut_inputs[] = {
    { "input1 must be int8", 0x01 },
    { "input2 must be int8", 0x01 },
    { "table must be int32", 0x02 },
};
static const struct dla_host_types dla_mul_lut_outputs[] = {
    { "output must be int8", 0x01 },
};
static const char *dla_mul_lut_broken_rule(const struct dla_host_arguments *c)
{
    const int32_t *w = c->words;
    (void)w;
    (void)c;
    if (!(dla_host_elements(c, 2) == 256))
        return "table must have 256 elements";
    for (int64_t k = 0; k < 6; k++)
        if (!((dla_host_back(c, c->inputs + 0, k) == ((dla_host_back(c, 0, k) == 1) ? dla_host_back(c, 1, k) :
                dla_host_back(c, 0, k))) && ((dla_host_back(c, 1, k) == 1) || (dla_host_back(c, 1, k) ==
                dla_host_back(c, c->inputs + 0, k)))))
            return "input1 and input2 must broadcast to the output's shape";
    if (!((int64_t)w[4] <= (int64_t)w[5]))
        return "clamp_min must not be greater than clamp_max";
    return NULL;
}

static const struct dla_host_check dla_host_checks[] = {
    [1] = { "CONV_2D", dla_conv_2d_ranges, dla_conv_2d_inputs, dla_conv_2d_outputs,
        dla_conv_2d_broken_rule, 11, 3, 1 },
    [2] = { "DEPTHWISE_CONV_2D", dla_depthwise_conv_2d_ranges, dla_depthwise_conv_2d_inputs, dla_depthwise_conv_2d_outputs,
        dla_depthwise_conv_2d_broken_rule, 11, 3, 1 },
    [3] = { "FULLY_CONNECTED", dla_fully_connected_ranges, dla_fully_connected_inputs, dla_fully_connected_outputs,
        dla_fully_connected_broken_rule, 5, 3, 1 },
    [4] = { "TRANSPOSE_CONV", dla_transpose_conv_ranges, dla_transpose_conv_inputs, dla_transpose_conv_outputs,
        dla_transpose_conv_broken_rule, 9, 3, 1 },
    [5] = { "LUT", NULL, dla_lut_inputs, dla_lut_outputs,
        dla_lut_broken_rule, 0, 2, 1 },
    [6] = { "ADD", dla_add_ranges, dla_add_inputs, dla_add_outputs,
        dla_add_broken_rule, 11, 2, 1 },
    [7] = { "SUB", dla_sub_ranges, dla_sub_inputs, dla_sub_outputs,
        dla_sub_broken_rule, 11, 2, 1 },
    [8] = { "MUL", dla_mul_ranges, dla_mul_inputs, dla_mul_outputs,
        dla_mul_broken_rule, 7, 2, 1 },
    [9] = { "PRELU", dla_prelu_ranges, dla_prelu_inputs, dla_prelu_outputs,
        dla_prelu_broken_rule, 7, 2, 1 },
    [10] = { "AVERAGE_POOL_2D", dla_average_pool_2d_ranges, dla_average_pool_2d_inputs, dla_average_pool_2d_outputs,
        dla_average_pool_2d_broken_rule, 9, 1, 1 },
    [11] = { "MAX_POOL_2D", dla_max_pool_2d_ranges, dla_max_pool_2d_inputs, dla_max_pool_2d_outputs,
        dla_max_pool_2d_broken_rule, 8, 1, 1 },
    [12] = { "MEAN", dla_mean_ranges, dla_mean_inputs, dla_mean_outputs,
        dla_mean_broken_rule, 5, 1, 1 },
    [13] = { "SOFTMAX", NULL, dla_softmax_inputs, dla_softmax_outputs,
        dla_softmax_broken_rule, 0, 2, 1 },
    [14] = { "PAD", dla_pad_ranges, dla_pad_inputs, dla_pad_outputs,
        dla_pad_broken_rule, 2, 1, 1 },
    [15] = { "CONCATENATION", dla_concatenation_ranges, dla_concatenation_inputs, dla_concatenation_outputs,
        dla_concatenation_broken_rule, 1, 1, 1 },
    [16] = { "STRIDED_COPY", dla_strided_copy_ranges, dla_strided_copy_inputs, dla_strided_copy_outputs,
        dla_strided_copy_broken_rule, 3, 1, 1 },
    [17] = { "RESIZE_NEAREST", NULL, dla_resize_nearest_inputs, dla_resize_nearest_outputs,
        dla_resize_nearest_broken_rule, 0, 3, 1 },
    [18] = { "RESIZE_BILINEAR", NULL, dla_resize_bilinear_inputs, dla_resize_bilinear_outputs,
        dla_resize_bilinear_broken_rule, 0, 3, 1 },
    [19] = { "QUANTIZE", dla_quantize_ranges, dla_quantize_inputs, dla_quantize_outputs,
        dla_quantize_broken_rule, 2, 1, 1 },
    [20] = { "DEQUANTIZE", dla_dequantize_ranges, dla_dequantize_inputs, dla_dequantize_outputs,
        dla_dequantize_broken_rule, 2, 1, 1 },
    [21] = { "CAST", NULL, dla_cast_inputs, dla_cast_outputs,
        dla_cast_broken_rule, 0, 1, 1 },
    [22] = { "BINARY", dla_binary_ranges, dla_binary_inputs, dla_binary_outputs,
        dla_binary_broken_rule, 3, 2, 1 },
    [23] = { "UNARY", dla_unary_ranges, dla_unary_inputs, dla_unary_outputs,
        dla_unary_broken_rule, 1, 1, 1 },
    [24] = { "ARG_MAX", dla_arg_max_ranges, dla_arg_max_inputs, dla_arg_max_outputs,
        dla_arg_max_broken_rule, 1, 1, 1 },
    [25] = { "GATHER", dla_gather_ranges, dla_gather_inputs, dla_gather_outputs,
        dla_gather_broken_rule, 2, 2, 1 },
    [26] = { "GATHER_ND", NULL, dla_gather_nd_inputs, dla_gather_nd_outputs,
        dla_gather_nd_broken_rule, 0, 2, 1 },
    [27] = { "SVDF", dla_svdf_ranges, dla_svdf_inputs, dla_svdf_outputs,
        dla_svdf_broken_rule, 8, 5, 2 },
    [28] = { "SQUARED_DIFFERENCE", dla_squared_difference_ranges, dla_squared_difference_inputs, dla_squared_difference_outputs,
        dla_squared_difference_broken_rule, 11, 2, 1 },
    [29] = { "BATCH_MATMUL", dla_batch_matmul_ranges, dla_batch_matmul_inputs, dla_batch_matmul_outputs,
        dla_batch_matmul_broken_rule, 7, 2, 1 },
    [30] = { "REQUANT", dla_requant_ranges, dla_requant_inputs, dla_requant_outputs,
        dla_requant_broken_rule, 4, 2, 1 },
    [31] = { "REDUCE", dla_reduce_ranges, dla_reduce_inputs, dla_reduce_outputs,
        dla_reduce_broken_rule, 2, 1, 1 },
    [32] = { "CUMULATIVE_SUM", dla_cumulative_sum_ranges, dla_cumulative_sum_inputs, dla_cumulative_sum_outputs,
        dla_cumulative_sum_broken_rule, 7, 1, 1 },
    [33] = { "TOP_K", NULL, dla_top_k_inputs, dla_top_k_outputs,
        dla_top_k_broken_rule, 0, 1, 2 },
    [34] = { "L2_NORMALIZATION", dla_l2_normalization_ranges, dla_l2_normalization_inputs, dla_l2_normalization_outputs,
        dla_l2_normalization_broken_rule, 2, 1, 1 },
    [63] = { "NORMALIZE", dla_normalize_ranges, dla_normalize_inputs, dla_normalize_outputs,
        dla_normalize_broken_rule, 8, 2, 1 },
    [35] = { "COMPARE", dla_compare_ranges, dla_compare_inputs, dla_compare_outputs,
        dla_compare_broken_rule, 7, 2, 1 },
    [36] = { "SELECT", NULL, dla_select_inputs, dla_select_outputs,
        dla_select_broken_rule, 0, 3, 1 },
    [40] = { "DIV", dla_div_ranges, dla_div_inputs, dla_div_outputs,
        dla_div_broken_rule, 7, 2, 1 },
    [41] = { "PRODUCT", dla_product_ranges, dla_product_inputs, dla_product_outputs,
        dla_product_broken_rule, 5, 1, 1 },
    [44] = { "RESCALE", dla_rescale_ranges, dla_rescale_inputs, dla_rescale_outputs,
        dla_rescale_broken_rule, 4, 1, 1 },
    [45] = { "MATRIX_SUMS", dla_matrix_sums_ranges, dla_matrix_sums_inputs, dla_matrix_sums_outputs,
        dla_matrix_sums_broken_rule, 1, 3, 1 },
    [46] = { "LSTM_CELL", dla_lstm_cell_ranges, dla_lstm_cell_inputs, dla_lstm_cell_outputs,
        dla_lstm_cell_broken_rule, 16, 4, 2 },
    [47] = { "CONV_2D_16", dla_conv_2d_16_ranges, dla_conv_2d_16_inputs, dla_conv_2d_16_outputs,
        dla_conv_2d_16_broken_rule, 9, 3, 1 },
    [48] = { "FULLY_CONNECTED_16", dla_fully_connected_16_ranges, dla_fully_connected_16_inputs, dla_fully_connected_16_outputs,
        dla_fully_connected_16_broken_rule, 3, 3, 1 },
    [65] = { "BATCH_MATMUL_16", dla_batch_matmul_16_ranges, dla_batch_matmul_16_inputs, dla_batch_matmul_16_outputs,
        dla_batch_matmul_16_broken_rule, 4, 2, 1 },
    [49] = { "TRANSPOSE_CONV_16", dla_transpose_conv_16_ranges, dla_transpose_conv_16_inputs, dla_transpose_conv_16_outputs,
        dla_transpose_conv_16_broken_rule, 7, 3, 1 },
    [50] = { "ARITHMETIC_16", dla_arithmetic_16_ranges, dla_arithmetic_16_inputs, dla_arithmetic_16_outputs,
        dla_arithmetic_16_broken_rule, 9, 2, 1 },
    [51] = { "POOL_16", dla_pool_16_ranges, dla_pool_16_inputs, dla_pool_16_outputs,
        dla_pool_16_broken_rule, 9, 1, 1 },
    [52] = { "MEAN_16", dla_mean_16_ranges, dla_mean_16_inputs, dla_mean_16_outputs,
        dla_mean_16_broken_rule, 3, 1, 1 },
    [53] = { "SOFTMAX_16", dla_softmax_16_ranges, dla_softmax_16_inputs, dla_softmax_16_outputs,
        dla_softmax_16_broken_rule, 2, 3, 1 },
    [54] = { "SIGMOID_16", dla_sigmoid_16_ranges, dla_sigmoid_16_inputs, dla_sigmoid_16_outputs,
        dla_sigmoid_16_broken_rule, 3, 2, 1 },
    [55] = { "LEAKY_16", dla_leaky_16_ranges, dla_leaky_16_inputs, dla_leaky_16_outputs,
        dla_leaky_16_broken_rule, 6, 1, 1 },
    [56] = { "QUANTIZE_TABLE", dla_quantize_table_ranges, dla_quantize_table_inputs, dla_quantize_table_outputs,
        dla_quantize_table_broken_rule, 5, 3, 1 },
    [59] = { "LUT_16", NULL, dla_lut_16_inputs, dla_lut_16_outputs,
        dla_lut_16_broken_rule, 0, 2, 1 },
    [57] = { "DECODE_BOXES", dla_decode_boxes_ranges, dla_decode_boxes_inputs, dla_decode_boxes_outputs,
        dla_decode_boxes_broken_rule, 4, 2, 1 },
    [58] = { "SUPPRESS_BOXES", dla_suppress_boxes_ranges, dla_suppress_boxes_inputs, dla_suppress_boxes_outputs,
        dla_suppress_boxes_broken_rule, 7, 2, 5 },
    [60] = { "SOFTMAX_FLOAT", dla_softmax_float_ranges, dla_softmax_float_inputs, dla_softmax_float_outputs,
        dla_softmax_float_broken_rule, 1, 1, 1 },
    [61] = { "RESIZE_FLOAT", NULL, dla_resize_float_inputs, dla_resize_float_outputs,
        dla_resize_float_broken_rule, 0, 3, 1 },
    [62] = { "UPDATE_SLICE", NULL, dla_update_slice_inputs, dla_update_slice_outputs,
        dla_update_slice_broken_rule, 0, 3, 1 },
    [66] = { "PLACE_CURSOR", dla_place_cursor_ranges, dla_place_cursor_inputs, dla_place_cursor_outputs,
        dla_place_cursor_broken_rule, 4, 1, 1 },
    [64] = { "MUL_LUT", dla_mul_lut_ranges, dla_mul_lut_inputs, dla_mul_lut_outputs,
        dla_mul_lut_broken_rule, 6, 3, 1 },
};

#endif
