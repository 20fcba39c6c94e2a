/* Interrupts without a cause: the handler is entered by hand, again and again, while a program runs. */
#include "boot.h"
#include "dlasim_launch.h"
#include "runtime.h"
#include "uart.h"

const volatile struct dlasim_launch launch = { .inferences = 1 };

enum { TIMES = 5 };

/* A second cause for the driver's handler: the software interrupt, as a wire of a board gone wrong would be. */
void software_interrupt(struct trap_frame *frame)
{
    write32(DLASIM_CLINT_SOFTWARE_INTERRUPT, 0);
    external_interrupt(frame);
}

static void interrupt_without_cause(void)
{
    for (int time = 0; time < TIMES; time++) {
        write32(DLASIM_CLINT_SOFTWARE_INTERRUPT, 1);
        while (read32(DLASIM_CLINT_SOFTWARE_INTERRUPT)) { } /* until the handler has been */
    }
}

int main(void)
{
    static struct program program;
    if (program_open(&program, (const void *)DLASIM_PROGRAM_BASE) != OK)
        return 1;
    program_place(&program, (void *)launch.arena, (void *)launch.inputs, (void *)launch.outputs);
    if (runtime_start(&program, DLA_COMPLETION_INTERRUPT) != OK)
        return 1;
    csr_set(mie, INTERRUPT_BIT(DLASIM_INTERRUPT_SOFTWARE));
    interrupt_without_cause();
    enum status status = runtime_infer(&program, SUBMISSION_QUEUE);
    interrupt_without_cause();
    put_number("spurious ", dla_spurious_interrupts());
    put_text("\n");
    return status;
}
