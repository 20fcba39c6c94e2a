/* An int8 convolution, 3x3 over 16x16x8 to 8 channels, with loads, multiplies and nested loops. */
#include "support.h"

enum { SIZE = 16, CHANNELS = 8, KERNEL = 3, OUT = SIZE - KERNEL + 1 };

static int8_t input[SIZE][SIZE][CHANNELS];
static int8_t weights[CHANNELS][KERNEL][KERNEL][CHANNELS];
static int32_t output[OUT][OUT][CHANNELS];

static void fill(int8_t *bytes, uint32_t count, uint32_t state)
{
    while (count--) {
        state = state * 1664525u + 1013904223u;
        *bytes++ = (int8_t)(state >> 24);
    }
}

static void convolve(void)
{
    for (int y = 0; y < OUT; y++)
        for (int x = 0; x < OUT; x++)
            for (int oc = 0; oc < CHANNELS; oc++) {
                int32_t sum = 0;
                for (int ky = 0; ky < KERNEL; ky++)
                    for (int kx = 0; kx < KERNEL; kx++)
                        for (int ic = 0; ic < CHANNELS; ic++)
                            sum += input[y + ky][x + kx][ic] * weights[oc][ky][kx][ic];
                output[y][x][oc] = sum;
            }
}

int main(void)
{
    fill(&input[0][0][0], sizeof input, 1);
    fill(&weights[0][0][0][0], sizeof weights, 2);
    uint32_t before = instructions();
    convolve();
    uint32_t after = instructions();
    uint32_t checksum = 0;
    for (int i = 0; i < OUT * OUT * CHANNELS; i++)
        checksum = checksum * 31 + (uint32_t)(&output[0][0][0])[i];
    put_hex(checksum);
    put_hex(after - before);
    return 0;
}
