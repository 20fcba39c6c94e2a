/* The console: the transmit half of a 16550, polled. The board is always ready to send; a real one is not,
 * so the status is looked at all the same. */
#include "uart.h"

#include "boot.h"

static void put_character(char character)
{
    while (!(read8(DLASIM_UART_LINE_STATUS) & DLASIM_UART_READY_TO_SEND)) { }
    write8(DLASIM_UART_DATA, (uint8_t)character);
}

void put_text(const char *text)
{
    for (; *text; text++)
        put_character(*text);
}

void put_number(const char *label, uint32_t value)
{
    char digits[11];
    char *first = digits + sizeof(digits) - 1;
    *first = 0;
    do
        *--first = (char)('0' + value % 10);
    while (value /= 10);
    put_text(label);
    put_text(first);
}

void put_hex(const char *label, uint32_t value)
{
    put_text(label);
    put_text("0x");
    for (int shift = 28; shift >= 0; shift -= 4)
        put_character("0123456789abcdef"[value >> shift & 15]);
}
