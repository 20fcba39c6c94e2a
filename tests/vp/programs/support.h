/* What the test programs share: output, and the count of instructions. */
#ifndef SUPPORT_H
#define SUPPORT_H

#include "boot.h"

static inline void put_char(char letter) { write8(DLASIM_UART_DATA, (uint8_t)letter); }

static inline void put_text(const char *text)
{
    while (*text)
        put_char(*text++);
}

static inline void put_hex(uint32_t value)
{
    for (int shift = 28; shift >= 0; shift -= 4)
        put_char("0123456789abcdef"[value >> shift & 15]);
    put_char('\n');
}

static inline uint32_t instructions(void) { return csr_read(minstret); }

#endif
