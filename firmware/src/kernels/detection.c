/* What ends a detection network: DECODE_BOXES and SUPPRESS_BOXES. */
#include "call.h"
#include "soft_double.h"
#include "soft_float.h"
#include "string.h"

struct box {
    float top, left, bottom, right;
};

/* Where a box begins and ends along one direction. */
static void decode_side(
    float position, float size, float position_scale, float size_scale, float anchor, float extent, float *begin,
    float *end)
{
    struct real64 offset = product64(quotient64(position, position_scale), extent);
    float centre = to_float(sum64(offset, anchor));
    struct real64 factor = exponential64(quotient64(size, size_scale));
    factor.exponent--; /* a half */
    float half = to_float(product64(factor, extent));
    *begin = centre - half;
    *end = centre + half;
}

enum status decode_boxes(const struct call *call)
{
    const struct dla_host_decode_boxes *a = call->attributes;
    struct tensor encodings = call_input(call, 0), anchors = call_input(call, 1), boxes = call_output(call, 0);
    const float *encoding = encodings.data, *anchor = anchors.data;
    struct box *box = boxes.data;
    uint32_t length = encodings.shape[encodings.rank - 1];
    for (uint32_t left = boxes.elements / 4; left; left--, encoding += length, anchor += 4, box++) {
        decode_side(encoding[0], encoding[2], a->y_scale, a->h_scale, anchor[0], anchor[2], &box->top, &box->bottom);
        decode_side(encoding[1], encoding[3], a->x_scale, a->w_scale, anchor[1], anchor[3], &box->left, &box->right);
    }
    return OK;
}

static float area(const struct box *box) { return (box->bottom - box->top) * (box->right - box->left); }

/* As x < y, and x <= y, in line. */
static inline int is_less(float x, float y)
{
    uint32_t one = bits_of(x), other = bits_of(y);
    return !is_nan(one) && !is_nan(other) && order_of(one) < order_of(other);
}

static inline int is_at_most(float x, float y)
{
    uint32_t one = bits_of(x), other = bits_of(y);
    return !is_nan(one) && !is_nan(other) && order_of(one) <= order_of(other);
}

static inline float larger(float x, float y) { return is_less(x, y) ? y : x; }
static inline float smaller(float x, float y) { return is_less(y, x) ? y : x; }

/* Whether intersection over union, in TensorFlow's order, is above a threshold that is above 0. `first` is the
 * area of `one`. */
static int overlaps(const struct box *one, float first, const struct box *other, float threshold)
{
    float top = larger(one->top, other->top), bottom = smaller(one->bottom, other->bottom);
    if (is_at_most(bottom, top))
        return 0; /* nothing is shared */
    float left = larger(one->left, other->left), right = smaller(one->right, other->right);
    if (is_at_most(right, left))
        return 0;
    float second = area(other);
    if (is_at_most(first, 0) || is_at_most(second, 0))
        return 0;
    float shared = larger(bottom - top, 0) * larger(right - left, 0);
    return shared / (first + second - shared) > threshold;
}

/* What is selected from. */
struct search {
    const struct dla_host_suppress_boxes *attributes;
    const struct box *boxes;
    const uint32_t *scores; /* of the first class of the first box */
    uint32_t count, row;    /* boxes, and scores of each */
    int32_t *ranks, *order, *spare; /* room for all boxes each */
    int32_t least_rank;
};

/* Scores in the order of numbers. NaN is -infinity, below which is nothing. */
static int32_t rank_of(uint32_t score) { return is_nan(score) ? -0x7F800000 : order_of(score); }

static int32_t rank_in(const struct search *search, int32_t box, int32_t label)
{
    return rank_of(search->scores[(uint32_t)box * search->row + (uint32_t)label]);
}

/* Merge sort of `order`, the best first, equals as they are. */
static void sort_boxes(const struct search *search, uint32_t count)
{
    int32_t *from = search->order, *to = search->spare;
    const int32_t *ranks = search->ranks;
    for (uint32_t run = 1; run < count; run *= 2) {
        for (uint32_t start = 0; start < count; start += 2 * run) {
            uint32_t middle = start + run < count ? start + run : count;
            uint32_t end = start + 2 * run < count ? start + 2 * run : count, one = start, other = middle;
            for (uint32_t place = start; place < end; place++) {
                int takes_other = one == middle || (other < end && ranks[from[other]] > ranks[from[one]]);
                to[place] = takes_other ? from[other++] : from[one++];
            }
        }
        int32_t *done = to;
        to = from, from = done;
    }
    if (from != search->order)
        memcpy(search->order, from, count * sizeof(*from));
}

/* Selects by the ranks of boxes; leaves the selected ones in `order` and gives their number. */
static uint32_t select_boxes(const struct search *search, int32_t most)
{
    float threshold = search->attributes->iou_threshold;
    int32_t *order = search->order;
    uint32_t kept = 0, chosen = 0;
    for (uint32_t box = 0; box < search->count; box++)
        if (search->ranks[box] >= search->least_rank)
            order[kept++] = (int32_t)box;
    sort_boxes(search, kept);
    for (uint32_t place = 0; place < kept && chosen < (uint32_t)most; place++) {
        if (order[place] < 0) /* left out */
            continue;
        const struct box *best = search->boxes + order[place];
        float size = area(best);
        for (uint32_t next = place + 1; next < kept; next++)
            if (order[next] >= 0 && overlaps(best, size, search->boxes + order[next], threshold))
                order[next] = -1;
        order[chosen++] = order[place];
    }
    return chosen;
}

struct result {
    struct box *boxes;
    float *labels, *scores;
};

static void put_detection(
    const struct search *search, const struct result *result, uint32_t place, int32_t box, int32_t label)
{
    uint32_t score = search->scores[(uint32_t)box * search->row + (uint32_t)label];
    result->boxes[place] = search->boxes[box];
    result->labels[place] = (float)label;
    result->scores[place] = is_nan(score) ? float_of(0xFF800000u) : float_of(score);
}

/* The best class behind the last one that was taken; of equals the first. */
static int32_t next_class(const struct search *search, int32_t box, int32_t last)
{
    int32_t found = -1, limit = last < 0 ? INT32_MAX : rank_in(search, box, last);
    for (int32_t label = 0; label < search->attributes->classes; label++) {
        int32_t rank = rank_in(search, box, label);
        int is_left = rank < limit || (rank == limit && label > last);
        if (is_left && (found < 0 || rank > rank_in(search, box, found)))
            found = label;
    }
    return found;
}

/* Each box once, with its best classes. */
static uint32_t select_by_box(const struct search *search, const struct result *result)
{
    const struct dla_host_suppress_boxes *a = search->attributes;
    for (uint32_t box = 0; box < search->count; box++)
        search->ranks[box] = rank_in(search, (int32_t)box, next_class(search, (int32_t)box, -1));
    uint32_t chosen = select_boxes(search, a->max_detections);
    for (uint32_t number = 0; number < chosen; number++) {
        int32_t label = -1;
        for (int32_t turn = 0; turn < a->max_classes && turn < a->classes; turn++) {
            label = next_class(search, search->order[number], label);
            uint32_t place = number * (uint32_t)a->max_classes + (uint32_t)turn;
            put_detection(search, result, place, search->order[number], label);
        }
    }
    return chosen;
}

struct found {
    int32_t box, label;
};

/* Boxes of each class by themselves, and the best of all of them: `found` has room for as many as there may be. */
static uint32_t select_by_class(const struct search *search, const struct result *result, struct found *found)
{
    const struct dla_host_suppress_boxes *a = search->attributes;
    uint32_t total = 0, most = (uint32_t)a->max_detections;
    for (int32_t label = 0; label < a->classes; label++) {
        for (uint32_t box = 0; box < search->count; box++)
            search->ranks[box] = rank_in(search, (int32_t)box, label);
        uint32_t chosen = select_boxes(search, a->detections_per_class);
        for (uint32_t number = 0; number < chosen; number++) {
            struct found one = { search->order[number], label };
            int32_t rank = search->ranks[one.box];
            uint32_t place = total < most ? total++ : most;
            while (place > 0 && rank_in(search, found[place - 1].box, found[place - 1].label) < rank) {
                if (place < most)
                    found[place] = found[place - 1];
                place--;
            }
            if (place < most)
                found[place] = one;
        }
    }
    for (uint32_t place = 0; place < total; place++)
        put_detection(search, result, place, found[place].box, found[place].label);
    return total;
}

static void clear(const struct tensor *tensor)
{
    memset(tensor->data, 0, tensor->elements * tensor->element_bytes);
}

enum status suppress_boxes(const struct call *call)
{
    const struct dla_host_suppress_boxes *a = call->attributes;
    struct tensor boxes = call_input(call, 0), scores = call_input(call, 1), outputs[4];
    struct tensor workspace = call_output(call, 4);
    for (uint32_t number = 0; number < 4; number++) {
        outputs[number] = call_output(call, number);
        clear(&outputs[number]);
    }
    uint32_t count = boxes.shape[0], row = scores.shape[scores.rank - 1], limit = (uint32_t)a->score_threshold;
    int32_t *room = workspace.data;
    struct search search = {
        .attributes = a,
        .boxes = boxes.data,
        .scores = (const uint32_t *)scores.data + (row - (uint32_t)a->classes), /* the background comes first */
        .count = count,
        .row = row,
        .ranks = room,
        .order = room + count,
        .spare = room + 2 * count,
        .least_rank = is_nan(limit) ? INT32_MAX : order_of(limit),
    };
    struct result result = { outputs[0].data, outputs[1].data, outputs[2].data };
    uint32_t found = a->regular ? select_by_class(&search, &result, (struct found *)(room + 3 * count))
                                : select_by_box(&search, &result);
    *(float *)outputs[3].data = (float)(int32_t)found;
    clear(&workspace);
    return OK;
}
