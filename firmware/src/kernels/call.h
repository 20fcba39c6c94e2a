/* What a kernel is given: a host call with its tensors and attributes. */
#ifndef DLASIM_KERNELS_CALL_H
#define DLASIM_KERNELS_CALL_H

#include <stddef.h>
#include <stdint.h>

#include "dla_host_ops.h"
#include "program.h"

struct tensor {
    void *data;
    const uint32_t *shape; /* DLA_PROGRAM_MAX_RANK dimensions, those beyond the rank 1 */
    uint32_t rank;
    uint32_t type;          /* enum dla_data_type */
    uint32_t element_bytes;
    uint32_t elements;
};

struct call {
    const struct program *program;
    const struct dla_program_host_call *record;
    const void *attributes; /* the operator's struct of dla_host_ops.h */
};

/* Runs a host call; NO_KERNEL where there is none for its operator or element types. */
enum status call_kernel(const struct program *program, const struct dla_program_host_call *record);

struct tensor call_input(const struct call *call, uint32_t number);
struct tensor call_output(const struct call *call, uint32_t number);

/* Images are NHWC. */
static inline uint32_t batches_of(const struct tensor *image) { return image->shape[0]; }
static inline uint32_t height_of(const struct tensor *image) { return image->shape[1]; }
static inline uint32_t width_of(const struct tensor *image) { return image->shape[2]; }
static inline uint32_t channels_of(const struct tensor *image) { return image->shape[3]; }

/* The product of the dimensions from `first` up to, not including, `end`. */
uint32_t product_of(const struct tensor *tensor, uint32_t first, uint32_t end);

typedef enum status kernel(const struct call *call);

#define DECLARATION(operator, function) kernel function;
DLA_HOST_KERNELS(DECLARATION)
#undef DECLARATION

#endif
