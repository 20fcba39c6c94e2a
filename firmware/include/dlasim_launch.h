/* What the loader tells the firmware. Generated from vp/programs/launch.py; edit that. */
#ifndef DLASIM_LAUNCH_H
#define DLASIM_LAUNCH_H

#include <stdint.h>

struct dlasim_launch {
    uint32_t completion; /* 0: interrupts, 1: polling */
    uint32_t submission; /* 0: command queue, 1: register by register */
    uint32_t inferences; /* how many to run, on the same inputs */
    uint32_t arena; /* address of region ARENA */
    uint32_t inputs; /* address of region INPUTS */
    uint32_t outputs; /* address of region OUTPUTS */
};

#endif
