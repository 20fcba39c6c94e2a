/* Whether the host calls of a program may be made: the rules of dla_host_checks.h. */
#ifndef DLASIM_KERNELS_CHECK_H
#define DLASIM_KERNELS_CHECK_H

#include "program.h"

/* Looks at every host call before the first is made; BAD_CALL where one breaks a rule. */
enum status check_calls(const struct program *program);

/* After BAD_CALL: which call it is and what is wrong, in one line on the console. */
void report_bad_call(const struct program *program);

#endif
