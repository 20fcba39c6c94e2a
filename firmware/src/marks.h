/* Marks for the board's profiler. Counts are taken at the start of a basic block: a function of their own
 * makes that the moment of the call. */
#ifndef DLASIM_MARKS_H
#define DLASIM_MARKS_H

#include <stdint.h>

#include "boot.h"

enum { MARK_INFERENCE = 0, MARK_FIRST_HOST_CALL = 1 }; /* host call n is region 1 + n */

__attribute__((noinline)) static void mark_begin(uint32_t region) { write32(DLASIM_EXIT_REGION_BEGIN, region); }
__attribute__((noinline)) static void mark_end(uint32_t region) { write32(DLASIM_EXIT_REGION_END, region); }

#endif
