/* Runs the program image behind the firmware, as often as the launch block says, and leaves. Each inference
 * may have inputs and outputs of its own: the steps of a decoder.
 *
 * The launch block is how whoever loads the board tells the firmware what to do: constants in flash that a
 * loader, like a programmer of the chip, may overwrite before reset. */
#include "boot.h"
#include "dlasim_launch.h"
#include "runtime.h"
#include "string.h"
#include "uart.h"

const volatile struct dlasim_launch launch = { .inferences = 1, .slots = 1 };

static struct program program;

static void announce(void)
{
    put_text(program.name);
    put_number(": streams ", program.stream_count);
    put_number(", host calls ", program.host_call_count);
    put_text("\n");
}

/* Outputs of the last inference that the next one takes, copied as an application would. */
static void carry(uint8_t *inputs, const uint8_t *outputs)
{
    const struct dlasim_carried *carried = (const void *)launch.carried;
    for (uint32_t left = launch.carried_count; left; left--, carried++)
        memcpy(inputs + carried->input, outputs + carried->output, carried->size_bytes);
}

/* From the place of the last inference to that of this one; variables stay where they are. */
static void move_to(uint32_t slot)
{
    uint8_t *inputs = (uint8_t *)launch.inputs + slot * launch.inputs_stride;
    carry(inputs, program.regions[DLA_REGION_OUTPUTS].base);
    runtime_move(&program, inputs, (uint8_t *)launch.outputs + slot * launch.outputs_stride);
}

static enum status run(void)
{
    enum status status = program_open(&program, (const void *)DLASIM_PROGRAM_BASE);
    if (status != OK)
        return status;
    announce();
    program_place(&program, (void *)launch.arena, (void *)launch.inputs, (void *)launch.outputs);
    status = runtime_start(&program, launch.completion);
    for (uint32_t number = 0; number < launch.inferences && status == OK; number++) {
        if (number && launch.slots > 1)
            move_to(number % launch.slots);
        status = runtime_infer(&program, launch.submission);
    }
    return status;
}

int main(void)
{
    enum status status = run();
    runtime_report(&program, status);
    return status;
}
