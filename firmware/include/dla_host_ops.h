/* The operators of host calls. An operator's struct lies over the attribute words of its calls. Generated
   from dlasim/isa/host_ops.py; edit that, not this. */
#ifndef DLA_HOST_OPS_H
#define DLA_HOST_OPS_H

#include <stdint.h>

#define DLA_HOST_MAX_RANK 6u
/* ADD and SUB keep this many bits below the point while they add. */
#define DLA_HOST_ADD_LEFT_SHIFT 20
#define DLA_HOST_DIFFERENCE_LEFT_SHIFT 7
#define DLA_HOST_SUM_LEFT_SHIFT 19
#define DLA_HOST_COMPARE_LEFT_SHIFT 8
/* RESIZE_BILINEAR weighs its pixels in units of 2^-this. */
#define DLA_HOST_RESIZE_FRACTION_BITS 10

/* Member `code` of a host call. */
enum dla_host_op {
    DLA_HOST_OP_CONV_2D = 1,
    DLA_HOST_OP_DEPTHWISE_CONV_2D = 2,
    DLA_HOST_OP_FULLY_CONNECTED = 3,
    DLA_HOST_OP_TRANSPOSE_CONV = 4,
    DLA_HOST_OP_LUT = 5,
    DLA_HOST_OP_ADD = 6,
    DLA_HOST_OP_SUB = 7,
    DLA_HOST_OP_MUL = 8,
    DLA_HOST_OP_PRELU = 9,
    DLA_HOST_OP_AVERAGE_POOL_2D = 10,
    DLA_HOST_OP_MAX_POOL_2D = 11,
    DLA_HOST_OP_MEAN = 12,
    DLA_HOST_OP_SOFTMAX = 13,
    DLA_HOST_OP_PAD = 14,
    DLA_HOST_OP_CONCATENATION = 15,
    DLA_HOST_OP_STRIDED_COPY = 16,
    DLA_HOST_OP_RESIZE_NEAREST = 17,
    DLA_HOST_OP_RESIZE_BILINEAR = 18,
    DLA_HOST_OP_QUANTIZE = 19,
    DLA_HOST_OP_DEQUANTIZE = 20,
    DLA_HOST_OP_CAST = 21,
    DLA_HOST_OP_BINARY = 22,
    DLA_HOST_OP_UNARY = 23,
    DLA_HOST_OP_ARG_MAX = 24,
    DLA_HOST_OP_GATHER = 25,
    DLA_HOST_OP_GATHER_ND = 26,
    DLA_HOST_OP_SVDF = 27,
    DLA_HOST_OP_SQUARED_DIFFERENCE = 28,
    DLA_HOST_OP_BATCH_MATMUL = 29,
    DLA_HOST_OP_REQUANT = 30,
    DLA_HOST_OP_REDUCE = 31,
    DLA_HOST_OP_CUMULATIVE_SUM = 32,
    DLA_HOST_OP_TOP_K = 33,
    DLA_HOST_OP_L2_NORMALIZATION = 34,
    DLA_HOST_OP_NORMALIZE = 63,
    DLA_HOST_OP_COMPARE = 35,
    DLA_HOST_OP_SELECT = 36,
    DLA_HOST_OP_DIV = 40,
    DLA_HOST_OP_PRODUCT = 41,
    DLA_HOST_OP_RESCALE = 44,
    DLA_HOST_OP_MATRIX_SUMS = 45,
    DLA_HOST_OP_LSTM_CELL = 46,
    DLA_HOST_OP_CONV_2D_16 = 47,
    DLA_HOST_OP_FULLY_CONNECTED_16 = 48,
    DLA_HOST_OP_BATCH_MATMUL_16 = 65,
    DLA_HOST_OP_TRANSPOSE_CONV_16 = 49,
    DLA_HOST_OP_ARITHMETIC_16 = 50,
    DLA_HOST_OP_POOL_16 = 51,
    DLA_HOST_OP_MEAN_16 = 52,
    DLA_HOST_OP_SOFTMAX_16 = 53,
    DLA_HOST_OP_SIGMOID_16 = 54,
    DLA_HOST_OP_LEAKY_16 = 55,
    DLA_HOST_OP_QUANTIZE_TABLE = 56,
    DLA_HOST_OP_LUT_16 = 59,
    DLA_HOST_OP_DECODE_BOXES = 57,
    DLA_HOST_OP_SUPPRESS_BOXES = 58,
    DLA_HOST_OP_SOFTMAX_FLOAT = 60,
    DLA_HOST_OP_RESIZE_FLOAT = 61,
    DLA_HOST_OP_UPDATE_SLICE = 62,
    DLA_HOST_OP_PLACE_CURSOR = 66,
    DLA_HOST_OP_MUL_LUT = 64,
};

/* What BINARY computes. */
enum dla_binary_function {
    DLA_BINARY_FUNCTION_ADD = 0,
    DLA_BINARY_FUNCTION_SUB = 1,
    DLA_BINARY_FUNCTION_MUL = 2,
    DLA_BINARY_FUNCTION_DIV = 3,
    DLA_BINARY_FUNCTION_FLOOR_DIV = 4,
    DLA_BINARY_FUNCTION_MAXIMUM = 5,
    DLA_BINARY_FUNCTION_MINIMUM = 6,
    DLA_BINARY_FUNCTION_FLOOR_MOD = 7,
    DLA_BINARY_FUNCTION_SQUARED_DIFFERENCE = 8,
    DLA_BINARY_FUNCTION_POW = 9,
};

/* What UNARY computes. */
enum dla_unary_function {
    DLA_UNARY_FUNCTION_ABS = 0,
    DLA_UNARY_FUNCTION_NEG = 1,
    DLA_UNARY_FUNCTION_SQRT = 2,
    DLA_UNARY_FUNCTION_SQUARE = 3,
    DLA_UNARY_FUNCTION_FLOOR = 4,
    DLA_UNARY_FUNCTION_CEIL = 5,
    DLA_UNARY_FUNCTION_ROUND = 6,
    DLA_UNARY_FUNCTION_RSQRT = 7,
    DLA_UNARY_FUNCTION_EXP = 8,
    DLA_UNARY_FUNCTION_LOGISTIC = 9,
    DLA_UNARY_FUNCTION_ELU = 10,
};

/* What REDUCE computes. */
enum dla_reduce_function {
    DLA_REDUCE_FUNCTION_SUM = 0,
    DLA_REDUCE_FUNCTION_PROD = 1,
    DLA_REDUCE_FUNCTION_MAX = 2,
    DLA_REDUCE_FUNCTION_MIN = 3,
    DLA_REDUCE_FUNCTION_ANY = 4,
    DLA_REDUCE_FUNCTION_ALL = 5,
};

/* What COMPARE asks. */
enum dla_compare_function {
    DLA_COMPARE_FUNCTION_EQUAL = 0,
    DLA_COMPARE_FUNCTION_NOT_EQUAL = 1,
    DLA_COMPARE_FUNCTION_LESS = 2,
    DLA_COMPARE_FUNCTION_LESS_EQUAL = 3,
    DLA_COMPARE_FUNCTION_GREATER = 4,
    DLA_COMPARE_FUNCTION_GREATER_EQUAL = 5,
};

/* What ARITHMETIC_16 computes. */
enum dla_wide_function {
    DLA_WIDE_FUNCTION_ADD = 0,
    DLA_WIDE_FUNCTION_SUB = 1,
    DLA_WIDE_FUNCTION_MUL = 2,
    DLA_WIDE_FUNCTION_DIV = 3,
    DLA_WIDE_FUNCTION_SQUARED_DIFFERENCE = 4,
};

/* What POOL_16 computes. */
enum dla_pool_function {
    DLA_POOL_FUNCTION_AVERAGE = 0,
    DLA_POOL_FUNCTION_MAX = 1,
};

/* What SIGMOID_16 computes. */
enum dla_sigmoid_function {
    DLA_SIGMOID_FUNCTION_LOGISTIC = 0,
    DLA_SIGMOID_FUNCTION_TANH = 1,
};

/* CONV_2D: clamp(requant(bias + sum((x - input_zero_point) * (w - weight_zero_point))) +
   output_zero_point). Pixels outside add nothing. Weights less deep than the input make a grouped
   convolution: output channel c belongs to group c / (OC / groups), with groups = input channels / weight
   depth.
   Inputs: input, weights, records. Outputs: output. */
#define DLA_HOST_CONV_2D_WORDS 11u
struct dla_host_conv_2d {
    int32_t stride_height; /* rows from one window to the next */
    int32_t stride_width; /* columns from one window to the next */
    int32_t pad_top; /* rows before the first; what lacks at the bottom follows from the shapes */
    int32_t pad_left; /* columns before the first */
    int32_t dilation_height; /* rows from one tap to the next */
    int32_t dilation_width; /* columns from one tap to the next */
    int32_t input_zero_point; /* the input's integer that means 0; also what padding is */
    int32_t output_zero_point; /* the output's integer that means 0 */
    int32_t clamp_min; /* least output value */
    int32_t clamp_max; /* greatest output value */
    int32_t weight_zero_point; /* the weights' integer that means 0 */
} __attribute__((packed, aligned(4)));
_Static_assert(sizeof(struct dla_host_conv_2d) == 4 * DLA_HOST_CONV_2D_WORDS, "size");

/* DEPTHWISE_CONV_2D: As CONV_2D, but output channel c reads only input channel c / (OC / IC).
   Inputs: input, weights, records. Outputs: output. */
#define DLA_HOST_DEPTHWISE_CONV_2D_WORDS 11u
struct dla_host_depthwise_conv_2d {
    int32_t stride_height; /* rows from one window to the next */
    int32_t stride_width; /* columns from one window to the next */
    int32_t pad_top; /* rows before the first; what lacks at the bottom follows from the shapes */
    int32_t pad_left; /* columns before the first */
    int32_t dilation_height; /* rows from one tap to the next */
    int32_t dilation_width; /* columns from one tap to the next */
    int32_t input_zero_point; /* the input's integer that means 0; also what padding is */
    int32_t output_zero_point; /* the output's integer that means 0 */
    int32_t clamp_min; /* least output value */
    int32_t clamp_max; /* greatest output value */
    int32_t weight_zero_point; /* the weights' integer that means 0 */
} __attribute__((packed, aligned(4)));
_Static_assert(sizeof(struct dla_host_depthwise_conv_2d) == 4 * DLA_HOST_DEPTHWISE_CONV_2D_WORDS, "size");

/* FULLY_CONNECTED: As CONV_2D, for a matrix: the input is cut into rows as deep as the weights, whatever
   its shape.
   Inputs: input, weights, records. Outputs: output. */
#define DLA_HOST_FULLY_CONNECTED_WORDS 5u
struct dla_host_fully_connected {
    int32_t input_zero_point; /* the input's integer that means 0; also what padding is */
    int32_t output_zero_point; /* the output's integer that means 0 */
    int32_t clamp_min; /* least output value */
    int32_t clamp_max; /* greatest output value */
    int32_t weight_zero_point; /* the weights' integer that means 0 */
} __attribute__((packed, aligned(4)));
_Static_assert(sizeof(struct dla_host_fully_connected) == 4 * DLA_HOST_FULLY_CONNECTED_WORDS, "size");

/* TRANSPOSE_CONV: Input pixel (y, x) adds (x - input_zero_point) * (w - weight_zero_point) of tap (ky, kx)
   to output pixel (y * stride_height - pad_top + ky, x * stride_width - pad_left + kx) where that exists;
   bias, requant and clamp as in CONV_2D.
   Inputs: input, weights, records. Outputs: output. */
#define DLA_HOST_TRANSPOSE_CONV_WORDS 9u
struct dla_host_transpose_conv {
    int32_t stride_height; /* rows from one window to the next */
    int32_t stride_width; /* columns from one window to the next */
    int32_t pad_top; /* rows before the first; what lacks at the bottom follows from the shapes */
    int32_t pad_left; /* columns before the first */
    int32_t input_zero_point; /* the input's integer that means 0; also what padding is */
    int32_t output_zero_point; /* the output's integer that means 0 */
    int32_t clamp_min; /* least output value */
    int32_t clamp_max; /* greatest output value */
    int32_t weight_zero_point; /* the weights' integer that means 0 */
} __attribute__((packed, aligned(4)));
_Static_assert(sizeof(struct dla_host_transpose_conv) == 4 * DLA_HOST_TRANSPOSE_CONV_WORDS, "size");

/* LUT: table[q + 128] for int8, else table[q]: every operator with one 8-bit input and no neighbours.
   Inputs: input, table. Outputs: output. */
#define DLA_HOST_LUT_WORDS 0u

/* ADD: clamp(requant(s1 + s2, output) + output_zero_point), where s = requant((x - zero_point) << 20, of
   that input).
   Inputs: input1, input2. Outputs: output. */
#define DLA_HOST_ADD_WORDS 11u
struct dla_host_add {
    int32_t input1_zero_point; /* input1's integer that means 0 */
    int32_t input2_zero_point; /* input2's integer that means 0 */
    int32_t output_zero_point; /* the output's integer that means 0 */
    int32_t input1_multiplier; /* multiplier of input1 */
    int32_t input1_shift; /* shift of input1 */
    int32_t input2_multiplier; /* multiplier of input2 */
    int32_t input2_shift; /* shift of input2 */
    int32_t output_multiplier; /* multiplier of the result */
    int32_t output_shift; /* shift of the result */
    int32_t clamp_min; /* least output value */
    int32_t clamp_max; /* greatest output value */
} __attribute__((packed, aligned(4)));
_Static_assert(sizeof(struct dla_host_add) == 4 * DLA_HOST_ADD_WORDS, "size");

/* SUB: As ADD, with s1 - s2.
   Inputs: input1, input2. Outputs: output. */
#define DLA_HOST_SUB_WORDS 11u
struct dla_host_sub {
    int32_t input1_zero_point; /* input1's integer that means 0 */
    int32_t input2_zero_point; /* input2's integer that means 0 */
    int32_t output_zero_point; /* the output's integer that means 0 */
    int32_t input1_multiplier; /* multiplier of input1 */
    int32_t input1_shift; /* shift of input1 */
    int32_t input2_multiplier; /* multiplier of input2 */
    int32_t input2_shift; /* shift of input2 */
    int32_t output_multiplier; /* multiplier of the result */
    int32_t output_shift; /* shift of the result */
    int32_t clamp_min; /* least output value */
    int32_t clamp_max; /* greatest output value */
} __attribute__((packed, aligned(4)));
_Static_assert(sizeof(struct dla_host_sub) == 4 * DLA_HOST_SUB_WORDS, "size");

/* MUL: clamp(requant((x1 - input1_zero_point) * (x2 - input2_zero_point)) + output_zero_point).
   Inputs: input1, input2. Outputs: output. */
#define DLA_HOST_MUL_WORDS 7u
struct dla_host_mul {
    int32_t input1_zero_point; /* input1's integer that means 0 */
    int32_t input2_zero_point; /* input2's integer that means 0 */
    int32_t output_zero_point; /* the output's integer that means 0 */
    int32_t output_multiplier; /* multiplier of the result */
    int32_t output_shift; /* shift of the result */
    int32_t clamp_min; /* least output value */
    int32_t clamp_max; /* greatest output value */
} __attribute__((packed, aligned(4)));
_Static_assert(sizeof(struct dla_host_mul) == 4 * DLA_HOST_MUL_WORDS, "size");

/* PRELU: With v = x - input_zero_point: requant(v, positive) where v >= 0, else requant(v * (alpha -
   alpha_zero_point), negative); plus output_zero_point, limited to int8.
   Inputs: input, alpha. Outputs: output. */
#define DLA_HOST_PRELU_WORDS 7u
struct dla_host_prelu {
    int32_t input_zero_point; /* the input's integer that means 0; also what padding is */
    int32_t alpha_zero_point; /* alpha's integer that means 0 */
    int32_t output_zero_point; /* the output's integer that means 0 */
    int32_t positive_multiplier; /* multiplier of values from 0 up */
    int32_t positive_shift; /* shift of values from 0 up */
    int32_t negative_multiplier; /* multiplier of values below 0, times alpha */
    int32_t negative_shift; /* shift of values below 0, times alpha */
} __attribute__((packed, aligned(4)));
_Static_assert(sizeof(struct dla_host_prelu) == 4 * DLA_HOST_PRELU_WORDS, "size");

/* AVERAGE_POOL_2D: clamp(sum / n) over the n pixels of the window that exist, rounded half away from zero,
   or half up; the integers as they are, zero point included.
   Inputs: input. Outputs: output. */
#define DLA_HOST_AVERAGE_POOL_2D_WORDS 9u
struct dla_host_average_pool_2d {
    int32_t stride_height; /* rows from one window to the next */
    int32_t stride_width; /* columns from one window to the next */
    int32_t pad_top; /* rows before the first; what lacks at the bottom follows from the shapes */
    int32_t pad_left; /* columns before the first */
    int32_t filter_height; /* rows of a window */
    int32_t filter_width; /* columns of a window */
    int32_t clamp_min; /* least output value */
    int32_t clamp_max; /* greatest output value */
    int32_t halves_up; /* 1: halves round up, as in uint8 */
} __attribute__((packed, aligned(4)));
_Static_assert(sizeof(struct dla_host_average_pool_2d) == 4 * DLA_HOST_AVERAGE_POOL_2D_WORDS, "size");

/* MAX_POOL_2D: clamp(maximum) over the pixels of the window that exist.
   Inputs: input. Outputs: output. */
#define DLA_HOST_MAX_POOL_2D_WORDS 8u
struct dla_host_max_pool_2d {
    int32_t stride_height; /* rows from one window to the next */
    int32_t stride_width; /* columns from one window to the next */
    int32_t pad_top; /* rows before the first; what lacks at the bottom follows from the shapes */
    int32_t pad_left; /* columns before the first */
    int32_t filter_height; /* rows of a window */
    int32_t filter_width; /* columns of a window */
    int32_t clamp_min; /* least output value */
    int32_t clamp_max; /* greatest output value */
} __attribute__((packed, aligned(4)));
_Static_assert(sizeof(struct dla_host_max_pool_2d) == 4 * DLA_HOST_MAX_POOL_2D_WORDS, "size");

/* MEAN: requant(sum - n * input_zero_point) + output_zero_point, limited to int8, over the n elements that
   differ only along the reduced axes. 1/n is part of the multiplier.
   Inputs: input. Outputs: output. */
#define DLA_HOST_MEAN_WORDS 5u
struct dla_host_mean {
    int32_t axis_mask; /* bit n: dimension n of the input is reduced */
    int32_t input_zero_point; /* the input's integer that means 0; also what padding is */
    int32_t output_zero_point; /* the output's integer that means 0 */
    int32_t output_multiplier; /* multiplier of the sum */
    int32_t output_shift; /* shift of the sum */
} __attribute__((packed, aligned(4)));
_Static_assert(sizeof(struct dla_host_mean) == 4 * DLA_HOST_MEAN_WORDS, "size");

/* SOFTMAX: For each row along the last dimension: e = table[max(row) - q]; sum = of e, each shifted right
   by 12 bits, rounded half away from zero; z = leading zeros of sum; r = 1 / (1 + x) in Q0.31 by
   gemmlowp's one_over_one_plus_x_for_x_in_0_1, with x = (sum << z) - 2^31 in Q0.31. The output is the
   rounded doubled high product of r and e, shifted right by 35 - z bits (27 - z for int16), rounded half
   away from zero, less 128 (32768), limited to the output's type.
   Inputs: input, table. Outputs: output. */
#define DLA_HOST_SOFTMAX_WORDS 0u

/* PAD: The input with `value` around it. What follows it along a dimension is what the output has left.
   Inputs: input. Outputs: output. */
#define DLA_HOST_PAD_WORDS 7u
struct dla_host_pad {
    int32_t before[6]; /* elements before the input along each dimension, 0 beyond its rank */
    int32_t value; /* what surrounds the input */
} __attribute__((packed, aligned(4)));
_Static_assert(sizeof(struct dla_host_pad) == 4 * DLA_HOST_PAD_WORDS, "size");

/* CONCATENATION: With n = the product of the output's dimensions before `axis`: n times, the next 1/n-th
   of each input in turn. (Hence inputs may lack the axis, as those of PACK do.)
   Inputs: inputs.... Outputs: output. */
#define DLA_HOST_CONCATENATION_WORDS 1u
struct dla_host_concatenation {
    int32_t axis; /* dimension of the output along which they stand */
} __attribute__((packed, aligned(4)));
_Static_assert(sizeof(struct dla_host_concatenation) == 4 * DLA_HOST_CONCATENATION_WORDS, "size");

/* STRIDED_COPY: Copies input[offset + sum(i[k] * stride[k])] for every i with 0 <= i[k] < size[k], the
   last index fastest, into consecutive elements of the output. Serves slices, splits, transposes and
   reshapes. The compiler merges dimensions, so the last ones are as long as can be.
   Inputs: input. Outputs: output. */
#define DLA_HOST_STRIDED_COPY_WORDS 13u
struct dla_host_strided_copy {
    int32_t offset; /* the first element read */
    int32_t size[6]; /* how many elements along each dimension; leading ones are 1 */
    int32_t stride[6]; /* elements of the input from one to the next; may be negative */
} __attribute__((packed, aligned(4)));
_Static_assert(sizeof(struct dla_host_strided_copy) == 4 * DLA_HOST_STRIDED_COPY_WORDS, "size");

/* RESIZE_NEAREST: output[b, y, x] = input[b, rows[y], columns[x]], whole pixels.
   Inputs: input, rows, columns. Outputs: output. */
#define DLA_HOST_RESIZE_NEAREST_WORDS 0u

/* RESIZE_BILINEAR: Of the four pixels at (lower, upper) x (lower, upper), the sum weighted by (1024 -
   fraction) and fraction in each direction, divided by 2^20, rounded half away from zero; int32 holds the
   sums.
   Inputs: input, rows, columns. Outputs: output. */
#define DLA_HOST_RESIZE_BILINEAR_WORDS 0u

/* QUANTIZE: round(x / scale) + zero_point, limited to the output's type: float32 division, rounded half
   away from zero. NaN counts as an infinity of its sign.
   Inputs: input. Outputs: output. */
#define DLA_HOST_QUANTIZE_WORDS 2u
struct dla_host_quantize {
    float scale; /* real value of one step */
    int32_t zero_point; /* the integer that means 0 */
} __attribute__((packed, aligned(4)));
_Static_assert(sizeof(struct dla_host_quantize) == 4 * DLA_HOST_QUANTIZE_WORDS, "size");

/* DEQUANTIZE: scale * (q - zero_point) in float64, rounded once to float32; 8-bit inputs use LUT instead.
   Inputs: input. Outputs: output. */
#define DLA_HOST_DEQUANTIZE_WORDS 2u
struct dla_host_dequantize {
    float scale; /* real value of one step */
    int32_t zero_point; /* the integer that means 0 */
} __attribute__((packed, aligned(4)));
_Static_assert(sizeof(struct dla_host_dequantize) == 4 * DLA_HOST_DEQUANTIZE_WORDS, "size");

/* CAST: As a C cast: integers wrap, floats are truncated, bool is whether it is not 0. A float outside the
   integer's range becomes its nearest value, NaN becomes 0.
   Inputs: input. Outputs: output. */
#define DLA_HOST_CAST_WORDS 0u

/* BINARY: clamp(function(x1, x2)) in the element type itself, no quantization; integers wrap, int64 is not
   clamped. DIV truncates; FLOOR_DIV floors, and divides float32 in float64; an integer divided by 0 is 0.
   FLOOR_MOD has the divisor's sign, and is 0 for 0. POW is of int32 only, an exponent below 0 counts as 0,
   and what does not fit becomes the least int32. MAXIMUM is x1 > x2 ? x1 : x2, MINIMUM x1 < x2 ? x1 : x2;
   of bool these are or and and. int8 and bool only for these two. float32 is rounded to nearest, half to
   even; the bits of a NaN that is computed are not defined, and clamp lets it pass.
   Inputs: input1, input2. Outputs: output. */
#define DLA_HOST_BINARY_WORDS 3u
struct dla_host_binary {
    int32_t function; /* what to compute */
    int32_t clamp_min; /* least output value; not used by MAXIMUM and MINIMUM */
    int32_t clamp_max; /* greatest output value; not used by MAXIMUM and MINIMUM */
} __attribute__((packed, aligned(4)));
_Static_assert(sizeof(struct dla_host_binary) == 4 * DLA_HOST_BINARY_WORDS, "size");

/* UNARY: function(x) in the element type itself; of int32 ABS, NEG and SQUARE only. SQRT is correctly
   rounded, RSQRT is 1 / SQRT, ROUND takes halves to even; EXP, LOGISTIC and ELU are in integers.
   Inputs: input. Outputs: output. */
#define DLA_HOST_UNARY_WORDS 1u
struct dla_host_unary {
    int32_t function; /* what to compute */
} __attribute__((packed, aligned(4)));
_Static_assert(sizeof(struct dla_host_unary) == 4 * DLA_HOST_UNARY_WORDS, "size");

/* ARG_MAX: The position of the greatest element along a dimension, the first of equals; NaN is none, but
   in first place the result.
   Inputs: input. Outputs: output. */
#define DLA_HOST_ARG_MAX_WORDS 1u
struct dla_host_arg_max {
    int32_t axis; /* dimension of the input that is searched */
} __attribute__((packed, aligned(4)));
_Static_assert(sizeof(struct dla_host_arg_max) == 4 * DLA_HOST_ARG_MAX_WORDS, "size");

/* GATHER: output[b, o, i, k] = input[b, o, indices[b, i], k], where b are the batch dimensions, o those
   between them and the axis, i the remaining ones of indices, k those behind the axis. An index outside
   gives zeros.
   Inputs: input, indices. Outputs: output. */
#define DLA_HOST_GATHER_WORDS 2u
struct dla_host_gather {
    int32_t axis; /* dimension of the input that the indices count along */
    int32_t batch_dims; /* leading dimensions that input and indices share */
} __attribute__((packed, aligned(4)));
_Static_assert(sizeof(struct dla_host_gather) == 4 * DLA_HOST_GATHER_WORDS, "size");

/* GATHER_ND: The last dimension of indices holds an index for each of the input's first dimensions; what
   lies there is copied. An index outside gives zeros.
   Inputs: input, indices. Outputs: output. */
#define DLA_HOST_GATHER_ND_WORDS 0u

/* SVDF: For each batch, the state of every filter moves one step to the front and its last element becomes
   requant(sum((x - input_zero_point) * feature), feature), limited to the state's type, plus
   state_zero_point, which may wrap. Then each unit is bias + the sum over its `rank` consecutive filters
   of sum((state - state_zero_point) * time), and the output is requant(unit, output) + output_zero_point,
   limited to int8. The output state is the same tensor as the input state, updated in place; before the
   first inference all of it is state_zero_point.
   Inputs: input, feature_weights, time_weights, bias, state. Outputs: output, new_state. */
#define DLA_HOST_SVDF_WORDS 8u
struct dla_host_svdf {
    int32_t rank; /* filters of a unit */
    int32_t input_zero_point; /* the input's integer that means 0; also what padding is */
    int32_t output_zero_point; /* the output's integer that means 0 */
    int32_t state_zero_point; /* the state's integer that means 0 */
    int32_t feature_multiplier; /* multiplier of what enters the state */
    int32_t feature_shift; /* shift of what enters the state */
    int32_t output_multiplier; /* multiplier of the result */
    int32_t output_shift; /* shift of the result */
} __attribute__((packed, aligned(4)));
_Static_assert(sizeof(struct dla_host_svdf) == 4 * DLA_HOST_SVDF_WORDS, "size");

/* SQUARED_DIFFERENCE: clamp(requant((s1 - s2) * (s1 - s2), output) + output_zero_point), where s is that
   of ADD, but shifted left by 7 bits.
   Inputs: input1, input2. Outputs: output. */
#define DLA_HOST_SQUARED_DIFFERENCE_WORDS 11u
struct dla_host_squared_difference {
    int32_t input1_zero_point; /* input1's integer that means 0 */
    int32_t input2_zero_point; /* input2's integer that means 0 */
    int32_t output_zero_point; /* the output's integer that means 0 */
    int32_t input1_multiplier; /* multiplier of input1 */
    int32_t input1_shift; /* shift of input1 */
    int32_t input2_multiplier; /* multiplier of input2 */
    int32_t input2_shift; /* shift of input2 */
    int32_t output_multiplier; /* multiplier of the result */
    int32_t output_shift; /* shift of the result */
    int32_t clamp_min; /* least output value */
    int32_t clamp_max; /* greatest output value */
} __attribute__((packed, aligned(4)));
_Static_assert(sizeof(struct dla_host_squared_difference) == 4 * DLA_HOST_SQUARED_DIFFERENCE_WORDS, "size");

/* BATCH_MATMUL: For each batch, requant(sum((x1 - input1_zero_point) * (x2 - input2_zero_point))) +
   output_zero_point, limited to int8: the product of the matrices in the last two dimensions.
   Inputs: input1, input2. Outputs: output. */
#define DLA_HOST_BATCH_MATMUL_WORDS 7u
struct dla_host_batch_matmul {
    int32_t input1_zero_point; /* input1's integer that means 0 */
    int32_t input2_zero_point; /* input2's integer that means 0 */
    int32_t output_zero_point; /* the output's integer that means 0 */
    int32_t output_multiplier; /* multiplier of the sum */
    int32_t output_shift; /* shift of the sum */
    int32_t transposed1; /* 1: input1 is transposed */
    int32_t transposed2; /* 1: input2 is transposed */
} __attribute__((packed, aligned(4)));
_Static_assert(sizeof(struct dla_host_batch_matmul) == 4 * DLA_HOST_BATCH_MATMUL_WORDS, "size");

/* REQUANT: clamp(requant(x) + output_zero_point) with the multiplier and shift of the element's channel:
   the end of a convolution whose sums, bias included, are in memory. With rounds_once, what replaces
   requant(x) is x * multiplier / 2^31 * 2^shift, rounded once, halves away from zero.
   Inputs: input, records. Outputs: output. */
#define DLA_HOST_REQUANT_WORDS 4u
struct dla_host_requant {
    int32_t output_zero_point; /* the output's integer that means 0 */
    int32_t clamp_min; /* least output value */
    int32_t clamp_max; /* greatest output value */
    int32_t rounds_once; /* 1: one rounding, for shifts from -31 to 0 */
} __attribute__((packed, aligned(4)));
_Static_assert(sizeof(struct dla_host_requant) == 4 * DLA_HOST_REQUANT_WORDS, "size");

/* REDUCE: function over the elements that differ only along the reduced axes, in the element type itself:
   integers wrap, and floats are combined one after the other. MAX of r and x is x > r ? x : r, MIN x < r ?
   x : r. int8 and int16 have MAX and MIN only, bool has ANY and ALL, which nothing else has.
   Inputs: input. Outputs: output. */
#define DLA_HOST_REDUCE_WORDS 2u
struct dla_host_reduce {
    int32_t function; /* what to compute */
    int32_t axis_mask; /* bit n: dimension n of the input is reduced */
} __attribute__((packed, aligned(4)));
_Static_assert(sizeof(struct dla_host_reduce) == 4 * DLA_HOST_REDUCE_WORDS, "size");

/* CUMULATIVE_SUM: Each element is the sum of those before it along the axis, and of itself unless
   exclusive; with reverse, of those behind it. Integers wrap. int8 adds (x - input_zero_point) << 19 in
   int32, begins with that of x = 0, as TFLite Micro does, and limits requant(sum) + output_zero_point to
   int8.
   Inputs: input. Outputs: output. */
#define DLA_HOST_CUMULATIVE_SUM_WORDS 7u
struct dla_host_cumulative_sum {
    int32_t axis; /* dimension along which is added */
    int32_t exclusive; /* 1: without the element itself */
    int32_t reverse; /* 1: from the end */
    int32_t input_zero_point; /* the input's integer that means 0; also what padding is */
    int32_t output_zero_point; /* the output's integer that means 0 */
    int32_t output_multiplier; /* multiplier of the sum; int8 only */
    int32_t output_shift; /* shift of the sum; int8 only */
} __attribute__((packed, aligned(4)));
_Static_assert(sizeof(struct dla_host_cumulative_sum) == 4 * DLA_HOST_CUMULATIVE_SUM_WORDS, "size");

/* TOP_K: The greatest elements of each row, in descending order, and their positions; of equals the first
   comes first. There are as many as a row of the outputs holds.
   Inputs: input. Outputs: values, indices. */
#define DLA_HOST_TOP_K_WORDS 0u

/* L2_NORMALIZATION: For each row along the last dimension: with v = x - input_zero_point, requant(v <<
   early_bits, m, s + 7 - early_bits), limited to int8, where m and s stand for 1 / sqrt(the sum of v * v):
   TFLite's five steps of Newton's method.
   Inputs: input. Outputs: output. */
#define DLA_HOST_L2_NORMALIZATION_WORDS 2u
struct dla_host_l2_normalization {
    int32_t input_zero_point; /* the input's integer that means 0; also what padding is */
    int32_t early_bits; /* 0, or 7 as in uint8 */
} __attribute__((packed, aligned(4)));
_Static_assert(sizeof(struct dla_host_l2_normalization) == 4 * DLA_HOST_L2_NORMALIZATION_WORDS, "size");

/* NORMALIZE: For each row of n elements along the last dimension, with c = x - input_zero_point: s =
   sum(c), or 0 unless is_centred; d = n * c - s; v = n * sum(c * c) - s * s; w = 2^12 * v + epsilon,
   divided by 4 without its remainder h times, until it is below 2^29; m * 2^-(31 + t) stands for 1 /
   sqrt(w), as in L2_NORMALIZATION, with m from 2^30. y = (d * 2^(28 - t - h) * m) >> 32 is the normalized
   number with 21 bits below the point. Element k of the tensor has record k / repeat, counted in a circle:
   (y * factor + offset * 2^offset_shift) >> shift, rounded half up, + output_zero_point, limited to int8.
   Normalizations of ONNX.
   Inputs: input, records. Outputs: output. */
#define DLA_HOST_NORMALIZE_WORDS 8u
struct dla_host_normalize {
    int32_t input_zero_point; /* the input's integer that means 0; also what padding is */
    int32_t output_zero_point; /* the output's integer that means 0 */
    int32_t is_centred; /* 1: a row's average becomes 0 */
    int32_t epsilon_low; /* low word of epsilon */
    int32_t epsilon_high; /* high word of epsilon */
    int32_t repeat; /* elements one after another that have one record */
    int32_t shift; /* bits below the point of a product */
    int32_t offset_shift; /* bits that an offset lacks */
} __attribute__((packed, aligned(4)));
_Static_assert(sizeof(struct dla_host_normalize) == 4 * DLA_HOST_NORMALIZE_WORDS, "size");

/* COMPARE: Whether x1 and x2 relate as the function says. int8, and int16 in EQUAL and NOT_EQUAL, compares
   requant((x - zero_point) << 8, of that input). bool has EQUAL and NOT_EQUAL only.
   Inputs: input1, input2. Outputs: output. */
#define DLA_HOST_COMPARE_WORDS 7u
struct dla_host_compare {
    int32_t function; /* what to compute */
    int32_t input1_zero_point; /* input1's integer that means 0 */
    int32_t input2_zero_point; /* input2's integer that means 0 */
    int32_t input1_multiplier; /* multiplier of input1; int8 and int16 only */
    int32_t input1_shift; /* shift of input1; int8 and int16 only */
    int32_t input2_multiplier; /* multiplier of input2; int8 and int16 only */
    int32_t input2_shift; /* shift of input2; int8 and int16 only */
} __attribute__((packed, aligned(4)));
_Static_assert(sizeof(struct dla_host_compare) == 4 * DLA_HOST_COMPARE_WORDS, "size");

/* SELECT: condition ? x1 : x2, all three broadcast as in NumPy.
   Inputs: condition, input1, input2. Outputs: output. */
#define DLA_HOST_SELECT_WORDS 0u

/* DIV: clamp(quotient((x1 - input1_zero_point) / (x2 - input2_zero_point)) + output_zero_point), where
   quotient multiplies by a reciprocal, as TFLite does: numerics.md, Division.
   Inputs: input1, input2. Outputs: output. */
#define DLA_HOST_DIV_WORDS 7u
struct dla_host_div {
    int32_t input1_zero_point; /* input1's integer that means 0 */
    int32_t input2_zero_point; /* input2's integer that means 0 */
    int32_t output_zero_point; /* the output's integer that means 0 */
    int32_t output_multiplier; /* multiplier of the result */
    int32_t output_shift; /* shift of the result */
    int32_t clamp_min; /* least output value */
    int32_t clamp_max; /* greatest output value */
} __attribute__((packed, aligned(4)));
_Static_assert(sizeof(struct dla_host_div) == 4 * DLA_HOST_DIV_WORDS, "size");

/* PRODUCT: The product of x - input_zero_point over the elements that differ only along the reduced axes,
   with narrow(p * x) after each factor and narrow(p) + output_zero_point, limited to int8, at the end;
   narrow(p) = (p * m + 2^(14 - s)) >> (15 - s), with m = output_multiplier / 2^16, rounded, at most 2^15 -
   1, and s = output_shift. int16 likewise, limited to int16.
   Inputs: input. Outputs: output. */
#define DLA_HOST_PRODUCT_WORDS 5u
struct dla_host_product {
    int32_t axis_mask; /* bit n: dimension n of the input is reduced */
    int32_t input_zero_point; /* the input's integer that means 0; also what padding is */
    int32_t output_zero_point; /* the output's integer that means 0 */
    int32_t output_multiplier; /* multiplier of each product */
    int32_t output_shift; /* shift of each product */
} __attribute__((packed, aligned(4)));
_Static_assert(sizeof(struct dla_host_product) == 4 * DLA_HOST_PRODUCT_WORDS, "size");

/* RESCALE: requant(x - input_zero_point) + output_zero_point, limited to the output's type.
   Inputs: input. Outputs: output. */
#define DLA_HOST_RESCALE_WORDS 4u
struct dla_host_rescale {
    int32_t input_zero_point; /* the input's integer that means 0 */
    int32_t output_zero_point; /* the output's integer that means 0 */
    int32_t output_multiplier; /* multiplier of the result */
    int32_t output_shift; /* shift of the result */
} __attribute__((packed, aligned(4)));
_Static_assert(sizeof(struct dla_host_rescale) == 4 * DLA_HOST_RESCALE_WORDS, "size");

/* MATRIX_SUMS: bias + sum((x - input_zero_point) * w): the sums of FULLY_CONNECTED as they are. Of the
   records only the bias counts.
   Inputs: input, weights, records. Outputs: output. */
#define DLA_HOST_MATRIX_SUMS_WORDS 1u
struct dla_host_matrix_sums {
    int32_t input_zero_point; /* the input's integer that means 0; also what padding is */
} __attribute__((packed, aligned(4)));
_Static_assert(sizeof(struct dla_host_matrix_sums) == 4 * DLA_HOST_MATRIX_SUMS_WORDS, "size");

/* LSTM_CELL: One step of a long short-term memory. limit16 limits to int16. For gate g of each unit, v is
   limit16(limit16(requant(its input sum, input of g)) + limit16(requant(its recurrent sum, recurrent of
   g))). Gates 0 (input), 1 (forget) and 2 (output) are logistic(3 * v), gate 3 (candidate) is tanh(3 * v).
   The new cell is limit16(limit16(requant(forget * cell, forget)) + limit16(requant(input * candidate,
   update))), limited to -cell_clip and cell_clip. The result is requant(output * tanh((tanh_factor * new
   cell) >> tanh_shift, rounded half up), output) + output_zero_point, limited to int8. Both functions are
   linear between the entries of the table. For a = |x| and n bits, t_n = (low << n) + (a & (2^n - 1)) *
   high, with low the low 16 bits of table[k], high the 10 bits above, and k = a >> n; from k = 255 on, t_9
   is 0x7FFF << 10, t_8 is 0xFFFF << 8. logistic(x) is (t_9 + 512) >> 10, below 0 (2^25 - t_9 + 511) >> 10.
   tanh(x) is (t_8 - 2^23 + 128) >> 8, below 0 (2^23 - t_8 + 127) >> 8.
   Inputs: input_sums, recurrent_sums, cell, table. Outputs: output, new_cell. */
#define DLA_HOST_LSTM_CELL_WORDS 28u
struct dla_host_lstm_cell {
    int32_t first_row; /* row of input_sums of the first batch */
    int32_t row_step; /* rows from one batch to the next */
    int32_t input_multiplier[4]; /* multiplier of each gate's input sums */
    int32_t input_shift[4]; /* shift of each gate's input sums */
    int32_t recurrent_multiplier[4]; /* multiplier of each gate's recurrent sums */
    int32_t recurrent_shift[4]; /* shift of each gate's recurrent sums */
    int32_t forget_multiplier; /* multiplier of what stays of the cell */
    int32_t forget_shift; /* shift of what stays of the cell */
    int32_t update_multiplier; /* multiplier of what is added to the cell */
    int32_t update_shift; /* shift of what is added to the cell */
    int32_t output_multiplier; /* multiplier of the result */
    int32_t output_shift; /* shift of the result */
    int32_t output_zero_point; /* the output's integer that means 0 */
    int32_t cell_clip; /* greatest new cell; 32768 limits nothing */
    int32_t tanh_factor; /* factor of the cell */
    int32_t tanh_shift; /* right shift of the cell */
} __attribute__((packed, aligned(4)));
_Static_assert(sizeof(struct dla_host_lstm_cell) == 4 * DLA_HOST_LSTM_CELL_WORDS, "size");

/* CONV_2D_16: As CONV_2D, of int16 and without zero points. With wide_sums, sums and biases have 64 bits,
   and requant is (sum * min((multiplier + 2^15) >> 16, 0x7FFF) + 2^(14 - shift)) >> (15 - shift); else
   they have 32 bits, those of bias_low, and requant is the usual one.
   Inputs: input, weights, records. Outputs: output. */
#define DLA_HOST_CONV_2D_16_WORDS 9u
struct dla_host_conv_2d_16 {
    int32_t stride_height; /* rows from one window to the next */
    int32_t stride_width; /* columns from one window to the next */
    int32_t pad_top; /* rows before the first; what lacks at the bottom follows from the shapes */
    int32_t pad_left; /* columns before the first */
    int32_t dilation_height; /* rows from one tap to the next */
    int32_t dilation_width; /* columns from one tap to the next */
    int32_t clamp_min; /* least output value */
    int32_t clamp_max; /* greatest output value */
    int32_t wide_sums; /* 1: sums and biases have 64 bits */
} __attribute__((packed, aligned(4)));
_Static_assert(sizeof(struct dla_host_conv_2d_16) == 4 * DLA_HOST_CONV_2D_16_WORDS, "size");

/* FULLY_CONNECTED_16: As CONV_2D_16, for a matrix: the input is cut into rows as deep as the weights,
   whatever its shape.
   Inputs: input, weights, records. Outputs: output. */
#define DLA_HOST_FULLY_CONNECTED_16_WORDS 3u
struct dla_host_fully_connected_16 {
    int32_t clamp_min; /* least output value */
    int32_t clamp_max; /* greatest output value */
    int32_t wide_sums; /* 1: sums and biases have 64 bits */
} __attribute__((packed, aligned(4)));
_Static_assert(sizeof(struct dla_host_fully_connected_16) == 4 * DLA_HOST_FULLY_CONNECTED_16_WORDS, "size");

/* BATCH_MATMUL_16: As BATCH_MATMUL, of int16 and without zero points; sums have 64 bits, and requant is
   that of CONV_2D_16 with wide_sums.
   Inputs: input1, input2. Outputs: output. */
#define DLA_HOST_BATCH_MATMUL_16_WORDS 4u
struct dla_host_batch_matmul_16 {
    int32_t output_multiplier; /* multiplier of the sum */
    int32_t output_shift; /* shift of the sum */
    int32_t transposed1; /* 1: input1 is transposed */
    int32_t transposed2; /* 1: input2 is transposed */
} __attribute__((packed, aligned(4)));
_Static_assert(sizeof(struct dla_host_batch_matmul_16) == 4 * DLA_HOST_BATCH_MATMUL_16_WORDS, "size");

/* TRANSPOSE_CONV_16: The sums of TRANSPOSE_CONV, of int16 and without zero points; bias, requant and clamp
   as in CONV_2D_16.
   Inputs: input, weights, records. Outputs: output. */
#define DLA_HOST_TRANSPOSE_CONV_16_WORDS 7u
struct dla_host_transpose_conv_16 {
    int32_t stride_height; /* rows from one window to the next */
    int32_t stride_width; /* columns from one window to the next */
    int32_t pad_top; /* rows before the first; what lacks at the bottom follows from the shapes */
    int32_t pad_left; /* columns before the first */
    int32_t clamp_min; /* least output value */
    int32_t clamp_max; /* greatest output value */
    int32_t wide_sums; /* 1: sums and biases have 64 bits */
} __attribute__((packed, aligned(4)));
_Static_assert(sizeof(struct dla_host_transpose_conv_16) == 4 * DLA_HOST_TRANSPOSE_CONV_16_WORDS, "size");

/* ARITHMETIC_16: clamp(requant(result, output)). ADD and SUB are those of s = requant(x << 15, of that
   input), SQUARED_DIFFERENCE is that of s = requant(x, of that input), squared in int32, MUL is x1 * x2.
   DIV is the clamped quotient of DIV.
   Inputs: input1, input2. Outputs: output. */
#define DLA_HOST_ARITHMETIC_16_WORDS 9u
struct dla_host_arithmetic_16 {
    int32_t function; /* what to compute */
    int32_t input1_multiplier; /* multiplier of input1; not of MUL and DIV */
    int32_t input1_shift; /* shift of input1; not of MUL and DIV */
    int32_t input2_multiplier; /* multiplier of input2; not of MUL and DIV */
    int32_t input2_shift; /* shift of input2; not of MUL and DIV */
    int32_t output_multiplier; /* multiplier of the result */
    int32_t output_shift; /* shift of the result */
    int32_t clamp_min; /* least output value */
    int32_t clamp_max; /* greatest output value */
} __attribute__((packed, aligned(4)));
_Static_assert(sizeof(struct dla_host_arithmetic_16) == 4 * DLA_HOST_ARITHMETIC_16_WORDS, "size");

/* POOL_16: AVERAGE_POOL_2D, rounded half away from zero, or MAX_POOL_2D of int16.
   Inputs: input. Outputs: output. */
#define DLA_HOST_POOL_16_WORDS 9u
struct dla_host_pool_16 {
    int32_t function; /* what to compute */
    int32_t stride_height; /* rows from one window to the next */
    int32_t stride_width; /* columns from one window to the next */
    int32_t pad_top; /* rows before the first; what lacks at the bottom follows from the shapes */
    int32_t pad_left; /* columns before the first */
    int32_t filter_height; /* rows of a window */
    int32_t filter_width; /* columns of a window */
    int32_t clamp_min; /* least output value */
    int32_t clamp_max; /* greatest output value */
} __attribute__((packed, aligned(4)));
_Static_assert(sizeof(struct dla_host_pool_16) == 4 * DLA_HOST_POOL_16_WORDS, "size");

/* MEAN_16: As MEAN, of int16 and without zero points.
   Inputs: input. Outputs: output. */
#define DLA_HOST_MEAN_16_WORDS 3u
struct dla_host_mean_16 {
    int32_t axis_mask; /* bit n: dimension n of the input is reduced */
    int32_t output_multiplier; /* multiplier of the sum */
    int32_t output_shift; /* shift of the sum */
} __attribute__((packed, aligned(4)));
_Static_assert(sizeof(struct dla_host_mean_16) == 4 * DLA_HOST_MEAN_16_WORDS, "size");

/* SOFTMAX_16: For each row along the last dimension: e = lookup(exponentials, requant(x - max(row), input)
   + 32767), z = leading zeros of the sum of e, at least 2, in 32 bits, r = lookup(reciprocals, (((sum <<
   (z - 1)) + 8192) >> 14) - 98304). The output is (e * r + 2^(30 - z)) >> (31 - z), limited to 0 and
   32767. lookup limits q to int16; with k = 256 + (q >> 7) it gives table[k] + (((table[k + 1] - table[k])
   * (q & 127) + 64) >> 7).
   Inputs: input, exponentials, reciprocals. Outputs: output. */
#define DLA_HOST_SOFTMAX_16_WORDS 2u
struct dla_host_softmax_16 {
    int32_t input_multiplier; /* multiplier of a difference */
    int32_t input_shift; /* shift of a difference */
} __attribute__((packed, aligned(4)));
_Static_assert(sizeof(struct dla_host_softmax_16) == 4 * DLA_HOST_SOFTMAX_16_WORDS, "size");

/* SIGMOID_16: The functions of LSTM_CELL: function((factor * x >> shift, rounded half up)).
   Inputs: input, table. Outputs: output. */
#define DLA_HOST_SIGMOID_16_WORDS 3u
struct dla_host_sigmoid_16 {
    int32_t function; /* what to compute */
    int32_t factor; /* factor of the input */
    int32_t shift; /* right shift of the input */
} __attribute__((packed, aligned(4)));
_Static_assert(sizeof(struct dla_host_sigmoid_16) == 4 * DLA_HOST_SIGMOID_16_WORDS, "size");

/* LEAKY_16: clamp(requant(x, positive)) from 0 up, clamp(requant(x, negative)) below.
   Inputs: input. Outputs: output. */
#define DLA_HOST_LEAKY_16_WORDS 6u
struct dla_host_leaky_16 {
    int32_t positive_multiplier; /* multiplier of values from 0 up */
    int32_t positive_shift; /* shift of values from 0 up */
    int32_t negative_multiplier; /* multiplier of values below 0 */
    int32_t negative_shift; /* shift of values below 0 */
    int32_t clamp_min; /* least output value */
    int32_t clamp_max; /* greatest output value */
} __attribute__((packed, aligned(4)));
_Static_assert(sizeof(struct dla_host_leaky_16) == 4 * DLA_HOST_LEAKY_16_WORDS, "size");

/* QUANTIZE_TABLE: QUANTIZE to 8 bits by tables. Let d be the bit pattern of |x| less `first`, as unsigned
   numbers. For a positive x with d < positive_cells * 2^bits let c be &cells[d >> bits]; for a negative
   one with d < negative_cells * 2^bits let c be &cells[positive_cells + 1 + (d >> bits)]. The result is
   c[0]; where that is zero_point, the result is c[1] if the bit pattern of x is at least starts[c[1]], and
   else c[1] - 1 for a positive x, c[1] + 1 for a negative one; all modulo 2^8. Of the others, what is
   below `first` becomes zero_point, the rest the limit of the output's type on that side.
   Inputs: input, cells, starts. Outputs: output. */
#define DLA_HOST_QUANTIZE_TABLE_WORDS 5u
struct dla_host_quantize_table {
    int32_t first; /* bit pattern of the least float of the cells */
    int32_t zero_point; /* the integer that means 0 */
    int32_t bits; /* 2^this floats share a cell */
    int32_t positive_cells; /* cells of the positive side */
    int32_t negative_cells; /* cells of the negative side */
} __attribute__((packed, aligned(4)));
_Static_assert(sizeof(struct dla_host_quantize_table) == 4 * DLA_HOST_QUANTIZE_TABLE_WORDS, "size");

/* LUT_16: lookup(table, x), that of SOFTMAX_16: a function of one element, linear between 513 places.
   Inputs: input, table. Outputs: output. */
#define DLA_HOST_LUT_16_WORDS 0u

/* DECODE_BOXES: With y, x, h, w the first four of an encoding's elements and Y, X, H, W those of its
   anchor: centre y / y_scale * H + Y, half height exp(h / h_scale) / 2 * H, in float64, rounded to
   float32; likewise across. A box is top, left, bottom and right: centre less half height, and so on. exp
   is that of numerics.md, Detection. What is infinite or NaN counts as 0.
   Inputs: encodings, anchors. Outputs: boxes. */
#define DLA_HOST_DECODE_BOXES_WORDS 4u
struct dla_host_decode_boxes {
    float y_scale; /* scale of y */
    float x_scale; /* scale of x */
    float h_scale; /* scale of h */
    float w_scale; /* scale of w */
} __attribute__((packed, aligned(4)));
_Static_assert(sizeof(struct dla_host_decode_boxes) == 4 * DLA_HOST_DECODE_BOXES_WORDS, "size");

/* SUPPRESS_BOXES: Selecting from scores takes those of at least score_threshold, best first and of equals
   the first, and leaves out each whose box overlaps one taken before: intersection over union above
   iou_threshold, in float32; a box without area overlaps none. Fast: of the best scores of all boxes,
   max_detections are selected, and each gives its max_classes best classes. Regular: of each class,
   detections_per_class are selected, and the max_detections best of all are the result. A first class
   beyond the number of classes is background. What follows the detections is 0; NaN counts as -infinity.
   Inputs: input, scores. Outputs: boxes, labels, best, count, workspace. */
#define DLA_HOST_SUPPRESS_BOXES_WORDS 7u
struct dla_host_suppress_boxes {
    int32_t max_detections; /* detections at most */
    int32_t max_classes; /* classes of a detection */
    int32_t detections_per_class; /* detections of a class; regular only */
    int32_t classes; /* classes without the background */
    int32_t regular; /* 1: each class by itself; 0: fast */
    int32_t score_threshold; /* least score */
    float iou_threshold; /* greatest overlap */
} __attribute__((packed, aligned(4)));
_Static_assert(sizeof(struct dla_host_suppress_boxes) == 4 * DLA_HOST_SUPPRESS_BOXES_WORDS, "size");

/* SOFTMAX_FLOAT: For each row along the last dimension: e = exp((x - max(row)) * beta), with UNARY's EXP,
   and e divided by the sum of the row's, one after another in float32.
   Inputs: input. Outputs: output. */
#define DLA_HOST_SOFTMAX_FLOAT_WORDS 1u
struct dla_host_softmax_float {
    float beta; /* factor of the exponents */
} __attribute__((packed, aligned(4)));
_Static_assert(sizeof(struct dla_host_softmax_float) == 4 * DLA_HOST_SOFTMAX_FLOAT_WORDS, "size");

/* RESIZE_FLOAT: Of the four pixels at (lower, upper) x (lower, upper), the sum weighted by 1 - fraction
   and fraction in each direction, in float32 and in the order of rows; int8 stands for numbers that are
   128 higher, to which a half is added before they are cut off.
   Inputs: input, rows, columns. Outputs: output. */
#define DLA_HOST_RESIZE_FLOAT_WORDS 0u

/* UPDATE_SLICE: The input, and over it update, from the index start on, which is moved inside where update
   would stand out. The output may have the input's bytes: then only those of update are written.
   Inputs: input, update, start. Outputs: output. */
#define DLA_HOST_UPDATE_SLICE_WORDS 0u

/* PLACE_CURSOR: The sum of clamp(start[k], 0, room[k]) * stride[k] over all dimensions k. From then on the
   cursor's region begins so many bytes behind the first one of the arena, and is smaller than that by
   `reach`. No stream may be running, since REGIONn_BASE is written.
   Inputs: start. Outputs: place. */
#define DLA_HOST_PLACE_CURSOR_WORDS 14u
struct dla_host_place_cursor {
    int32_t cursor; /* number of the cursor */
    int32_t reach; /* the greatest sum */
    int32_t room[6]; /* greatest start in each dimension */
    int32_t stride[6]; /* bytes from an element to the next */
} __attribute__((packed, aligned(4)));
_Static_assert(sizeof(struct dla_host_place_cursor) == 4 * DLA_HOST_PLACE_CURSOR_WORDS, "size");

/* MUL_LUT: clamp(requant((x1 - input1_zero_point) * table[x2 + 128]) + output_zero_point); the product
   wraps at 32 bits.
   Inputs: input1, input2, table. Outputs: output. */
#define DLA_HOST_MUL_LUT_WORDS 6u
struct dla_host_mul_lut {
    int32_t input1_zero_point; /* input1's integer that means 0 */
    int32_t output_zero_point; /* the output's integer that means 0 */
    int32_t output_multiplier; /* multiplier of the result */
    int32_t output_shift; /* shift of the result */
    int32_t clamp_min; /* least output value */
    int32_t clamp_max; /* greatest output value */
} __attribute__((packed, aligned(4)));
_Static_assert(sizeof(struct dla_host_mul_lut) == 4 * DLA_HOST_MUL_LUT_WORDS, "size");

/* X(operator, function) for each operator that the firmware has a kernel for. */
#define DLA_HOST_KERNELS(X) \
    X(CONV_2D, convolve) \
    X(DEPTHWISE_CONV_2D, convolve_depthwise) \
    X(FULLY_CONNECTED, multiply_matrix) \
    X(TRANSPOSE_CONV, convolve_transposed) \
    X(LUT, look_up) \
    X(ADD, add) \
    X(SUB, subtract) \
    X(MUL, multiply) \
    X(PRELU, prelu) \
    X(AVERAGE_POOL_2D, pool_average) \
    X(MAX_POOL_2D, pool_maximum) \
    X(MEAN, mean) \
    X(SOFTMAX, softmax) \
    X(PAD, pad) \
    X(CONCATENATION, concatenate) \
    X(STRIDED_COPY, copy_strided) \
    X(RESIZE_NEAREST, resize_nearest) \
    X(RESIZE_BILINEAR, resize_bilinear) \
    X(QUANTIZE, quantize) \
    X(DEQUANTIZE, dequantize) \
    X(CAST, cast) \
    X(BINARY, compute_binary) \
    X(UNARY, compute_unary) \
    X(ARG_MAX, find_maximum) \
    X(GATHER, gather) \
    X(GATHER_ND, gather_nd) \
    X(SVDF, filter_memory) \
    X(SQUARED_DIFFERENCE, square_difference) \
    X(BATCH_MATMUL, multiply_batches) \
    X(REQUANT, requantize_channels) \
    X(REDUCE, reduce) \
    X(CUMULATIVE_SUM, add_up) \
    X(TOP_K, find_greatest) \
    X(L2_NORMALIZATION, normalize) \
    X(NORMALIZE, normalize_rows) \
    X(COMPARE, compare) \
    X(SELECT, select) \
    X(DIV, divide_quantized) \
    X(PRODUCT, reduce_product) \
    X(RESCALE, rescale) \
    X(MATRIX_SUMS, sum_matrix) \
    X(LSTM_CELL, step_lstm) \
    X(CONV_2D_16, convolve16) \
    X(FULLY_CONNECTED_16, multiply_matrix16) \
    X(BATCH_MATMUL_16, multiply_batches16) \
    X(TRANSPOSE_CONV_16, convolve_transposed16) \
    X(ARITHMETIC_16, compute16) \
    X(POOL_16, pool16) \
    X(MEAN_16, mean16) \
    X(SOFTMAX_16, softmax16) \
    X(SIGMOID_16, sigmoid16) \
    X(LEAKY_16, leak16) \
    X(QUANTIZE_TABLE, quantize_by_table) \
    X(LUT_16, look_up16) \
    X(DECODE_BOXES, decode_boxes) \
    X(SUPPRESS_BOXES, suppress_boxes) \
    X(SOFTMAX_FLOAT, softmax_float) \
    X(RESIZE_FLOAT, resize_float) \
    X(UPDATE_SLICE, update_slice) \
    X(PLACE_CURSOR, place_cursor) \
    X(MUL_LUT, multiply_by_table)

#endif
