/* The driver of the accelerator.
 *
 * Work is given to it in one of two ways. The queue: its registers say where the command words lie, and a
 * doorbell says how far it may read; the CPU goes on at once. Or register by register, one command at a
 * time: the CPU writes the operand registers and then the command itself, and waits for its end.
 *
 * The end of a stream is noticed in one of two ways too: by the interrupt, the CPU asleep until then, or
 * by looking at the registers again and again. */
#ifndef DLASIM_DLA_H
#define DLASIM_DLA_H

#include <stdint.h>

#include "dla_isa.h"
#include "dla_registers.h"
#include "program.h"
#include "status.h"

enum dla_completion {
    DLA_COMPLETION_INTERRUPT,
    DLA_COMPLETION_POLLING,
};

/* What stopped the accelerator: its error registers. */
struct dla_error {
    uint32_t code;     /* enum dla_fault */
    uint32_t position; /* index of the command word */
    uint32_t address;
};

/* Resets the accelerator, and turns its interrupt on if that is how to learn of a stream's end. */
void dla_start(enum dla_completion completion);

/* Whether it is the accelerator, and the version of its instructions, that the program was lowered for. */
int dla_suits(const struct program *program);

/* Tells it where a region lies; only while no stream runs. */
void dla_place(uint32_t number, struct range region);

/* Tells it where the regions and the queue lie. */
void dla_attach(const struct program *program);

/* Back to the queue's first word, for the next inference; only while no stream runs. */
void dla_rewind(void);

/* Goes on behind a stream, after dla_rewind or dla_skip, as if the stream had completed. */
void dla_skip(const struct dla_program_stream *stream);

/* Lets it run the words of the queue below this index; returns at once. */
void dla_ring(uint32_t end_word);

/* Waits until so many streams have completed since the last dla_rewind. */
enum status dla_wait(uint32_t streams);

/* One stream, register by register; returns when it has completed. */
enum status dla_run_stream(const struct program *program, const struct dla_program_stream *stream);

/* After DLA_FAULT: why. */
struct dla_error dla_last_error(void);

/* Interrupts that came without a cause. */
uint32_t dla_spurious_interrupts(void);

#endif
