/* The records of program.bin, all of them little-endian. Generated from dlasim/isa/file_records.py; edit
   that, not this. */
#ifndef DLA_PROGRAM_H
#define DLA_PROGRAM_H

#include <stdint.h>

#define DLA_PROGRAM_MAGIC "DLAPROG"
#define DLA_PROGRAM_MAGIC_BYTES 8u
#define DLA_PROGRAM_FORMAT_VERSION 1u
/* Sections start at multiples of this. */
#define DLA_PROGRAM_SECTION_ALIGNMENT 64u
#define DLA_PROGRAM_MAX_RANK 6u

/* Section kinds. */
enum dla_section {
    DLA_SECTION_CONFIG = 1,
    DLA_SECTION_STRINGS = 2,
    DLA_SECTION_TENSORS = 3,
    DLA_SECTION_STREAMS = 4,
    DLA_SECTION_STEPS = 5,
    DLA_SECTION_HOST_CALLS = 6,
    DLA_SECTION_OPERANDS = 7,
    DLA_SECTION_ATTRIBUTES = 8,
    DLA_SECTION_LAYERS = 9,
    DLA_SECTION_SPANS = 10,
    DLA_SECTION_CONSTANTS = 11,
    DLA_SECTION_COMMANDS = 12,
    DLA_SECTION_DEBUG = 13,
    DLA_SECTION_LINES = 64,
    DLA_SECTION_WORK = 65,
};

/* Element types. */
enum dla_data_type {
    DLA_DATA_TYPE_INT8 = 0,
    DLA_DATA_TYPE_INT32 = 1,
    DLA_DATA_TYPE_FLOAT32 = 2,
    DLA_DATA_TYPE_BOOL = 3,
    DLA_DATA_TYPE_INT64 = 4,
    DLA_DATA_TYPE_UINT8 = 5,
    DLA_DATA_TYPE_INT16 = 6,
};

/* Tensor roles. */
enum dla_role {
    DLA_ROLE_INTERNAL = 0,
    DLA_ROLE_INPUT = 1,
    DLA_ROLE_OUTPUT = 2,
    DLA_ROLE_CONSTANT = 3,
    DLA_ROLE_VARIABLE = 4,
};

/* Step kinds. */
enum dla_step_kind {
    DLA_STEP_KIND_STREAM = 0,
    DLA_STEP_KIND_HOST = 1,
    DLA_STEP_KIND_PRELOAD = 2,
};

/* Layer kinds. */
enum dla_layer_kind {
    DLA_LAYER_KIND_CONV = 0,
    DLA_LAYER_KIND_DEPTH = 1,
    DLA_LAYER_KIND_FC = 2,
    DLA_LAYER_KIND_POOL = 3,
    DLA_LAYER_KIND_ELTWISE = 4,
    DLA_LAYER_KIND_ACT = 5,
    DLA_LAYER_KIND_REQUANT = 6,
    DLA_LAYER_KIND_HOST = 7,
    DLA_LAYER_KIND_OTHER = 8,
};

/* The first bytes of the file. */
struct dla_program_header {
    uint8_t magic[8]; /* the letters DLAPROG and a zero byte */
    uint32_t format_version; /* version of this format */
    uint32_t isa_version; /* ISA_VERSION of the machine it was written for: major << 16 | minor */
    uint32_t file_bytes; /* length of the whole file */
    uint32_t checksum; /* CRC-32 (zlib) of the whole file with this member zero */
    uint32_t name; /* name of the model: offset in STRINGS */
    uint32_t section_count; /* entries of the section table that follows */
    uint64_t features; /* bit n: some command word has opcode n */
} __attribute__((packed, aligned(4)));
_Static_assert(sizeof(struct dla_program_header) == 40, "size");

/* An entry of the section table. Kinds ascend; sections do not overlap; each starts at a multiple of 64. */
struct dla_program_section {
    uint32_t kind; /* what it holds */
    uint32_t offset; /* where it starts in the file */
    uint32_t size_bytes; /* its length */
    uint32_t count; /* its records; bytes for STRINGS and CONSTANTS, words for COMMANDS */
} __attribute__((packed, aligned(4)));
_Static_assert(sizeof(struct dla_program_section) == 16, "size");

/* Requirements of the program: the machine and system memory. */
struct dla_program_config {
    uint32_t pes; /* processing elements */
    uint32_t input_lanes; /* input channels in parallel */
    uint32_t output_lanes; /* output channels in parallel */
    uint32_t sram_bytes; /* size of the SRAM */
    uint32_t fingerprint; /* from the four members above and the ISA's major version; REQUIRE_CONFIG checks it */
    uint32_t arena_bytes; /* size of region ARENA */
    uint32_t inputs_bytes; /* size of region INPUTS */
    uint32_t outputs_bytes; /* size of region OUTPUTS */
    uint32_t sram_peak_bytes; /* maximum SRAM in use at once, according to the compiler; 0 if unknown */
} __attribute__((packed, aligned(4)));
_Static_assert(sizeof(struct dla_program_config) == 36, "size");

/* An array in a region of system memory, dense and row-major. */
struct dla_program_tensor {
    uint32_t name; /* offset in STRINGS */
    uint32_t type; /* element type */
    uint32_t role; /* internal, input, output, constant or variable. A variable keeps its value from one inference to the next; initially, int8 variables hold their zero point, others zeros */
    uint32_t region; /* region that holds it */
    uint32_t offset; /* byte offset in the region */
    uint32_t size_bytes; /* its length */
    uint32_t rank; /* number of dimensions used */
    uint32_t shape[6]; /* dimensions, the rest 1 */
    float scale; /* real value of one step; 0 if not quantized */
    int32_t zero_point; /* the integer that means 0 */
} __attribute__((packed, aligned(4)));
_Static_assert(sizeof(struct dla_program_tensor) == 60, "size");

/* A command stream: consecutive words of COMMANDS that end with HALT. Streams follow each other. */
struct dla_program_stream {
    uint32_t first_word; /* index of its first word in COMMANDS */
    uint32_t words; /* its length in words */
} __attribute__((packed, aligned(4)));
_Static_assert(sizeof(struct dla_program_stream) == 8, "size");

/* What the CPU does next, once the first `after_streams` streams have completed. Steps name streams and
   host calls in their order, each once. */
struct dla_program_step {
    uint32_t kind; /* stream, host call or preload; only the first step may be a preload */
    uint32_t index; /* which stream or host call */
    uint32_t after_streams; /* streams, from the first, that must have completed before */
} __attribute__((packed, aligned(4)));
_Static_assert(sizeof(struct dla_program_step) == 12, "size");

/* An operator that the CPU computes. */
struct dla_program_host_call {
    uint32_t code; /* operator, from the table of host operators */
    uint32_t first_operand; /* index in OPERANDS of its first input; outputs follow the inputs */
    uint32_t input_count; /* number of inputs */
    uint32_t output_count; /* number of outputs */
    uint32_t first_attribute; /* index in ATTRIBUTES of its first attribute word */
    uint32_t attribute_count; /* number of attribute words */
    uint32_t layer; /* layer it belongs to */
} __attribute__((packed, aligned(4)));
_Static_assert(sizeof(struct dla_program_host_call) == 28, "size");

/* A tensor by number. */
struct dla_program_operand {
    uint32_t tensor; /* index in TENSORS */
} __attribute__((packed, aligned(4)));
_Static_assert(sizeof(struct dla_program_operand) == 4, "size");

/* An attribute word of a host call. */
struct dla_program_attribute {
    int32_t word; /* its value */
} __attribute__((packed, aligned(4)));
_Static_assert(sizeof(struct dla_program_attribute) == 4, "size");

/* A layer of the model, for reports. */
struct dla_program_layer {
    uint32_t name; /* offset in STRINGS */
    uint32_t operator; /* its TFLite operator: offset in STRINGS */
    uint32_t kind; /* kind to which its cycles are added in reports */
    uint32_t reserved; /* zero */
    uint64_t macs; /* multiply-accumulates of one inference */
} __attribute__((packed, aligned(4)));
_Static_assert(sizeof(struct dla_program_layer) == 24, "size");

/* Consecutive command words that belong to one layer. Spans ascend and do not overlap. */
struct dla_program_span {
    uint32_t first_word; /* index of its first word in COMMANDS */
    uint32_t words; /* its length */
    uint32_t layer; /* the layer */
} __attribute__((packed, aligned(4)));
_Static_assert(sizeof(struct dla_program_span) == 12, "size");

/* Debug information: a compute instruction writes this box of a model tensor. */
struct dla_program_slice {
    uint32_t word; /* index of the instruction in COMMANDS */
    uint32_t tensor; /* index of the tensor in the model's graph */
    uint32_t start[3]; /* first row, column and channel */
    uint32_t size[3]; /* rows, columns and channels */
} __attribute__((packed, aligned(4)));
_Static_assert(sizeof(struct dla_program_slice) == 32, "size");

/* Debug information: command words assembled from consecutive lines of a text, one word per line. Records
   ascend and do not overlap. The line of all other words is unknown. */
struct dla_program_lines {
    uint32_t first_word; /* index of its first word in COMMANDS */
    uint32_t words; /* its length */
    uint32_t file; /* name of the text: offset in STRINGS */
    uint32_t line; /* line of the first word, counted from 1; each later word is on the following line */
} __attribute__((packed, aligned(4)));
_Static_assert(sizeof(struct dla_program_lines) == 16, "size");

/* What a layer must do however it is cut: one compute instruction on whole tensors, or bytes that must
   cross the bus. From these, reports work out a lower bound of the cycles. */
struct dla_program_work {
    uint32_t layer; /* the layer */
    uint32_t opcode; /* of the instruction: a compute instruction, OP_DMA_READ or OP_DMA_WRITE */
    uint64_t count; /* pixels of the output; for a transfer bytes */
    uint32_t taps; /* steps for each pixel and group of channels; for a transfer its region */
    uint32_t in_channels; /* input channels that each output channel reads; 0 for a transfer */
    uint32_t out_channels; /* output channels; 0 for a transfer */
} __attribute__((packed, aligned(4)));
_Static_assert(sizeof(struct dla_program_work) == 28, "size");

#endif
