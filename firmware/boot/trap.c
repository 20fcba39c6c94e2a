/* Sorts traps by cause, and reports those that nobody handles. */
#include "boot.h"

enum { UNHANDLED_TRAP_EXIT_CODE = 127 };

static void put_text(const char *text)
{
    for (; *text; text++) {
        while (!(read8(DLASIM_UART_LINE_STATUS) & DLASIM_UART_READY_TO_SEND)) { }
        write8(DLASIM_UART_DATA, (uint8_t)*text);
    }
}

static void put_hex(const char *label, uint32_t value)
{
    char text[9];
    for (int digit = 0; digit < 8; digit++)
        text[digit] = "0123456789abcdef"[value >> (28 - 4 * digit) & 15];
    text[8] = 0;
    put_text(label);
    put_text(text);
}

static _Noreturn void report_unhandled(struct trap_frame *frame)
{
    put_hex("unhandled trap: cause ", frame->cause);
    put_hex(", pc ", frame->pc);
    put_hex(", value ", frame->value);
    put_hex(", ra ", frame->x[1]);
    put_hex(", sp ", frame->x[2]);
    put_text("\n");
    board_exit(UNHANDLED_TRAP_EXIT_CODE);
}

__attribute__((weak)) void software_interrupt(struct trap_frame *frame) { report_unhandled(frame); }
__attribute__((weak)) void timer_interrupt(struct trap_frame *frame) { report_unhandled(frame); }
__attribute__((weak)) void external_interrupt(struct trap_frame *frame) { report_unhandled(frame); }
__attribute__((weak)) void exception(struct trap_frame *frame) { report_unhandled(frame); }

/* Called by trap_entry with interrupts off. */
void trap_dispatch(struct trap_frame *frame)
{
    switch (frame->cause) {
    case 1u << 31 | DLASIM_INTERRUPT_SOFTWARE:
        software_interrupt(frame);
        break;
    case 1u << 31 | DLASIM_INTERRUPT_TIMER:
        timer_interrupt(frame);
        break;
    case 1u << 31 | DLASIM_INTERRUPT_EXTERNAL:
        external_interrupt(frame);
        break;
    default:
        exception(frame);
    }
}
