/* Whether the host calls of a program may be made. The compiler's always may; a program by hand may ask for
 * anything, and kernels rely on what is checked here: they would read and write outside their tensors. */
#include "check.h"

#include "dla_host_checks.h"
#include "uart.h"

enum { CALL_KINDS = sizeof(dla_host_checks) / sizeof(dla_host_checks[0]) };

/* What is wrong with a call: a sentence, and the value or the type that was found. */
struct refusal {
    uint32_t call;
    const char *text; /* NULL: nothing */
    const char *type;
    int32_t value;
    int shows_value;
};

static struct refusal refusal;

static void check_types(
    const struct dla_host_arguments *c, const struct dla_host_types *types, uint32_t type_count, uint32_t first,
    uint32_t count)
{
    for (uint32_t number = 0; number < count && !refusal.text; number++) {
        const struct dla_host_types *mine = &types[number < type_count ? number : type_count - 1];
        uint32_t type = dla_host_operand(c, first + number)->type;
        if (!(mine->allowed >> type & 1))
            refusal.text = mine->text, refusal.type = dla_type_names[type];
    }
}

static void check_ranges(const struct dla_host_check *check, const int32_t *word)
{
    const struct dla_host_range *range = check->ranges, *end = range + check->range_count;
    for (; range < end; range++)
        for (uint32_t left = range->count; left; left--, word++)
            if (!refusal.text && (*word < range->least || *word > range->greatest)) {
                refusal.text = range->text;
                refusal.value = *word, refusal.shows_value = range->shows_value;
            }
}

static void check_call(const struct program *program, const struct dla_program_host_call *record)
{
    const struct dla_host_check *check = &dla_host_checks[record->code];
    struct dla_host_arguments arguments = {
        .tensors = program->tensors,
        .operands = program->operands + record->first_operand,
        .words = (const int32_t *)(program->attributes + record->first_attribute),
        .inputs = record->input_count,
    };
    check_types(&arguments, check->inputs, check->input_count, 0, record->input_count);
    check_types(&arguments, check->outputs, check->output_count, record->input_count, record->output_count);
    check_ranges(check, arguments.words);
    if (!refusal.text && dla_host_elements(&arguments, record->input_count))
        refusal.text = check->broken_rule(&arguments);
}

enum status check_calls(const struct program *program)
{
    refusal = (struct refusal){ 0 };
    for (; refusal.call < program->host_call_count; refusal.call++) {
        const struct dla_program_host_call *record = &program->host_calls[refusal.call];
        if (record->code >= CALL_KINDS || !dla_host_checks[record->code].name)
            return NO_KERNEL;
        check_call(program, record);
        if (refusal.text)
            return BAD_CALL;
    }
    return OK;
}

static void put_got(void)
{
    if (refusal.type) {
        put_text(" (got ");
        put_text(refusal.type);
        put_text(")");
    } else if (refusal.shows_value) {
        put_number(refusal.value < 0 ? " (got -" : " (got ",
                   refusal.value < 0 ? -(uint32_t)refusal.value : (uint32_t)refusal.value);
        put_text(")");
    }
}

void report_bad_call(const struct program *program)
{
    put_number("host call ", refusal.call);
    put_text(" (");
    put_text(dla_host_checks[program->host_calls[refusal.call].code].name);
    put_text("): ");
    put_text(refusal.text);
    put_got();
    put_text("\n");
}
