/* Runs a program: command streams on the accelerator, host calls here. */
#ifndef DLASIM_RUNTIME_H
#define DLASIM_RUNTIME_H

#include "dla.h"
#include "program.h"
#include "status.h"

enum runtime_submission {
    SUBMISSION_QUEUE,     /* doorbells; the CPU goes on while streams run */
    SUBMISSION_REGISTERS, /* register by register, command by command */
};

/* Checks the host calls of a program that is open and placed, and makes the accelerator ready for it. */
enum status runtime_start(const struct program *program, enum dla_completion completion);

/* Lets the next inference read and write other buffers than those it was placed on; variables stay. */
void runtime_move(struct program *program, void *inputs, void *outputs);

/* One inference, from what lies in region INPUTS to what then lies in region OUTPUTS. */
enum status runtime_infer(const struct program *program, enum runtime_submission submission);

/* One line about what went wrong, on the console. */
void runtime_report(const struct program *program, enum status status);

#endif
