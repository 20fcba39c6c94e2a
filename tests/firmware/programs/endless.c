/* A program that never ends. */
int main(void)
{
    for (volatile int forever = 1; forever;) { }
    return 0;
}
