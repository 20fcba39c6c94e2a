/* Enters code in the middle of instructions: what their second half says runs, and counts. */
#include "support.h"

/* Between the marks, each .half with low bits 11 starts a 4-byte instruction for who comes from above. */
#define LUI ".half 0x0337\n" /* lui t1; its second half follows */

int main(void)
{
    uint32_t before = instructions(), rounds = 10, sum = 0;
    __asm__ volatile("j 1f\n" LUI "1: .half 0x157d\n" /* c.addi a0, -1 */
                     "mv %1, a0\n"
                     : "+r"(rounds), "+r"(sum)::"a0", "t1");
    put_hex(instructions() - before);
    before = instructions();
    __asm__ volatile("mv a0, %0\n"
                     "c.nop\n" LUI "1: .half 0x157d\n" /* c.addi a0, -1 */
                     "bnez a0, 1b\n"
                     "mv %0, a0\n"
                     : "+r"(rounds)::"a0", "t1");
    put_hex(instructions() - before);
    before = instructions();
    rounds = 10;
    /* From 1 on: addi t2, a4, 51; c.addi s0, -1; from above: two lui. */
    __asm__ volatile("mv s0, %0\n"
                     "j 1f\n"
                     "2: addi s0, s0, -1\n" LUI "1: .half 0x0393\n" LUI ".half 0x147d\n"
                     "andi t4, s0, 1\n"
                     "beqz s0, 3f\n"
                     "bnez t4, 1b\n"
                     "j 2b\n"
                     "3:\n"
                     : "+r"(rounds)::"s0", "t1", "t2", "t4");
    put_hex(instructions() - before);
    before = instructions();
    /* The second half is a taken branch: c.bnez s0, 2f. */
    __asm__ volatile("li s0, 5\n"
                     "j 1f\n" LUI "1: c.bnez s0, 2f\n"
                     "nop\nnop\n"
                     "2: nop\n" ::: "s0", "t1");
    put_hex(instructions() - before);
    return 0;
}
