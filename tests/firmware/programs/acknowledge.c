/* Acknowledges that come when they should not: without an interrupt, while a stream runs, twice, and long
 * after the end. The driver must see every stream complete all the same. */
#include "boot.h"
#include "dla.h"
#include "dlasim_launch.h"
#include "marks.h"

const volatile struct dlasim_launch launch = { .inferences = 1 };

enum { EVERYTHING = DLA_IRQ_ACK_DONE_MASK | DLA_IRQ_ACK_MARKER_MASK | DLA_IRQ_ACK_FAULT_MASK, LATER = 100000 };

static void acknowledge(void) { write32(DLASIM_DLA_BASE + DLA_REG_IRQ_ACK, EVERYTHING); }
static uint32_t status(void) { return read32(DLASIM_DLA_BASE + DLA_REG_STATUS); }
static uint32_t now(void) { return read32(DLASIM_CLINT_TIME_LOW); }

/* With interrupts off, so that the stream's own interrupt comes late, and after these acknowledges. */
static void run_acknowledged(const struct program *program, uint32_t number)
{
    uint32_t were_on = interrupts_off(), start = now();
    const struct dla_program_stream *stream = &program->streams[number];
    acknowledge();
    dla_ring(stream->first_word + stream->words);
    acknowledge();
    while (now() - start < LATER) { }
    interrupts_restore(were_on); /* now the handler runs, and acknowledges long after the end */
    acknowledge();
}

int main(void)
{
    static struct program program;
    if (program_open(&program, (const void *)DLASIM_PROGRAM_BASE) != OK || !dla_suits(&program))
        return 1;
    program_place(&program, (void *)launch.arena, (void *)launch.inputs, (void *)launch.outputs);
    dla_start(launch.completion);
    dla_attach(&program);
    mark_begin(MARK_INFERENCE);
    dla_rewind();
    for (uint32_t number = 0; number < program.stream_count; number++) {
        run_acknowledged(&program, number);
        if (dla_wait(number + 1) != OK)
            return 2;
    }
    mark_end(MARK_INFERENCE);
    if (status() & DLA_STATUS_REFUSED_MASK)
        return 3;
    return dla_spurious_interrupts() ? 4 : 0;
}
