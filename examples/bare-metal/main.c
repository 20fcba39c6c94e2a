/* An application for the board: a network runs on the accelerator while a timer interrupts the CPU.
 *
 * The network is in program_image.h (see the Makefile). The application brings its own main(), its own
 * buffers and its own interrupt handler; start-up, driver, runtime and CPU kernels are the firmware's. */
#include "boot.h"
#include "program_image.h"
#include "runtime.h"
#include "uart.h"

enum { TICK_CYCLES = 2000, INFERENCES = 3 };

static int8_t arena[PROGRAM_ARENA_BYTES + 1] __attribute__((aligned(64)));
static int8_t inputs[PROGRAM_INPUTS_BYTES] __attribute__((aligned(64)));
static int8_t outputs[PROGRAM_OUTPUTS_BYTES] __attribute__((aligned(64)));

static volatile uint32_t ticks;

/* The timer goes off once time has reached compare; 32 bits of it last long enough here. */
static void start_tick(void)
{
    write32(DLASIM_CLINT_COMPARE_HIGH, 0);
    write32(DLASIM_CLINT_COMPARE_LOW, read32(DLASIM_CLINT_TIME_LOW) + TICK_CYCLES);
}

void timer_interrupt(struct trap_frame *frame)
{
    (void)frame;
    ticks++;
    start_tick();
}

/* What a sensor would deliver: here, noise from a small generator. */
static void sense(uint32_t seed)
{
    for (uint32_t i = 0; i < PROGRAM_INPUTS_BYTES; i++) {
        seed = seed * 1664525u + 1013904223u;
        inputs[i] = (int8_t)(seed >> 24);
    }
}

/* The first output tensor of the image, wherever its bytes are. */
static uint32_t best_class(const struct program *program)
{
    const struct dla_program_tensor *tensor = program->tensors;
    while (tensor->role != DLA_ROLE_OUTPUT)
        tensor++;
    const int8_t *scores = program_data(program, tensor);
    uint32_t best = 0;
    for (uint32_t i = 1; i < tensor->size_bytes; i++)
        if (scores[i] > scores[best])
            best = i;
    return best;
}

int main(void)
{
    static struct program program;
    enum status status = program_open(&program, program_image);
    if (status == OK) {
        program_place(&program, arena, inputs, outputs);
        status = runtime_start(&program, DLA_COMPLETION_INTERRUPT);
    }
    csr_set(mie, INTERRUPT_BIT(DLASIM_INTERRUPT_TIMER));
    start_tick();

    for (uint32_t number = 0; number < INFERENCES && status == OK; number++) {
        sense(number);
        status = runtime_infer(&program, SUBMISSION_QUEUE);
        put_number("inference ", number);
        put_number(": class ", best_class(&program));
        put_number(", ticks so far ", ticks);
        put_text("\n");
    }
    runtime_report(&program, status);
    return status;
}
