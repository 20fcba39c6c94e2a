/* Integer work with data-dependent branches: a sieve, then an insertion sort. */
#include "support.h"

static uint8_t composite[4000];
static uint32_t keys[300];

static uint32_t sieve(void)
{
    uint32_t primes = 0;
    for (uint32_t n = 2; n < sizeof composite; n++) {
        if (composite[n])
            continue;
        primes++;
        for (uint32_t multiple = n * n; multiple < sizeof composite; multiple += n)
            composite[multiple] = 1;
    }
    return primes;
}

static uint32_t sort(void)
{
    uint32_t state = 1, checksum = 0;
    for (int i = 0; i < 300; i++) {
        state = state * 1664525u + 1013904223u;
        keys[i] = state;
    }
    for (int i = 1; i < 300; i++) {
        uint32_t key = keys[i];
        int j = i;
        for (; j > 0 && keys[j - 1] > key; j--)
            keys[j] = keys[j - 1];
        keys[j] = key;
    }
    for (int i = 0; i < 300; i++)
        checksum = checksum * 31 + keys[i];
    return checksum;
}

int main(void)
{
    uint32_t before = instructions();
    uint32_t primes = sieve(), checksum = sort();
    uint32_t after = instructions();
    put_hex(primes);
    put_hex(checksum);
    put_hex(after - before);
    return 0;
}
