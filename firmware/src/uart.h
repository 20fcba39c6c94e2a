/* The console: text on the board's UART, polled. */
#ifndef DLASIM_UART_H
#define DLASIM_UART_H

#include <stdint.h>

void put_text(const char *text);
void put_number(const char *label, uint32_t value); /* label, then the number in decimal */
void put_hex(const char *label, uint32_t value);    /* label, then 0x and eight digits */

#endif
