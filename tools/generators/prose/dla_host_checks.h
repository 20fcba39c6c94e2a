/* Not inline: rules call them hundreds of times, and each is evaluated once. */
#define DLA_HOST_HELPER __attribute__((noinline, unused)) static

/* A call: its operands, inputs first, as indices into the tensors, and its attribute words. */
struct dla_host_arguments {
    const struct dla_program_tensor *tensors;
    const struct dla_program_operand *operands;
    const int32_t *words;
    uint32_t inputs;
};

/* What an attribute's words must be; the text is NULL where any will do. */
struct dla_host_range {
    const char *text;
    int32_t least, greatest;
    uint8_t count, shows_value;
};

/* The element types that an operand may have: bit n is type n. */
struct dla_host_types {
    const char *text;
    uint32_t allowed;
};

struct dla_host_check {
    const char *name;
    const struct dla_host_range *ranges;
    const struct dla_host_types *inputs, *outputs;
    const char *(*broken_rule)(const struct dla_host_arguments *);
    uint8_t range_count, input_count, output_count;
};

static inline const struct dla_program_tensor *dla_host_operand(
    const struct dla_host_arguments *c, uint32_t number)
{
    return &c->tensors[c->operands[number].tensor];
}

static inline int64_t dla_host_rank(const struct dla_host_arguments *c, uint32_t number)
{
    return dla_host_operand(c, number)->rank;
}

static inline int64_t dla_host_type(const struct dla_host_arguments *c, uint32_t number)
{
    return dla_host_operand(c, number)->type;
}

DLA_HOST_HELPER int64_t dla_host_elements(const struct dla_host_arguments *c, uint32_t number)
{
    return dla_host_operand(c, number)->size_bytes / dla_element_bytes[dla_host_operand(c, number)->type];
}

DLA_HOST_HELPER int64_t dla_host_shape(const struct dla_host_arguments *c, uint32_t number, int64_t dimension)
{
    return dla_host_operand(c, number)->shape[dimension];
}

DLA_HOST_HELPER int64_t dla_host_back(const struct dla_host_arguments *c, uint32_t number, int64_t dimension)
{
    int64_t rank = dla_host_rank(c, number);
    return dimension < rank ? dla_host_shape(c, number, rank - 1 - dimension) : 1;
}

DLA_HOST_HELPER int64_t dla_host_product(
    const struct dla_host_arguments *c, uint32_t number, int64_t first, int64_t end)
{
    int64_t product = 1;
    for (; first < end; first++)
        product *= dla_host_shape(c, number, first);
    return product;
}

DLA_HOST_HELPER int64_t dla_host_kept(const struct dla_host_arguments *c, uint32_t number, int64_t mask)
{
    int64_t product = 1;
    for (int64_t k = 0; k < dla_host_rank(c, number); k++)
        product *= mask >> k & 1 ? 1 : dla_host_shape(c, number, k);
    return product;
}

/* Exact below 2^32; words are positive, so beyond that it stays beyond. */
DLA_HOST_HELPER int64_t dla_host_volume(const int32_t *words, uint32_t count)
{
    int64_t volume = 1;
    for (; count && volume >> 32 == 0; count--, words++)
        volume *= *words;
    return volume;
}

DLA_HOST_HELPER int64_t dla_host_total(const struct dla_host_arguments *c)
{
    int64_t total = 0;
    for (uint32_t number = 0; number < c->inputs; number++)
        total += dla_host_elements(c, number);
    return total;
}
