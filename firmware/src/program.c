/* Finds the parts of a program image. */
#include "program.h"

#include "string.h"

static const struct dla_program_section *find_section(const struct dla_program_header *header, uint32_t kind)
{
    const struct dla_program_section *section = (const void *)(header + 1);
    for (uint32_t left = header->section_count; left; left--, section++)
        if (section->kind == kind)
            return section;
    return NULL;
}

/* A section's first record; how many it has goes to *count. One that is left out has none. */
static const void *open_section(const struct dla_program_header *header, uint32_t kind, uint32_t *count)
{
    const struct dla_program_section *section = find_section(header, kind);
    *count = section ? section->count : 0;
    return section ? (const uint8_t *)header + section->offset : NULL;
}

static int is_image(const struct dla_program_header *header)
{
    for (uint32_t i = 0; i < DLA_PROGRAM_MAGIC_BYTES; i++)
        if (header->magic[i] != (uint8_t)DLA_PROGRAM_MAGIC[i])
            return 0;
    return header->format_version == DLA_PROGRAM_FORMAT_VERSION;
}

enum status program_open(struct program *program, const void *image)
{
    const struct dla_program_header *header = image;
    uint32_t count;
    if (!is_image(header))
        return BAD_PROGRAM;
    program->isa_version = header->isa_version;
    program->config = open_section(header, DLA_SECTION_CONFIG, &count);
    program->name = (const char *)open_section(header, DLA_SECTION_STRINGS, &count) + header->name;
    program->tensors = open_section(header, DLA_SECTION_TENSORS, &program->tensor_count);
    program->streams = open_section(header, DLA_SECTION_STREAMS, &program->stream_count);
    program->steps = open_section(header, DLA_SECTION_STEPS, &program->step_count);
    program->host_calls = open_section(header, DLA_SECTION_HOST_CALLS, &program->host_call_count);
    program->operands = open_section(header, DLA_SECTION_OPERANDS, &count);
    program->attributes = open_section(header, DLA_SECTION_ATTRIBUTES, &count);
    program->commands = open_section(header, DLA_SECTION_COMMANDS, &program->command_count);

    struct range *constants = &program->regions[DLA_REGION_CONSTANTS];
    constants->base = (uint8_t *)open_section(header, DLA_SECTION_CONSTANTS, &constants->size_bytes);
    struct range *commands = &program->regions[DLA_REGION_COMMANDS];
    commands->base = (uint8_t *)program->commands;
    commands->size_bytes = program->command_count * DLA_WORD_BYTES;
    return OK;
}

/* As TFLite does it: int8 starts at its zero point, everything else at zero. */
static void reset_variables(const struct program *program)
{
    const struct dla_program_tensor *tensor = program->tensors;
    for (uint32_t left = program->tensor_count; left; left--, tensor++)
        if (tensor->role == DLA_ROLE_VARIABLE)
            memset(program_data(program, tensor), tensor->type == DLA_DATA_TYPE_INT8 ? tensor->zero_point : 0,
                   tensor->size_bytes);
}

void program_place(struct program *program, void *arena, void *inputs, void *outputs)
{
    const struct dla_program_config *need = program->config;
    program->regions[DLA_REGION_ARENA] = (struct range){ arena, need->arena_bytes };
    program->regions[DLA_REGION_INPUTS] = (struct range){ inputs, need->inputs_bytes };
    program->regions[DLA_REGION_OUTPUTS] = (struct range){ outputs, need->outputs_bytes };
    reset_variables(program);
}
