/* The part of the C library that compilers and kernels need; memory.c has it. */
#ifndef DLASIM_STRING_H
#define DLASIM_STRING_H

#include <stddef.h>

void *memcpy(void *restrict target, const void *restrict source, size_t size);
void *memmove(void *target, const void *source, size_t size);
void *memset(void *target, int value, size_t size);
int memcmp(const void *one, const void *other, size_t size);

#endif
