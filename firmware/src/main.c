/* Runs the program image behind the firmware, as often as the launch block says, and leaves.
 *
 * The launch block is how whoever loads the board tells the firmware what to do: constants in flash that a
 * loader, like a programmer of the chip, may overwrite before reset. */
#include "boot.h"
#include "dlasim_launch.h"
#include "runtime.h"
#include "uart.h"

const volatile struct dlasim_launch launch = { .inferences = 1 };

static struct program program;

static void announce(void)
{
    put_text(program.name);
    put_number(": streams ", program.stream_count);
    put_number(", host calls ", program.host_call_count);
    put_text("\n");
}

static enum status run(void)
{
    enum status status = program_open(&program, (const void *)DLASIM_PROGRAM_BASE);
    if (status != OK)
        return status;
    announce();
    program_place(&program, (void *)launch.arena, (void *)launch.inputs, (void *)launch.outputs);
    status = runtime_start(&program, launch.completion);
    for (uint32_t left = launch.inferences; left && status == OK; left--)
        status = runtime_infer(&program, launch.submission);
    return status;
}

int main(void)
{
    enum status status = run();
    runtime_report(&program, status);
    return status;
}
