/* LUT: one table entry per element, whatever its type. */
#include "call.h"

/* Entries one, two, four or eight bytes long; the loop is all that differs. */
#define LOOK_UP(type)                                                                                         \
    static void look_up_##type(type *output, const uint8_t *input, uint32_t flip, const type *table, uint32_t n) \
    {                                                                                                          \
        for (uint32_t i = 0; i < n; i++)                                                                       \
            output[i] = table[input[i] ^ flip];                                                                \
    }
LOOK_UP(uint8_t)
LOOK_UP(uint16_t)
LOOK_UP(uint32_t)
LOOK_UP(uint64_t)

enum status look_up(const struct call *call)
{
    struct tensor input = call_input(call, 0), table = call_input(call, 1), output = call_output(call, 0);
    /* The table starts with the entry of the least value: q + 128 for int8 is q with its sign bit flipped. */
    uint32_t flip = input.type == DLA_DATA_TYPE_INT8 ? 0x80 : 0;
    switch (output.element_bytes) {
    case 1:
        look_up_uint8_t(output.data, input.data, flip, table.data, input.elements);
        return OK;
    case 2:
        look_up_uint16_t(output.data, input.data, flip, table.data, input.elements);
        return OK;
    case 4:
        look_up_uint32_t(output.data, input.data, flip, table.data, input.elements);
        return OK;
    default:
        look_up_uint64_t(output.data, input.data, flip, table.data, input.elements);
        return OK;
    }
}
