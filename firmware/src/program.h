/* A program image (program.bin) as the firmware uses it: pointers into the image, nothing copied.
 *
 * The image was checked by whoever put it there (lengths, indices, checksum); what is looked at here is
 * only whether it is an image at all, and of the version this firmware was written for. */
#ifndef DLASIM_PROGRAM_H
#define DLASIM_PROGRAM_H

#include <stdint.h>

#include "dla_isa.h"
#include "dla_program.h"
#include "dla_registers.h"
#include "status.h"

/* A range of system memory. */
struct range {
    uint8_t *base;
    uint32_t size_bytes;
};

struct program {
    const char *name;
    uint32_t isa_version;
    const struct dla_program_config *config;
    const struct dla_program_tensor *tensors;
    const struct dla_program_stream *streams;
    const struct dla_program_step *steps;
    const struct dla_program_host_call *host_calls;
    const struct dla_program_operand *operands;
    const struct dla_program_attribute *attributes;
    const uint64_t *commands;
    uint32_t tensor_count;
    uint32_t step_count;
    uint32_t stream_count;
    uint32_t host_call_count;
    uint32_t command_count;
    struct range regions[DLA_REGION_COUNT];
};

enum status program_open(struct program *program, const void *image);

/* Says where the three regions in RAM lie, and gives variables their initial values there; the other two
 * regions are parts of the image. */
void program_place(struct program *program, void *arena, void *inputs, void *outputs);

static inline void *program_data(const struct program *program, const struct dla_program_tensor *tensor)
{
    return program->regions[tensor->region].base + tensor->offset;
}

#endif
