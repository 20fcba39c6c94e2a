/* LUT: one table entry per element, whatever its type. */
#include "call.h"

/* Entries one, two, four or eight bytes long; the loop is all that differs. For an int8 the table starts with the
 * entry of -128: one that points to the entry of 0 needs no sum. */
#define LOOK_UP_AT(index, entry)                                                                               \
    static void look_up_##entry##_at_##index(                                                                  \
        entry *output, const index *input, const entry *table, uint32_t n)                                     \
    {                                                                                                          \
        _Pragma("GCC unroll 8") for (uint32_t i = 0; i < n; i++) output[i] = table[input[i]];                  \
    }
#define LOOK_UP(entry)                                                                                         \
    LOOK_UP_AT(int8_t, entry)                                                                                  \
    LOOK_UP_AT(uint8_t, entry)                                                                                 \
    static void look_up_##entry(const struct tensor *output, const struct tensor *input, const entry *table)   \
    {                                                                                                          \
        if (input->type == DLA_DATA_TYPE_INT8)                                                                 \
            look_up_##entry##_at_int8_t(output->data, input->data, table - INT8_MIN, input->elements);         \
        else                                                                                                   \
            look_up_##entry##_at_uint8_t(output->data, input->data, table, input->elements);                   \
    }
LOOK_UP(uint8_t)
LOOK_UP(uint16_t)
LOOK_UP(uint32_t)
LOOK_UP(uint64_t)

enum status look_up(const struct call *call)
{
    struct tensor input = call_input(call, 0), table = call_input(call, 1), output = call_output(call, 0);
    switch (output.element_bytes) {
    case 1:
        look_up_uint8_t(&output, &input, table.data);
        return OK;
    case 2:
        look_up_uint16_t(&output, &input, table.data);
        return OK;
    case 4:
        look_up_uint32_t(&output, &input, table.data);
        return OK;
    default:
        look_up_uint64_t(&output, &input, table.data);
        return OK;
    }
}
