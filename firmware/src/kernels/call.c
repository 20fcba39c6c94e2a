/* From a host call's record to its kernel. */
#include "call.h"

static const uint8_t element_bytes[] = {
    [DLA_DATA_TYPE_INT8] = 1,  [DLA_DATA_TYPE_INT32] = 4, [DLA_DATA_TYPE_FLOAT32] = 4, [DLA_DATA_TYPE_BOOL] = 1,
    [DLA_DATA_TYPE_INT64] = 8, [DLA_DATA_TYPE_UINT8] = 1, [DLA_DATA_TYPE_INT16] = 2,
};

/* By operator; NULL where there is none, which the loader refuses. */
#define ENTRY(operator, function) [DLA_HOST_OP_##operator] = function,
static kernel *const kernels[] = { DLA_HOST_KERNELS(ENTRY) };

enum status call_kernel(const struct program *program, const struct dla_program_host_call *record)
{
    struct call call = {
        .program = program,
        .record = record,
        .attributes = program->attributes + record->first_attribute,
    };
    if (record->code >= sizeof(kernels) / sizeof(kernels[0]) || !kernels[record->code])
        return NO_KERNEL;
    const struct dla_program_operand *output = program->operands + record->first_operand + record->input_count;
    if (!program->tensors[output->tensor].size_bytes)
        return OK; /* nothing to compute, and nothing that kernels could divide by */
    return kernels[record->code](&call);
}

static struct tensor open_tensor(const struct call *call, uint32_t operand)
{
    const struct program *program = call->program;
    const struct dla_program_tensor *record = &program->tensors[program->operands[operand].tensor];
    struct tensor tensor = {
        .data = program_data(program, record),
        .shape = record->shape,
        .rank = record->rank,
        .type = record->type,
        .element_bytes = element_bytes[record->type],
    };
    tensor.elements = record->size_bytes / tensor.element_bytes;
    return tensor;
}

struct tensor call_input(const struct call *call, uint32_t number)
{
    return open_tensor(call, call->record->first_operand + number);
}

struct tensor call_output(const struct call *call, uint32_t number)
{
    return open_tensor(call, call->record->first_operand + call->record->input_count + number);
}

uint32_t product_of(const struct tensor *tensor, uint32_t first, uint32_t end)
{
    uint32_t product = 1;
    for (uint32_t dimension = first; dimension < end; dimension++)
        product *= tensor->shape[dimension];
    return product;
}
