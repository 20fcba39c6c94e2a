/* What the loader tells the firmware. Generated from vp/programs/launch.py; edit that. */
#ifndef DLASIM_LAUNCH_H
#define DLASIM_LAUNCH_H

#include <stdint.h>

struct dlasim_launch {
    uint32_t completion; /* 0: interrupts, 1: polling */
    uint32_t submission; /* 0: command queue, 1: register by register */
    uint32_t inferences; /* how many to run */
    uint32_t slots; /* places of inputs and outputs: inference n has number n % slots */
    uint32_t arena; /* address of region ARENA */
    uint32_t inputs; /* address of region INPUTS, in the first place */
    uint32_t outputs; /* address of region OUTPUTS, in the first place */
    uint32_t inputs_stride; /* bytes from one place of INPUTS to the next */
    uint32_t outputs_stride; /* bytes from one place of OUTPUTS to the next */
    uint32_t carried; /* address of struct dlasim_carried[carried_count] */
    uint32_t carried_count; /* how many outputs become inputs of the next inference */
};

/* An output that becomes an input of the next inference. */
struct dlasim_carried {
    uint32_t output; /* offset in region OUTPUTS */
    uint32_t input; /* offset in region INPUTS of the next inference */
    uint32_t size_bytes; /* of both */
};

#endif
