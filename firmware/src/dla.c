/* The driver of the accelerator; docs/registers.md is its manual. */
#include "dla.h"

#include "boot.h"

static struct {
    enum dla_completion completion;
    uint32_t streams_before; /* STREAMS_DONE, which counts since reset, at the last rewind */
    uint32_t position_base;  /* what ERROR_POSITION counts from: 0, or the word given as a command */
    volatile uint32_t spurious;
} dla;

static uint32_t dla_read(uint32_t offset) { return read32(DLASIM_DLA_BASE + offset); }
static void dla_write(uint32_t offset, uint32_t value) { write32(DLASIM_DLA_BASE + offset, value); }

/* The accelerator's line is the only one behind the external interrupt. All that is to be done is to lower
 * it: its purpose was to end a sleep, and what has happened stands in the accelerator's registers. */
void external_interrupt(struct trap_frame *frame)
{
    (void)frame;
    uint32_t pending = dla_read(DLA_REG_IRQ_STATUS);
    if (pending)
        dla_write(DLA_REG_IRQ_ACK, pending);
    else
        dla.spurious++;
}

void dla_start(enum dla_completion completion)
{
    dla_write(DLA_REG_CONTROL, DLA_CONTROL_RESET_MASK);
    dla.completion = completion;
    dla.streams_before = dla.position_base = dla.spurious = 0;
    if (completion == DLA_COMPLETION_INTERRUPT) {
        dla_write(DLA_REG_IRQ_ENABLE, DLA_IRQ_ENABLE_DONE_MASK | DLA_IRQ_ENABLE_FAULT_MASK);
        csr_set(mie, INTERRUPT_BIT(DLASIM_INTERRUPT_EXTERNAL));
        interrupts_on();
    }
}

int dla_suits(const struct program *program)
{
    uint32_t mine = dla_read(DLA_REG_ISA_VERSION), wanted = program->isa_version;
    int same_major = mine >> DLA_ISA_VERSION_MAJOR_SHIFT == wanted >> DLA_ISA_VERSION_MAJOR_SHIFT;
    return same_major && mine >= wanted && dla_read(DLA_REG_CAP_CONFIG) == program->config->fingerprint;
}

void dla_place(uint32_t number, struct range region)
{
    uint32_t step = number * (DLA_REG_REGION1_BASE - DLA_REG_REGION0_BASE);
    dla_write(DLA_REG_REGION0_BASE + step, (uint32_t)region.base);
    dla_write(DLA_REG_REGION0_SIZE + step, region.size_bytes);
}

void dla_attach(const struct program *program)
{
    for (uint32_t number = 0; number < DLA_REGION_COUNT; number++)
        dla_place(number, program->regions[number]);
    dla_write(DLA_REG_QUEUE_BASE, 0);
    dla_write(DLA_REG_QUEUE_SIZE, program->command_count);
}

void dla_rewind(void)
{
    dla_write(DLA_REG_QUEUE_READ, 0);
    dla.streams_before = dla_read(DLA_REG_STREAMS_DONE);
}

void dla_skip(const struct dla_program_stream *stream)
{
    dla_write(DLA_REG_QUEUE_READ, stream->first_word + stream->words);
    dla.streams_before--;
}

void dla_ring(uint32_t end_word) { dla_write(DLA_REG_DOORBELL, end_word); }

/* Conditions to wait for. The counter wraps; the difference does not care. */
static int has_completed(uint32_t streams)
{
    return (int32_t)(dla_read(DLA_REG_STREAMS_DONE) - dla.streams_before - streams) >= 0;
}

static int is_idle(uint32_t unused)
{
    (void)unused;
    return !(dla_read(DLA_REG_STATUS) & DLA_STATUS_BUSY_MASK);
}

/* Until a condition holds, or never will. It is tested with interrupts off, and so is the sleep begun: what
 * happens in between is still pending then, and wfi wakes for what is pending, enabled in mstatus or not. */
static enum status dla_wait_until(int (*condition)(uint32_t), uint32_t argument)
{
    for (;;) {
        uint32_t were_on = interrupts_off();
        int has_faulted = (dla_read(DLA_REG_STATUS) & DLA_STATUS_FAULT_MASK) != 0;
        int is_over = has_faulted || condition(argument);
        if (!is_over && dla.completion == DLA_COMPLETION_INTERRUPT)
            wait_for_interrupt();
        interrupts_restore(were_on); /* here the handler runs */
        if (is_over)
            return has_faulted ? DLA_FAULT : OK;
    }
}

enum status dla_wait(uint32_t streams) { return dla_wait_until(has_completed, streams); }

/* One word of a stream, by hand. What only orders the units of a running stream (WAIT, NOP) has nothing
 * to do: each command has ended before the next one starts. */
static enum status dla_submit(uint64_t word)
{
    uint32_t low = (uint32_t)word, high = (uint32_t)(word >> 32);
    switch (low & DLA_OPCODE_MASK) {
    case DLA_OPCODE_CFG:
        dla_write((low & (uint32_t)DLA_CFG_REGISTER_MASK) >> DLA_CFG_REGISTER_SHIFT << 2, high);
        return OK;
    case DLA_OPCODE_NOP:
    case DLA_OPCODE_WAIT:
    case DLA_OPCODE_HALT:
        return OK;
    }
    dla_write(DLA_REG_COMMAND_LOW, low);
    dla_write(DLA_REG_COMMAND_HIGH, high); /* starts it */
    return dla_wait_until(is_idle, 0);
}

enum status dla_run_stream(const struct program *program, const struct dla_program_stream *stream)
{
    uint32_t end = stream->first_word + stream->words;
    for (uint32_t word = stream->first_word; word < end; word++) {
        dla.position_base = word;
        enum status status = dla_submit(program->commands[word]);
        if (status != OK)
            return status;
    }
    dla.position_base = 0;
    return OK;
}

struct dla_error dla_last_error(void)
{
    struct dla_error error = {
        .code = dla_read(DLA_REG_ERROR_CODE),
        .position = dla.position_base + dla_read(DLA_REG_ERROR_POSITION),
        .address = dla_read(DLA_REG_ERROR_ADDRESS),
    };
    return error;
}

uint32_t dla_spurious_interrupts(void) { return dla.spurious; }
