/* The DLA's instructions. Generated from the tables in dlasim/isa; edit that, not this. */
#ifndef DLA_ISA_H
#define DLA_ISA_H

#include <stdint.h>

#define DLA_ISA_MINOR 2u
#define DLA_ISA_MAJOR 1u
#define DLA_WORD_BYTES 8u

/* The units that run in parallel, and the issue stage that feeds them. */
enum dla_unit {
    DLA_UNIT_DMA_IN = 0,
    DLA_UNIT_DMA_OUT = 1,
    DLA_UNIT_MAC = 2,
    DLA_UNIT_VECTOR = 3,
    DLA_UNIT_ISSUE = 4,
};

/* ERROR_CODE. */
enum dla_fault {
    DLA_FAULT_NONE = 0, /* no fault */
    /* not an instruction: unknown opcode, illegal field value or reserved bit */
    DLA_FAULT_ILLEGAL_INSTRUCTION = 1,
    /* the queue lies outside region COMMANDS, is misaligned, or ends without HALT */
    DLA_FAULT_QUEUE = 2,
    DLA_FAULT_BAD_REGISTER = 3, /* CFG names a register that is not an operand register */
    DLA_FAULT_BAD_VALUE = 4, /* CFG writes a value that the register does not allow */
    /* the program was lowered for another configuration (REQUIRE_CONFIG) */
    DLA_FAULT_CONFIG_MISMATCH = 5,
    /* the operands do not fit together: ACT_MIN above ACT_MAX, channels that do not divide, a pooling window
       without a pixel, int16 or sums where machine or fields do not allow them, more than 2^48 steps, or
       numbers to unpack or decode that are not part of a transfer of one run */
    DLA_FAULT_BAD_OPERANDS = 6,
    /* an int32 operand or a record whose address or stride is not a multiple of 4, or an int16 one whose is
       not a multiple of 2 */
    DLA_FAULT_MISALIGNED = 7,
    DLA_FAULT_SRAM_RANGE = 8, /* an operand reaches beyond the SRAM */
    /* an operand that is written, or is the input of a window, overlaps itself; or OUT overlaps what its
       operation reads, and is not in place */
    DLA_FAULT_OVERLAP = 9,
    DLA_FAULT_REGION_RANGE = 10, /* a transfer reaches beyond its region */
    DLA_FAULT_REGION_READ_ONLY = 11, /* a transfer writes to CONSTANTS or COMMANDS */
};

/* The lowest byte of a command word. */
enum dla_opcode {
    DLA_OPCODE_NOP = 0x01, /* do nothing */
    DLA_OPCODE_CFG = 0x02, /* write an operand register */
    DLA_OPCODE_WAIT = 0x03, /* block issue until a unit has few operations outstanding */
    DLA_OPCODE_IRQ = 0x04, /* raise the marker interrupt */
    DLA_OPCODE_HALT = 0x05, /* end the stream */
    DLA_OPCODE_OP_DMA_READ = 0x10, /* copy from system memory to SRAM */
    DLA_OPCODE_OP_DMA_WRITE = 0x11, /* copy from SRAM to system memory */
    /* copy from system memory to SRAM, and unpack numbers of 4 bits */
    DLA_OPCODE_OP_DMA_UNPACK = 0x14,
    /* copy from system memory to SRAM, and decode compressed weights */
    DLA_OPCODE_OP_DMA_DECODE = 0x15,
    DLA_OPCODE_OP_FILL = 0x12, /* fill a view with one byte */
    DLA_OPCODE_OP_E16_ADD = 0x18, /* element-wise sum with rescaling and limits of 16 bits */
    DLA_OPCODE_OP_E16_MUL = 0x19, /* element-wise product of 16-bit numbers */
    DLA_OPCODE_OP_E16_SIGMOID = 0x1a, /* logistic function or tanh of 16-bit numbers */
    DLA_OPCODE_OP_E16_SOFTMAX = 0x1b, /* softmax of int16 along the channels of each pixel */
    /* any unary function of int16, by a table that is interpolated */
    DLA_OPCODE_OP_E16_LUT = 0x1c,
    DLA_OPCODE_OP_CONV = 0x20, /* convolution, optionally requantized */
    DLA_OPCODE_OP_CONV_RELU = 0x21, /* convolution, requantized, with ReLU */
    DLA_OPCODE_OP_DEPTH_CONV = 0x22, /* depthwise convolution, optionally requantized */
    DLA_OPCODE_OP_MAT_MUL = 0x23, /* matrix multiplication, optionally requantized */
    DLA_OPCODE_OP_REQUANT = 0x30, /* int32 to int8 */
    DLA_OPCODE_OP_E32_SHIFT = 0x31, /* shift of int32 elements */
    DLA_OPCODE_OP_E32_ADD = 0x32, /* element-wise sum of int32 tensors */
    DLA_OPCODE_OP_POOL = 0x33, /* pooling */
    DLA_OPCODE_OP_ACT_RELU = 0x34, /* ReLU */
    DLA_OPCODE_OP_ACT_LRELU = 0x35, /* leaky ReLU */
    DLA_OPCODE_OP_ACT_LUT = 0x36, /* any unary function of int8, by table */
    DLA_OPCODE_OP_E_ADD = 0x37, /* element-wise sum with rescaling */
    DLA_OPCODE_OP_E_SUB = 0x38, /* element-wise difference with rescaling */
    DLA_OPCODE_OP_E_MUL = 0x39, /* element-wise product with rescaling */
    DLA_OPCODE_OP_E_ABS = 0x3a, /* absolute value with rescaling */
    DLA_OPCODE_OP_C_MIN = 0x3b, /* element-wise minimum */
    DLA_OPCODE_OP_C_MAX = 0x3c, /* element-wise maximum */
    DLA_OPCODE_OP_SOFTMAX = 0x3d, /* softmax along the channels of each pixel */
    DLA_OPCODE_OP_E_SQDIFF = 0x3e, /* element-wise squared difference with rescaling */
};

#define DLA_OPCODE_SHIFT 0
#define DLA_OPCODE_MASK UINT64_C(0xff)

/* NOP, unit ISSUE: do nothing. */
static inline uint64_t dla_encode_nop(void)
{
    uint64_t word = DLA_OPCODE_NOP;
    return word;
}

/* CFG, unit ISSUE: write an operand register. */
#define DLA_CFG_REGISTER_SHIFT 8
#define DLA_CFG_REGISTER_MASK UINT64_C(0x3ff00)
#define DLA_CFG_VALUE_SHIFT 32
#define DLA_CFG_VALUE_MASK UINT64_C(0xffffffff00000000)
static inline uint64_t dla_encode_cfg(uint32_t register_, uint32_t value)
{
    uint64_t word = DLA_OPCODE_CFG;
    word |= (uint64_t)register_ << DLA_CFG_REGISTER_SHIFT & DLA_CFG_REGISTER_MASK;
    word |= (uint64_t)value << DLA_CFG_VALUE_SHIFT & DLA_CFG_VALUE_MASK;
    return word;
}

/* WAIT, unit ISSUE: block issue until a unit has few operations outstanding. */
#define DLA_WAIT_UNIT_SHIFT 8
#define DLA_WAIT_UNIT_MASK UINT64_C(0x300)
#define DLA_WAIT_UNIT_DMA_IN 0u
#define DLA_WAIT_UNIT_DMA_OUT 1u
#define DLA_WAIT_UNIT_MAC 2u
#define DLA_WAIT_UNIT_VECTOR 3u
#define DLA_WAIT_MAX_OUTSTANDING_SHIFT 16
#define DLA_WAIT_MAX_OUTSTANDING_MASK UINT64_C(0xff0000)
static inline uint64_t dla_encode_wait(uint32_t unit, uint32_t max_outstanding)
{
    uint64_t word = DLA_OPCODE_WAIT;
    word |= (uint64_t)unit << DLA_WAIT_UNIT_SHIFT & DLA_WAIT_UNIT_MASK;
    word |= (uint64_t)max_outstanding << DLA_WAIT_MAX_OUTSTANDING_SHIFT & DLA_WAIT_MAX_OUTSTANDING_MASK;
    return word;
}

/* IRQ, unit ISSUE: raise the marker interrupt. */
static inline uint64_t dla_encode_irq(void)
{
    uint64_t word = DLA_OPCODE_IRQ;
    return word;
}

/* HALT, unit ISSUE: end the stream. */
static inline uint64_t dla_encode_halt(void)
{
    uint64_t word = DLA_OPCODE_HALT;
    return word;
}

/* OP_DMA_READ, unit DMA_IN: copy from system memory to SRAM.
   Reads DMA_IN_REGION, DMA_IN_OFFSET, DMA_IN_SRAM_ADDR, DMA_IN_RUN_BYTES, DMA_IN_RUNS, DMA_IN_RUN_STRIDE,
   DMA_IN_RUN_SRAM_STRIDE, DMA_IN_PLANES, DMA_IN_PLANE_STRIDE, DMA_IN_PLANE_SRAM_STRIDE. */
static inline uint64_t dla_encode_op_dma_read(void)
{
    uint64_t word = DLA_OPCODE_OP_DMA_READ;
    return word;
}

/* OP_DMA_WRITE, unit DMA_OUT: copy from SRAM to system memory.
   Reads DMA_OUT_REGION, DMA_OUT_OFFSET, DMA_OUT_SRAM_ADDR, DMA_OUT_RUN_BYTES, DMA_OUT_RUNS,
   DMA_OUT_RUN_STRIDE, DMA_OUT_RUN_SRAM_STRIDE, DMA_OUT_PLANES, DMA_OUT_PLANE_STRIDE,
   DMA_OUT_PLANE_SRAM_STRIDE. */
static inline uint64_t dla_encode_op_dma_write(void)
{
    uint64_t word = DLA_OPCODE_OP_DMA_WRITE;
    return word;
}

/* OP_DMA_UNPACK, unit DMA_IN: copy from system memory to SRAM, and unpack numbers of 4 bits.
   Reads DMA_IN_REGION, DMA_IN_OFFSET, DMA_IN_SRAM_ADDR, DMA_IN_RUN_BYTES, DMA_IN_RUNS, DMA_IN_RUN_STRIDE,
   DMA_IN_RUN_SRAM_STRIDE, DMA_IN_PLANES, DMA_IN_PLANE_STRIDE, DMA_IN_PLANE_SRAM_STRIDE. */
#define DLA_OP_DMA_UNPACK_PACKED_SHIFT 8
#define DLA_OP_DMA_UNPACK_PACKED_MASK UINT64_C(0xffffff00)
static inline uint64_t dla_encode_op_dma_unpack(uint32_t packed)
{
    uint64_t word = DLA_OPCODE_OP_DMA_UNPACK;
    word |= (uint64_t)packed << DLA_OP_DMA_UNPACK_PACKED_SHIFT & DLA_OP_DMA_UNPACK_PACKED_MASK;
    return word;
}

/* OP_DMA_DECODE, unit DMA_IN: copy from system memory to SRAM, and decode compressed weights.
   Reads DMA_IN_REGION, DMA_IN_OFFSET, DMA_IN_SRAM_ADDR, DMA_IN_RUN_BYTES, DMA_IN_RUNS, DMA_IN_RUN_STRIDE,
   DMA_IN_RUN_SRAM_STRIDE, DMA_IN_PLANES, DMA_IN_PLANE_STRIDE, DMA_IN_PLANE_SRAM_STRIDE. */
#define DLA_OP_DMA_DECODE_WORDS_SHIFT 8
#define DLA_OP_DMA_DECODE_WORDS_MASK UINT64_C(0xfffff00)
#define DLA_OP_DMA_DECODE_STEPS_SHIFT 28
#define DLA_OP_DMA_DECODE_STEPS_MASK UINT64_C(0xfffff0000000)
#define DLA_OP_DMA_DECODE_COPIED_SHIFT 48
#define DLA_OP_DMA_DECODE_COPIED_MASK UINT64_C(0xffff000000000000)
static inline uint64_t dla_encode_op_dma_decode(uint32_t words, uint32_t steps, uint32_t copied)
{
    uint64_t word = DLA_OPCODE_OP_DMA_DECODE;
    word |= (uint64_t)words << DLA_OP_DMA_DECODE_WORDS_SHIFT & DLA_OP_DMA_DECODE_WORDS_MASK;
    word |= (uint64_t)steps << DLA_OP_DMA_DECODE_STEPS_SHIFT & DLA_OP_DMA_DECODE_STEPS_MASK;
    word |= (uint64_t)copied << DLA_OP_DMA_DECODE_COPIED_SHIFT & DLA_OP_DMA_DECODE_COPIED_MASK;
    return word;
}

/* OP_FILL, unit VECTOR: fill a view with one byte.
   Reads OUT_ADDR, OUT_PIXEL_STRIDE, OUT_ROW_STRIDE, OUT_SIZE, OUT_CHANNELS, FILL_VALUE. */
static inline uint64_t dla_encode_op_fill(void)
{
    uint64_t word = DLA_OPCODE_OP_FILL;
    return word;
}

/* OP_E16_ADD, unit VECTOR: element-wise sum with rescaling and limits of 16 bits.
   Reads IN_ADDR, IN_PIXEL_STRIDE, IN_ROW_STRIDE, IN2_ADDR, IN2_PIXEL_STRIDE, IN2_ROW_STRIDE, OUT_ADDR,
   OUT_PIXEL_STRIDE, OUT_ROW_STRIDE, OUT_SIZE, OUT_CHANNELS, IN_MULT, IN_SHIFT, IN2_MULT, IN2_SHIFT, LIMIT. */
static inline uint64_t dla_encode_op_e16_add(void)
{
    uint64_t word = DLA_OPCODE_OP_E16_ADD;
    return word;
}

/* OP_E16_MUL, unit VECTOR: element-wise product of 16-bit numbers.
   Reads IN_ADDR, IN_PIXEL_STRIDE, IN_ROW_STRIDE, IN2_ADDR, IN2_PIXEL_STRIDE, IN2_ROW_STRIDE, OUT_ADDR,
   OUT_PIXEL_STRIDE, OUT_ROW_STRIDE, OUT_SIZE, OUT_CHANNELS. */
static inline uint64_t dla_encode_op_e16_mul(void)
{
    uint64_t word = DLA_OPCODE_OP_E16_MUL;
    return word;
}

/* OP_E16_SIGMOID, unit VECTOR: logistic function or tanh of 16-bit numbers.
   Reads IN_ADDR, IN_PIXEL_STRIDE, IN_ROW_STRIDE, OUT_ADDR, OUT_PIXEL_STRIDE, OUT_ROW_STRIDE, LUT_ADDR,
   OUT_SIZE, OUT_CHANNELS, IN_MULT, SHIFT_AMOUNT. */
#define DLA_OP_E16_SIGMOID_MODE_SHIFT 8
#define DLA_OP_E16_SIGMOID_MODE_MASK UINT64_C(0x300)
#define DLA_OP_E16_SIGMOID_MODE_LOGISTIC 0u
#define DLA_OP_E16_SIGMOID_MODE_TANH 1u
#define DLA_OP_E16_SIGMOID_ELEMENTS_SHIFT 12
#define DLA_OP_E16_SIGMOID_ELEMENTS_MASK UINT64_C(0x1000)
#define DLA_OP_E16_SIGMOID_ELEMENTS_INT32 0u
#define DLA_OP_E16_SIGMOID_ELEMENTS_INT16 1u
static inline uint64_t dla_encode_op_e16_sigmoid(uint32_t mode, uint32_t elements)
{
    uint64_t word = DLA_OPCODE_OP_E16_SIGMOID;
    word |= (uint64_t)mode << DLA_OP_E16_SIGMOID_MODE_SHIFT & DLA_OP_E16_SIGMOID_MODE_MASK;
    word |= (uint64_t)elements << DLA_OP_E16_SIGMOID_ELEMENTS_SHIFT & DLA_OP_E16_SIGMOID_ELEMENTS_MASK;
    return word;
}

/* OP_E16_SOFTMAX, unit VECTOR: softmax of int16 along the channels of each pixel.
   Reads IN_ADDR, IN_PIXEL_STRIDE, IN_ROW_STRIDE, OUT_ADDR, OUT_PIXEL_STRIDE, OUT_ROW_STRIDE, LUT_ADDR,
   OUT_SIZE, OUT_CHANNELS, IN_MULT, IN_SHIFT. */
static inline uint64_t dla_encode_op_e16_softmax(void)
{
    uint64_t word = DLA_OPCODE_OP_E16_SOFTMAX;
    return word;
}

/* OP_E16_LUT, unit VECTOR: any unary function of int16, by a table that is interpolated.
   Reads IN_ADDR, IN_PIXEL_STRIDE, IN_ROW_STRIDE, OUT_ADDR, OUT_PIXEL_STRIDE, OUT_ROW_STRIDE, LUT_ADDR,
   OUT_SIZE, OUT_CHANNELS. */
static inline uint64_t dla_encode_op_e16_lut(void)
{
    uint64_t word = DLA_OPCODE_OP_E16_LUT;
    return word;
}

/* OP_CONV, unit MAC: convolution, optionally requantized.
   Reads IN_ADDR, IN_PIXEL_STRIDE, IN_ROW_STRIDE, OUT_ADDR, OUT_PIXEL_STRIDE, OUT_ROW_STRIDE, ACC_ADDR,
   ACC_PIXEL_STRIDE, ACC_ROW_STRIDE, WEIGHT_ADDR, PARAM_ADDR, IN_SIZE, IN_CHANNELS, OUT_SIZE, OUT_CHANNELS,
   KERNEL, STRIDE, DILATION, PAD, PAD_VALUE, IN_ZP, IN2_ZP, OUT_ZP, ACT_MIN, ACT_MAX, IN_MULT, IN_SHIFT,
   IN2_MULT, IN2_SHIFT, OUT_MULT, OUT_SHIFT, WEIGHT_ZP, SUM_ZP, SUM_MIN, SUM_MAX. */
#define DLA_OP_CONV_INIT_SHIFT 8
#define DLA_OP_CONV_INIT_MASK UINT64_C(0x300)
#define DLA_OP_CONV_INIT_ZERO 0u
#define DLA_OP_CONV_INIT_BIAS 1u
#define DLA_OP_CONV_INIT_PARTIAL 2u
#define DLA_OP_CONV_OUT_SHIFT 10
#define DLA_OP_CONV_OUT_MASK UINT64_C(0x400)
#define DLA_OP_CONV_OUT_INT8 0u
#define DLA_OP_CONV_OUT_INT32 1u
#define DLA_OP_CONV_QUANT_SHIFT 11
#define DLA_OP_CONV_QUANT_MASK UINT64_C(0x800)
#define DLA_OP_CONV_QUANT_TENSOR 0u
#define DLA_OP_CONV_QUANT_CHANNEL 1u
#define DLA_OP_CONV_ELEMENTS_SHIFT 12
#define DLA_OP_CONV_ELEMENTS_MASK UINT64_C(0x1000)
#define DLA_OP_CONV_ELEMENTS_INT8 0u
#define DLA_OP_CONV_ELEMENTS_INT16 1u
#define DLA_OP_CONV_SUM_SHIFT 13
#define DLA_OP_CONV_SUM_MASK UINT64_C(0x2000)
#define DLA_OP_CONV_SUM_NONE 0u
#define DLA_OP_CONV_SUM_TENSOR 1u
static inline uint64_t dla_encode_op_conv(uint32_t init, uint32_t out, uint32_t quant, uint32_t elements, uint32_t sum)
{
    uint64_t word = DLA_OPCODE_OP_CONV;
    word |= (uint64_t)init << DLA_OP_CONV_INIT_SHIFT & DLA_OP_CONV_INIT_MASK;
    word |= (uint64_t)out << DLA_OP_CONV_OUT_SHIFT & DLA_OP_CONV_OUT_MASK;
    word |= (uint64_t)quant << DLA_OP_CONV_QUANT_SHIFT & DLA_OP_CONV_QUANT_MASK;
    word |= (uint64_t)elements << DLA_OP_CONV_ELEMENTS_SHIFT & DLA_OP_CONV_ELEMENTS_MASK;
    word |= (uint64_t)sum << DLA_OP_CONV_SUM_SHIFT & DLA_OP_CONV_SUM_MASK;
    return word;
}

/* OP_CONV_RELU, unit MAC: convolution, requantized, with ReLU.
   Reads IN_ADDR, IN_PIXEL_STRIDE, IN_ROW_STRIDE, OUT_ADDR, OUT_PIXEL_STRIDE, OUT_ROW_STRIDE, ACC_ADDR,
   ACC_PIXEL_STRIDE, ACC_ROW_STRIDE, WEIGHT_ADDR, PARAM_ADDR, IN_SIZE, IN_CHANNELS, OUT_SIZE, OUT_CHANNELS,
   KERNEL, STRIDE, DILATION, PAD, PAD_VALUE, IN_ZP, OUT_ZP, ACT_MIN, ACT_MAX, OUT_MULT, OUT_SHIFT,
   WEIGHT_ZP. */
#define DLA_OP_CONV_RELU_INIT_SHIFT 8
#define DLA_OP_CONV_RELU_INIT_MASK UINT64_C(0x300)
#define DLA_OP_CONV_RELU_INIT_ZERO 0u
#define DLA_OP_CONV_RELU_INIT_BIAS 1u
#define DLA_OP_CONV_RELU_INIT_PARTIAL 2u
#define DLA_OP_CONV_RELU_QUANT_SHIFT 11
#define DLA_OP_CONV_RELU_QUANT_MASK UINT64_C(0x800)
#define DLA_OP_CONV_RELU_QUANT_TENSOR 0u
#define DLA_OP_CONV_RELU_QUANT_CHANNEL 1u
static inline uint64_t dla_encode_op_conv_relu(uint32_t init, uint32_t quant)
{
    uint64_t word = DLA_OPCODE_OP_CONV_RELU;
    word |= (uint64_t)init << DLA_OP_CONV_RELU_INIT_SHIFT & DLA_OP_CONV_RELU_INIT_MASK;
    word |= (uint64_t)quant << DLA_OP_CONV_RELU_QUANT_SHIFT & DLA_OP_CONV_RELU_QUANT_MASK;
    return word;
}

/* OP_DEPTH_CONV, unit MAC: depthwise convolution, optionally requantized.
   Reads IN_ADDR, IN_PIXEL_STRIDE, IN_ROW_STRIDE, OUT_ADDR, OUT_PIXEL_STRIDE, OUT_ROW_STRIDE, ACC_ADDR,
   ACC_PIXEL_STRIDE, ACC_ROW_STRIDE, WEIGHT_ADDR, PARAM_ADDR, IN_SIZE, IN_CHANNELS, OUT_SIZE, OUT_CHANNELS,
   KERNEL, STRIDE, DILATION, PAD, PAD_VALUE, IN_ZP, IN2_ZP, OUT_ZP, ACT_MIN, ACT_MAX, IN_MULT, IN_SHIFT,
   IN2_MULT, IN2_SHIFT, OUT_MULT, OUT_SHIFT, WEIGHT_ZP, SUM_ZP, SUM_MIN, SUM_MAX. */
#define DLA_OP_DEPTH_CONV_INIT_SHIFT 8
#define DLA_OP_DEPTH_CONV_INIT_MASK UINT64_C(0x300)
#define DLA_OP_DEPTH_CONV_INIT_ZERO 0u
#define DLA_OP_DEPTH_CONV_INIT_BIAS 1u
#define DLA_OP_DEPTH_CONV_INIT_PARTIAL 2u
#define DLA_OP_DEPTH_CONV_OUT_SHIFT 10
#define DLA_OP_DEPTH_CONV_OUT_MASK UINT64_C(0x400)
#define DLA_OP_DEPTH_CONV_OUT_INT8 0u
#define DLA_OP_DEPTH_CONV_OUT_INT32 1u
#define DLA_OP_DEPTH_CONV_QUANT_SHIFT 11
#define DLA_OP_DEPTH_CONV_QUANT_MASK UINT64_C(0x800)
#define DLA_OP_DEPTH_CONV_QUANT_TENSOR 0u
#define DLA_OP_DEPTH_CONV_QUANT_CHANNEL 1u
#define DLA_OP_DEPTH_CONV_ELEMENTS_SHIFT 12
#define DLA_OP_DEPTH_CONV_ELEMENTS_MASK UINT64_C(0x1000)
#define DLA_OP_DEPTH_CONV_ELEMENTS_INT8 0u
#define DLA_OP_DEPTH_CONV_ELEMENTS_INT16 1u
#define DLA_OP_DEPTH_CONV_SUM_SHIFT 13
#define DLA_OP_DEPTH_CONV_SUM_MASK UINT64_C(0x2000)
#define DLA_OP_DEPTH_CONV_SUM_NONE 0u
#define DLA_OP_DEPTH_CONV_SUM_TENSOR 1u
static inline uint64_t dla_encode_op_depth_conv(uint32_t init, uint32_t out, uint32_t quant, uint32_t elements, uint32_t sum)
{
    uint64_t word = DLA_OPCODE_OP_DEPTH_CONV;
    word |= (uint64_t)init << DLA_OP_DEPTH_CONV_INIT_SHIFT & DLA_OP_DEPTH_CONV_INIT_MASK;
    word |= (uint64_t)out << DLA_OP_DEPTH_CONV_OUT_SHIFT & DLA_OP_DEPTH_CONV_OUT_MASK;
    word |= (uint64_t)quant << DLA_OP_DEPTH_CONV_QUANT_SHIFT & DLA_OP_DEPTH_CONV_QUANT_MASK;
    word |= (uint64_t)elements << DLA_OP_DEPTH_CONV_ELEMENTS_SHIFT & DLA_OP_DEPTH_CONV_ELEMENTS_MASK;
    word |= (uint64_t)sum << DLA_OP_DEPTH_CONV_SUM_SHIFT & DLA_OP_DEPTH_CONV_SUM_MASK;
    return word;
}

/* OP_MAT_MUL, unit MAC: matrix multiplication, optionally requantized.
   Reads IN_ADDR, IN_PIXEL_STRIDE, IN_ROW_STRIDE, OUT_ADDR, OUT_PIXEL_STRIDE, OUT_ROW_STRIDE, ACC_ADDR,
   ACC_PIXEL_STRIDE, ACC_ROW_STRIDE, WEIGHT_ADDR, PARAM_ADDR, IN_CHANNELS, OUT_SIZE, OUT_CHANNELS, IN_ZP,
   IN2_ZP, OUT_ZP, ACT_MIN, ACT_MAX, IN_MULT, IN_SHIFT, IN2_MULT, IN2_SHIFT, OUT_MULT, OUT_SHIFT,
   WEIGHT_ZP, SUM_ZP, SUM_MIN, SUM_MAX. */
#define DLA_OP_MAT_MUL_INIT_SHIFT 8
#define DLA_OP_MAT_MUL_INIT_MASK UINT64_C(0x300)
#define DLA_OP_MAT_MUL_INIT_ZERO 0u
#define DLA_OP_MAT_MUL_INIT_BIAS 1u
#define DLA_OP_MAT_MUL_INIT_PARTIAL 2u
#define DLA_OP_MAT_MUL_OUT_SHIFT 10
#define DLA_OP_MAT_MUL_OUT_MASK UINT64_C(0x400)
#define DLA_OP_MAT_MUL_OUT_INT8 0u
#define DLA_OP_MAT_MUL_OUT_INT32 1u
#define DLA_OP_MAT_MUL_QUANT_SHIFT 11
#define DLA_OP_MAT_MUL_QUANT_MASK UINT64_C(0x800)
#define DLA_OP_MAT_MUL_QUANT_TENSOR 0u
#define DLA_OP_MAT_MUL_QUANT_CHANNEL 1u
#define DLA_OP_MAT_MUL_ELEMENTS_SHIFT 12
#define DLA_OP_MAT_MUL_ELEMENTS_MASK UINT64_C(0x1000)
#define DLA_OP_MAT_MUL_ELEMENTS_INT8 0u
#define DLA_OP_MAT_MUL_ELEMENTS_INT16 1u
#define DLA_OP_MAT_MUL_SUM_SHIFT 13
#define DLA_OP_MAT_MUL_SUM_MASK UINT64_C(0x2000)
#define DLA_OP_MAT_MUL_SUM_NONE 0u
#define DLA_OP_MAT_MUL_SUM_TENSOR 1u
#define DLA_OP_MAT_MUL_WEIGHTS_SHIFT 14
#define DLA_OP_MAT_MUL_WEIGHTS_MASK UINT64_C(0x4000)
#define DLA_OP_MAT_MUL_WEIGHTS_INT8 0u
#define DLA_OP_MAT_MUL_WEIGHTS_INT16 1u
static inline uint64_t dla_encode_op_mat_mul(uint32_t init, uint32_t out, uint32_t quant, uint32_t elements, uint32_t sum, uint32_t weights)
{
    uint64_t word = DLA_OPCODE_OP_MAT_MUL;
    word |= (uint64_t)init << DLA_OP_MAT_MUL_INIT_SHIFT & DLA_OP_MAT_MUL_INIT_MASK;
    word |= (uint64_t)out << DLA_OP_MAT_MUL_OUT_SHIFT & DLA_OP_MAT_MUL_OUT_MASK;
    word |= (uint64_t)quant << DLA_OP_MAT_MUL_QUANT_SHIFT & DLA_OP_MAT_MUL_QUANT_MASK;
    word |= (uint64_t)elements << DLA_OP_MAT_MUL_ELEMENTS_SHIFT & DLA_OP_MAT_MUL_ELEMENTS_MASK;
    word |= (uint64_t)sum << DLA_OP_MAT_MUL_SUM_SHIFT & DLA_OP_MAT_MUL_SUM_MASK;
    word |= (uint64_t)weights << DLA_OP_MAT_MUL_WEIGHTS_SHIFT & DLA_OP_MAT_MUL_WEIGHTS_MASK;
    return word;
}

/* OP_REQUANT, unit VECTOR: int32 to int8.
   Reads IN_ADDR, IN_PIXEL_STRIDE, IN_ROW_STRIDE, OUT_ADDR, OUT_PIXEL_STRIDE, OUT_ROW_STRIDE, PARAM_ADDR,
   OUT_SIZE, OUT_CHANNELS, OUT_ZP, ACT_MIN, ACT_MAX, OUT_MULT, OUT_SHIFT. */
#define DLA_OP_REQUANT_QUANT_SHIFT 11
#define DLA_OP_REQUANT_QUANT_MASK UINT64_C(0x800)
#define DLA_OP_REQUANT_QUANT_TENSOR 0u
#define DLA_OP_REQUANT_QUANT_CHANNEL 1u
static inline uint64_t dla_encode_op_requant(uint32_t quant)
{
    uint64_t word = DLA_OPCODE_OP_REQUANT;
    word |= (uint64_t)quant << DLA_OP_REQUANT_QUANT_SHIFT & DLA_OP_REQUANT_QUANT_MASK;
    return word;
}

/* OP_E32_SHIFT, unit VECTOR: shift of int32 elements.
   Reads IN_ADDR, IN_PIXEL_STRIDE, IN_ROW_STRIDE, OUT_ADDR, OUT_PIXEL_STRIDE, OUT_ROW_STRIDE, OUT_SIZE,
   OUT_CHANNELS, SHIFT_AMOUNT. */
#define DLA_OP_E32_SHIFT_MODE_SHIFT 8
#define DLA_OP_E32_SHIFT_MODE_MASK UINT64_C(0x300)
#define DLA_OP_E32_SHIFT_MODE_LEFT 0u
#define DLA_OP_E32_SHIFT_MODE_RIGHT 1u
#define DLA_OP_E32_SHIFT_MODE_RIGHT_ROUND 2u
static inline uint64_t dla_encode_op_e32_shift(uint32_t mode)
{
    uint64_t word = DLA_OPCODE_OP_E32_SHIFT;
    word |= (uint64_t)mode << DLA_OP_E32_SHIFT_MODE_SHIFT & DLA_OP_E32_SHIFT_MODE_MASK;
    return word;
}

/* OP_E32_ADD, unit VECTOR: element-wise sum of int32 tensors.
   Reads IN_ADDR, IN_PIXEL_STRIDE, IN_ROW_STRIDE, IN2_ADDR, IN2_PIXEL_STRIDE, IN2_ROW_STRIDE, OUT_ADDR,
   OUT_PIXEL_STRIDE, OUT_ROW_STRIDE, OUT_SIZE, OUT_CHANNELS. */
static inline uint64_t dla_encode_op_e32_add(void)
{
    uint64_t word = DLA_OPCODE_OP_E32_ADD;
    return word;
}

/* OP_POOL, unit VECTOR: pooling.
   Reads IN_ADDR, IN_PIXEL_STRIDE, IN_ROW_STRIDE, OUT_ADDR, OUT_PIXEL_STRIDE, OUT_ROW_STRIDE, IN_SIZE,
   IN_CHANNELS, OUT_SIZE, OUT_CHANNELS, KERNEL, STRIDE, DILATION, PAD, IN_ZP, OUT_ZP, ACT_MIN, ACT_MAX,
   OUT_MULT, OUT_SHIFT. */
#define DLA_OP_POOL_MODE_SHIFT 8
#define DLA_OP_POOL_MODE_MASK UINT64_C(0x300)
#define DLA_OP_POOL_MODE_MAX 0u
#define DLA_OP_POOL_MODE_AVERAGE 1u
#define DLA_OP_POOL_MODE_MEAN 2u
#define DLA_OP_POOL_MODE_AVERAGE_UP 3u
#define DLA_OP_POOL_ELEMENTS_SHIFT 12
#define DLA_OP_POOL_ELEMENTS_MASK UINT64_C(0x1000)
#define DLA_OP_POOL_ELEMENTS_INT8 0u
#define DLA_OP_POOL_ELEMENTS_INT16 1u
static inline uint64_t dla_encode_op_pool(uint32_t mode, uint32_t elements)
{
    uint64_t word = DLA_OPCODE_OP_POOL;
    word |= (uint64_t)mode << DLA_OP_POOL_MODE_SHIFT & DLA_OP_POOL_MODE_MASK;
    word |= (uint64_t)elements << DLA_OP_POOL_ELEMENTS_SHIFT & DLA_OP_POOL_ELEMENTS_MASK;
    return word;
}

/* OP_ACT_RELU, unit VECTOR: ReLU.
   Reads IN_ADDR, IN_PIXEL_STRIDE, IN_ROW_STRIDE, OUT_ADDR, OUT_PIXEL_STRIDE, OUT_ROW_STRIDE, OUT_SIZE,
   OUT_CHANNELS, IN_ZP, OUT_ZP, ACT_MIN, ACT_MAX, OUT_MULT, OUT_SHIFT. */
static inline uint64_t dla_encode_op_act_relu(void)
{
    uint64_t word = DLA_OPCODE_OP_ACT_RELU;
    return word;
}

/* OP_ACT_LRELU, unit VECTOR: leaky ReLU.
   Reads IN_ADDR, IN_PIXEL_STRIDE, IN_ROW_STRIDE, OUT_ADDR, OUT_PIXEL_STRIDE, OUT_ROW_STRIDE, OUT_SIZE,
   OUT_CHANNELS, IN_ZP, OUT_ZP, ACT_MIN, ACT_MAX, IN_MULT, IN_SHIFT, OUT_MULT, OUT_SHIFT. */
#define DLA_OP_ACT_LRELU_ELEMENTS_SHIFT 12
#define DLA_OP_ACT_LRELU_ELEMENTS_MASK UINT64_C(0x1000)
#define DLA_OP_ACT_LRELU_ELEMENTS_INT8 0u
#define DLA_OP_ACT_LRELU_ELEMENTS_INT16 1u
static inline uint64_t dla_encode_op_act_lrelu(uint32_t elements)
{
    uint64_t word = DLA_OPCODE_OP_ACT_LRELU;
    word |= (uint64_t)elements << DLA_OP_ACT_LRELU_ELEMENTS_SHIFT & DLA_OP_ACT_LRELU_ELEMENTS_MASK;
    return word;
}

/* OP_ACT_LUT, unit VECTOR: any unary function of int8, by table.
   Reads IN_ADDR, IN_PIXEL_STRIDE, IN_ROW_STRIDE, OUT_ADDR, OUT_PIXEL_STRIDE, OUT_ROW_STRIDE, LUT_ADDR,
   OUT_SIZE, OUT_CHANNELS. */
static inline uint64_t dla_encode_op_act_lut(void)
{
    uint64_t word = DLA_OPCODE_OP_ACT_LUT;
    return word;
}

/* OP_E_ADD, unit VECTOR: element-wise sum with rescaling.
   Reads IN_ADDR, IN_PIXEL_STRIDE, IN_ROW_STRIDE, IN2_ADDR, IN2_PIXEL_STRIDE, IN2_ROW_STRIDE, OUT_ADDR,
   OUT_PIXEL_STRIDE, OUT_ROW_STRIDE, OUT_SIZE, OUT_CHANNELS, IN_ZP, IN2_ZP, OUT_ZP, ACT_MIN, ACT_MAX,
   IN_MULT, IN_SHIFT, IN2_MULT, IN2_SHIFT, OUT_MULT, OUT_SHIFT, LEFT_SHIFT. */
#define DLA_OP_E_ADD_ELEMENTS_SHIFT 12
#define DLA_OP_E_ADD_ELEMENTS_MASK UINT64_C(0x1000)
#define DLA_OP_E_ADD_ELEMENTS_INT8 0u
#define DLA_OP_E_ADD_ELEMENTS_INT16 1u
static inline uint64_t dla_encode_op_e_add(uint32_t elements)
{
    uint64_t word = DLA_OPCODE_OP_E_ADD;
    word |= (uint64_t)elements << DLA_OP_E_ADD_ELEMENTS_SHIFT & DLA_OP_E_ADD_ELEMENTS_MASK;
    return word;
}

/* OP_E_SUB, unit VECTOR: element-wise difference with rescaling.
   Reads IN_ADDR, IN_PIXEL_STRIDE, IN_ROW_STRIDE, IN2_ADDR, IN2_PIXEL_STRIDE, IN2_ROW_STRIDE, OUT_ADDR,
   OUT_PIXEL_STRIDE, OUT_ROW_STRIDE, OUT_SIZE, OUT_CHANNELS, IN_ZP, IN2_ZP, OUT_ZP, ACT_MIN, ACT_MAX,
   IN_MULT, IN_SHIFT, IN2_MULT, IN2_SHIFT, OUT_MULT, OUT_SHIFT, LEFT_SHIFT. */
#define DLA_OP_E_SUB_ELEMENTS_SHIFT 12
#define DLA_OP_E_SUB_ELEMENTS_MASK UINT64_C(0x1000)
#define DLA_OP_E_SUB_ELEMENTS_INT8 0u
#define DLA_OP_E_SUB_ELEMENTS_INT16 1u
static inline uint64_t dla_encode_op_e_sub(uint32_t elements)
{
    uint64_t word = DLA_OPCODE_OP_E_SUB;
    word |= (uint64_t)elements << DLA_OP_E_SUB_ELEMENTS_SHIFT & DLA_OP_E_SUB_ELEMENTS_MASK;
    return word;
}

/* OP_E_MUL, unit VECTOR: element-wise product with rescaling.
   Reads IN_ADDR, IN_PIXEL_STRIDE, IN_ROW_STRIDE, IN2_ADDR, IN2_PIXEL_STRIDE, IN2_ROW_STRIDE, OUT_ADDR,
   OUT_PIXEL_STRIDE, OUT_ROW_STRIDE, OUT_SIZE, OUT_CHANNELS, IN_ZP, IN2_ZP, OUT_ZP, ACT_MIN, ACT_MAX,
   OUT_MULT, OUT_SHIFT. */
#define DLA_OP_E_MUL_ELEMENTS_SHIFT 12
#define DLA_OP_E_MUL_ELEMENTS_MASK UINT64_C(0x1000)
#define DLA_OP_E_MUL_ELEMENTS_INT8 0u
#define DLA_OP_E_MUL_ELEMENTS_INT16 1u
static inline uint64_t dla_encode_op_e_mul(uint32_t elements)
{
    uint64_t word = DLA_OPCODE_OP_E_MUL;
    word |= (uint64_t)elements << DLA_OP_E_MUL_ELEMENTS_SHIFT & DLA_OP_E_MUL_ELEMENTS_MASK;
    return word;
}

/* OP_E_ABS, unit VECTOR: absolute value with rescaling.
   Reads IN_ADDR, IN_PIXEL_STRIDE, IN_ROW_STRIDE, OUT_ADDR, OUT_PIXEL_STRIDE, OUT_ROW_STRIDE, OUT_SIZE,
   OUT_CHANNELS, IN_ZP, OUT_ZP, ACT_MIN, ACT_MAX, OUT_MULT, OUT_SHIFT. */
static inline uint64_t dla_encode_op_e_abs(void)
{
    uint64_t word = DLA_OPCODE_OP_E_ABS;
    return word;
}

/* OP_C_MIN, unit VECTOR: element-wise minimum.
   Reads IN_ADDR, IN_PIXEL_STRIDE, IN_ROW_STRIDE, IN2_ADDR, IN2_PIXEL_STRIDE, IN2_ROW_STRIDE, OUT_ADDR,
   OUT_PIXEL_STRIDE, OUT_ROW_STRIDE, OUT_SIZE, OUT_CHANNELS. */
static inline uint64_t dla_encode_op_c_min(void)
{
    uint64_t word = DLA_OPCODE_OP_C_MIN;
    return word;
}

/* OP_C_MAX, unit VECTOR: element-wise maximum.
   Reads IN_ADDR, IN_PIXEL_STRIDE, IN_ROW_STRIDE, IN2_ADDR, IN2_PIXEL_STRIDE, IN2_ROW_STRIDE, OUT_ADDR,
   OUT_PIXEL_STRIDE, OUT_ROW_STRIDE, OUT_SIZE, OUT_CHANNELS. */
static inline uint64_t dla_encode_op_c_max(void)
{
    uint64_t word = DLA_OPCODE_OP_C_MAX;
    return word;
}

/* OP_SOFTMAX, unit VECTOR: softmax along the channels of each pixel.
   Reads IN_ADDR, IN_PIXEL_STRIDE, IN_ROW_STRIDE, OUT_ADDR, OUT_PIXEL_STRIDE, OUT_ROW_STRIDE, LUT_ADDR,
   OUT_SIZE, OUT_CHANNELS. */
static inline uint64_t dla_encode_op_softmax(void)
{
    uint64_t word = DLA_OPCODE_OP_SOFTMAX;
    return word;
}

/* OP_E_SQDIFF, unit VECTOR: element-wise squared difference with rescaling.
   Reads IN_ADDR, IN_PIXEL_STRIDE, IN_ROW_STRIDE, IN2_ADDR, IN2_PIXEL_STRIDE, IN2_ROW_STRIDE, OUT_ADDR,
   OUT_PIXEL_STRIDE, OUT_ROW_STRIDE, OUT_SIZE, OUT_CHANNELS, IN_ZP, IN2_ZP, OUT_ZP, ACT_MIN, ACT_MAX,
   IN_MULT, IN_SHIFT, IN2_MULT, IN2_SHIFT, OUT_MULT, OUT_SHIFT, LEFT_SHIFT. */
#define DLA_OP_E_SQDIFF_ELEMENTS_SHIFT 12
#define DLA_OP_E_SQDIFF_ELEMENTS_MASK UINT64_C(0x1000)
#define DLA_OP_E_SQDIFF_ELEMENTS_INT8 0u
#define DLA_OP_E_SQDIFF_ELEMENTS_INT16 1u
static inline uint64_t dla_encode_op_e_sqdiff(uint32_t elements)
{
    uint64_t word = DLA_OPCODE_OP_E_SQDIFF;
    word |= (uint64_t)elements << DLA_OP_E_SQDIFF_ELEMENTS_SHIFT & DLA_OP_E_SQDIFF_ELEMENTS_MASK;
    return word;
}

#endif
