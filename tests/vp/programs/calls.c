/* Recursion, indirect calls, division, 64-bit arithmetic, atomics: everything else that ends a block. */
#include "support.h"

static volatile uint32_t counter;

__attribute__((noinline)) static uint32_t fibonacci(uint32_t n)
{
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

__attribute__((noinline)) static uint32_t collatz(uint32_t n)
{
    uint32_t steps = 0;
    for (uint64_t value = n; value != 1; steps++)
        value = value & 1 ? 3 * value + 1 : value / 2;
    return steps;
}

__attribute__((noinline)) static uint32_t digits(uint32_t n)
{
    uint32_t sum = 0;
    for (; n; n /= 10)
        sum += n % 10 + __atomic_fetch_add(&counter, 1, __ATOMIC_SEQ_CST) % 3;
    return sum;
}

typedef uint32_t (*function)(uint32_t);
static function volatile functions[] = {fibonacci, collatz, digits};

int main(void)
{
    uint32_t before = instructions(), checksum = 0;
    for (uint32_t round = 0; round < 12; round++)
        checksum = checksum * 31 + functions[round % 3](round + 7);
    uint32_t after = instructions();
    put_hex(checksum);
    put_hex(after - before);
    return 0;
}
