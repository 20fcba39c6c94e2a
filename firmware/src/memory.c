/* What a C compiler expects to find even where there is no C library. Words where both sides allow it. */
#include "string.h"

#include <stdint.h>

static int words_fit(const void *one, const void *other) { return !(((uintptr_t)one | (uintptr_t)other) & 3); }

void *memcpy(void *restrict target, const void *restrict source, size_t size)
{
    uint8_t *to = target;
    const uint8_t *from = source;
    if (words_fit(to, from)) {
        for (; size >= 16; size -= 16, to += 16, from += 16) {
            uint32_t *to_words = (uint32_t *)to;
            const uint32_t *from_words = (const uint32_t *)from;
            uint32_t first = from_words[0], second = from_words[1], third = from_words[2], fourth = from_words[3];
            to_words[0] = first, to_words[1] = second, to_words[2] = third, to_words[3] = fourth;
        }
        for (; size >= 4; size -= 4, to += 4, from += 4)
            *(uint32_t *)to = *(const uint32_t *)from;
    }
    for (; size >= 4; size -= 4, to += 4, from += 4) {
        uint8_t first = from[0], second = from[1], third = from[2], fourth = from[3];
        to[0] = first, to[1] = second, to[2] = third, to[3] = fourth;
    }
    for (; size; size--)
        *to++ = *from++;
    return target;
}

void *memmove(void *target, const void *source, size_t size)
{
    uint8_t *to = target;
    const uint8_t *from = source;
    if (to <= from || to >= from + size)
        return memcpy(target, source, size); /* which copies front to back */
    while (size--)
        to[size] = from[size];
    return target;
}

void *memset(void *target, int value, size_t size)
{
    uint8_t *to = target;
    uint32_t word = (uint8_t)value * 0x01010101u;
    if (words_fit(to, to))
        for (; size >= 4; size -= 4, to += 4)
            *(uint32_t *)to = word;
    for (; size; size--)
        *to++ = (uint8_t)value;
    return target;
}

int memcmp(const void *one, const void *other, size_t size)
{
    const uint8_t *left = one, *right = other;
    for (; size; size--, left++, right++)
        if (*left != *right)
            return *left - *right;
    return 0;
}
