/* Walks the steps of a program. Streams are started as soon as their step is reached; the CPU waits only
 * before a host call, for the streams that it names, and at the end. So both work at the same time wherever
 * the data allow it. */
#include "runtime.h"

#include "kernels/call.h"
#include "kernels/check.h"
#include "marks.h"
#include "uart.h"

/* Whether an inference has run the preload of the program, so that what it loads is in the SRAM. */
static int is_preloaded;

static enum status run_stream(const struct program *program, uint32_t index, enum runtime_submission how)
{
    const struct dla_program_stream *stream = &program->streams[index];
    if (how == SUBMISSION_REGISTERS)
        return dla_run_stream(program, stream);
    dla_ring(stream->first_word + stream->words);
    return OK;
}

static enum status run_host_call(const struct program *program, uint32_t index)
{
    mark_begin(MARK_FIRST_HOST_CALL + index);
    enum status status = call_kernel(program, &program->host_calls[index]);
    mark_end(MARK_FIRST_HOST_CALL + index);
    return status;
}

/* Register by register, a stream has completed when it was submitted. */
static enum status wait_for_streams(uint32_t streams, enum runtime_submission how)
{
    return how == SUBMISSION_QUEUE ? dla_wait(streams) : OK;
}

static enum status run_step(
    const struct program *program, const struct dla_program_step *step, enum runtime_submission how)
{
    if (step->kind != DLA_STEP_KIND_HOST)
        return run_stream(program, step->index, how);
    enum status status = wait_for_streams(step->after_streams, how);
    return status == OK ? run_host_call(program, step->index) : status;
}

static enum status run_steps(const struct program *program, uint32_t first, enum runtime_submission how)
{
    for (uint32_t number = first; number < program->step_count; number++) {
        enum status status = run_step(program, &program->steps[number], how);
        if (status != OK)
            return status;
    }
    return wait_for_streams(program->stream_count, how);
}

enum status runtime_start(const struct program *program, enum dla_completion completion)
{
    if (!dla_suits(program))
        return WRONG_MACHINE;
    dla_start(completion);
    is_preloaded = 0;
    dla_attach(program);
    return check_calls(program);
}

void runtime_move(struct program *program, void *inputs, void *outputs)
{
    program->regions[DLA_REGION_INPUTS].base = inputs;
    program->regions[DLA_REGION_OUTPUTS].base = outputs;
    dla_attach(program);
}

enum status runtime_infer(const struct program *program, enum runtime_submission submission)
{
    mark_begin(MARK_INFERENCE);
    dla_rewind();
    uint32_t first_step = is_preloaded;
    if (is_preloaded)
        dla_skip(&program->streams[0]);
    enum status status = run_steps(program, first_step, submission);
    int preloads = program->step_count && program->steps[0].kind == DLA_STEP_KIND_PRELOAD;
    is_preloaded = preloads && status == OK;
    mark_end(MARK_INFERENCE);
    return status;
}

void runtime_report(const struct program *program, enum status status)
{
    switch (status) {
    case OK:
        return;
    case BAD_PROGRAM:
        put_text("no program image of this format\n");
        return;
    case WRONG_MACHINE:
        put_hex("the program was lowered for machine ", program->config->fingerprint);
        put_hex(", this is ", read32(DLASIM_DLA_BASE + DLA_REG_CAP_CONFIG));
        put_text("\n");
        return;
    case NO_KERNEL:
        put_text("a host call has no kernel\n");
        return;
    case BAD_CALL:
        report_bad_call(program);
        return;
    case DLA_FAULT: {
        struct dla_error error = dla_last_error();
        put_number("DLA fault ", error.code);
        put_number(" at word ", error.position);
        put_hex(", address ", error.address);
        put_text("\n");
    }
    }
}
